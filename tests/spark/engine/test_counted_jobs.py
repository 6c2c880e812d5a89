"""The count of jobs that tests of costs stand on."""

import pytest

from fakes.spark_jobs import jobs_of

MORE_THAN_SPARK_REMEMBERS = 1_100


@pytest.mark.matrix
def test_jobs_are_counted_that_spark_has_forgotten_meanwhile(spark) -> None:
    nothing = spark.sparkContext._jsc.emptyRDD()

    counted = jobs_of(spark, lambda: [nothing.count() for _ in range(MORE_THAN_SPARK_REMEMBERS)])

    assert counted == MORE_THAN_SPARK_REMEMBERS
