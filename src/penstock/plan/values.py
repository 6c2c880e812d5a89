"""The values of a plan."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from penstock.core.checks.check import OnFailure
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import ProcessType
from penstock.core.entities.slices import BronzeFolder, ListedSlice
from penstock.core.errors import PenstockError
from penstock.core.facts import TableFacts, Touched
from penstock.core.findings import Finding, Location
from penstock.core.history import Retention
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Span
from penstock.core.partitions.ranges import Ranges, count
from penstock.core.records import DeferredModel, SliceRecord
from penstock.core.sessions.manifest import PlannedPass, executed
from penstock.core.sessions.package import SessionPackage
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.steps.inputs import Pin
from penstock.plan.work import StepWork, TableWork


class State(StrEnum):
    """Whether a table still matches what code and inputs would produce.

    In order of precedence, except `current`, which applies if none of the others does.
    """

    CURRENT = "current"
    UNRECORDED = "unrecorded"
    FOREIGN_TABLE = "foreign_table"
    NOT_EFFECTIVE = "not_effective"
    NEVER_RUN = "never_run"
    FAILED = "failed"
    MISSING = "missing"
    TAMPERED = "tampered"
    VERSION_UPGRADED = "version_upgraded"
    SQL_CHANGED = "sql_changed"
    SCHEMA_CHANGED = "schema_changed"
    SOURCE_CHANGED = "source_changed"
    UPSTREAM_CHANGED = "upstream_changed"
    UNREADABLE = "unreadable"


Meaning = Callable[[Fingerprint], str]
"""Returns the canonical checksum of a recorded SQL under the current parser."""


def as_recorded(fingerprint: Fingerprint) -> str:
    """Return the canonical checksum as it was recorded."""
    return fingerprint.canonical


Explain = Callable[[Fingerprint, Fingerprint], str]
"""Returns what changed between two checksums of settings."""


def settings_changed(recorded: Fingerprint, now: Fingerprint) -> str:
    """Return only that settings changed."""
    del recorded, now
    return "its settings changed"


@dataclass(frozen=True, slots=True)
class Owner:
    """Another state store that wrote a table: its project, "" if no token names it, and its id."""

    project: str
    store: str

    def __str__(self) -> str:
        """Return the text for messages.

        >>> str(Owner("shop", "0a1b"))
        "project 'shop' (state store 0a1b)"
        """
        project = f"project {self.project!r}" if self.project else "another project"
        return f"{project} (state store {self.store})"


def error_line(error: PenstockError) -> str:
    """Return why something cannot be read."""
    return f"{error.code}: {error.sentence}"


Versions = tuple[int, int]
"""The first and the last of some versions of a table."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The current state of a target's log. `foreign` are others' changes since the last success.

    `table_id` is "" if nothing changed since then, so that it was not read. `owner` is another
    state store that created or wrote the table since. `gap` are versions since then that are
    missing in the log and in the store. `unrecorded` are changes that name this store but have no
    recorded step. `lying` is where the files of a partitioned table may hold rows, None if not
    needed. `facts` are present if the project's layout differs from the record, and for history
    tables. `clutter` is whether files are in the table's place, but no table.
    """

    there: bool = False
    table_id: str = ""
    foreign: tuple[Touched, ...] = ()
    ever_ours: bool = False
    owner: Owner | None = None
    gap: Versions | None = None
    unrecorded: tuple[Touched, ...] = ()
    lying: tuple[Span, ...] | None = None
    facts: TableFacts | None = None
    clutter: bool = False


@dataclass(frozen=True, slots=True)
class SlicesNow:
    """The slices of one entity: those in bronze, in order, and the recorded ones.

    `unmatched` are files of the bronze folder that belong to no slice.
    """

    there: tuple[ListedSlice, ...] = ()
    recorded: tuple[SliceRecord, ...] = ()
    folder: BronzeFolder = BronzeFolder("", "", Location(""))
    unmatched: tuple[str, ...] = ()

    def on_record(self, recorded: tuple[SliceRecord, ...]) -> SlicesNow:
        """Return these together with the recorded ones.

        A processed slice keeps its recorded time, so that a copy does not change the order.
        """
        as_run = {each.id: each.id for each in recorded}
        there = (replace(each, id=as_run.get(each.id, each.id)) for each in self.there)
        ordered = self.folder.ordering.of(there, self.folder.where)
        return replace(self, there=ordered, recorded=recorded)


@dataclass(frozen=True, slots=True)
class PassesNow:
    """What a run of a session package would do now.

    `readers` are the models with its tag, and what each reads; the next commit on `overwrites`
    replaces all rows. `processed` are models with rows in the manifest. `limits` are the passes
    that the manifest asks for, including empty ones.
    """

    package: SessionPackage
    limits: tuple[PlannedPass, ...] = ()
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overwrites: frozenset[str] = frozenset()
    processed: frozenset[str] = frozenset()
    warnings: tuple[Finding, ...] = ()
    error: PenstockError | None = None

    @property
    def planned(self) -> tuple[PlannedPass, ...]:
        """The passes that a run executes."""
        return executed(self.limits)


@dataclass(frozen=True, slots=True)
class Now:
    """The current state for a plan: targets by model, pins of sources by name.

    `broken` has the errors of sources that cannot be read, `unreadable` those of tables. `below`
    names, for models with windows, the upstreams that changed rows below a watermark. `slices` are
    those of entities, `passes` those of session packages, `deferred` what another target has.
    """

    run_timestamp: dt.datetime
    targets: Mapping[str, Observed]
    sources: Mapping[str, Pin]
    broken: Mapping[str, PenstockError] = field(default_factory=dict)
    meaning: Meaning = as_recorded
    explain: Explain = settings_changed
    below: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unreadable: Mapping[str, PenstockError] = field(default_factory=dict)
    slices: Mapping[str, SlicesNow] = field(default_factory=dict)
    passes: Mapping[str, PassesNow] = field(default_factory=dict)
    deferred: Mapping[str, DeferredModel] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a step is planned: the first state that applies, its detail, the others.

    `pending` means that the outcome of an upstream step of the same plan decides. `drift` is
    whether `status` counts it; it does not count new input of a windowed model. With `stale`, rows
    changed that no window reads again: only a sync, which rebuilds the table, fixes those. With
    `passed` there is no other reason, so that a run leaves the table unchanged.
    """

    state: State
    detail: str = ""
    also: tuple[State, ...] = ()
    pending: bool = False
    drift: bool = True
    stale: bool = False
    passed: bool = False

    @property
    def states(self) -> tuple[State, ...]:
        """All states that apply: tests for one state must include these, or the first hides it."""
        return (self.state, *self.also)

    @classmethod
    def after(cls, names: Iterable[str]) -> Reason:
        """Return the reason of a step that waits for other steps of the plan.

        >>> str(Reason.after(["users", "orders"]))
        'upstream_changed: after users, orders'
        """
        return cls(State.UPSTREAM_CHANGED, f"after {', '.join(names)}", pending=True)

    @property
    def is_drift(self) -> bool:
        """Whether `status` counts it, and a sync repairs it."""
        return self.drift and self.state is not State.CURRENT

    def __str__(self) -> str:
        """Return the words that plan and run print.

        >>> str(Reason(State.SOURCE_CHANGED, "raw.events v3 -> v4"))
        'source_changed: raw.events v3 -> v4'

        Of a table that is current it is what asks for a step all the same.

        >>> str(Reason(State.CURRENT, "full refresh asked for"))
        'full refresh asked for'

        What failed did so the last time: the step that this is the reason of may do well.

        >>> str(Reason(State.FAILED, "crashed"))
        'was failed: crashed'
        """
        if self.state is State.CURRENT and self.detail:
            return self.detail
        state = f"{'was ' * (self.state is State.FAILED)}{self.state}"
        return f"{state}: {self.detail}" if self.detail else state


