"""What the store records of session packages: passes, their manifest, requests."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.records import Holder, Status
from penstock.core.sessions.manifest import (
    Limits,
    ManifestRow,
    PassEvents,
    PassKind,
    RebuildRequest,
)
from penstock.core.steps.inputs import Pin


@dataclass(frozen=True, slots=True)
class SessionPass:
    """One pass of a run over a package: what it was to read, and how it ended.

    `seq` is the number of the run; each run of the package adds one. `pins` maps the inputs below
    its events to their versions. `future_events` is whether some event is later than now; only a
    pass that caught up knows. `rebuild` is what a pass is about that builds old sessions again.
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
    rebuild: RebuildRequest | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """A request to release a session from quarantine that no run has carried out yet."""

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
    """Records of session packages. Every method is one transaction."""

    def manifest(self, package: str) -> tuple[ManifestRow, ...]:
        """Return the rows of a manifest by model, including models that are no longer tracked."""

    def stitched(self, package: str) -> Mapping[str, int]:
        """Return the last run whose user mapping the rows of its models have."""

    def passes(self, package: str, limit: int | None = None) -> tuple[SessionPass, ...]:
        """Return the passes of its runs, newest first."""

    def releases(self, package: str) -> tuple[Release, ...]:
        """Return the open releases, by session."""

    def overwrites(self, package: str) -> frozenset[str]:
        """Return the models whose next commit replaces all rows of their table."""

    def begin_pass(self, begun: SessionPass, holder: Holder) -> SessionPass:
        """Take the lease of the package, write the pass as RUNNING and return it with its number.

        Passes of one run share a number. A pass of another run that is still RUNNING becomes
        FAILED, because its run has ended. Raises `LeaseHeldError`.
        """

    def note_events(self, noted: SessionPass, events: PassEvents) -> None:
        """Write what is known of a pass once its events are built."""

    def end_pass(self, ended: SessionPass, end: PassEnd) -> None:
        """Write how a pass ended."""

    def release(self, package: str, sessions: Sequence[str], who: str) -> None:
        """Request that the next run releases sessions from quarantine."""

    def forget(
        self, package: str, models: Collection[str], overwrites: Collection[str] = ()
    ) -> None:
        """Remove rows from the manifest; the next commits on `overwrites` replace their tables.

        Raises `LeaseHeldError` while a run of the package is in progress.
        """


@dataclass(frozen=True, slots=True)
class FewRows:
    """Some rows of a table, times in UTC, and its total number of rows."""

    rows: tuple[tuple[object, ...], ...]
    total: int


class KeptRows(Protocol):
    """A few rows of a table that penstock keeps, read without Spark."""

    def newest(self, uri: str, columns: Sequence[str], by: str, limit: int) -> FewRows:
        """Return the rows with the greatest `by`, greatest first; empty if there is no table."""
        ...

    def present(self, uri: str, column: str, values: Sequence[str]) -> frozenset[str]:
        """Return the values that occur in a text column."""
        ...
