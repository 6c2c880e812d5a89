"""What a plan is made of."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from penstock.core.checks import OnFailure
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import ProcessType
from penstock.core.entities.slices import BronzeFolder, ListedSlice
from penstock.core.errors import PenstockError
from penstock.core.facts import TableFacts, Touched
from penstock.core.findings import Finding, Location
from penstock.core.history import Retention
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grid, Span, key_pairs
from penstock.core.partitions.ranges import WHOLE, Ranges, count
from penstock.core.records import SliceRecord
from penstock.core.sessions.manifest import PlannedPass, SessionStep, executed
from penstock.core.sessions.package import SessionPackage
from penstock.core.steps.inputs import Pin


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


def unexplained(made: Fingerprint, now: Fingerprint) -> str:
    """Say only that settings changed."""
    del made, now
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
    def passes(self) -> tuple[PlannedPass, ...]:
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
    explain: Explain = unexplained
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
    """What the command line asks of a plan.

    `prune` looks at every history table; `retention` replaces the models' own, `no_prune` leaves
    it out. `allow_empty` lets an empty source close every key of a history table.
    `rerun` is a range of a time column, ends included, whose rows are made again.
    `allow_schema_change` lets a function give other columns than its table has.
    `allow_breaking` lets a change of types rewrite a table, `allow_source_mutation` lets SQL that
    built something change in an immutable model. `skip_checks` evaluates no check; `on_failure`
    replaces what models and the project say of failed gates.
    Of entities `slice` names the one that is run, `strategy` how; `processing_time` is the time of
    the first step, which `allow_backdated` lets lie before that of earlier ones. `strict` makes
    errors of warnings.
    """

    full_refresh: bool = False
    adopt: bool = False
    prune: bool = False
    no_prune: bool = False
    retention: Retention | None = None
    allow_empty: bool = False
    allow_breaking: bool = False
    allow_source_mutation: bool = False
    skip_checks: bool = False
    on_failure: OnFailure | None = None
    rerun: tuple[TypedValue, TypedValue] | None = None
    allow_schema_change: bool = False
    slice: str = ""
    strategy: ProcessType | None = None
    processing_time: dt.datetime | None = None
    allow_backdated: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the last success of a model took: the best guess for the next."""

    rows: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Step:
    """One model to bring up to date.

    `initial` reads the inputs whole and replaces the table. `planned_on` is the number of the
    target's last step, so that `begin` can see whether another came between. `executed` is the
    checksum of the SQL that built the table so far, "" if that is the SQL of now. A step with
    `only_alters` changes properties and comments and touches no row.

    It makes `partitions` of `grid`, all of one version and revision: those of a table without
    partitions are `*`. `trigger` is what asked for it: run, sync, cascade, backfill. `is_range` is
    whether one run of the SQL makes all of them. `upstream` holds keys of other steps; those in
    `later_than` make what only checks read: this step waits for them and needs nothing of them.
    `at_once` is whether other steps may write the table at the same time. `kind` is why it reads
    what it reads, where that is decided by now: initial, full, rerun; "" leaves it to the windows.
    `slice` is the one slice that it reads, `moment` its processing time. `session` is what it is
    in a pass of a session package.
    """

    model: str
    reason: Reason
    initial: bool
    upstream: tuple[str, ...] = ()
    planned_on: int = 0
    executed: str = ""
    estimate: Estimate | None = None
    notes: tuple[str, ...] = ()
    only_alters: bool = False
    partitions: Ranges = WHOLE
    grid: Grid = Grid()
    version: int = 1
    revision: int = 0
    trigger: str = "run"
    is_range: bool = False
    later_than: tuple[str, ...] = ()
    at_once: bool = False
    kind: str = ""
    slice: ListedSlice | None = None
    moment: dt.datetime | None = None
    session: SessionStep | None = None

    @property
    def key(self) -> str:
        """Its name in the plan: the model, and what tells it from other steps of the model."""
        if self.session is not None:
            return self.session.key
        if self.slice is not None:
            return f"{self.model} {self.slice.id.name}"
        return self.model if self.grid.is_whole else f"{self.model} {self.partitions[0][0]}"

    @property
    def count(self) -> int:
        """How many partitions it makes."""
        return count(self.partitions)

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The partitions as first and last keys of ranges; its slice stands for one."""
        if self.slice is not None:
            return ((self.slice.id.name, self.slice.id.name),)
        return key_pairs(self.grid, self.partitions)


@dataclass(frozen=True, slots=True)
class Blocked:
    """A selected model that cannot be planned, and why."""

    model: str
    error: PenstockError


@dataclass(frozen=True, slots=True)
class Plan:
    """An ordered list of steps with reasons; nothing has been done yet.

    `remaining` counts partitions that a limit left out.
    """

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
