"""The two sides of a run: the columns of the query, the columns of the table, what is compared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.core.columns.schema import Column, Schema
from penstock.core.history import ColumnsDiffer, HashDiffers, NewerThan, Retention
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW
from penstock.core.strategy import Build, OnSchemaChange
from penstock.strategies.build import listed, texts_of
from penstock.strategies.comparing import converted, merged_type, same
from penstock.strategies.history.terms import OLD, TWICE, Terms


@dataclass(frozen=True, slots=True)
class Sides:
    """Query and table of one run. `table` is empty where there is none yet.

    `grows` is whether fields that only the query has come into the table. `texts` are the query's
    columns of text that partition the table.
    """

    terms: Terms
    query: Schema
    table: Schema
    partitioned: bool
    grows: bool = True
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, build: Build, terms: Terms) -> Sides:
        """Take what the engine needs of a build."""
        by_current = terms.columns.is_current.lower() in map(
            str.lower, build.model.layout.partition_by
        )
        grows = build.model.on_schema_change is not OnSchemaChange.IGNORE
        table = build.table or Schema()
        return cls(terms, build.query, table, by_current, grows, texts_of(build))

    @property
    def has_deleted(self) -> bool:
        """Whether the table has the column that marks tombstones."""
        return self.table.find(self.terms.columns.is_deleted) is not None

    @property
    def stored(self) -> tuple[Column, ...]:
        """The business columns of the table, as the table spells them."""
        system = {name.lower() for name in self.terms.columns.names}
        return tuple(c for c in self.table.columns if c.name.lower() not in system)

    @property
    def gone(self) -> tuple[Column, ...]:
        """Business columns of the table that the query no longer gives."""
        return tuple(c for c in self.stored if self.query.find(c.name) is None)

    @property
    def compared(self) -> tuple[Column, ...]:
        """The query's columns whose values decide, none where a time or a hash alone does."""
        match self.terms.change:
            case ColumnsDiffer(None):
                return self._but(self.terms.keys)
            case ColumnsDiffer(tuple() as names):
                keys = {key.lower() for key in self.terms.keys}
                found = (self.query.find(name) for name in names if name.lower() not in keys)
                return tuple(column for column in found if column is not None)
            case NewerThan(column, compare_rows=True):
                return self._but((*self.terms.keys, column))
            case _:
                return ()

    def _but(self, names: Iterable[str]) -> tuple[Column, ...]:
        left_out = {name.lower() for name in names}
        return tuple(c for c in self.query.columns if c.name.lower() not in left_out)

    @property
    def current(self) -> str:
        """The condition of a stored version being the current one of its key."""
        columns = self.terms.columns
        if self.partitioned:
            return f"{quoted(columns.is_current)} = true"
        return f"{quoted(columns.valid_to)} IS NULL"

    @property
    def tomb(self) -> str:
        """Whether a stored version is a tombstone, as SQL over the table's columns."""
        if not self.has_deleted:
            return "false"
        return f"coalesce({quoted(self.terms.columns.is_deleted)}, false)"

    @property
    def differs(self) -> str:
        """Whether a compared value of `s` differs from that of `c` (stored under `__c<n>`)."""
        terms = [self._same(column, number) for number, column in enumerate(self.compared)]
        return f"NOT ({' AND '.join(terms)})" if terms else "false"

    def _same(self, column: Column, number: int) -> str:
        name, known = f"s.{quoted(column.name)}", self.table.find(column.name)
        if known is None:
            return same(name, "NULL", column.type, None)
        if self.grows:
            return same(name, f"c.{stored_name(number)}", column.type, known.type)
        kept = converted(name, column.type, self.held(column))  # what is left out cannot differ
        return same(kept, f"c.{stored_name(number)}", self.held(column), known.type)

    def held(self, column: Column) -> str:
        """Give the type of a query's column after the commit: the wider of table's and query's."""
        known = self.table.find(column.name)
        return merged_type(known.type, column.type, grow=self.grows) if known else column.type

    def time_of(self, side: Schema) -> str | None:
        """Give SQL for the time of a row, comparable; None where the side has no such column."""
        name = self.terms.time_column
        column = side.find(name) if name else None
        if column is None:
            return None
        if column.type.startswith("string"):
            return f"try_cast({quoted(column.name)} AS TIMESTAMP)"
        if self.terms.event_time:
            return f"CAST({quoted(column.name)} AS TIMESTAMP)"
        return quoted(column.name)

    @property
    def hash_name(self) -> str | None:
        """The column that holds the hash that decides, None where there is none."""
        return self.terms.change.column if isinstance(self.terms.change, HashDiffers) else None


def stored_name(number: int) -> str:
    """Give the name under which a compared column of the table goes through the join."""
    return f"`__penstock_c{number}`"


def goes(retention: Retention, rank: str, closed_long_ago: str = "true") -> str:
    """Give the condition of a version being removed; `rank` 1 is the newest of its key and stays.

    >>> goes(Retention(keep_last=3), "r")
    '(r > 1 AND r > 3)'
    """
    conditions = [f"{rank} > 1"]
    if retention.keep_last is not None:
        conditions.append(f"{rank} > {retention.keep_last}")
    if retention.keep_days is not None:
        conditions.append(closed_long_ago)
    return "(" + " AND ".join(dict.fromkeys(conditions)) + ")"


def horizon(terms: Terms) -> str:
    """Give the instant at or before which a version must have been closed to be old."""
    days = terms.retention.keep_days if terms.retention else None
    return replace(terms, moment=terms.moment - dt.timedelta(days=days or 0)).at


def candidates(sides: Sides) -> str:
    """Give per key the versions that this run may remove, with their ranks before it.

    Of closed versions only key and interval are read. What opens in this run moves every rank by
    one, so a version of rank N is a candidate where N are kept. One that starts with the version
    before it cannot be told from that.
    """
    terms, retention = sides.terms, sides.terms.retention
    if retention is None:
        raise ValueError("no retention")
    valid_from, valid_to = quoted(terms.columns.valid_from), quoted(terms.columns.valid_to)
    keys = listed(terms.keys)
    window = f"OVER (PARTITION BY {keys} ORDER BY {valid_from} DESC)"
    ranked = (
        f"SELECT {keys}, {valid_from} AS at, {valid_to} AS until, row_number() {window} AS rank, "
        f"coalesce(lag({valid_from}) {window} = {valid_from}, false) AS twin "
        f"FROM {quoted(TARGET_VIEW)}"
    )
    conditions = [f"rank >= {retention.keep_last or 1}"]
    if retention.keep_days is not None:
        conditions.append(f"until <= {horizon(terms)}")
    return (
        f"SELECT {keys}, collect_list(struct(at, rank)) AS {OLD}, bool_or(twin) AS {TWICE} "
        f"FROM ({ranked}) "
        f"WHERE {' AND '.join(conditions)} GROUP BY {keys}"
    )
