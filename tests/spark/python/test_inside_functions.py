"""What a function may do that any function over Spark does: its session, files, types of UDFs."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

from fakes.place import statuses
from penstock.core.errors import InterruptedRunError


def landed(place, *numbers: int) -> None:
    folder = place.root / "landing"
    folder.mkdir(exist_ok=True)
    for number in numbers:
        (folder / f"{number}.json").write_text(f'{{"id": {number}}}\n')


@pytest.mark.matrix
def test_a_function_that_raises_what_ctrl_c_raises_ends_the_run_and_the_next_one_does_the_rest(
    place,
):
    raises = [True]

    @place.app.table
    def one(spark):
        return spark.range(1)

    @place.app.table
    def two(one):
        if raises:
            raise KeyboardInterrupt
        return one

    @place.app.table
    def three(two):
        return two

    with pytest.raises(InterruptedRunError) as caught:
        place.app.run()
    report = caught.value.report
    raises.clear()
    again = place.app.run()

    assert statuses(report) == {"one": "success", "two": "failed", "three": "skipped"}
    assert [again[name].status for name in ("two", "three")] == ["success", "success"]
    assert place.rows("three") == [(0,)]


def test_the_active_session_inside_a_function_is_that_of_the_step(place, spark):
    seen = []

    @place.app.model
    def one(spark):
        seen.append((spark, SparkSession.getActiveSession()))
        return spark.range(1)

    @place.app.table
    def t(one, spark):
        active = SparkSession.getActiveSession()
        seen.append((spark, active))
        active.range(3).createOrReplaceTempView("mine")
        return spark.sql("SELECT * FROM mine")

    before = SparkSession.getActiveSession()
    place.app.run()

    assert place.rows("t") == [(0,), (1,), (2,)]
    assert [each._jsparkSession.equals(active._jsparkSession) for each, active in seen] == [
        True,
        True,
    ]
    assert not seen[-1][1]._jsparkSession.equals(spark._jsparkSession)
    after = SparkSession.getActiveSession()
    assert (after and after._jsparkSession.toString()) == (
        before and before._jsparkSession.toString()
    )


def test_a_source_of_files_tells_the_file_of_each_row(place):
    landed(place, 1, 2)

    @place.app.source(path="landing", format="json")
    def raw(df):
        return df.withColumn("a", F.input_file_name()).withColumn("b", F.col("_metadata.file_name"))

    @place.app.table
    def t(raw):
        return raw.select("id", F.substring_index("a", "/", -1).alias("a"), "b")

    place.app.run()

    assert place.rows("t", "id, a, b") == [(1, "1.json", "1.json"), (2, "2.json", "2.json")]


def test_a_reader_of_files_that_nobody_changed_tells_the_file_of_each_row(place):
    landed(place, 1, 2)

    @place.app.source(path="landing", format="json")
    def raw(df):
        return df

    @place.app.table
    def t(raw):
        return raw.select("id", F.col("_metadata.file_name").alias("file"))

    @place.app.table
    def u(raw):
        file = F.substring_index(F.input_file_name(), "/", -1)
        return raw.select("id", file.alias("file"))

    place.app.run()

    assert place.rows("t", "id, file") == [(1, "1.json"), (2, "2.json")]
    assert place.rows("u", "id, file") == [(1, "1.json"), (2, "2.json")]
