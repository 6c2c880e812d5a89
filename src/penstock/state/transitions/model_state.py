"""What is on record of one model, and the events that change it into another such value."""

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
"""The kinds of steps that make rows from inputs."""

RESHAPES = (StepKind.ALTER, StepKind.CREATE, StepKind.REWRITE)
"""The kinds that make a table ready. Where rows were held back they come inside of a build: begun
after it and ended before it, they make it no older."""

REMAKES = (StepKind.CREATE, StepKind.REWRITE)
"""The kinds after which all of a table lies otherwise."""

RECOVER = "recover"  # what the history says triggered a step that recovery ended

Key = tuple[int, int]
"""A flag: the number of its step and that of its partition."""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What is known of neighbouring partitions; a whole table is the partition 0 of its grid.

    `step_seq` is that of the step whose rows are there, 0 if none ever succeeded; `executed_at` is
    when it ended. How many rows they are, the history says under that number.
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
    """What was recorded of a step's checks, without what each of them said.

    `failed` are partitions of the step, `gates` the checks after it that failed, with theirs.
    """

    mode: OnFailure
    version: int | None = None
    failure: StepFailure | None = None
    failed: Ranges = ()
    gates: tuple[tuple[str, Ranges], ...] = ()

    @classmethod
    def of(cls, checked: Checked, intent: Intent) -> RecordedChecks:
        """Take over what was recorded of a step."""
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
        """Whether nothing of the partitions that failed was written."""
        return self.failure is not None and self.mode is OnFailure.BLOCK


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step as it was begun and as it ended.

    `verdict` is what was recorded of its checks, `pending` are partitions whose checks are still to
    be made. `undone_by` is the number of the rollback after which it is as if it never ran.
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
        """The name under which its target is leased."""
        return str(self.intent.table)

    @property
    def end(self) -> dt.datetime:
        """When it ended; raises `ValueError` while it runs."""
        if self.ended is None:
            raise ValueError(f"step {self.intent.step} has not ended")
        return self.ended

    @property
    def blocks(self) -> bool:
        """Whether nothing of the partitions that failed their checks was written."""
        return self.verdict is not None and self.verdict.blocks

    @property
    def failing(self) -> Ranges:
        """The partitions that are FAILED although the step made a commit."""
        if self.verdict is None or self.verdict.failure is None or self.intent.kind not in BUILDS:
            return ()
        return self.verdict.failed

    @property
    def record(self) -> StepRecord:
        """The step as records tell it."""
        return StepRecord(**{each.name: getattr(self, each.name) for each in fields(StepRecord)})


@dataclass(frozen=True, slots=True)
class Executed:
    """What the history says of neighbouring partitions of one step; None where nobody knows."""

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
    """A flag; `why` and `who` say by what and by whom it was closed: a step's id, or words."""

    checks: tuple[str, ...]
    opened: dt.datetime
    version: int | None = None
    closed: dt.datetime | None = None
    why: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class TargetState:
    """What is known of a table; `high_time` is the greatest run timestamp of what wrote it."""

    table_id: str = ""
    seen_version: int | None = None
    high_time: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class QuarantineState:
    """Rows that were kept, and when they were dropped."""

    quarantine: Quarantine
    dropped: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class ModelState:
    """The records of one model, and those of the tables that its steps write.

    A store may leave out what an event does not touch. `history`, `watermarks` and `results` only
    grow, oldest first; each of `results` is what was recorded together.
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
        """The values that count now, by input and column."""
        newest = {(each.input, each.column): each.value for each in self.watermarks}
        return {key: read_typed(value) for key, value in newest.items() if value is not None}

    def open_flags_of(self, step_seq: int) -> Ranges:
        """Return the partitions of a step of which a flag is open."""
        return of_numbers(
            n for (seq, n), f in self.flags.items() if seq == step_seq and not f.closed
        )

    def with_step(self, step: StoredStep) -> ModelState:
        """Return the records with a step as it is now."""
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
    """A step made its commit, or had none to make.

    `of_log` is set for steps that only the log of their table tells of: its versions, not numbers,
    tell what is newer. With `new_table` that table took the place of the one on record.
    """

    step_seq: int
    at: dt.datetime
    outcome: Outcome
    recovered: bool = False
    of_log: bool = False
    new_table: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A step made no commit; one that was `skipped` never began, because of a check."""

    step_seq: int
    at: dt.datetime
    failure: StepFailure
    recovered: bool = False
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A step that was called failed has landed: it makes room for what is to be written anew."""

    step_seq: int


@dataclass(frozen=True, slots=True)
class ChecksRecorded:
    """The checks of a running step were looked at; its end goes by them."""

    step_seq: int
    at: dt.datetime
    checked: Checked


@dataclass(frozen=True, slots=True)
class ChecksSettled:
    """The pending checks of a step that ended were looked at, or a rollback is due no more."""

    step_seq: int
    at: dt.datetime
    checked: Checked


@dataclass(frozen=True, slots=True)
class ChecksNoted:
    """`penstock check` looked at a model."""

    run: str
    at: dt.datetime
    report: InvariantReport
    partitions: tuple[str, ...]
    version: int | None


@dataclass(frozen=True, slots=True)
class FlagsClosed:
    """A person, or a check that passes now, closed flags of the model."""

    keys: tuple[Key, ...]
    at: dt.datetime
    why: str
    who: str


@dataclass(frozen=True, slots=True)
class QuarantineDropped:
    """The rows that a step had kept are gone."""

    step_seq: int
    at: dt.datetime


OfStep = Finished | Failed | GivenUp | ChecksRecorded | ChecksSettled | QuarantineDropped
Event = Began | OfStep | ChecksNoted | FlagsClosed
