"""A lake of rows in memory: Delta tables without a JVM, whose SQL is run by SQLite.

Tables keep the rows of every version. Logs tell of each commit where it changed rows, as one file
with the bounds of all of them: more may be told than was changed, never less.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fakes.row_session import TYPES, RowSession, Table, bounds
from penstock.core.columns.schema import Column, Schema
from penstock.core.facts import AddedFile, Head, Listing, LogCommit, TableFacts, Touched
from penstock.core.findings import Location
from penstock.core.model import Source
from penstock.core.partitions.partition import Span, position
from penstock.core.ports.engine import FrameReaders
from penstock.core.steps.step import PartitionRows
from penstock.core.steps.token import read_metrics, signed_by

BEGIN = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
UNITS = {"date": 86_400_000_000}
Rows = Sequence[tuple[object, ...]]


@dataclass
class RowLake:
    """Tables by folder. `broken` names models whose next commit fails before it is made."""

    signature: Callable[[], tuple[str, str]] = lambda: ("0.1.0", "store-1")
    tables: dict[str, Table] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    made: int = 0

    def write(  # the sides of one commit
        self,
        uri: str,
        names: tuple[str, ...],
        rows: Rows,
        *,
        operation: str = "WRITE",
        token: str = "",
    ) -> None:
        """Let a table hold these rows from now on; what differs from before was changed."""
        table, creates = self.tables.get(uri), operation.startswith(("CREATE", "REPLACE"))
        if table is None or creates:
            self.made += 1
            table = self.tables[uri] = Table(f"id-{self.made}", names, table)
        before = Counter(table.rows)
        now = Counter(rows)
        added, removed = tuple((now - before).elements()), tuple((before - now).elements())
        step, store = signed_by(token)
        table.names = names
        table.versions.append(tuple(rows))
        table.changes.append((added, removed))
        table.commits.append(
            LogCommit(
                version=len(table.commits),
                time=BEGIN + dt.timedelta(seconds=len(table.commits)),
                operation=operation,
                changes_data=bool(added or removed),
                step=step,
                store=store,
                metrics={
                    "numOutputRows": len(added),
                    "numTargetRowsInserted": len(added),
                    **read_metrics(token),
                },
                token=token,
                table_id=table.table_id if creates or len(table.commits) == 0 else "",
                row_change=len(added) - len(removed),
                overwrites=creates,
            )
        )

    def insert(self, uri: str, names: tuple[str, ...], *rows: tuple[object, ...]) -> None:
        """Append rows as somebody else would; the first ones make the table."""
        table = self.tables.get(uri)
        self.write(uri, names, (*(table.rows if table else ()), *rows))

    def rows(self, uri: str) -> list[dict[str, object]]:
        """Give what a table holds now."""
        table = self.tables.get(uri)
        return [dict(zip(table.names, row, strict=True)) for row in table.rows] if table else []

    @contextmanager
    def session(self, model: str, where: Location | None = None) -> Iterator[RowSession]:
        """Open the session of one step."""
        yield RowSession(self, model, where)

    @contextmanager
    def sharing(self, frames: Mapping[str, FrameReaders]) -> Iterator[None]:
        yield

    def require(self, *, writes: bool = False) -> None:
        """Need nothing."""

    def cancel(self) -> None:
        """Have nothing under way."""

    def stop(self) -> None:
        """Keep what is there."""


@dataclass(frozen=True)
class RowLog:
    """The logs of a lake: what commits did, and where."""

    lake: RowLake

    def head(self, uri: str, hint: int | None = None) -> Head | None:
        table = self.lake.tables.get(uri)
        return Head(len(table.commits) - 1, table.commits[-1].step) if table else None

    def facts(
        self,
        uri: str,
        *,
        counts: bool = False,
        hint: int | None = None,
        version: int | None = None,
    ) -> TableFacts | None:
        table = self.lake.tables.get(uri)
        if table is None:
            return None
        schema = Schema(tuple(Column(name, TYPES[name]) for name in table.names))
        return TableFacts(table.table_id, len(table.commits) - 1, schema)

    def commits(self, uri: str, after: int, *, partial: bool = False) -> tuple[LogCommit, ...]:
        table = self.lake.tables.get(uri)
        return tuple(table.commits[after + 1 :]) if table else ()

    def transaction(self, uri: str, application: str) -> int:
        table = self.lake.tables.get(uri)
        return table.transactions.get(application, 0) if table else 0

    def fence(self, uri: str, application: str, number: int, token: str) -> bool:
        table = self.lake.tables.get(uri)
        if table is None:
            return False
        if table.transactions.get(application, 0) < number:
            self.lake.write(uri, table.names, table.rows, operation="FENCE", token=token)
            table.transactions[application] = number
        return True

    def is_cluttered(self, uri: str) -> bool:
        return False

    def added(self, uri: str, after: int, upto: int) -> tuple[AddedFile, ...] | None:
        table = self.lake.tables[uri]
        found = []
        for version in range(after + 1, upto + 1):
            rows, removed = table.changes[version]
            if removed:
                return None
            if rows:
                low, high, nulls = bounds(table.names, rows)
                found.append(AddedFile(f"part-{version}", low, high, nulls))
        return tuple(found)

    def partitions(self, uri: str) -> list[dict[str, str | None]]:
        return []

    def listing(self, source: Source) -> Listing:
        raise NotImplementedError(source.path)

    def touched(
        self,
        uri: str,
        after: int,
        columns: Mapping[str, str],
        *,
        upto: int | None = None,
        partial: bool = False,
    ) -> tuple[Touched, ...]:
        table = self.lake.tables[uri]
        return tuple(
            Touched(c.version, c.time, c.operation, c.step, c.store, c.user, spans)
            for c in table.commits[after + 1 : None if upto is None else upto + 1]
            if c.changes_data
            for spans in ({name: self._span(table, c.version, name) for name in columns},)
        )

    def _span(self, table: Table, version: int, column: str) -> tuple[Span, ...] | None:
        added, removed = table.changes[version]
        low, high, _ = bounds(table.names, (*added, *removed))
        if column not in low:
            return None
        kind = TYPES[column]
        first, last = position(low[column], kind), position(high[column], kind)
        assert first is not None
        assert last is not None
        return ((first, last + UNITS.get(kind, 1)),)

    def written(
        self, uri: str, version: int, column: str, kind: str
    ) -> Mapping[int, PartitionRows] | None:
        return None

    def lying(self, uri: str, column: str, kind: str) -> tuple[Span, ...]:
        table = self.lake.tables.get(uri)
        if table is None:
            return ()
        at = table.names.index(column)
        places = sorted({position(str(row[at]), kind) for row in table.rows})
        return tuple((p, p + UNITS.get(kind, 1)) for p in places if p is not None)

    def missing_files(self, uri: str, version: int) -> int:
        return 0
