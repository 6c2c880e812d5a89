"""One pass of a session package while it runs: what its steps find, and what it warns of."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.core.columns.schema import Schema
from penstock.core.facts import AddedFile
from penstock.core.findings import Finding, Severity, some
from penstock.core.ports.engine import StepSession
from penstock.core.ports.sessions import PassEnd, SessionPass
from penstock.core.records import Status
from penstock.core.sessions.manifest import LogVersion, PassEvents, instant_text
from penstock.core.sessions.options import LateRows, SessionTable
from penstock.core.sessions.package import SessionPackage
from penstock.core.statement import Row
from penstock.core.steps.inputs import DeltaPin, Pin
from penstock.plan.kinds.manifest import is_caught_up
from penstock.strategies.sessions.events import ReleasedSession, Reread, SessionRun

if TYPE_CHECKING:
    from penstock.app.preparing.pins import Inputs


@dataclass(slots=True)
class PassRun:
    """One running pass. Later steps use what earlier ones found."""

    package: SessionPackage
    """The package."""
    begun: SessionPass
    """Its record, with limits and pinned versions."""
    inputs: Inputs
    """The events, at the version that the whole pass reads."""
    left: set[str]
    """Keys of its unfinished steps."""
    processed: set[str] = field(default_factory=set)
    """Models that have processed its events."""
    quarantined_at: int | None = None
    """The version of the quarantine at its start, None without a table."""
    schema: Schema = Schema()
    """The columns of the events; empty until they are open."""
    released_ids: tuple[str, ...] = ()
    """All sessions to be released."""
    released: tuple[ReleasedSession, ...] = ()
    """Those of them that were in quarantine."""
    events: PassEvents | None = None
    """The counts of its events, once they are built."""
    future_events: bool | None = None
    """Whether some event is later than now, if known."""
    files: tuple[AddedFile, ...] | None = None
    """The files of the events, if the log has the range of times of each."""
    window: Row = field(default_factory=dict)
    """The number of events of each class in scan A."""
    dates: tuple[str, ...] = ()
    """The dates of the sessions that it changes."""
    first: dt.datetime | None = None
    """The start of the first of these sessions."""
    shared: dict[SessionTable, str] = field(default_factory=dict)
    """Tables that its steps need not read again, as SQL."""
    held_again: tuple[str, ...] = ()
    """Released sessions that are quarantined again."""
    since: Mapping[str, LogVersion] = field(default_factory=dict)
    """The versions, by table, up to which its models have late rows."""
    head: dt.datetime | None = None
    """Up to where some model has events."""
    late_loaded: int = 0
    """Rows of new files that are before its window."""
    beyond_horizon: int = 0
    """Those of them that are too old for any session."""
    late_files: list[str] = field(default_factory=list)
    """New files that may have late rows, by the log."""
    late_error: str = ""
    """Why late rows are unknown, if they are."""
    rewritten: bool = False
    """Whether new commits did not only add rows, so that late ones may be unknown."""
    reread: Reread | None = None
    """The old sessions that it builds again."""
    maps: bool = False
    """Whether there is a mapping of users."""
    old_dates: tuple[str, ...] = ()
    """The partitions in which rows of these sessions lay."""
    old_views: Mapping[str, str] = field(default_factory=dict)
    """What modules need of these sessions, as SQL by view."""
    failed: bool = False
    """Whether one of its steps failed."""
    closing: ExitStack = field(default_factory=ExitStack)
    """Closes its session."""
    session: StepSession | None = None
    """The session that its base tables share."""

    @property
    def sql(self) -> SessionRun:
        """The values that all SQL of the pass depends on."""
        begun = self.begun
        found = (self.package, self.schema, begun.limits, begun.run, begun.seq, begun.now)
        return SessionRun(
            *found, released=self.released, rows=self.rows, reread=self.reread, head=self.head
        )

    @property
    def rows(self) -> int | None:
        """The greatest number of events that its scans read; None if the log lacks it."""
        options, limits = self.package.options, self.begun.limits
        if self.files is None or self.released:
            return None
        low = limits.lower_limit - dt.timedelta(days=options.max_session_days)
        if self.reread is not None and self.reread.spans:
            low = min(low, self.reread.spans[0][0])
        return sum(
            each.rows
            for each in self.files
            if not each.ends_before(options.timestamp, low)
            and not each.begins_after(options.timestamp, limits.upper_limit)
        )

    def end(self) -> PassEnd:
        """Record how it ended."""
        later = self.events.later_events if self.events else None
        caught_up = self.begun.kind.reads_new_events and is_caught_up(
            self.begun.limits, self.begun.now, later
        )
        status = Status.FAILED if self.failed else Status.SUCCESS
        return PassEnd(status, caught_up, self.future_events if caught_up else None)


def delta_versions(pins: Mapping[str, Pin]) -> dict[str, LogVersion]:
    """Return the pinned versions of Delta tables."""
    return {
        name: LogVersion(pin.table_id, pin.version)
        for name, pin in pins.items()
        if isinstance(pin, DeltaPin)
    }


def pass_warnings(run: PassRun) -> Iterator[Finding]:
    """Return warnings of a pass, in the order in which they occurred."""
    package, limits, events = run.package, run.begun.limits, run.events or PassEvents()
    where, warning = package.places.get("events", package.where), Severity.WARNING
    name, low = package.events.name, instant_text(limits.lower_limit)
    if run.held_again:
        sentence = f"{some([repr(each) for each in run.held_again], 5)} reached the cap again"
        hint = "raise max_session_days, or repair the events, before a release"
        yield Finding(where, "quarantined-again", sentence, hint, warning)
    if run.late_loaded:
        hint = "raise lookback_window_hours if rows are often late by less than that"
        if not package.options.takes_late_rows:
            hint = "late_loaded: take builds their sessions again"
        yield Finding(where, "events-behind-window", _late_rows(run), hint, warning)
    if run.late_error:
        sentence = f"rows of {name} that arrived late are unknown: {run.late_error}"
        hint = f"penstock sessions rebuild {package.name} --from DATE --to DATE for their days"
        yield Finding(where, "late-rows-unknown", sentence, hint, warning)
    if run.rewritten and package.options.late_loaded is not LateRows.COUNT:
        sentence = f"commits of {name} did more than add rows since the last run"
        hint = (
            f"penstock sessions rebuild {package.name} --from DATE --to DATE, if they changed any"
        )
        yield Finding(where, "events-rewritten", sentence, hint, warning)
    if events.later_events and package.options.strict_seed_limits:
        span = f"{low} and {instant_text(limits.upper_limit)}"
        sentence = f"nothing between {span} is new, and later events wait behind it"
        hint = "strict_seed_limits: false passes over such a window"
        yield Finding(where, "window-frozen", sentence, hint, warning)
    if run.future_events:
        sentence = f"{name} holds events after {instant_text(run.begun.now)}"
        hint = "no run is skipped until they are past"
        yield Finding(where, "events-in-the-future", sentence, hint, warning)


def _late_rows(run: PassRun) -> str:
    """Return how many rows arrived late, and how they were treated."""
    low, options = instant_text(run.begun.limits.lower_limit), run.package.options
    sentence = f"{run.late_loaded:,} rows of {run.package.events.name} arrived late: before {low}"
    if not options.takes_late_rows:
        return f"{sentence}; they count only if their session gets a newer event"
    sentence += "; their sessions were built again"
    if run.beyond_horizon:
        days = options.session_lookback_days
        sentence += f", but for {run.beyond_horizon:,} rows that are more than {days} days older"
    return sentence
