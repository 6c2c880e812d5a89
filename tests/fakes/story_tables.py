"""Where the tables of a story lie: rows in memory, or Delta tables on a disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fakes.clock import FixedClock
from fakes.folders import FakeFolders
from fakes.kept_rows import FakeRows
from fakes.row_lake import RowLake, RowLog
from fakes.story_project import EVENTS
from fakes.story_rows import Row
from penstock.app.services.services import Services
from penstock.app.services.wire import wired
from penstock.core.project import LeaseSettings, Project
from penstock.core.steps.token import write_fence
from penstock.project.load import load_project
from penstock.state.memory import MemoryStore

if TYPE_CHECKING:
    from pyspark.sql import Row as SqlRow
    from pyspark.sql import SparkSession

_TIME = "date_format(at, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\") AS at"


class RowTables:
    """Tables of a story in memory, without a JVM."""

    def __init__(self, root: Path, clock: FixedClock) -> None:
        self._root, self._clock = root, clock
        self._store = MemoryStore(clock, LeaseSettings(), is_gone=lambda _: False)
        self.lake = RowLake(self._signature)
        self.fault: Callable[[str], None] | None = None
        self._project: Project | None = None

    def services(self, *, anew: bool) -> Services:
        if anew or self._project is None:
            self._project = load_project(self._root, environ={})
        log = RowLog(self.lake)
        return Services(
            project=self._project,
            log=log,
            places=log,
            folders=FakeFolders(),
            engine=self.lake,  # type: ignore[arg-type]  # a lake is its own engine
            clock=self._clock,
            open_reading=lambda: self._store,
            open_writing=lambda: self._store,
            has_state=lambda: True,
            is_gone=lambda _: False,
            fences=log,
            kept_rows=FakeRows(),
            fence_token=lambda intent: write_fence(intent, *self._signature()),
            fault=self.fault,
        )

    def _signature(self) -> tuple[str, str]:
        return "0.1.0", self._store.archive.store_id()

    def deliver(self, rows: Sequence[tuple[object, ...]]) -> None:
        self.lake.insert(f"{self._root}/landing/events", EVENTS, *rows)

    def rows(self, name: str) -> list[Row]:
        where = "landing" if name == "events" else "warehouse/m"
        return list(self.lake.rows(f"{self._root}/{where}/{name}"))

    def meddle(self, model: str) -> None:
        uri = f"{self._root}/warehouse/m/{model}"
        table = self.lake.tables.get(uri)
        if table is not None and table.rows:
            self.lake.write(uri, table.names, table.rows[1:], operation="DELETE")

    def fail(self, model: str) -> None:
        self.lake.broken = {*self.lake.broken, model} if model else set()


class DeltaTables:
    """Delta tables of a story, and a state store beside them."""

    def __init__(self, root: Path, clock: FixedClock, spark: SparkSession) -> None:
        self._root, self._clock, self._spark = root, clock, spark
        self._sql(
            f"CREATE TABLE {self._table('events')} "
            "(id INT, v INT, at TIMESTAMP, day DATE) USING delta"
        )

    def services(self, *, anew: bool) -> Services:
        return wired(load_project(self._root, environ={}), self._clock, self._spark)

    def deliver(self, rows: Sequence[tuple[object, ...]]) -> None:
        values = ", ".join(
            f"({key}, {value}, TIMESTAMP '{at}', DATE '{day}')" for key, value, at, day in rows
        )
        self._sql(f"INSERT INTO {self._table('events')} VALUES {values}")

    def rows(self, name: str) -> list[Row]:
        if not Path(self._uri(name), "_delta_log").is_dir():
            return []
        columns = self._spark.table(self._table(name)).columns
        texts = {"at": _TIME, "day": "CAST(day AS STRING) AS day"}
        chosen = ", ".join(texts.get(each, each) for each in columns)
        return [each.asDict() for each in self._sql(f"SELECT {chosen} FROM {self._table(name)}")]

    def meddle(self, model: str) -> None:
        found = self.rows(model)
        if found:
            name, value = next(iter(found[0].items()))
            literal = f"DATE '{value}'" if name == "day" else str(value)
            self._sql(f"DELETE FROM {self._table(model)} WHERE {name} = {literal}")

    def fail(self, model: str) -> None:
        """Let nothing fail: what the engine does with failures is told elsewhere."""

    def _uri(self, name: str) -> str:
        where = "landing" if name == "events" else "warehouse/m"
        return f"{self._root}/{where}/{name}"

    def _table(self, name: str) -> str:
        return f"delta.`{self._uri(name)}`"

    def _sql(self, text: str) -> list[SqlRow]:
        return self._spark.newSession().sql(text).collect()
