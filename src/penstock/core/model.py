"""Models and sources as the project defines them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.findings import Location
from penstock.core.history import Snapshot
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.query import Query


class NullWatermark(StrEnum):
    """What rows with NULL in a watermark column mean (spec/state.md §6)."""

    ERROR = "error"
    INCLUDE_FIRST = "include_first"
    DROP_COUNTED = "drop_counted"


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How an incremental model finds its new rows.

    `on` maps an input to the column its window is put on; None takes the input out of it. Inputs
    that it does not name are windowed when they carry `time_column`.
    """

    time_column: str
    lookback: dt.timedelta | int | None = None
    on: Mapping[str, str | None] = field(default_factory=dict)
    null_watermark: NullWatermark = NullWatermark.ERROR
    string_watermark: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """A name for a query; nothing is stored."""


@dataclass(frozen=True, slots=True)
class Table:
    """The query replaces the table, or only the partitions that its result holds."""

    overwrite_partitions: bool = False


@dataclass(frozen=True, slots=True)
class Append:
    """Rows of the window are added; without a window the query itself selects only new rows."""

    window: WindowSettings | None


@dataclass(frozen=True, slots=True)
class Merge:
    """Rows whose key exists are updated, others inserted; rows gone from the query stay.

    `order_by` decides between rows with one key (`on_duplicate: latest`); empty means that such
    rows are an error. `match_null_keys` compares keys null-safe instead of refusing NULL.
    """

    keys: tuple[str, ...]
    window: WindowSettings | None
    order_by: tuple[str, ...] = ()
    match_null_keys: bool = False


Strategy = View | Table | Append | Merge | Snapshot


def strategy_name(strategy: Strategy) -> str:
    """Give the word users write for it.

    >>> strategy_name(View())
    'view'
    """
    return type(strategy).__name__.lower()


def window_settings(strategy: Strategy) -> WindowSettings | None:
    """Give the window settings of a strategy that has any."""
    return strategy.window if isinstance(strategy, Append | Merge) else None


class OnSchemaChange(StrEnum):
    """What happens when a query's columns differ from its table's (spec/project.md §3)."""

    APPEND = "append"
    FAIL = "fail"
    IGNORE = "ignore"
    SYNC = "sync"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table lies on disk; a change applies only with `--full-refresh`."""

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnDoc:
    """What the project says of a column."""

    name: str
    description: str = ""
    type: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What code made some rows: checksums of the SQL as written and as meant (spec/drift.md §4).

    `settings` are those that change rows; `layout` is how the table lies and what is said of it,
    in no drift, because the rows stay the same.
    """

    sql: str
    canonical: str
    settings: str = ""
    layout: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """One table or view to build, with every setting resolved."""

    name: str
    table: TableName
    where: Location
    strategy: Strategy
    query: Query
    fingerprint: Fingerprint
    depends_on: tuple[str, ...] = ()
    layout: Layout = Layout()
    on_schema_change: OnSchemaChange = OnSchemaChange.APPEND
    columns: tuple[ColumnDoc, ...] = ()
    description: str = ""
    tags: tuple[str, ...] = ()
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_view(self) -> bool:
        """Whether nothing is stored for it."""
        return isinstance(self.strategy, View)

    @property
    def is_snapshot(self) -> bool:
        """Whether `penstock snapshot run` builds it, and `penstock run` does not."""
        return isinstance(self.strategy, Snapshot)

    @property
    def strategy_name(self) -> str:
        """The word users write for its strategy."""
        return strategy_name(self.strategy)

    @property
    def input_name(self) -> InputName:
        """Its name as an input of other models."""
        return InputName(InputKind.MODEL, self.name)


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the newest row of a source may be."""

    column: str
    warn_after: dt.timedelta | None = None
    error_after: dt.timedelta | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A table or files that penstock reads and does not build.

    `path` is a URI or an absolute path; it is "" for a table of the Spark catalog.
    """

    table: TableName
    where: Location
    path: str
    format: str = "delta"
    options: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[ColumnDoc, ...] = ()
    description: str = ""
    freshness: Freshness | None = None
    partition_column: str = ""

    @property
    def is_delta(self) -> bool:
        """Whether its versions are those of a Delta log."""
        return self.format.lower() == "delta"

    @property
    def input_name(self) -> InputName:
        """Its name as an input of models."""
        return InputName(InputKind.SOURCE, str(self.table))


@dataclass(frozen=True, slots=True)
class Seed:
    """A file under seeds/ that `penstock seed` loads as a table."""

    name: str
    table: TableName
    where: Location
    path: str
    format: str
    digest: str
    columns: tuple[ColumnDoc, ...] = ()
