"""The port of strategies: what anybody may ask of one, and the values that it answers with.

A strategy says how a model's rows reach its table. Each is one class under `strategies/`: a frozen
dataclass of its settings that answers the questions below. Nobody else asks which one it is.
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

    `on` maps an input to the column its window is put on; None takes the input out of it. Inputs
    that it does not name are windowed when they carry `time_column`. `grain` is the unit on which
    windows begin: hour, day, week, month or year. With `overlaps` all inputs have one window, which
    begins at the watermark and takes its ties in. `counts_late` asks for the rows that came below
    a window. Rows behind `guarded` windows are held against them as they are written; functions
    have such ones, may open some by themselves, and begin them on the units of their table.
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
        """Whether a window takes in rows that the one before it has read."""
        return self.overlaps or bool(self.grain) or self.lookback is not None

    @property
    def fingerprint(self) -> Mapping[str, object]:
        """All of them: each decides which rows a step reads."""
        return {
            "time_column": self.time_column,
            "lookback": None if self.lookback is None else str(self.lookback),
            "on": dict(self.on),
            "null_watermark": str(self.null_watermark),
            "string_watermark": self.string_watermark,
            **({"grain": self.grain} if self.grain else {}),
        }


@dataclass(frozen=True, slots=True)
class PartitionSettings:
    """How a model is cut into partitions, each remembered by itself.

    `field` is the column that says to which partition a row belongs, `type` its Spark type. With
    `ready_after` a partition is due when it ended that long ago, without when it has begun.
    `batch_size` is how many partitions one step may make; None leaves it to the statement.
    """

    field: str
    type: str
    grid: Grid
    start: dt.date | None = None
    ready_after: dt.timedelta | None = None
    batch_size: int | None = None


class Writing(StrEnum):
    """How the rows of a step come into its table, and so what becomes of those before.

    It is also what the checks after a step look at: its own rows, or all that it leaves.
    """

    WHOLE = "whole"
    """All rows are made anew."""
    ADDED = "added"
    """The files that the commit adds hold exactly the rows of the step."""
    RANGES = "ranges"
    """The rows of the step's partitions are replaced."""
    MERGED = "merged"
    """Rows are matched with those that are there."""


class OnSchemaChange(StrEnum):
    """What happens when a query's columns differ from its table's.

    EXACT is that of functions, which no file may ask for: any difference of
    names and types is an error.
    """

    EXACT = "exact"
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


DELETION_VECTORS = "delta.enableDeletionVectors"
"""The property of a table whose rows may be hidden, instead of their files being rewritten."""
STORED = frozenset(
    {"on_schema_change", "partition_by", "cluster_by", "table_properties", "deletion_vectors"}
)
"""The settings of whatever has a table."""
WINDOWED = frozenset({"time_column", "lookback", "window_on", "null_watermark", "string_watermark"})
"""The settings that `GivenSettings.window` reads."""


class GivenSettings(Protocol):
    """The settings of one model as its files give them, layers merged; the project reads them.

    What does not go together is reported, never raised: loading collects all findings.
    """

    def text(self, key: str) -> str:
        """Return a setting as text, "" if it is not set."""

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a setting as a tuple of texts."""

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Note an error where the key was set."""

    def warn(self, key: str, code: str, sentence: str) -> None:
        """Note a warning where the key was set."""

    def window(self) -> WindowSettings | None:
        """Read the settings `WINDOWED`; None without a `time_column`."""

    def partitioning(self) -> PartitionSettings:
        """Read the settings of partitions."""

    def history(self) -> HistorySettings:
        """Read the settings of a history table."""

    def session(self) -> tuple[SessionPackage, SessionModel]:
        """Return the session package, and the table of it that is meant."""
        ...


