"""The records of one model, and the events that change them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from penstock.core.check_results import Checked, CheckRecord, InvariantReport, Quarantine
from penstock.core.checks.check import OnFailure
from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grid
from penstock.core.partitions.ranges import Ranges, intersection, of_numbers
from penstock.core.records import Status, StepRecord, WatermarkChange
from penstock.core.steps.step import Intent, Outcome, StepFailure, StepKind
from penstock.state.transitions.runs import Runs

BUILDS = (StepKind.BUILD, StepKind.SEED)
"""The kinds of steps that build rows from inputs."""

RESHAPES = (StepKind.ALTER, StepKind.CREATE, StepKind.REWRITE)
"""The kinds that prepare a table. If rows were held back, they run inside a build: begun after
it and ended before it, so they do not make it older.
"""

REMAKES = (StepKind.CREATE, StepKind.REWRITE)
"""The kinds after which the whole table has another layout."""

RECOVER = "recover"  # what the history says triggered a step that recovery ended

Key = tuple[int, int]
"""A flag: the number of its step and that of its partition."""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The record of neighbouring partitions; a whole table is the partition 0 of its grid.

    `step_seq` is that of the step that built the rows, 0 if none ever succeeded; `executed_at` is
    when it ended. The number of rows is in the history under that step.
    """

    status: Status
    last_step_seq: int
    fingerprint: Fingerprint | None = None
    step_seq: int = 0
    commit_version: int | None = None
    settled_version: int | None = None
    executed_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class RecordedChecks:
    """The recorded checks of a step, without single results.

    `failed` are partitions of the step, `gates` the failed checks after it, with their partitions.
    """

    mode: OnFailure
    version: int | None = None
    failure: StepFailure | None = None
    failed: Ranges = ()
    gates: tuple[tuple[str, Ranges], ...] = ()

    @classmethod
    def of(cls, checked: Checked, intent: Intent) -> RecordedChecks:
        """Return the value from the recorded checks of a step."""
        ords = ords_of(intent)
        return cls(
            mode=checked.mode,
            version=checked.version,
            failure=checked.failure,
            failed=intersection(checked.failed, ords) if checked.failure else (),
            gates=tuple(
                (result.name, result.failed_ords(intent.grid, ords))
                for result in checked.report.after
                if result.failed_gate
            ),
        )

    @property
    def blocks(self) -> bool:
        """Whether none of the rows of failed partitions were written."""
        return self.failure is not None and self.mode is OnFailure.BLOCK


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step with its beginning and its end.

    `verdict` is what was recorded of its checks, `pending` are partitions still to be checked.
    `undone_by` is the number of the rollback that undid it.
    """

    intent: Intent
    started: dt.datetime
    executed_by: str
    lease_token: int = 0
    status: Status = Status.RUNNING
    ended: dt.datetime | None = None
    duration_ms: int = 0
    recovered: bool = False
    outcome: Outcome | None = None
    failure: StepFailure | None = None
    verdict: RecordedChecks | None = None
    pending: Ranges = ()
    undone_by: int = 0

    @property
    def seq(self) -> int:
        """Its number."""
        return self.intent.step_seq

    @property
    def target(self) -> str:
        """The target's name in leases."""
        return str(self.intent.table)

    @property
    def end(self) -> dt.datetime:
        """When it ended; raise `ValueError` while it is running."""
        if self.ended is None:
            raise ValueError(f"step {self.intent.step} has not ended")
        return self.ended

    @property
    def blocks(self) -> bool:
        """Whether none of the rows of failed partitions were written."""
        return self.verdict is not None and self.verdict.blocks

    @property
    def failing(self) -> Ranges:
        """The partitions that are FAILED although the step made a commit."""
        if self.verdict is None or self.verdict.failure is None or self.intent.kind not in BUILDS:
            return ()
        return self.verdict.failed

    @property
    def record(self) -> StepRecord:
        """The step in the form of records."""
        return StepRecord(**{each.name: getattr(self, each.name) for each in fields(StepRecord)})


@dataclass(frozen=True, slots=True)
class Executed:
    """The history of neighbouring partitions of one step; None for unknown counts."""

    step_seq: int
    low: int
    high: int
    fingerprint: Fingerprint
    at: dt.datetime
    rows: int | None = None
    size_bytes: int | None = None
    failure: StepFailure | None = None


