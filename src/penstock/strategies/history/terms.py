"""One run of one history table: its terms, its two sides, and its column names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace

from penstock.core import history
from penstock.core.columns.schema import Column, Schema
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW
from penstock.core.strategy import Build, OnSchemaChange
from penstock.strategies.build import listed, same_key, texts_of
from penstock.strategies.values import convert, equals, merged_type

ALONE = "penstock_alone"
CHANGED_ROWS = "penstock_changed"
LEFT_KEYS = "penstock_left"
SOURCE_SIDE = "penstock_source_side"
TABLE_SIDE = "penstock_table_side"
SEEN = "penstock_seen"
FOUND = "penstock_found"
FETCHED = "penstock_fetched"
STAGED = "penstock_staged"
LATE_SEEN = "penstock_late_seen"
LATE_STAGED = "penstock_late_staged"
GONE_SEEN = "penstock_gone_seen"
TOMBSTONES = "penstock_tombstones"

IN_SOURCE = "`__penstock_in_source`"
IN_TABLE = "`__penstock_in_table`"
TIME = "`__penstock_time`"
STORED_TIME = "`__penstock_stored_time`"
IGNORED = "`__penstock_ignored`"
NULL_KEY = "`__penstock_null_key`"
NULL_TIME = "`__penstock_null_time`"
NO_TIME = "`__penstock_no_time`"
COPIES = "`__penstock_copies`"
PLACE = "`__penstock_place`"
EARLY = "`__penstock_early`"
TIED = "`__penstock_tied`"
TWICE = "`__penstock_twice`"
CLASS = "`__penstock_class`"
TOMB = "`__penstock_tomb`"
CHANGED = "`__penstock_changed`"
IN_SCOPE = "`__penstock_in_scope`"
OLD = "`__penstock_old`"
NEW = "`__penstock_new`"
PRUNED = "`__penstock_pruned`"
OPS = "`__penstock_ops`"
OP = "`__penstock_op`"
AT = "`__penstock_at`"
FROM = "`__penstock_from`"
TO = "`__penstock_to`"
GONE = "`__penstock_gone`"
ROWS = "`__penstock_rows`"
OPEN_TO = "`__penstock_open_to`"
CLOSE_TO = "`__penstock_close_to`"

NO_INSTANT = "CAST(NULL AS TIMESTAMP)"


def operation(word: str, at: str = NO_INSTANT) -> str:
    """Return SQL for the MERGE's operation on a row, with the version it applies to."""
    return f"struct('{word}' AS op, {at} AS at)"


@dataclass(frozen=True, slots=True)
class Terms(history.HistorySettings):
    """One run of one history table: its settings for this run.

    `moment` is the run timestamp. A key missing in the source closes if its current version meets
    `scope`, a condition on the table's columns; this also sets the columns of `missing_sets` to SQL
    values. `order` are the columns of a new table, if they differ from the query's columns followed
    by those of the engine.
    """

    _: KW_ONLY
    moment: dt.datetime
    scope: str = ""
    missing_sets: tuple[tuple[str, str], ...] = ()
    order: tuple[str, ...] = ()

    @property
    def closes_missing(self) -> bool:
        """Whether a missing key closes its current version."""
        return self.hard_deletes is not history.HardDeletes.IGNORE

    @property
    def at(self) -> str:
        """The run timestamp as an SQL literal."""
        return f"TIMESTAMP '{self.moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"

    @property
    def time_column(self) -> str | None:
        """The column with the time of a row, None if changes are detected otherwise."""
        return self.change.column if isinstance(self.change, history.NewerThan) else None

    @property
    def made_hash(self) -> history.HashDiffers | None:
        """The hash that the engine computes itself, None if there is none."""
        by_hash = self.change if isinstance(self.change, history.HashDiffers) else None
        return by_hash if by_hash and by_hash.hashed is not None else None

    def is_key(self, column: Column) -> bool:
        """Return whether a column is one of the keys."""
        return column.name.lower() in {key.lower() for key in self.keys}

    def on(self, left: str, right: str, *, stored: bool = True) -> str:
        """Return the condition that two rows have the same key.

        Stored keys may be NULL even under `null_keys: error`: the setting may have changed.
        """
        return same_key(self.keys, left, right, matches_null=stored or self.match_null_keys)


