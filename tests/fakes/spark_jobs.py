"""How many jobs a Spark was asked for: a count that nothing evicts."""

from collections.abc import Callable


def jobs_started(spark) -> int:
    """Give the number of jobs that the process' Spark has started so far.

    Spark's stores of finished jobs keep the newest thousand: a difference of their sizes says
    something of the tests that ran before. The scheduler's next number only grows.
    """
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def jobs_of(spark, action: Callable[[], object]) -> int:
    """Count the jobs that an action starts; nothing else may use that Spark meanwhile."""
    before = jobs_started(spark)
    action()
    return jobs_started(spark) - before
