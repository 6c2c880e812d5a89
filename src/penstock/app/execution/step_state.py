"""What one step knows so far: the value that its phases hand on."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

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
from penstock.core.model import Body, Model, Version
from penstock.core.statement import Work
from penstock.core.steps.step import Intent, Outcome
from penstock.plan.values import Step

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True)
class StepState:
    """One step under way. What an earlier phase finds out is None until then.

    `version` and `body` are the SQL of a step of partitions. `held` is what was said already ahead
    of the step that these partitions are left of. `check_target` and `watch` are None where nothing
    is to be checked; `said` is what the checks before the step have said. `changes` is how the
    table's columns change. `observed` is what is counted while rows are written. `is_kept_back` is
    whether a gate lets nothing of it be published. `closing` ends what a phase has opened.
    """

    services: Services
    context: Context
    step: Step
    model: Model
    committer: Committer
    closing: ExitStack
    intent: Intent
    version: Version | None = None
    body: Body | None = None
    held: Ahead | None = None
    inputs: Inputs = Inputs({}, ())
    step_inputs: StepInputs = NOTHING
    check_target: CheckTarget | None = None
    said: tuple[CheckResult, ...] = ()
    watch: Watch | None = None
    work: Work = Work.just(None)
    changes: tuple[str, ...] = ()
    decided: DecidedStatement | None = None
    observed: Observation = Observation()
    checked: Checked | None = None
    is_kept_back: bool = False
    outcome: Outcome = Outcome(None)
    ended: Ended | None = None


def known(value: Known | None) -> Known:
    """Return what an earlier phase has found out; a phase that comes too soon is a bug."""
    if value is None:
        raise TypeError("a phase of a step came before the one that it needs")
    return value