@dataclass(frozen=True, slots=True)
class Sides:
    """Query and table of one run. `table` is empty if there is none yet.

    - `grows` is whether new fields of the query are added to the table.
    - `texts` are the query's text columns that partition the table.
    - The query `replays` if it returns the same rows each time.
    - Without `twins` no key has two current versions, without `copies` no key has two rows. Both
      are assumptions, verified by the row counts of each side if it `counts` them.
    - The few keys with several rows are processed `apart`; they are in the view `ALONE`.
    - If the sides are `narrow`, only columns that show changes are joined; others are fetched
      later.
    - `changed` is the number of keys that changed, if other keys are left out on both sides.
    """

    terms: Terms
    query: Schema
    table: Schema
    partitioned: bool
    grows: bool = True
    texts: tuple[str, ...] = ()
    replays: bool = False
    twins: bool = True
    copies: bool = True
    apart: bool = False
    counts: bool = False
    narrow: bool = False
    changed: int | None = None

    @classmethod
    def of(cls, build: Build, terms: Terms) -> Sides:
        """Return the sides of a build."""
        partition_by = {name.lower() for name in build.model.layout.partition_by}
        grows = build.model.on_schema_change is not OnSchemaChange.IGNORE
        by_current = terms.columns.is_current.lower() in partition_by
        table = build.table or Schema()
        return cls(terms, build.query, table, by_current, grows, texts_of(build), build.replays)

    @property
    def has_deleted(self) -> bool:
        """Whether the table has a tombstone column."""
        return self.table.find(self.terms.columns.is_deleted) is not None

    @property
    def stored(self) -> tuple[Column, ...]:
        """The business columns of the table, in the table's spelling."""
        system = {name.lower() for name in self.terms.columns.names}
        return tuple(c for c in self.table.columns if c.name.lower() not in system)

    @property
    def lost_columns(self) -> tuple[Column, ...]:
        """Business columns of the table that the query no longer returns."""
        return tuple(c for c in self.stored if self.query.find(c.name) is None)

    @property
    def decisive(self) -> tuple[Column, ...]:
        """The query's columns that decide a change; empty if a time or a hash alone does."""
        match self.terms.change:
            case history.ColumnsDiffer(None):
                return self._columns_but(self.terms.keys)
            case history.ColumnsDiffer(tuple() as names):
                found = (self.query.find(name) for name in names)
                return tuple(c for c in found if c is not None and not self.terms.is_key(c))
            case history.NewerThan(column, compare_rows=True):
                return self._columns_but((*self.terms.keys, column))
            case _:
                return ()

    def _columns_but(self, names: Iterable[str]) -> tuple[Column, ...]:
        left_out = {name.lower() for name in names}
        return tuple(c for c in self.query.columns if c.name.lower() not in left_out)

    @property
    def is_current(self) -> str:
        """The condition for current versions."""
        columns = self.terms.columns
        if self.partitioned:
            return f"{quoted(columns.is_current)} = true"
        return columns.is_open()

    @property
    def is_repeated(self) -> str:
        """SQL over current versions: whether a key has several of them."""
        return (
            f"count(*) OVER (PARTITION BY {listed(self.terms.keys)}) > 1" if self.twins else "false"
        )

    @property
    def is_tomb(self) -> str:
        """SQL over the table's columns: whether a version is a tombstone."""
        return tomb_sql(self.terms.columns, self.table)

    @property
    def is_changed(self) -> str:
        """SQL for whether a compared value of `s` differs from that of `c` (stored as `__c<n>`)."""
        terms = [self._same_value(column, number) for number, column in enumerate(self.decisive)]
        return f"NOT ({' AND '.join(terms)})" if terms else "false"

    def _same_value(self, column: Column, number: int) -> str:
        name, known = f"s.{quoted(column.name)}", self.table.find(column.name)
        if known is None:
            return equals(name, "NULL", column.type, None)
        if self.grows:
            return equals(name, f"c.{stored_name(number)}", column.type, known.type)
        kept = convert(name, column.type, self.type_of(column))  # what is left out cannot differ
        return equals(kept, f"c.{stored_name(number)}", self.type_of(column), known.type)

    def type_of(self, column: Column) -> str:
        """Return the type of a query's column after the commit: the wider of the two."""
        known = self.table.find(column.name)
        return merged_type(known.type, column.type, grow=self.grows) if known else column.type

    def time_sql(self, side: Schema) -> str | None:
        """Return SQL for the time of a row, comparable; None if the side has no such column."""
        column = side.find(self.terms.time_column or "")
        if column is None:
            return None
        if column.type.startswith("string") or self.terms.event_time:
            return as_instant(column)
        return quoted(column.name)

    @property
    def hash_name(self) -> str | None:
        """The column of the hash that decides, None if there is none."""
        change = self.terms.change
        return change.column if isinstance(change, history.HashDiffers) else None


