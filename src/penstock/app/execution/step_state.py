"""What the phases of a step hand on, and what they ask of its kind of work."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, TypeVar

from penstock.app.checking.gates import Ahead
from penstock.app.checking.target import CheckTarget
from penstock.app.checking.watch import Observation, Watch
from penstock.app.execution.commit import Committer, Ended
from penstock.app.preparing.pins import Inputs
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import DecidedStatement
from penstock.app.preparing.step_inputs import NOTHING, StepInputs
from penstock.app.services.services import Services
from penstock.core.check_results import Checked, CheckResult
from penstock.core.model import Model
from penstock.core.statement import Work
from penstock.core.steps.step import Intent, Outcome
from penstock.plan.resolve import Segment
from penstock.plan.values import Step

Known = TypeVar("Known")


class WorkKind(Protocol):
    """What running a step asks of its kind of work; a module of `app.kinds` is one."""

    def share_of(self, services: Services, /, context: Context, step: Step) -> Share:
        """Divide a step into what is to be done, what reads something that failed, and the rest."""
        ...

    def step_to_run(self, services: Services, /, context: Context, step: Step) -> Step | str:
        """Return the step that is to be done now, or why nothing is."""
        ...

    def replan(self, services: Services, /, context: Context, step: Step) -> Step | None:
        """Decide again about a step before which another of its target came; None: it is done."""
        ...

    def complete_intent(self, run: StepRun, intent: Intent) -> Intent:
        """Return the intent with what this kind of work adds to it."""
        ...

    def pin_versions(self, run: StepRun) -> Inputs:
        """Fix the versions of the inputs that are there."""
        ...

    def inspect(self, state: StepState) -> StepState:
        """Open the session; find windows, columns and facts. Nothing is written."""
        ...

    def prepare(self, state: StepState) -> StepState:
        """Choose the statements; make the commits that must come before the rows."""
        ...

    def note_success(self, context: Context, step: Step) -> None:
        """Take note of a step that has ended well."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """A step in parts."""

    steps: tuple[Step, ...] = ()
    """Those to do."""
    blocked: tuple[Step, ...] = ()
    """Those that read what failed."""
    idle: tuple[Step, ...] = ()
    """Those for which nothing above changed."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step under way: what is the same in all its phases."""

    services: Services
    context: Context
    kind: WorkKind
    step: Step
    model: Model
    committer: Committer
    closing: ExitStack
    """Ends what a phase has opened."""
    segment: Segment | None = None
    """The SQL of a step of partitions."""
    ahead: Ahead | None = None
    """What was said already ahead of the step that these partitions are left of."""


@dataclass(frozen=True, slots=True)
class Staged:
    """What a step is about to write."""

    decided: DecidedStatement | None = None
    """None where there is nothing to read."""
    observed: Observation = Observation()
    """What is counted while rows are written."""
    is_kept_back: bool = False
    """Whether a gate lets nothing of it be published."""


@dataclass(frozen=True, slots=True)
class StepState:
    """One step under way, as far as it came."""

    run: StepRun
    intent: Intent
    inputs: Inputs = Inputs({}, ())
    step_inputs: StepInputs = NOTHING
    check_target: CheckTarget | None = None
    """None where nothing is to be checked; `watch` too."""
    results: tuple[CheckResult, ...] = ()
    """What the checks before the step have said."""
    watch: Watch | None = None
    work: Work = Work.just(None)
    changes: tuple[str, ...] = ()
    """How the table's columns change."""
    staged: Staged = Staged()
    checked: Checked | None = None
    outcome: Outcome = Outcome(None)
    ended: Ended | None = None


def need(value: Known | None) -> Known:
    """Return what an earlier phase has found out; a phase that comes too soon is a bug."""
    if value is None:
        raise TypeError("a phase of a step came before the one that it needs")
    return value
