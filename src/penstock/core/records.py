"""What the state store knows of runs, steps, tables and watermarks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.entities.slices import SliceId
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grid
from penstock.core.steps.inputs import Pin
from penstock.core.steps.step import ForeignCommit, Intent, Outcome, StepFailure
from penstock.core.steps.window import Watermark


class Status(StrEnum):
    """How far a run or a step got."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that runs penstock.

    `process` tells it from every other of any machine: boot, pid namespace and start time; "" where
    the system does not say.
    """

    run: str
    host: str
    pid: int
    user: str
    process: str = ""


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
    """The right of one run to write one target until `expires`; `token` rises with every taking."""

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
    """What `begin` gives back: the step's number, the fencing token of its lease, the epoch."""

    step_seq: int
    lease_token: int
    epoch: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step as it was begun and as it ended."""

    intent: Intent
    status: Status
    started: dt.datetime
    lease_token: int = 0
    ended: dt.datetime | None = None
    outcome: Outcome | None = None
    failure: StepFailure | None = None


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What built the rows that a target holds now, for models of one partition.

    Where nothing else is said a field is of the last success, and empty if there never was one.
    """

    model: str
    status: Status
    """Of the last execution."""
    last_step_seq: int
    """The number of the last execution."""
    step: str = ""
    """The id of its step."""
    step_seq: int = 0
    """The number of its step."""
    fingerprint: Fingerprint | None = None
    """The digests of the code that made the rows."""
    table_id: str = ""
    """The id of the table, which a table in its place has not."""
    commit_version: int | None = None
    """The Delta version that it made, None if nothing had to change."""
    settled_version: int | None = None
    """The target's Delta version after it."""
    pins: Mapping[str, Pin] = field(default_factory=dict)
    """Its inputs by name, at the versions that were read."""
    watermarks: tuple[Watermark, ...] = ()
    """How far the windows of its inputs reach."""
    rewound: tuple[str, ...] = ()
    """Inputs whose watermark a person set back, and no step has read since."""
    executed_at: dt.datetime | None = None
    """When it ran, in UTC."""
    duration_ms: int = 0
    rows_written: int = 0
    bytes_written: int = 0
    failure: StepFailure | None = None
    """Of the last execution, if it failed."""
    high_time: dt.datetime | None = None
    """The greatest run timestamp of any step that wrote the table."""
    cut_at: dt.datetime | None = None
    """The time above which rows of its inputs were left unread."""
    passed_by: tuple[str, ...] = ()
    """Inputs whose changes its windows have passed, unread."""
    foreign: tuple[ForeignCommit, ...] = ()
    """Others' changes of rows that no step has replaced and nobody has accepted."""

    @property
    def succeeded_once(self) -> bool:
        """Whether rows of a success are on record."""
        return self.step_seq > 0


@dataclass(frozen=True, slots=True)
class PartitionGroup:
    """Partitions of one model with one fingerprint and status, counted.

    `fingerprint` is the number that `Records.fingerprints` explains, 0 for partitions that never
    succeeded. `commit_high` is the greatest `commit_version`, `settled_low` the least
    `settled_version`; `unsettled` counts successes whose rows are known to be gone.
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
    """What is known of all partitions of one model, without naming any of them.

    `steps` counts the steps that built the partitions as they are now.
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
    """Neighbouring partitions of which the same is known, from `low` to `high`.

    `fingerprint` and `step_seq` are 0 if they never succeeded. `settled_version` None after a
    success means that the rows are known to be gone. `holds_rows` is True where the last success is
    known to have left some.
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
class WatermarkChange:
    """One entry of a watermark's history; `step` is "" when a person set it, `why` says so.

    `value` is None when the watermark was reset.
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
    """Why its step was run."""


@dataclass(frozen=True, slots=True)
class SliceRecord:
    """What became of a slice: SUCCESS, FAILED or RUNNING in a step, SKIPPED by somebody.

    `moment` is the processing time of that step, `metrics` are its counts, and `version` is that of
    its commit, None without one. `why` it failed or is skipped, `who` asked for that.
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
        """Whether a run passes it by."""
        return self.status in (Status.SUCCESS, Status.SKIPPED)


@dataclass(frozen=True, slots=True)
class SliceSkip:
    """Somebody says that a slice is to be left out, or, with `skips` False, no longer."""

    model: str
    name: str
    skips: bool
    why: str
    who: str
    at: dt.datetime
