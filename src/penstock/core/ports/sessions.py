"""What the store knows of session packages: passes of runs, their manifest, what was asked for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.records import Status
from penstock.core.sessions.manifest import Limits, PassEvents, PassKind
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
