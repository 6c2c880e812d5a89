"""The port of strategies: the questions that other rooms ask, and the values of the answers.

A strategy defines how a model's rows reach its table. Each is one class under `strategies/`: a
frozen dataclass of its settings that answers the questions below. Other code never asks which
strategy it is.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar, Protocol, Self

from penstock.core.columns.schema import Schema
from penstock.core.history import HistorySettings, Retention
from penstock.core.partitions.partition import Grid
from penstock.core.sessions.package import SessionModel, SessionPackage
from penstock.core.statement import QUERY_VIEW, Work


class NullWatermark(StrEnum):
    """What rows with NULL in a watermark column mean."""

    ERROR = "error"
    INCLUDE_FIRST = "include_first"
    DROP_COUNTED = "drop_counted"


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How an incremental model finds its new rows.

    `on` maps an input to the column of its window; None excludes the input. Inputs that it does not
    name have a window if they have `time_column`. `grain` is the unit at which windows begin: hour,
    day, week, month or year. With `overlaps` all inputs share one window, which begins at the
    watermark and includes equal values. `counts_late` counts the rows that came below a window.
    Rows of `guarded` windows are checked when they are written; functions have such windows, may
    open their own, and begin them at the units of their table.
    """

    time_column: str
    lookback: dt.timedelta | int | Decimal | None = None
    on: Mapping[str, str | None] = field(default_factory=dict)
    null_watermark: NullWatermark = NullWatermark.ERROR
    string_watermark: bool = False
    grain: str = ""
    overlaps: bool = False
    counts_late: bool = True
    guarded: bool = False

    @property
    def reads_again(self) -> bool:
        """Whether a window includes rows that the previous one has read."""
        return self.overlaps or bool(self.grain) or self.lookback is not None

    @property
    def fingerprint(self) -> Mapping[str, object]:
        """All settings: each affects which rows a step reads."""
        return {
            "time_column": self.time_column,
            "lookback": None if self.lookback is None else str(self.lookback),
            "on": dict(self.on),
            "null_watermark": str(self.null_watermark),
            "string_watermark": self.string_watermark,
            **({"grain": self.grain} if self.grain else {}),
        }


EVERY = 1 << 40
"""A number of partitions that no model has."""


@dataclass(frozen=True, slots=True)
class PartitionSettings:
    """How a model is partitioned, with a record for each partition.

    `field` is the column that determines the partition of a row, `type` its Spark type. With
    `ready_after` a partition is due that long after its end, otherwise at its beginning.
    `batch_size` is the greatest number of partitions in one step; None leaves it to the statement.
    `lookback` is the number of partitions before the newest that a run includes, and builds again
    if an input changed whose versions do not say where; `EVERY` includes all.
    """

    field: str
    type: str
    grid: Grid
    start: dt.date | None = None
    ready_after: dt.timedelta | None = None
    batch_size: int | None = None
    lookback: int | None = None


class Writing(StrEnum):
    """How the rows of a step are written, and so what happens to earlier rows.

    It also determines what the checks after a step read: its own rows, or the whole table.
    """

    WHOLE = "whole"
    """All rows are rebuilt."""
    ADDED = "added"
    """The files that the commit adds contain exactly the rows of the step."""
    RANGES = "ranges"
    """The rows of the step's partitions are replaced."""
    MERGED = "merged"
    """Rows are matched with existing rows."""


