"""What a plan is made of."""

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
from penstock.core.records import SliceRecord
from penstock.core.sessions.manifest import PlannedPass, executed
from penstock.core.sessions.package import SessionPackage
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.steps.inputs import Pin
from penstock.plan.work import StepWork, TableWork


class State(StrEnum):
    """Whether a table still is what code and inputs would make.

    In order of precedence, but for `current`, which holds when none of the others does.
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
"""Returns the canonical checksum of a recorded SQL as today's parser makes it."""


def as_recorded(fingerprint: Fingerprint) -> str:
    """Return the canonical checksum as it was recorded."""
    return fingerprint.canonical


Explain = Callable[[Fingerprint, Fingerprint], str]
"""Says what changed between two checksums of settings."""


def settings_changed(recorded: Fingerprint, now: Fingerprint) -> str:
    """Say only that settings changed."""
    del recorded, now
    return "its settings changed"


@dataclass(frozen=True, slots=True)
class Owner:
    """Another state store that wrote a table: its project, "" where no token tells, and its id."""

    project: str
    store: str

    def __str__(self) -> str:
        """Return the words for it in a sentence.

        >>> str(Owner("shop", "0a1b"))
        "project 'shop' (state store 0a1b)"
        """
        project = f"project {self.project!r}" if self.project else "another project"
        return f"{project} (state store {self.store})"


def error_line(error: PenstockError) -> str:
    """Word why something cannot be read."""
    return f"{error.code}: {error.sentence}"


Versions = tuple[int, int]
"""The first and the last of some versions of a table."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a target's log says now. `foreign` are others' data changes since the last success.

    `table_id` is "" where nothing happened since then, so that nobody had to look. `owner` is
    another state store that made the table, or wrote it since. `gap` are versions since then that
    the log lost before anybody noted them. `unrecorded` are changes that name this store and that
    none of its steps is known to have made. `lying` says where the files of a table of partitions
    can hold rows, None where nobody had to look. `facts` are there when the project says something
    else of the layout than the record, and for history tables. `clutter` is whether files lie where
    the table would be, though there is none.
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
    """The slices of one entity: those that lie in bronze, in order, and what is on record of any.

    `unmatched` are files of the bronze folder that belong to no slice.
    """

    there: tuple[ListedSlice, ...] = ()
    recorded: tuple[SliceRecord, ...] = ()
    folder: BronzeFolder = BronzeFolder("", "", Location(""))
    unmatched: tuple[str, ...] = ()

    def on_record(self, recorded: tuple[SliceRecord, ...]) -> SlicesNow:
        """Return these beside what is on record of any.

        A slice that was run keeps the time that it had then: a copy changes no order.
        """
        as_run = {each.id: each.id for each in recorded}
        there = (replace(each, id=as_run.get(each.id, each.id)) for each in self.there)
        ordered = self.folder.ordering.of(there, self.folder.where)
        return replace(self, there=ordered, recorded=recorded)


@dataclass(frozen=True, slots=True)
class PassesNow:
    """What a run of a session package would do now.

    `readers` are the models that carry its tag, with what each reads; the next commit on
    `overwrites` takes the place of all rows. Of `processed` the manifest has rows. `limits` are the
    passes that the manifest asks for, with something to do or not.
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
    """The world as a plan sees it: targets by model, pins of sources by name.

    A source that cannot be read has its error in `broken` instead of a pin, and a model whose
    table cannot in `unreadable` instead of a target. `below` names, for models that read through
    windows, the upstreams that changed rows which a window has passed. `slices` are those of
    entities, `passes` those of session packages.
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


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a step is planned: the first state that holds, its detail, the others.

    `pending` means that only the outcome of an upstream step of the same plan will tell.
    `drift` is whether `status` counts it: new input of a windowed model is none. With `stale` some
    rows changed that no window reads again: only a sync, which makes the table anew, mends those.
    With `passed` there is nothing else, so that a run leaves the table as it is.
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
        """All states that hold: what is asked of one is asked of these, or the first hides it."""
        return (self.state, *self.also)

    @classmethod
    def after(cls, names: Iterable[str]) -> Reason:
        """Wait for the outcome of other steps of the plan.

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
    """What the command line asks of a plan."""

    full_refresh: bool = False
    adopt: bool = False
    """Take a table over that others made."""
    prune: bool = False
    """Look at every history table."""
    no_prune: bool = False
    """Leave retention out."""
    retention: Retention | None = None
    """Replaces that of the models."""
    allow_empty: bool = False
    """Let an empty source close every key of a history table."""
    allow_breaking: bool = False
    """Let a change of types rewrite a table."""
    allow_source_mutation: bool = False
    """Let SQL that built something change in an immutable model."""
    skip_checks: bool = False
    on_failure: OnFailure | None = None
    """Replaces what models and the project say of failed gates."""
    rerun: tuple[TypedValue, TypedValue] | None = None
    """A range of a time column, ends included, whose rows are made again."""
    allow_schema_change: bool = False
    """Let a function return other columns than its table has."""
    slice: str = ""
    """The one slice of an entity that is run."""
    strategy: ProcessType | None = None
    """How its rows are written."""
    processing_time: dt.datetime | None = None
    """The time of the first slice."""
    allow_backdated: bool = False
    """Let that lie before the time of earlier ones."""
    strict: bool = False
    """Make errors of warnings."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the last success of a model took: the best guess for the next."""

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
    """What it makes."""
    upstream: tuple[str, ...] = ()
    """Keys of the steps that it needs."""
    later_than: tuple[str, ...] = ()
    """Keys of steps that it waits for and needs nothing of: they make what only checks read."""
    planned_on: int = 0
    """The number of the target's last step, so that `begin` sees whether another came between."""
    executed: str = ""
    """The checksum of the SQL that built the table so far, "" if that is the SQL of now."""
    estimate: Estimate | None = None
    notes: tuple[str, ...] = ()
    only_alters: bool = False
    """Whether it changes properties and comments, and touches no row."""
    trigger: str = "run"
    """What asked for it: run, sync, cascade, backfill."""
    kind: str = ""
    """Why it reads what it reads: initial, full, rerun; "" leaves that to the windows."""

    @property
    def key(self) -> str:
        """Its name in the plan: the model, and what tells it from other steps of the model."""
        return self.work.key(self.model)

    @property
    def partitions(self) -> Ranges:
        """The partitions that it makes; those of a table without any are `*`."""
        return self.work.partitions

    @property
    def count(self) -> int:
        """How many partitions it makes."""
        return count(self.partitions)

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The partitions as first and last keys of ranges; its slice stands for one."""
        return self.work.keys

    @property
    def version(self) -> int:
        """The version of the SQL that makes them."""
        return self.work.version

    @property
    def revision(self) -> int:
        """The revision of that."""
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

    `remaining` counts partitions that a limit left out.
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

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.steps and not self.blocked

    @property
    def obstacles(self) -> tuple[str, ...]:
        """What cannot be run, and why."""
        return tuple(f"{e.model} cannot be run: {error_line(e.error)}" for e in self.blocked)