@dataclass(frozen=True, slots=True)
class Options:
    """The command-line options that affect a plan."""

    full_refresh: bool = False
    adopt: bool = False
    """Take over a table that others created."""
    prune: bool = False
    """Run every history table."""
    no_prune: bool = False
    """Apply no retention."""
    retention: Retention | None = None
    """Replaces the retention of the models."""
    allow_empty: bool = False
    """Let an empty source close every key of a history table."""
    allow_breaking: bool = False
    """Let a change of types rewrite a table."""
    allow_source_mutation: bool = False
    """Allow changes of SQL that has built rows in an immutable model."""
    skip_checks: bool = False
    on_failure: OnFailure | None = None
    """Replaces the mode of models and project for failed gates."""
    rerun: tuple[TypedValue, TypedValue] | None = None
    """A range of a time column, both ends inclusive, whose rows are rebuilt."""
    allow_schema_change: bool = False
    """Let a function return other columns than its table has."""
    slice: str = ""
    """The one slice of an entity to process."""
    strategy: ProcessType | None = None
    """How its rows are written."""
    processing_time: dt.datetime | None = None
    """The time of the first slice."""
    allow_backdated: bool = False
    """Allow it to be before the time of earlier slices."""
    strict: bool = False
    """Treat warnings as errors."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a model's last success: the best estimate for the next."""

    rows: int
    size_bytes: int
    seconds: float


