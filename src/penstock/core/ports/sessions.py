"""What the store knows of session packages: passes of runs, their manifest, what was asked for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.records import Holder, Status
from penstock.core.sessions.manifest import Limits, ManifestRow, PassEvents, PassKind
from penstock.core.steps.inputs import Pin


@dataclass(frozen=True, slots=True)
class SessionPass:
    """One pass of a run over a package: what it was to read, and what became of it.

    `seq` is the number of the run, which grows by one per run of the package. `pins` are the inputs
    below its events by name. `future_events` is whether some event lies after now; only a pass that
    caught up knows.
    """

    package: str
    seq: int
    kind: PassKind
    run: str
    limits: Limits
    now: dt.datetime
    pins: Mapping[str, Pin] = field(default_factory=dict)
    status: Status = Status.RUNNING
    events: PassEvents | None = None
    caught_up: bool = False
    future_events: bool | None = None
    started: dt.datetime | None = None
    ended: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """A session that somebody asked to let out of quarantine; no run has done it yet."""

    package: str
    session: str
    asked_at: dt.datetime
    who: str = ""


@dataclass(frozen=True, slots=True)
class PassEnd:
    """How a pass ended."""

    status: Status
    caught_up: bool = False
    future_events: bool | None = None


class PackageRecords(Protocol):
    """What is on record of session packages. Every method is one transaction."""

    def manifest(self, package: str) -> tuple[ManifestRow, ...]:
        """Return the rows of a manifest by model, those that nobody tracks any more too."""

    def stitched(self, package: str) -> Mapping[str, int]:
        """Return up to which run the rows of its models take the mapping of users."""

    def passes(self, package: str, limit: int | None = None) -> tuple[SessionPass, ...]:
        """Return the passes of its runs, newest first."""

    def releases(self, package: str) -> tuple[Release, ...]:
        """Return the releases that no run has done yet, by session."""

    def overwrites(self, package: str) -> frozenset[str]:
        """Return the models whose next commit takes the place of all rows of their table."""

    def begin_pass(self, begun: SessionPass, holder: Holder) -> SessionPass:
        """Take the lease of the package and write the pass as RUNNING; give it with its number.

        Passes of one run share a number. A pass of another run that is still RUNNING is FAILED: its
        run is gone. Raises `LeaseHeldError`.
        """

    def note_events(self, noted: SessionPass, events: PassEvents) -> None:
        """Write what is known of a pass once its events are built."""

    def end_pass(self, ended: SessionPass, end: PassEnd) -> None:
        """Write how a pass ended."""

    def release(self, package: str, sessions: Sequence[str], who: str) -> None:
        """Ask that the next run lets sessions out of quarantine."""

    def forget(
        self, package: str, models: Collection[str], overwrites: Collection[str] = ()
    ) -> None:
        """Take rows out of the manifest; the next commits on `overwrites` replace their tables.

        Raises `LeaseHeldError` while a run of the package goes on.
        """


@dataclass(frozen=True, slots=True)
class FewRows:
    """Rows of a table, times in UTC, and how many rows it has."""

    rows: tuple[tuple[object, ...], ...]
    total: int


class KeptRows(Protocol):
    """A few rows of a table that penstock keeps, read without Spark."""

    def newest(self, uri: str, columns: Sequence[str], by: str, limit: int) -> FewRows:
        """Return the rows with the greatest `by`, greatest first; none of a missing table."""
        ...

    def present(self, uri: str, column: str, values: Sequence[str]) -> frozenset[str]:
        """Return those of the values that some row has in a column of texts."""
        ...
