"""What runs of a package leave on record: the manifest, the limits of passes, what they counted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from enum import IntEnum, StrEnum

from penstock.core.shown.notebooks import ShownInNotebooks

INSTANT = dt.timedelta(microseconds=1)
"""What Spark's timestamps count in."""


def greatest(*values: dt.datetime | None) -> dt.datetime | None:
    """Return the greatest of some times, None where there is none.

    >>> greatest(None, dt.datetime(2021, 1, 2), dt.datetime(2021, 1, 1))
    datetime.datetime(2021, 1, 2, 0, 0)
    """
    return max((each for each in values if each is not None), default=None)


class RunState(IntEnum):
    """Where the tracked models of a package stand before a run."""

    FIRST_RUN = 1
    NEW_MODEL = 2
    OUT_OF_SYNC = 3
    STANDARD = 4


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """What one tracked model has processed; all times are in `ts`, but for `updated_at`.

    `last_success` is the greatest `ts` of events that it processed, `covered_to` the greatest upper
    limit of a run in which it succeeded. `advanced_to` is the end of a window that was passed over
    because nothing in it was new.
    """

    model: str
    last_success: dt.datetime | None = None
    covered_to: dt.datetime | None = None
    advanced_to: dt.datetime | None = None
    fingerprint: str = ""
    run: str = ""
    updated_at: dt.datetime | None = None

    def position(self, *, strict: bool = False) -> dt.datetime | None:
        """Return up to where it is done; `strict` knows the events that it processed alone."""
        return self.last_success if strict else greatest(self.last_success, self.advanced_to)


@dataclass(frozen=True, slots=True)
class Limits(ShownInNotebooks):
    """Which events a pass may read; both ends belong to the window."""

    _columns = "run=state.name lower_limit upper_limit is_empty"

    state: RunState
    lower_limit: dt.datetime
    upper_limit: dt.datetime

    @property
    def is_empty(self) -> bool:
        """Whether no event can lie between them."""
        return self.lower_limit > self.upper_limit

    @property
    def end(self) -> dt.datetime:
        """The end of the same window where the end does not belong to it."""
        return self.upper_limit + INSTANT


class PassKind(StrEnum):
    """Which models a pass is for: all, those that are behind, those that are not."""

    PACKAGE = "package"
    BACKFILL = "backfill"
    HEAD = "head"


@dataclass(frozen=True, slots=True)
class ManifestStatus:
    """Where the tracked models stand together.

    `matched` counts those with a position, `all_matched` is whether there is no other; `has_events`
    whether some model has processed an event. `least` names one at the least position.
    """

    min_position: dt.datetime | None = None
    max_position: dt.datetime | None = None
    matched: int = 0
    all_matched: bool = False
    has_events: bool = False
    least: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PlannedPass:
    """One pass before anything is done: its limits, and who has something to gain.

    `conditional` are models that take part only if the pass before brings them to the head.
    `max_covered` is the greatest `covered_to` among the models at the head. `idle` says why a run
    leaves the pass out, "" where it does not.
    """

    kind: PassKind
    limits: Limits
    status: ManifestStatus
    models: tuple[str, ...]
    conditional: tuple[str, ...] = ()
    max_covered: dt.datetime | None = field(default=None, compare=False)
    idle: str = field(default="", compare=False)


class PassStepKind(StrEnum):
    """What a step of a pass does: make a table of the package, a model of the user, or stitch."""

    BASE = "base"
    MODULE = "module"
    MODEL = "model"
    STITCH = "stitch"


@dataclass(frozen=True, slots=True)
class PassStep:
    """One step of a pass, which makes at most one commit.

    `model` is the one whose table it writes, `name` what the step is called. Of the steps that it
    `needs` none may have failed, those that it comes `after` have only ended. With `conditional` it
    is left out unless its model reached the head in the pass before.
    """

    kind: PassStepKind
    name: str
    model: str
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class EventCounts:
    """What became of the events of one scope, each in one class."""

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
        """Whether every event was counted, and none twice."""
        read, *classes = astuple(self)
        return bool(read == sum(classes))


@dataclass(frozen=True, slots=True)
class PassEvents:
    """What is known of a pass once its events are built.

    `greatest` is the greatest `ts` of its events, None without any. `later_events` is whether some
    event lies between its window and now; None where nobody asked. `behind` are rows that came too
    late to be found as new.
    """

    greatest: dt.datetime | None = None
    later_events: bool | None = None
    window: EventCounts = EventCounts()
    history: EventCounts = EventCounts()
    behind: int = 0


@dataclass(frozen=True, slots=True)
class SessionPromise:
    """What a step of a package leaves in its records when it succeeds, written before it begins.

    `row` is that of a tracked model, None where it gains nothing. `released` are the sessions that
    it lets out of quarantine; `stitched` is the number of the run up to which its rows take the
    mapping of users, 0 for a step that says nothing of it.
    """

    package: str
    row: ManifestRow | None = None
    released: tuple[str, ...] = ()
    stitched: int = 0


def executed(passes: Iterable[PlannedPass]) -> tuple[PlannedPass, ...]:
    """Return the passes that a run executes, and so records."""
    return tuple(each for each in passes if not each.idle)


_FIRST_LINES = {
    RunState.FIRST_RUN: "First run: no model has processed anything yet",
    RunState.NEW_MODEL: "New model introduced: replaying from the start date",
    RunState.OUT_OF_SYNC: "Models out of sync: syncing",
    RunState.STANDARD: "Standard incremental run",
}


def instant_text(at: dt.datetime | None) -> str:
    """Return a time, UTC, with a fraction only where there is one; "" for none.

    >>> instant_text(dt.datetime(2021, 1, 5, 17, 59, 32, 500_000, dt.UTC))
    '2021-01-05 17:59:32.5'
    """
    if at is None:
        return ""
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")


def limit_lines(name: str, planned: PlannedPass) -> tuple[str, ...]:
    """Return which events a pass reads, and why those; a line more if it has nothing to do."""
    limits, kind = planned.limits, planned.kind
    head = name if kind is PassKind.PACKAGE else f"{name} ({kind})"
    low, high = instant_text(limits.lower_limit), instant_text(limits.upper_limit)
    return (
        f"{head}: {_FIRST_LINES[limits.state]}",
        f"{head}: Processing data between {low} and {high}",
        *([f"{head}: Nothing to do: {planned.idle}"] if planned.idle else []),
    )