STEP_COLUMNS = (
    "model reason version partitions=count rows=estimate.rows seconds=estimate.seconds notes"
)
"""What notebooks show of each step."""


@dataclass(frozen=True, slots=True)
class Step(ShownInNotebooks):
    """One model to bring up to date."""

    _columns = STEP_COLUMNS

    model: str
    reason: Reason
    initial: bool
    """Whether it reads the inputs whole and replaces the table."""
    work: StepWork = TableWork()
    """Its kind of work."""
    upstream: tuple[str, ...] = ()
    """Keys of steps that must succeed before it."""
    later_than: tuple[str, ...] = ()
    """Keys of steps that it waits for, with any result: they build what only checks read."""
    planned_on: int = 0
    """The number of the target's last step, so that `begin` detects a step in between."""
    executed: str = ""
    """The checksum of the SQL that built the table, "" if it is the current SQL."""
    estimate: Estimate | None = None
    notes: tuple[str, ...] = ()
    only_alters: bool = False
    """Whether it only changes properties and comments, not rows."""
    trigger: str = "run"
    """What requested it: run, sync, cascade, backfill."""
    kind: str = ""
    """Why it reads its rows: initial, full, rerun; "" leaves that to the windows."""

    @property
    def key(self) -> str:
        """Its name in the plan: the model, and a suffix if the model has several steps."""
        return self.work.key(self.model)

    @property
    def partitions(self) -> Ranges:
        """The partitions that it builds; `*` for an unpartitioned table."""
        return self.work.partitions

    @property
    def count(self) -> int:
        """The number of partitions that it builds."""
        return count(self.partitions)

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The partitions as first and last keys of ranges; a slice counts as one."""
        return self.work.keys

    @property
    def version(self) -> int:
        """The version of its SQL."""
        return self.work.version

    @property
    def revision(self) -> int:
        """The revision of its SQL."""
        return self.work.revision

    def of(self, partitions: Ranges) -> Step:
        """Return the step for some of its partitions."""
        return replace(self, work=self.work.of(partitions))


@dataclass(frozen=True, slots=True)
class Blocked:
    """A selected model that cannot be planned, and why."""

    model: str
    error: PenstockError


@dataclass(frozen=True, slots=True)
class Plan(ShownInNotebooks):
    """An ordered list of steps with reasons; nothing has been done yet.

    `remaining` counts partitions left out by a limit; `deferred` is read from another target.
    """

    _rows = "steps"
    _columns = STEP_COLUMNS
    _lines = "obstacles notes"

    run_timestamp: dt.datetime
    steps: tuple[Step, ...] = ()
    current: tuple[str, ...] = ()
    cosmetic: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    notes: tuple[str, ...] = ()
    remaining: int = 0
    deferred: tuple[DeferredModel, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.steps and not self.blocked

    @property
    def obstacles(self) -> tuple[str, ...]:
        """What cannot be run, and why."""
        return tuple(f"{e.model} cannot be run: {error_line(e.error)}" for e in self.blocked)
