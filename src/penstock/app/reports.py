"""Results of use cases: frozen reports that `--json` prints and Python callers read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.check_results import InvariantReport
from penstock.core.errors import PenstockError, UsageError
from penstock.core.masking import mask
from penstock.core.model import Model
from penstock.core.names import TableName
from penstock.core.records import Execution, StepRecord
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.steps.inputs import InputPin
from penstock.core.steps.step import RowCounts
from penstock.core.steps.window import InputWindow, Watermark
from penstock.core.strategy import shown_strategy
from penstock.plan.values import Blocked, Estimate, Plan, Reason, State, Step

Keys = tuple[tuple[str, str], ...]
"""Ranges of partitions by their keys, both ends inclusive; `(("*", "*"),)` for a whole table."""


@dataclass(frozen=True, slots=True)
class StateCount:
    """Partitions of one model in one state, for one reason.

    `pending` means that their state depends on the next run of their upstreams. `drifted` is false
    for pending ones, and for new input that the next window of the model reads. `version` and
    `revision` are None if there is none. `because` are names of inputs, or a detail.
    """

    state: State
    count: int
    ranges: Keys
    also: tuple[str, ...] = ()
    pending: bool = False
    drifted: bool = True
    version: int | None = None
    revision: int | None = None
    because: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the number of partitions and their state."""
        return f"{self.count:,} {self.state}{' (pending)' if self.pending else ''}"

    @property
    def is_new_input(self) -> bool:
        """Whether the next run's window reads the new input, so that nothing drifted."""
        return not (self.drifted or self.pending or self.state is State.NOT_EFFECTIVE)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The state of one model; `states` omits current partitions.

    `partitions` counts the partitions with a segment, `cosmetic` those whose SQL differs only in
    its text. `lines` are further messages: foreign rows, changed files, a gap in the log. `package`
    is the session package that builds the model, "" for other models. If neither a run nor a sync
    helps, `mends` is the command that does, or the command that explains the problem.
    """

    model: str
    table: TableName
    strategy: str
    grain: str
    partitions: int
    states: tuple[StateCount, ...] = ()
    cosmetic: int = 0
    executed_at: dt.datetime | None = None
    lines: tuple[str, ...] = ()
    package: str = ""
    mends: str = ""

    @property
    def shown_strategy(self) -> str:
        """The name of its strategy in messages."""
        return shown_strategy(self.strategy)

    @property
    def all(self) -> Sequence[StateCount | State]:
        """Its states, `current` if there is no other."""
        return self.states or (State.CURRENT,)

    @property
    def drifted(self) -> int:
        """How many partitions drifted themselves."""
        return sum(each.count for each in self.states if each.drifted)

    @property
    def pending(self) -> int:
        """How many wait for a partition that drifted."""
        return sum(each.count for each in self.states if each.pending)

    @property
    def new_input(self) -> int:
        """How many did not drift but have new input for the next run."""
        return sum(each.count for each in self.states if each.is_new_input)


@dataclass(frozen=True, slots=True)
class StatusReport(ShownInNotebooks):
    """The selected models, in topological order."""

    _rows = "models"
    _columns = (
        "model strategy=shown_strategy grain partitions states=all cosmetic executed_at lines"
    )

    run_timestamp: dt.datetime
    models: tuple[ModelStatus, ...] = ()

    @property
    def partitions(self) -> int:
        """How many partitions were compared."""
        return sum(model.partitions for model in self.models)

    @property
    def drifted(self) -> int:
        """How many of them drifted themselves."""
        return sum(model.drifted for model in self.models)

    @property
    def pending(self) -> int:
        """How many wait for a partition that drifted."""
        return sum(model.pending for model in self.models)

    @property
    def new_input(self) -> int:
        """How many did not drift but have new input for the next run."""
        return sum(model.new_input for model in self.models)


@dataclass(frozen=True, slots=True)
class SqlDiff:
    """One distinct pair of SQL texts without secrets, and its partitions.

    `schema` are lines such as `+ events BIGINT` or `~ a INT -> BIGINT (widening)`. `cosmetic` is
    whether the texts have the same meaning, `only_secrets` whether only masked parts differ. `kind`
    is the kind of text, as in the selector `kind:`.
    """

    version: str
    partitions: Keys
    count: int
    before: str
    after: str
    cosmetic: bool = False
    schema: tuple[str, ...] = ()
    kind: str = "sql"
    only_secrets: bool = False


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """Differences between a model's files and the code that built its partitions."""

    model: str
    diffs: tuple[SqlDiff, ...] = ()


@dataclass(frozen=True, slots=True)
class DiffReport(ShownInNotebooks):
    """Models with differences, in topological order."""

    _columns = "model version partitions before after schema"
    run_timestamp: dt.datetime
    models: tuple[ModelDiff, ...] = ()

    def _table(self) -> Iterator[Sequence[object]]:
        for model in self.models:
            for each in model.diffs:
                cells = (each.version, each.count, each.before, each.after, each.schema)
                yield (model.model, *cells)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One execution of one partition; `reverted` is a success that a later one undid.

    `sql` is the full text if it was requested. `skipped_checks` is whether `--skip-checks` left the
    step unchecked.
    """

    execution: Execution
    reverted: bool = False
    sql: str = ""
    skipped_checks: bool = False
    step: StepRecord | None = None


@dataclass(frozen=True, slots=True)
class HistoryReport(ShownInNotebooks):
    """A model's executions, newest first; `partition` is "" for all.

    `truncated` is whether there are older ones beyond the limit.
    """

    _rows = "rows"
    _columns = (
        "executed_at=execution.executed_at partition=execution.partition "
        "version=execution.fingerprint.label status=execution.status rows=execution.rows_written "
        "reason=execution.reason triggered_by=execution.triggered_by reverted step=execution.step"
    )

    model: str
    partition: str
    rows: tuple[HistoryRow, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One version or revision in the files or on record.

    `status` is current, modified, cosmetic, never_executed or deleted. `source` is the file, or the
    inline SQL. `diffs` are filled if they were requested.
    """

    model: str
    version: int
    revision: int
    source: str
    status: str
    partitions: int
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    diffs: tuple[SqlDiff, ...] = ()

    @property
    def label(self) -> str:
        """Return `v3` or `v3.r1`."""
        return f"v{self.version}.r{self.revision}" if self.revision else f"v{self.version}"