class Buildable(Protocol):
    """What a statement needs to know of its model."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def strategy(self) -> Strategy:
        """How its rows reach its table."""

    @property
    def layout(self) -> Layout:
        """How its table lies."""

    @property
    def description(self) -> str:
        """What is said of its table."""

    @property
    def hides_rows(self) -> bool:
        """Whether a new table of it has deletion vectors."""

    @property
    def on_schema_change(self) -> OnSchemaChange:
        """What happens when its columns change."""


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """What one run asks of a history table; `retention` is the one of this run.

    `properties` are what the table says of itself, written with its first version.
    """

    run_timestamp: dt.datetime
    retention: Retention | None = None
    allow_empty: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Build:
    """One build of one model: the query is `penstock_query`, the table so far `penstock_target`.

    `target` is SQL for the table, `location` its folder where a catalog must be told. `table` is
    its schema, None when the build creates or replaces it whole. `evolves` is whether the query
    adds columns or widens types. Rows are taken from the view `source`; `staged` asks for rows
    that are known before the commit. `partition_by` are the columns that partition the table that
    is there, None where the model's layout decides. `view_sql` is what a catalog keeps of a view.
    `replaced` is the condition on rows of the table that those of the query take the place of,
    and `reruns` whether somebody asked for these to be made again. `rows_before` are the rows of a
    table that is replaced as a whole, None where its log does not tell. A query that `replays`
    gives the same rows each time.
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
    """How a model's rows reach its table; without more a table that each step makes anew.

    `name` is the word users write, `shown_name` the one that people read where it is another one;
    `settings` are the keys that it takes beside those of every
    model. `is_view` is whether nothing is stored, `is_written` whether files say
    `materialized: name`. With `takes_feed` it stores the rows that the
    query gives, each as it is, and takes them from `Build.source`. With `is_incremental` an
    ordinary step runs other SQL, or reads less, than one that makes the table. `adds_again` is
    whether input that is read twice is in the table twice. `rerun_is_safe` is whether a step of
    which nobody can tell if it was committed may be done once more. With `moves_forward` no step
    may be earlier than those before it; with `by_passes` a pass of its package makes it, and no
    step of its own. `command` is what builds it, `dbt` how dbt would call it: `materialized` and
    `incremental_strategy`. `window` is how it finds
    new rows; None reads its inputs whole.
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

    @classmethod
    @abstractmethod
    def read(cls, settings: GivenSettings) -> Self:
        """Read its settings; what does not go together becomes findings."""

    @abstractmethod
    def work(self, build: Build) -> Work:
        """Return what one step runs: stages, then one commit. Nothing is run."""

    @property
    def writing(self) -> Writing:
        """How the rows of a step come into the table."""
        return Writing.WHOLE

    @property
    def partitioning(self) -> PartitionSettings | None:
        """How it is cut into partitions; None for what is one."""
        return None

    @property
    def history(self) -> HistorySettings | None:
        """How it keeps versions of its rows; None for what keeps none."""
        return None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell its rows apart, of a history those of one instant."""
        return ()

    @property
    def reads_slices(self) -> bool:
        """Whether a step reads files of its own in place of inputs."""
        return False

    @property
    def keeps_rows(self) -> bool:
        """Whether an ordinary step leaves rows in place that earlier ones made, whatever made them.

        Only a build from all inputs then gives what code and inputs would make now. Histories are
        left out: what they keep can never be made again.
        """
        return False

    def fingerprint(self, layout: Layout) -> Mapping[str, object]:
        """Return the settings that change rows, as JSON has them; column names in small letters.

        `layout` counts where it decides which rows are replaced.
        """
        del layout
        return {}

    def staying(self, layout: Layout, rows: str, target: str) -> str:
        """Return SQL for a row of the view `target` that stays as those of `rows` come; "" for all.

        It is asked of what writes `ADDED`, to check the table before it is written.
        """
        del layout, rows, target
        return ""

    @classmethod
    def counts(cls, metrics: Mapping[str, int]) -> Mapping[str, int]:
        """Return the counts of a step that Delta's metrics, or the commit's token, do not hold yet.

        Of no metrics it gives every count that a step of it has beside the rows of all steps.
        """
        del metrics
        return {}


_registered: dict[str, type[Strategy]] = {}
# Filled once, while `penstock.strategies` is imported: shapes, settings and records know a
# strategy by its word alone, and handing a table of them through every reader would gain nothing.


def register(strategy: type[Strategy]) -> type[Strategy]:
    """Let a strategy be found by its word; a word has one strategy."""
    known = _registered.setdefault(strategy.name, strategy)
    if known is not strategy:
        raise ValueError(f"{strategy.name!r} is {known.__qualname__} already")
    return strategy


def strategies() -> Mapping[str, type[Strategy]]:
    """Return all strategies by their words, in the order in which they were registered."""
    return _registered


def strategy_named(word: str) -> type[Strategy]:
    """Return the strategy of a word that is on record; of one that is gone nothing is known.

    >>> strategy_named("gone").rerun_is_safe
    False
    """
    return _registered.get(word, Strategy)


def shown_strategy(word: str) -> str:
    """Return what people call the strategy of a word."""
    return strategy_named(word).shown_name or word