def carried_columns(sides: Sides) -> tuple[Column, ...]:
    """Return the query's columns for the join with the table."""
    if not sides.narrow:
        return sides.query.columns
    deciding = (*sides.terms.keys, *sides.texts, sides.terms.time_column, sides.hash_name)
    names = {name.lower() for name in deciding if name}
    return tuple(c for c in sides.query.columns if c.name.lower() in names)


def flag_sql(sides: Sides, *, is_deleted: bool) -> str:
    """Return the flag of tombstones as the table stores it: dbt on Spark writes a text."""
    known = sides.table.find(sides.terms.columns.is_deleted)
    is_text = sides.terms.columns.scd_id and not (known and known.type == "boolean")
    return f"'{is_deleted}'" if is_text else str(is_deleted).lower()


def tomb_sql(columns: history.SystemColumns, table: Schema) -> str:
    """Return SQL over the table's columns: whether a version is a tombstone."""
    if table.find(columns.is_deleted) is None:
        return "false"
    flag = quoted(columns.is_deleted)
    return f"coalesce({f'try_cast({flag} AS BOOLEAN)' if columns.scd_id else flag}, false)"


def as_instant(column: Column) -> str:
    """Return SQL for a column as a TIMESTAMP; an invalid text gives NULL."""
    cast = "try_cast" if column.type.startswith("string") else "CAST"
    return f"{cast}({quoted(column.name)} AS TIMESTAMP)"


def stored_name(number: int) -> str:
    """Return the name of a compared table column in the join."""
    return f"`__penstock_c{number}`"


def is_removed(retention: history.Retention, rank: str, closed_long_ago: str = "true") -> str:
    """Return the condition for a removed version; `rank` 1, the newest of its key, stays."""
    conditions = [f"{rank} > 1"]
    if retention.keep_last is not None:
        conditions.append(f"{rank} > {retention.keep_last}")
    if retention.keep_days is not None:
        conditions.append(closed_long_ago)
    return "(" + " AND ".join(dict.fromkeys(conditions)) + ")"


def horizon(terms: Terms) -> str:
    """Return the time before which a version must have been closed to be removed."""
    days = terms.retention.keep_days if terms.retention else None
    return replace(terms, moment=terms.moment - dt.timedelta(days=days or 0)).at


def candidates(sides: Sides) -> str:
    """Return, per key, the versions that this run may remove, with their ranks before it.

    A version opened in this run moves every rank by one, so a version of rank N is a candidate if N
    are kept. A version that starts together with the previous one cannot be distinguished from it.
    """
    columns, keys, retention = sides.terms.columns, listed(sides.terms.keys), sides.terms.retention
    if retention is None:
        raise ValueError("no retention")
    valid_from, valid_to = quoted(columns.valid_from), quoted(columns.valid_to)
    window = f"OVER (PARTITION BY {keys} ORDER BY {valid_from} DESC)"
    ranked = (
        f"SELECT {keys}, {valid_from} AS at, {columns.end(valid_to)} AS until, "
        f"row_number() {window} AS rank, "
        f"coalesce(lag({valid_from}) {window} = {valid_from}, false) AS twin "
        f"FROM {quoted(TARGET_VIEW)}"
    )
    conditions = [f"rank >= {retention.keep_last or 1}"]
    if retention.keep_days is not None:
        conditions.append(f"until <= {horizon(sides.terms)}")
    return (
        f"SELECT {keys}, collect_list(struct(at, rank)) AS {OLD}, bool_or(twin) AS {TWICE} "
        f"FROM ({ranked}) "
        f"WHERE {' AND '.join(conditions)} GROUP BY {keys}"
    )