class OnSchemaChange(StrEnum):
    """The reaction if a query's columns differ from its table's.

    EXACT is for functions and cannot be set in files: any difference of names and types is an
    error.
    """

    EXACT = "exact"
    APPEND = "append"
    FAIL = "fail"
    IGNORE = "ignore"
    SYNC = "sync"


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a table on disk; a change applies only with `--full-refresh`."""

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


DELETION_VECTORS = "delta.enableDeletionVectors"
"""The property of tables that may hide rows instead of rewriting their files."""
STORED = frozenset(
    {"on_schema_change", "partition_by", "cluster_by", "table_properties", "deletion_vectors"}
)
"""The settings of every model with a table."""
WINDOWED = frozenset({"time_column", "lookback", "window_on", "null_watermark", "string_watermark"})
"""The settings that `GivenSettings.window` reads."""


class GivenSettings(Protocol):
    """The settings of one model from its files, layers merged; the project reads them.

    Contradictions are reported, never raised: loading collects all findings.
    """

    def text(self, key: str) -> str:
        """Return a setting as text, "" if it is not set."""

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a setting as a tuple of texts."""

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Report an error at the place of the key."""

    def warn(self, key: str, code: str, sentence: str) -> None:
        """Report a warning at the place of the key."""

    def window(self) -> WindowSettings | None:
        """Read the settings `WINDOWED`; None without a `time_column`."""

    def partitioning(self) -> PartitionSettings:
        """Read the settings of partitions."""

    def history(self) -> HistorySettings:
        """Read the settings of a history table."""

    def session(self) -> tuple[SessionPackage, SessionModel]:
        """Return the session package and its table."""
        ...


class Buildable(Protocol):
    """What a statement needs to know of its model."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def strategy(self) -> Strategy:
        """How its rows are written."""

    @property
    def layout(self) -> Layout:
        """The layout of its table."""

    @property
    def description(self) -> str:
        """The comment on its table."""

    @property
    def hides_rows(self) -> bool:
        """Whether a new table of it has deletion vectors."""

    @property
    def on_schema_change(self) -> OnSchemaChange:
        """The reaction when its columns change."""


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """The parameters of one run of a history table; `retention` is the one for this run.

    Other tables have the run timestamp alone.

    `properties` are the table's own properties, written with its first version. `changed` is the
    number of keys in the view of changed rows, if the step reads only those.
    """

    run_timestamp: dt.datetime
    retention: Retention | None = None
    allow_empty: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    changed: int | None = None


@dataclass(frozen=True, slots=True)
class Build:
    """One build of one model: the query is `penstock_query`, the current table `penstock_target`.

    - `target` is SQL for the table, `location` its folder if a catalog needs it.
    - `table` is its schema, None if the build creates or replaces the whole table.
    - `evolves` is whether the query adds columns or widens types.
    - Rows are read from the view `source`; `staged` requires rows that are known before the commit.
    - `partition_by` are the partition columns of the existing table, None if the model's layout
      decides.
    - `view_sql` is the SQL of a view for the catalog.
    - `replaced` is the condition of the rows that the query replaces, and `reruns` whether stored
      rows among them are deleted if it does not return them.
    - `rows_before` are the rows of a table that is replaced as a whole, None if its log does not
      contain them.
    - A query that `replays` returns the same rows each time.
    """

    model: Buildable
    target: str
    query: Schema
    table: Schema | None
    evolves: bool = False
    location: str = ""
    source: str = QUERY_VIEW
    staged: bool = False
    partition_by: tuple[str, ...] | None = None
    view_sql: str = ""
    history: HistoryRun | None = None
    replaced: str = ""
    reruns: bool = False
    rows_before: int | None = None
    replays: bool = False


