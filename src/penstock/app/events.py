"""What a run tells while it works, and who listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.app.reports import ModelResult
from penstock.plan.values import Plan


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The plan is made and its steps begin."""

    run: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step is being worked on."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step, or a part of one, is done, skipped or failed."""

    result: ModelResult
    steps: int = 1
    """How many steps of the plan ended with it: 0 for a part that others follow, or for a view."""


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence worth reading that belongs to no step."""

    text: str


Event = RunStarted | StepStarted | StepEnded | Said
Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Show nothing."""
