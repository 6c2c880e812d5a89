"""Records of the state store: runs, steps, tables and watermarks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.beside.hooks import HookMoment
from penstock.core.entities.slices import SliceId
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grid
from penstock.core.steps.inputs import DeferredInput, DeltaPin, Pin
from penstock.core.steps.step import ForeignCommit, Intent, Outcome, StepFailure
from penstock.core.steps.window import Watermark


class Status(StrEnum):
    """The state of a run or a step."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that runs penstock.

    `process` identifies it across machines: boot, pid namespace and start time; "" if the system
    does not provide them.
    """

    run: str
    host: str
    pid: int
    user: str
    process: str = ""

    @property
    def executor(self) -> str:
        """Return the name in the history of a step."""
        return f"{self.user}@{self.host}"


@dataclass(frozen=True, slots=True)
class Run:
    """One command that executes steps."""

    id: str
    command: str
    arguments: str
    target: str
    run_timestamp: dt.datetime
    holder: Holder
    started: dt.datetime
    ended: dt.datetime | None = None
    status: Status = Status.RUNNING


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one run to write one target until `expires`; `token` increases each time."""

    target: str
    run: str
    host: str
    pid: int
    token: int
    acquired: dt.datetime
    heartbeat: dt.datetime
    expires: dt.datetime
    process: str = ""


@dataclass(frozen=True, slots=True)
class Begun:
    """The result of `begin`: the step's number, the fencing token of its lease, the epoch."""

    step_seq: int
    lease_token: int
    epoch: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class HookRecord:
    """One hook of a step, or of a run if `step` is "": how it ended, or that it is to run.

    `text` is for display. `run_timestamp` is that of its run; `started` is None before it ran.
    """

    run: str
    moment: HookMoment
    number: int
    text: str
    run_timestamp: dt.datetime
    step: str = ""
    model: str = ""
    status: Status = Status.RUNNING
    started: dt.datetime | None = None
    duration_ms: int = 0
    failure: StepFailure | None = None

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.status is not Status.FAILED


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step with its beginning and its end."""

    intent: Intent
    status: Status
    started: dt.datetime
    lease_token: int = 0
    ended: dt.datetime | None = None
    outcome: Outcome | None = None
    failure: StepFailure | None = None


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What built the current rows of a target, for models without partitions.

    Unless noted otherwise, a field describes the last success, and is empty if there is none.
    """

    model: str
    status: Status
    """The status of the last execution."""
    last_step_seq: int
    """The number of the last execution."""
    step: str = ""
    """The id of its step."""
    step_seq: int = 0
    """The number of its step."""
    fingerprint: Fingerprint | None = None
    """The digests of the code that made the rows."""
    table_id: str = ""
    """The id of the table, which changes if the table is replaced."""
    commit_version: int | None = None
    """The Delta version of its commit, None if there was no change."""
    settled_version: int | None = None
    """The Delta version of the target after it."""
    pins: Mapping[str, Pin] = field(default_factory=dict)
    """Its inputs by name, at the versions that it read."""
    watermarks: tuple[Watermark, ...] = ()
    """The end of the windows of its inputs."""
    rewound: tuple[str, ...] = ()
    """Inputs whose watermark was set back by hand and that no step has read since."""
    executed_at: dt.datetime | None = None
    """When it ran, in UTC."""
    duration_ms: int = 0
    rows_written: int = 0
    bytes_written: int = 0
    failure: StepFailure | None = None
    """The error of the last execution, if it failed."""
    high_time: dt.datetime | None = None
    """The latest run timestamp of any step that wrote the table."""
    cut_at: dt.datetime | None = None
    """The limit above which rows of its inputs were not read."""
    passed_by: tuple[str, ...] = ()
    """Inputs with unread changes below their watermarks."""
    foreign: tuple[ForeignCommit, ...] = ()
    """Foreign changes of rows that were neither replaced nor accepted."""
    deferred: tuple[DeferredInput, ...] = ()
    """Inputs that it read from another target."""

    @property
    def succeeded_once(self) -> bool:
        """Whether there is a recorded success with rows."""
        return self.step_seq > 0


