"""Events of a running command, and their listeners."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from penstock.app.reports import ModelResult
from penstock.plan.values import Plan, Step


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The plan is complete and its steps begin."""

    run: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step has started."""

    model: str
    reason: str
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step, or a part of one, succeeded, was skipped or failed."""

    result: ModelResult
    steps: int = 1
    """How many steps of the plan ended with it: 0 for all parts but the last, and for a view."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message that belongs to no step."""

    text: str


Event = RunStarted | StepStarted | StepEnded | Said
SUCCEEDED, FAILED, INTERRUPTED = "succeeded", "failed", "interrupted"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """How a run ended; `message` explains a failure. Only receivers get it."""

    state: str
    message: str = ""


Notification = tuple[dt.datetime, Event | RunEnded]
"""An event, and when it happened."""
Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Show nothing."""
