"""The state that phases of a step pass on, and the port for its kind of work."""

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
from penstock.core.ports.engine import StepSession
from penstock.core.statement import Work
from penstock.core.steps.step import Intent, Outcome
from penstock.plan.resolve import Segment
from penstock.plan.values import Step

Known = TypeVar("Known")


class WorkKind(Protocol):
    """What running a step needs from its kind of work; modules of `app.kinds` implement it."""

    def share_of(self, services: Services, /, context: Context, step: Step) -> Share:
        """Divide a step into what is to be done, what reads failed inputs, and the rest."""
        ...

    def step_to_run(self, services: Services, /, context: Context, step: Step) -> Step | str:
        """Return the step to run now, or why there is nothing to do."""
        ...

    def replan(self, services: Services, /, context: Context, step: Step) -> Step | None:
        """Plan a step again after another step of its target; None: it is done."""
        ...

    def complete_intent(self, run: StepRun, intent: Intent) -> Intent:
        """Return the intent with the values of this kind of work."""
        ...

    def pin_versions(self, run: StepRun) -> Inputs:
        """Pin the versions of the existing inputs."""
        ...

    def inspect(self, state: StepState) -> StepState:
        """Open the session; find windows, columns and facts. Writes nothing."""
        ...

    def prepare(self, state: StepState) -> StepState:
        """Choose the statements; make the commits that must precede the rows."""
        ...

    def note_success(self, context: Context, step: Step) -> None:
        """Record that a step succeeded."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """A step in parts."""

    steps: tuple[Step, ...] = ()
    """Steps to run."""
    blocked: tuple[Step, ...] = ()
    """Steps whose inputs failed."""
    idle: tuple[Step, ...] = ()
    """Steps without a change upstream."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """One running step: the values that all its phases share."""

    services: Services
    context: Context
    kind: WorkKind
    step: Step
    model: Model
    committer: Committer
    closing: ExitStack
    """Closes what the phases opened."""
    segment: Segment | None = None
    """The SQL of a step of partitions."""
    ahead: Ahead | None = None
    """Check results from the step that these partitions are the rest of."""


def open_session(run: StepRun, session: StepSession | None = None) -> StepRun:
    """Open the session of a step, unless it shares one, or its hooks have opened it."""
    if session is None and hasattr(run.committer, "session"):
        return run
    if session is None:
        own = run.services.engine.session(run.model.name, run.committer.where)
        session = run.closing.enter_context(own)
    run.committer.session = session
    return run


@dataclass(frozen=True, slots=True)
class Staged:
    """What a step is about to write."""

    decided: DecidedStatement | None = None
    """None if there is nothing to read."""
    observed: Observation = Observation()
    """Values counted while rows are written."""
    is_kept_back: bool = False
    """Whether a gate holds back all of it."""


@dataclass(frozen=True, slots=True)
class StepState:
    """One running step, with the results of its phases so far."""

    run: StepRun
    intent: Intent
    inputs: Inputs = Inputs({}, ())
    step_inputs: StepInputs = NOTHING
    check_target: CheckTarget | None = None
    """None if there are no checks; so is `watch`."""
    results: tuple[CheckResult, ...] = ()
    """The results of the checks before the step."""
    watch: Watch | None = None
    work: Work = Work.just(None)
    changes: tuple[str, ...] = ()
    """How the table's columns change."""
    staged: Staged = Staged()
    checked: Checked | None = None
    outcome: Outcome = Outcome(None)
    ended: Ended | None = None


def need(value: Known | None) -> Known:
    """Return the result of an earlier phase; calling it too early is a bug."""
    if value is None:
        raise TypeError("a phase of a step came before the one that it needs")
    return value
