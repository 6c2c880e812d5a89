"""The records of a package's runs: the manifest, the limits of passes, their counts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from enum import IntEnum, StrEnum

from penstock.core.shown.notebooks import ShownInNotebooks

INSTANT = dt.timedelta(microseconds=1)
"""The resolution of Spark's timestamps."""


def greatest(*values: dt.datetime | None) -> dt.datetime | None:
    """Return the greatest of some times, None without any.

    >>> greatest(None, dt.datetime(2021, 1, 2), dt.datetime(2021, 1, 1))
    datetime.datetime(2021, 1, 2, 0, 0)
    """
    return max((each for each in values if each is not None), default=None)


class RunState(IntEnum):
    """The position of the tracked models of a package before a run."""

    FIRST_RUN = 1
    NEW_MODEL = 2
    OUT_OF_SYNC = 3
    STANDARD = 4


@dataclass(frozen=True, slots=True)
class LogVersion:
    """A version of a Delta table; the id distinguishes it from a table that replaced it."""

    table_id: str
    version: int


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """What one tracked model has processed; all times are in `ts`, except `updated_at`.

    `last_success` is the greatest `ts` of its events, `covered_to` the greatest upper limit of a
    run in which it succeeded. `advanced_to` is the end of a window that was skipped because it had
    no new events. `late_to` are the versions of the tables below the events up to which it has the
    rows before its windows; None if unknown.
    """

    model: str
    last_success: dt.datetime | None = None
    covered_to: dt.datetime | None = None
    advanced_to: dt.datetime | None = None
    fingerprint: str = ""
    run: str = ""
    updated_at: dt.datetime | None = None
    late_to: Mapping[str, LogVersion] | None = None

    def position(self, *, strict: bool = False) -> dt.datetime | None:
        """Return the position up to which it is done; `strict` counts only processed events."""
        return self.last_success if strict else greatest(self.last_success, self.advanced_to)


@dataclass(frozen=True, slots=True)
class Limits(ShownInNotebooks):
    """Which events a pass may read; both ends are inclusive."""

    _columns = "run=state.name lower_limit upper_limit is_empty"

    state: RunState
    lower_limit: dt.datetime
    upper_limit: dt.datetime

    @property
    def is_empty(self) -> bool:
        """Whether no event can be between them."""
        return self.lower_limit > self.upper_limit

    @property
    def end(self) -> dt.datetime:
        """The exclusive end of the same window."""
        return self.upper_limit + INSTANT


class PassKind(StrEnum):
    """What a pass is for: all models, those that are behind, those that are not, old sessions."""

    PACKAGE = "package"
    BACKFILL = "backfill"
    HEAD = "head"
    REBUILD = "rebuild"

    @property
    def reads_new_events(self) -> bool:
        """Whether it moves the head of the package, so that it may have caught up."""
        return self in (PassKind.PACKAGE, PassKind.HEAD)


@dataclass(frozen=True, slots=True)
class ManifestStatus:
    """The common state of the tracked models.

    `matched` counts those with a position, `all_matched` is whether all have one; `has_events` is
    whether some model has processed an event. `least` names one at the lowest position.
    """

    min_position: dt.datetime | None = None
    max_position: dt.datetime | None = None
    matched: int = 0
    all_matched: bool = False
    has_events: bool = False
    least: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """Which sessions to build again from all their events; a range of days includes both ends.

    `before` are the versions of the package's own tables at the first attempt, by suffix: later
    attempts find there which sessions and users there were.
    """

    first: dt.date | None = None
    last: dt.date | None = None
    sessions: tuple[str, ...] = ()
    before: Mapping[str, LogVersion] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        """Return which sessions, in words."""
        if self.sessions:
            named = ", ".join(self.sessions[:5]) + ", …" * (len(self.sessions) > 5)  # noqa: PLR2004
            return f"sessions {named}"
        return f"sessions that begin from {self.first} to {self.last}"