@dataclass(frozen=True, slots=True)
class DeferredModel:
    """A model or seed that is not built here, and whose rows another target has."""

    source: DeferredInput
    record: ModelRecord
    """Its record in that target."""
    pin: DeltaPin | None = None
    """The version of its table when the plan was made; None for a view."""
    reads: bool = True
    """Whether this command may read it. If not, only records of earlier steps name it: then it
    only tells whether what they read has changed.
    """


def upstream_records(
    records: Mapping[str, ModelRecord], deferred: Mapping[str, DeferredModel]
) -> Mapping[str, ModelRecord]:
    """Return the records of models as their readers see them."""
    others = {name: each.record for name, each in deferred.items()}
    return {**records, **others} if others else records


@dataclass(frozen=True, slots=True)
class PartitionGroup:
    """Partitions of one model with one fingerprint and status, counted.

    `fingerprint` is a number for `Records.fingerprints`, 0 for partitions that never succeeded.
    `commit_high` is the greatest `commit_version`, `settled_low` the least `settled_version`;
    `unsettled` counts successes whose rows are known to be gone.
    """

    fingerprint: int
    status: Status
    count: int
    low: int
    high: int
    commit_high: int | None
    settled_low: int | None
    unsettled: int


@dataclass(frozen=True, slots=True)
class LeastPin:
    """The oldest pin of an input over all steps that built partitions of a model.

    `steps` is how many of these steps pinned it, `table_ids` the tables they read.
    """

    kind: str
    version: int
    table_ids: frozenset[str]
    steps: int


@dataclass(frozen=True, slots=True)
class PartitionsRecord:
    """A summary of all partitions of one model, without single partitions.

    `steps` counts the steps that built the current partitions.
    """

    model: str
    table_id: str
    groups: tuple[PartitionGroup, ...]
    pins: Mapping[str, LeastPin]
    steps: int
    last_step_seq: int
    executed_at: dt.datetime | None = None
    grid: Grid = Grid()


@dataclass(frozen=True, slots=True)
class PartitionRun:
    """Neighbouring partitions with the same record, from `low` to `high`.

    `fingerprint` and `step_seq` are 0 if they never succeeded. If `settled_version` is None after a
    success, the rows are known to be gone. `holds_rows` is True if the last success is known to
    have left rows.
    """

    low: int
    high: int
    status: Status
    fingerprint: int
    step_seq: int
    last_step_seq: int
    commit_version: int | None
    settled_version: int | None
    holds_rows: bool
    executed_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """What the last success of each partition wrote, in ascending order; None is unknown."""

    numbers: Sequence[int]
    rows: Sequence[int | None]
    bytes: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class WatermarkChange:
    """One entry of a watermark's history; `step` is "" for a manual change, explained by `why`.

    `value` is None if the watermark was reset.
    """

    model: str
    input: str
    column: str
    value: str | None
    set_at: dt.datetime
    step: str = ""
    who: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """One row of the append-only history of a model's partitions."""

    model: str
    partition: str
    step: str
    step_seq: int
    fingerprint: Fingerprint
    executed_at: dt.datetime
    duration_ms: int
    rows_written: int | None
    bytes_written: int | None
    status: Status
    triggered_by: str
    executed_by: str
    failure: StepFailure | None = None
    reason: str = ""
    """Why its step ran."""


@dataclass(frozen=True, slots=True)
class SliceRecord:
    """The state of a slice: SUCCESS, FAILED or RUNNING from a step, SKIPPED by hand.

    `moment` is the processing time of that step, `metrics` are its counts, and `version` is that of
    its commit, None without one. `why` is the reason for the failure or skip, `who` the user who
    asked for the skip.
    """

    id: SliceId
    status: Status
    step: str = ""
    step_seq: int = 0
    moment: dt.datetime | None = None
    metrics: Mapping[str, int] = field(default_factory=dict)
    why: str = ""
    who: str = ""
    version: int | None = None

    @property
    def is_done(self) -> bool:
        """Whether runs leave it out."""
        return self.status in (Status.SUCCESS, Status.SKIPPED)


@dataclass(frozen=True, slots=True)
class SliceSkip:
    """A manual decision to skip a slice, or, with `skips` False, to process it again."""

    model: str
    name: str
    skips: bool
    why: str
    who: str
    at: dt.datetime
