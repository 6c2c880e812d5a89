"""What a run reads of the events table, asked of Spark's own record of its executions."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from place import Place

_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


class EventReads:
    """Sizes of the files of the events that scans read, and how many jobs there were by step."""

    def __init__(self, place: Place) -> None:
        self._place = place
        spark: Any = place.spark
        self._bus = spark.sparkContext._jsc.sc().listenerBus()  # noqa: SLF001  Py4J alone knows it
        self._store = spark._jsparkSession.sharedState().statusStore()  # noqa: SLF001
        self.scans: list[int] = []
        self.files = 0
        self.jobs = 0
        self.statements: Counter[str] = Counter()

    @property
    def size(self) -> int:
        """All bytes that were read."""
        return sum(self.scans)

    def processor(self) -> float:
        """Give the seconds of processor that this process and its JVM have had."""
        jvm: Any = self._place.spark.sparkContext._jvm  # type: ignore[union-attr]  # noqa: SLF001
        number = jvm.java.lang.ProcessHandle.current().pid()
        said = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        own = os.times()
        return own.user + own.system + (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")

    def watch(self, work: Callable[[], object]) -> None:
        """Do it, and look at what it executed."""
        self._bus.waitUntilEmpty()
        every = self._store.executionsList()
        before = every.last().executionId() if every.size() else -1
        work()
        self._bus.waitUntilEmpty()
        every = self._store.executionsList()
        for execution in map(every.apply, range(every.size())):
            if execution.executionId() > before:
                self._take(execution)

    def _take(self, execution: Any) -> None:  # noqa: ANN401  it is Java
        self.jobs += execution.jobs().size()
        took = execution.completionTime()
        millis = took.get().getTime() - execution.submissionTime() if took.isDefined() else 0
        self.statements[execution.description()[:100]] += millis
        number = execution.executionId()
        values, nodes = (
            self._store.executionMetrics(number),
            self._store.planGraph(number).allNodes(),
        )
        for node in map(nodes.apply, range(nodes.size())):
            if node.name().startswith("Scan parquet") and "landing/events" in node.desc():
                for each in map(node.metrics().apply, range(node.metrics().size())):
                    value = values.get(each.accumulatorId())
                    if each.name() == "size of files read" and value.isDefined():
                        self.scans.append(_size(value.get()))
                    if each.name() == "number of files read" and value.isDefined():
                        self.files += int(value.get().replace(",", ""))


def _size(told: str) -> int:
    found = re.search(r"([\d.,]+) (B|KiB|MiB|GiB)", told)
    assert found, told
    return round(float(found[1].replace(",", "")) * _UNITS[found[2]])