@dataclass(frozen=True, slots=True)
class PlannedPass:
    """One planned pass: its limits, and the models that gain events.

    `conditional` are models that take part only if the previous pass brings them to the head.
    `max_covered` is the greatest `covered_to` among the models at the head. `idle` is the reason
    why a run leaves out the pass, "" otherwise. With a `rebuild`, old sessions are built again.
    """

    kind: PassKind
    limits: Limits
    status: ManifestStatus
    models: tuple[str, ...]
    conditional: tuple[str, ...] = ()
    max_covered: dt.datetime | None = field(default=None, compare=False)
    idle: str = field(default="", compare=False)
    rebuild: RebuildRequest | None = None


class PassStepKind(StrEnum):
    """What a step of a pass does: build a table of the package, a user's model, or stitch."""

    BASE = "base"
    MODULE = "module"
    MODEL = "model"
    STITCH = "stitch"


@dataclass(frozen=True, slots=True)
class PassStep:
    """One step of a pass, which makes at most one commit.

    `model` is the model whose table it writes, `name` the name of the step. It needs success of the
    steps in `needs`, and only the end of those in `after`. With `conditional` it is left out unless
    its model reached the head in the previous pass.
    """

    kind: PassStepKind
    name: str
    model: str
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class EventCounts:
    """The number of events of one scope in each class."""

    read: int = 0
    filtered: int = 0
    null_device: int = 0
    late: int = 0
    null_session: int = 0
    quarantined: int = 0
    before_start: int = 0
    beyond_cap: int = 0
    duplicate: int = 0
    kept: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether every event was counted exactly once."""
        read, *classes = astuple(self)
        return bool(read == sum(classes))


@dataclass(frozen=True, slots=True)
class PassEvents:
    """What is known of a pass once its events are built.

    `greatest` is the greatest `ts` of its events, None without any. `later_events` is whether some
    event is between its window and now; None if unknown. `late_loaded` are the rows of new files
    that are before the window, `beyond_horizon` those of them that are too old for any session.
    """

    greatest: dt.datetime | None = None
    later_events: bool | None = None
    window: EventCounts = EventCounts()
    history: EventCounts = EventCounts()
    late_loaded: int = 0
    beyond_horizon: int = 0


@dataclass(frozen=True, slots=True)
class SessionPromise:
    """The records of a package after a successful step, written before it begins.

    `row` is that of a tracked model, None if it does not change. `released` are the sessions that
    it releases from quarantine; `stitched` is the number of the run whose user mapping its rows
    have, 0 if unchanged.
    """

    package: str
    row: ManifestRow | None = None
    released: tuple[str, ...] = ()
    stitched: int = 0


def executed(passes: Iterable[PlannedPass]) -> tuple[PlannedPass, ...]:
    """Return the passes that a run executes and records."""
    return tuple(each for each in passes if not each.idle)


_FIRST_LINES = {
    RunState.FIRST_RUN: "First run: no model has processed anything yet",
    RunState.NEW_MODEL: "New model introduced: replaying from the start date",
    RunState.OUT_OF_SYNC: "Models out of sync: syncing",
    RunState.STANDARD: "Standard incremental run",
}


def instant_text(at: dt.datetime | None) -> str:
    """Format a time, UTC, with a fraction only if there is one; "" for none.

    >>> instant_text(dt.datetime(2021, 1, 5, 17, 59, 32, 500_000, dt.UTC))
    '2021-01-05 17:59:32.5'
    """
    if at is None:
        return ""
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")


def limit_lines(name: str, planned: PlannedPass) -> tuple[str, ...]:
    """Return which events a pass reads, and why; with an extra line if it has nothing to do."""
    limits, kind = planned.limits, planned.kind
    if planned.rebuild is not None:
        return (f"{name} ({kind}): Building {planned.rebuild} again, from all their events",)
    head = name if kind is PassKind.PACKAGE else f"{name} ({kind})"
    low, high = instant_text(limits.lower_limit), instant_text(limits.upper_limit)
    return (
        f"{head}: {_FIRST_LINES[limits.state]}",
        f"{head}: Processing data between {low} and {high}",
        *([f"{head}: Nothing to do: {planned.idle}"] if planned.idle else []),
    )
