"""Events of a running command, and their listeners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.app.reports import ModelResult
from penstock.plan.values import Plan


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
Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Show nothing."""