class Strategy(ABC):
    """How a model's rows reach its table; by default each step replaces the table.

    - `name` is its word in files, `shown_name` the name in messages if it differs.
    - `settings` are the keys that it accepts beside those of every model.
    - `is_view` is whether nothing is stored, `is_written` whether files say `materialized: name`.
    - With `takes_feed` it stores the rows of the query unchanged, and reads them from
      `Build.source`.
    - With `is_incremental` an ordinary step runs other SQL, or reads less, than the first one.
    - `adds_again` is whether input that is read twice appears twice in the table.
    - `rerun_is_safe` is whether a step may be repeated if it is unknown whether it was committed.
    - With `moves_forward` no step may be earlier than a previous one.
    - With `by_passes` a pass of its package builds it, and no step of its own.
    - `command` is the command that builds it, `dbt` dbt's names for it: `materialized` and
      `incremental_strategy`.
    - `window` is how it finds new rows; None reads its inputs whole.
    - `replace_by` is the column of the sessions whose rows a pass of a package replaces, or "".
    """

    __slots__ = ()
    name: ClassVar[str] = ""
    shown_name: ClassVar[str] = ""
    settings: ClassVar[frozenset[str]] = frozenset()
    is_view: ClassVar[bool] = False
    is_written: ClassVar[bool] = True
    takes_feed: ClassVar[bool] = False
    is_incremental: ClassVar[bool] = False
    adds_again: ClassVar[bool] = False
    rerun_is_safe: ClassVar[bool] = False
    by_passes: ClassVar[bool] = False
    moves_forward: ClassVar[bool] = False
    hides_rows: ClassVar[bool] = False
    """Whether steps delete or merge rows: its tables then have deletion vectors."""
    command: ClassVar[str] = "run"
    dbt: ClassVar[tuple[str, str]] = ("table", "")
    window: WindowSettings | None = None
    replace_by: str = ""

    @classmethod
    @abstractmethod
    def read(cls, settings: GivenSettings) -> Self:
        """Read its settings; contradictions become findings."""

    @abstractmethod
    def work(self, build: Build) -> Work:
        """Return what one step runs: stages, then one commit. Runs nothing."""

    @property
    def writing(self) -> Writing:
        """How the rows of a step are written to the table."""
        return Writing.WHOLE

    @property
    def partitioning(self) -> PartitionSettings | None:
        """How it is partitioned; None without partitions."""
        return None

    @property
    def history(self) -> HistorySettings | None:
        """How it keeps versions of its rows; None if it keeps none."""
        return None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify its rows, in a history those of one point in time."""
        return ()

    @property
    def reads_slices(self) -> bool:
        """Whether a step reads its own files instead of inputs."""
        return False

    @property
    def keeps_rows(self) -> bool:
        """Whether an ordinary step keeps rows of earlier steps, built by any code.

        Then only a build from all inputs produces what code and inputs would give now. Histories do
        not count: their rows can never be rebuilt.
        """
        return False

    def fingerprint(self, layout: Layout) -> Mapping[str, object]:
        """Return the settings that change rows, as JSON values; column names in lower case.

        `layout` counts if it determines which rows are replaced.
        """
        del layout
        return {}

    def staying(self, layout: Layout, rows: str, target: str) -> str:
        """Return SQL for rows of the view `target` that stay when those of `rows` come; "" for all.

        It is used for strategies that write `ADDED`, to check the table before it is written.
        """
        del layout, rows, target
        return ""

    @classmethod
    def counts(cls, metrics: Mapping[str, int]) -> Mapping[str, int]:
        """Return the counts of a step that are in neither Delta's metrics nor the commit's token.

        Without metrics it returns every count of its steps beside the common row counts.
        """
        del metrics
        return {}


_registered: dict[str, type[Strategy]] = {}
# Filled once, while `penstock.strategies` is imported: shapes, settings and records know a
# strategy by its word alone, and handing a table of them through every reader would gain nothing.


def register(strategy: type[Strategy]) -> type[Strategy]:
    """Register a strategy under its word; each word has one strategy."""
    known = _registered.setdefault(strategy.name, strategy)
    if known is not strategy:
        raise ValueError(f"{strategy.name!r} is {known.__qualname__} already")
    return strategy


def strategies() -> Mapping[str, type[Strategy]]:
    """Return all strategies by their words, in order of registration."""
    return _registered


def strategy_named(word: str) -> type[Strategy]:
    """Return the strategy with a recorded word; cautious defaults if it no longer exists.

    >>> strategy_named("gone").rerun_is_safe
    False
    """
    return _registered.get(word, Strategy)


def shown_strategy(word: str) -> str:
    """Return the display name of a strategy."""
    return strategy_named(word).shown_name or word