@dataclass(frozen=True, slots=True)
class AuditReport(ShownInNotebooks):
    """Rows by model, version and revision."""

    _rows = "rows"
    _columns = "model version=label source status partitions first last"

    rows: tuple[AuditRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Cascaded:
    """A model whose partitions run because partitions of the models `after` run."""

    model: str
    count: int
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SyncPreview:
    """What `sync --dry-run` prints beside the plan.

    `drifted` are the partitions of the plan that drifted themselves, `left` what a cascade would
    add without being requested, `mends` the command that runs it, `remaining` the partitions beyond
    --max-partitions. `lines` are warnings and changes that only a full refresh would make.
    """

    drifted: tuple[ModelStatus, ...] = ()
    cascaded: tuple[Cascaded, ...] = ()
    left: tuple[Cascaded, ...] = ()
    mends: str = ""
    diffs: tuple[ModelDiff, ...] = ()
    remaining: int = 0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overwrite:
    """The confirmation before partitions of one model are overwritten.

    `last_success` is that of the newest partition, `foreign` are the partitions that others changed
    since, `breaking` the schema changes that rewrite the table. `full_refresh` is whether the whole
    table is rebuilt.
    """

    model: str
    count: int
    partitions: Keys
    last_success: dt.datetime | None = None
    foreign: Keys = ()
    foreign_count: int = 0
    breaking: tuple[str, ...] = ()
    full_refresh: bool = False


__all__ = ["Blocked", "Estimate", "ModelResult", "Plan", "Reason", "State", "Step"]


RESULT_COLUMNS = (
    "model strategy=shown_strategy status reason partitions=count inserted=rows.inserted "
    "updated=rows.updated deleted=rows.deleted version seconds=duration error=error.sentence notes"
)
"""The columns that notebooks show for each result."""


@dataclass(frozen=True, slots=True)
class ModelResult(ShownInNotebooks):
    """The result of one model, or of one step of it."""

    _columns = RESULT_COLUMNS

    name: str
    table: TableName
    strategy: str
    status: str
    """success, unchanged, skipped, failed or planned."""
    reason: str
    version: int | None = None
    """The Delta version of the target after the step, None if it is not a table."""
    rows: RowCounts = RowCounts()
    windows: tuple[InputWindow, ...] = ()
    watermarks: tuple[Watermark, ...] = ()
    inputs: tuple[InputPin, ...] = ()
    metrics: Mapping[str, int] = field(default_factory=dict)
    schema_changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    step: str = ""
    started: dt.datetime | None = None
    duration: float = 0.0
    error: PenstockError | None = None
    partitions: tuple[tuple[str, str], ...] = (("*", "*"),)
    """Ranges of keys; a slice has one."""
    count: int = 1
    """The number of partitions."""
    trigger: str = "run"
    invariant_report: InvariantReport | None = None
    """The check results, None if the model has no checks."""
    consequence: str = ""
    """What happened to rows that failed a gate: `rows written and flagged`."""
    kind: str = ""
    """Why the step read these rows: initial, full, forward, lookback, rerun or external."""
    slice: str = ""
    moment: dt.datetime | None = None
    """The processing time of a slice."""
    frame: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    """Returns the DataFrame."""
    is_view: bool = False

    @classmethod
    def of(cls, model: Model, status: str, reason: str, step: Step | None = None) -> ModelResult:
        """Return the result of a model or step, before it has any other values."""
        own = (model.name, model.table, model.strategy_name, status, reason)
        if step is None:
            return cls(*own, is_view=model.is_view)
        return cls(
            *own,
            partitions=step.keys,
            count=step.count,
            trigger=step.trigger,
            kind=step.kind,
            slice=step.work.source,
            moment=step.work.moment,
            is_view=model.is_view,
        )

    @property
    def shown_strategy(self) -> str:
        """The name of its strategy in messages."""
        return shown_strategy(self.strategy)

    @property
    def line(self) -> str:
        """The result in one line: `events append success +2 rows v1 0.8 s`."""
        signs = (("+", self.rows.inserted), ("~", self.rows.updated), ("-", self.rows.deleted))
        written = " ".join(f"{sign}{number:,}" for sign, number in signs if number)
        cells = [self.name, self.shown_strategy, self.status, f"{written} rows" if written else ""]
        cells += ["" if self.version is None else f"v{self.version}"]
        cells += [f"{self.duration:.1f} s" if self.duration else ""]
        cells += [f"{self.error.code}: {self.error.sentence}" if self.error else ""]
        return mask("  ".join(cell for cell in cells if cell))

    @property
    def model(self) -> str:
        """The name of the model, as documents use it."""
        return self.name

    @property
    def df(self) -> object:
        """The DataFrame: a table at `version`, or the frame itself; starts a session if none runs.

        Raises `TableError` `not-built-yet` for a table that was never built.
        """
        if self.frame is None:
            sentence = f"nothing makes a DataFrame of {self.name} for this report"
            hint = "run it with an app: penstock.conf(root='.').run()"
            raise UsageError("no-frame", sentence, hint=hint)
        return self.frame()

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.status not in ("failed", "skipped")
