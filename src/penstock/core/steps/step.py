"""Steps: the plan's decision, the intent, and the outcome."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.entities.slices import SliceId, UnchangedSlice
from penstock.core.errors import PenstockError
from penstock.core.findings import HINTS
from penstock.core.model import Fingerprint
from penstock.core.names import TableName
from penstock.core.partitions.partition import Grid, read_ranges
from penstock.core.partitions.ranges import Ranges
from penstock.core.sessions.manifest import SessionPromise
from penstock.core.steps.inputs import DeferredInput, InputPin
from penstock.core.steps.window import InputWindow, Watermark
from penstock.core.strategy import Writing

WHOLE = "*"
LONGEST = 4000


class StepKind(StrEnum):
    """What a step's one commit does to its target; `accept` makes none, and keeps the rows."""

    BUILD = "build"
    ALTER = "alter"
    SEED = "seed"
    CREATE = "create"
    REWRITE = "rewrite"
    ROLLBACK = "rollback"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class ForeignCommit:
    """A commit from outside this store that changed rows of a target, and that a step kept."""

    version: int
    time: dt.datetime
    operation: str
    user: str = ""


@dataclass(frozen=True, slots=True)
class Intent:
    """Everything that a step will have done when it ends, written before it starts."""

    step: str
    run: str
    model: str
    table: TableName
    uri: str
    kind: StepKind
    strategy: str
    reason: str
    triggered_by: str
    run_timestamp: dt.datetime
    fingerprint: Fingerprint
    partitions: tuple[str, ...] = (WHOLE,)
    """Keys of `grid`, or ranges of them: `2024-01-01..2024-01-31`."""
    inputs: tuple[InputPin, ...] = ()
    windows: tuple[InputWindow, ...] = ()
    watermarks: tuple[Watermark, ...] = ()
    lowers_watermarks: bool = False
    base_version: int | None = None
    """The target's Delta version before the step, None without a table."""
    step_seq: int = 0
    """Assigned by the store at `begin`; 0 before."""
    grid: Grid = Grid()
    restores: int = 0
    """The number of the first step that a rollback undoes."""
    on_failure: str = ""
    """The mode for which checks of its rows were promised, "" without any; a rollback of that
    mode undoes rows that failed, so records stay FAILED.
    """
    writing: Writing = Writing.MERGED
    """What happens to earlier rows."""
    epoch: str = field(default="", compare=False, repr=False)  # of the store that gave the number
    cut_at: dt.datetime | None = None
    """The time at which `--as-of` cut the windows, if the pinned inputs have later rows."""
    passed_by: tuple[str, ...] = ()
    """Inputs that changed rows below their watermarks, now or since the last rebuild; in records
    of penstock 0.1 the model itself, if others changed its rows.
    """
    lane: str = ""
    """Distinguishes a step from others of its run that write the table at the same time."""
    session: SessionPromise | None = None
    """What a step of a session package leaves in the package's records."""
    slice: SliceId | None = None
    """The slice of bronze that it reads; its run timestamp is then the processing time."""
    unchanged: tuple[UnchangedSlice, ...] = ()
    """Processed slices since the last commit that made none: the log would not contain them. For
    a clone all slices in its rows, without steps.
    """
    foreign: tuple[ForeignCommit, ...] = ()
    """Foreign changes of the target that were kept; `finish` adds later ones."""
    deferred: tuple[DeferredInput, ...] = ()
    """Inputs that it read from another target, because they are not built in this one."""
    transaction: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the application under which Delta counts the steps of the target.

        Steps that write a table at the same time have one each: Delta would allow only one commit.
        """
        application = "/".join(part for part in (self.epoch, str(self.table), self.lane) if part)
        object.__setattr__(self, "transaction", application)

    @property
    def ords(self) -> Ranges:
        """The partitions as numbers of the grid."""
        return read_ranges(self.grid, self.partitions)


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """What one commit wrote to one partition; None if its files do not show it."""

    ord: int
    rows: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows that a step wrote. `late` is None if the input's log does not show it."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    late: int | None = None
    null_time: int = 0

    @property
    def written(self) -> int:
        """Rows that are new or have new values."""
        return self.inserted + self.updated


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a step's commit; `version` is None if nothing had to change.

    `table_id` and `settled_version` are those of the table after the step. `partitions` are those
    with rows of the commit, for a step of many. `foreign` are changes by others since the last step
    that the commit kept; with `replaced` it replaced all rows.
    """

    version: int | None
    table_id: str = ""
    settled_version: int | None = None
    rows: RowCounts = RowCounts()
    bytes_written: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)
    duration_ms: int = 0
    partitions: tuple[PartitionRows, ...] = ()
    foreign: tuple[ForeignCommit, ...] = ()
    replaced: bool = False

    @property
    def stands_at(self) -> int | None:
        """The version with the step's rows: its commit, or the version it left unchanged."""
        return self.settled_version if self.version is None else self.version

    @property
    def known_to(self) -> int | None:
        """The version up to which there are no unknown foreign changes; later ones are reported."""
        return self.foreign[0].version - 1 if self.foreign else self.stands_at


@dataclass(frozen=True, slots=True)
class StepFailure:
    """Why a step failed, for records (message at most `LONGEST` characters)."""

    code: str
    message: str
    where: str = ""
    hint: str = ""

    def __post_init__(self) -> None:
        """Add the default hint of the code if there is none."""
        if not self.hint and self.code in HINTS:
            object.__setattr__(self, "hint", HINTS[self.code])

    @classmethod
    def of(cls, error: PenstockError) -> StepFailure:
        """Return the failure for an error.

        >>> StepFailure.of(PenstockError("x", "cannot read jdbc:x://u:p4ss@h/d")).message
        'cannot read jdbc:x://***@h/d'
        """
        where = str(error.where) if error.where else ""
        return cls(error.code, error.sentence[:LONGEST], where, error.hint)
