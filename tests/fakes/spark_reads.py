"""What Spark's statements read: which of them read rows of files, and how many files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class FileScan:
    """One scan of Parquet files, by the statement that somebody asked for."""

    statement: int
    files: int
    is_target: bool
    """Whether it is the target of a statement of Delta, which looks for rows to change."""
    where: str = ""
    """What Spark says of the files, their folder among it."""


def scans_of(spark, action: Callable[[], object]) -> list[FileScan]:
    """Give the scans of an action, in order; nothing else may use that Spark meanwhile.

    What Delta runs within a statement belongs to it. Logs are JSON and no scan of rows.
    """
    before = _newest(spark)
    action()
    return [scan for each in _executed(spark, before) for scan in _scans(spark, each)]


def statements_that_read(spark, action: Callable[[], object]) -> int:
    """Count the statements of an action that read rows."""
    return len({scan.statement for scan in scans_of(spark, action)})


def _store(spark):
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    return spark._jsparkSession.sharedState().statusStore()


def _newest(spark) -> int:
    every = _store(spark).executionsList()
    return int(every.last().executionId()) if every.size() else -1


def _executed(spark, after: int) -> list:
    """Give what was executed after a number: Spark keeps the newest, so it is asked backwards."""
    every, found = _store(spark).executionsList(), []
    for number in reversed(range(every.size())):
        if every.apply(number).executionId() <= after:
            break
        found.insert(0, every.apply(number))
    return found


def _scans(spark, execution) -> Iterator[FileScan]:
    store = spark._jsparkSession.sharedState().statusStore()
    values = store.executionMetrics(execution.executionId())
    nodes = store.planGraph(execution.executionId()).allNodes()
    for node in map(nodes.apply, range(nodes.size())):
        if not node.name().startswith("Scan parquet"):
            continue
        metrics = map(node.metrics().apply, range(node.metrics().size()))
        counter = next(each for each in metrics if each.name() == "number of files read")
        files = int(values.get(counter.accumulatorId()).get().replace(",", ""))
        is_target = "TahoeBatchFileIndex" in node.desc()
        yield FileScan(int(execution.rootExecutionId()), files, is_target, node.desc())