@dataclass(frozen=True, slots=True)
class FlagState:
    """A flag; `why` and `who` are the reason and the user, or step, that closed it."""

    checks: tuple[str, ...]
    opened: dt.datetime
    version: int | None = None
    closed: dt.datetime | None = None
    why: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class TargetState:
    """The record of a table; `high_time` is the latest run timestamp of its writers."""

    table_id: str = ""
    seen_version: int | None = None
    high_time: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class QuarantineState:
    """Quarantined rows, and when they were dropped."""

    quarantine: Quarantine
    dropped: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class ModelState:
    """The records of one model, and those of the tables that its steps write.

    A store may leave out what an event does not affect. `history`, `watermarks` and `results` only
    grow, oldest first; the results in one entry of `results` were recorded together.
    """

    model: str
    grid: Grid = Grid()
    partitions: Runs[PartitionState] = ()
    steps: Mapping[int, StoredStep] = field(default_factory=dict)
    history: tuple[Executed, ...] = ()
    flags: Mapping[Key, FlagState] = field(default_factory=dict)
    watermarks: tuple[WatermarkChange, ...] = ()
    targets: Mapping[str, TargetState] = field(default_factory=dict)
    results: tuple[tuple[CheckRecord, ...], ...] = ()
    quarantines: Mapping[int, QuarantineState] = field(default_factory=dict)

    @property
    def current_watermarks(self) -> dict[tuple[str, str], TypedValue]:
        """The current values, by input and column."""
        newest = {(each.input, each.column): each.value for each in self.watermarks}
        return {key: read_typed(value) for key, value in newest.items() if value is not None}

    def open_flags_of(self, step_seq: int) -> Ranges:
        """Return the partitions of a step with open flags."""
        return of_numbers(
            n for (seq, n), f in self.flags.items() if seq == step_seq and not f.closed
        )

    def with_step(self, step: StoredStep) -> ModelState:
        """Return the records with a step in its current state."""
        return replace(self, steps={**self.steps, step.seq: step})


def ords_of(intent: Intent) -> Ranges:
    """Return the partitions of a step as numbers; a whole table is the number 0."""
    return ((0, 0),) if intent.grid.is_whole else intent.ords


# What can happen to the records of a model.


@dataclass(frozen=True, slots=True)
class Began:
    """A step was written as RUNNING, with the number that its intent has."""

    intent: Intent
    started: dt.datetime
    executed_by: str = ""
    lease_token: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """A step made its commit, or had nothing to commit.

    `of_log` is set for steps that only the log of their table contains: its versions, not step
    numbers, determine what is newer. With `new_table`, that table replaced the recorded one.
    """

    step_seq: int
    at: dt.datetime
    outcome: Outcome
    recovered: bool = False
    of_log: bool = False
    new_table: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A step made no commit; a `skipped` one never began because of a check."""

    step_seq: int
    at: dt.datetime
    failure: StepFailure
    recovered: bool = False
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A step that was marked as failed did commit: it is removed, to be recorded again."""

    step_seq: int


@dataclass(frozen=True, slots=True)
class ChecksRecorded:
    """The checks of a running step were evaluated; its end depends on them."""

    step_seq: int
    at: dt.datetime
    checked: Checked


@dataclass(frozen=True, slots=True)
class ChecksSettled:
    """The pending checks of a finished step were evaluated, or a rollback is no longer due."""

    step_seq: int
    at: dt.datetime
    checked: Checked


@dataclass(frozen=True, slots=True)
class ChecksNoted:
    """`penstock check` evaluated checks of a model."""

    run: str
    at: dt.datetime
    report: InvariantReport
    partitions: tuple[str, ...]
    version: int | None


@dataclass(frozen=True, slots=True)
class FlagsClosed:
    """A user, or a check that passes now, closed flags of the model."""

    keys: tuple[Key, ...]
    at: dt.datetime
    why: str
    who: str


@dataclass(frozen=True, slots=True)
class QuarantineDropped:
    """The quarantined rows of a step are gone."""

    step_seq: int
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class QuarantineKept:
    """A running step keeps records that it left out beside its table."""

    step_seq: int
    quarantine: Quarantine


OfStep = (
    Finished
    | Failed
    | GivenUp
    | ChecksRecorded
    | ChecksSettled
    | QuarantineDropped
    | QuarantineKept
)
Event = Began | OfStep | ChecksNoted | FlagsClosed
