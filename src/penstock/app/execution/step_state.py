"""What one step knows so far: the value that its phases hand on."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

from penstock.app.checking.gates import Ahead
from penstock.app.checking.target import CheckTarget
from penstock.app.checking.watch import Observation, Watch
from penstock.app.execution.commit import Committer, Ended
from penstock.app.observation.inputs import Inputs
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import Decided
from penstock.app.preparing.step_inputs import StepInputs
from penstock.app.services.services import Services
from penstock.core.check_results import Checked, CheckResult
from penstock.core.engine_ports import StepSession
from penstock.core.model import Body, Model, Version
from penstock.core.statement import Work
from penstock.core.step import Intent, Outcome
from penstock.plan.values import Step

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True)
class StepState:
    """One step under way. What an earlier phase finds out is None until then.

    `version` and `body` are the SQL of a step of partitions. `held` is what was said already ahead
    of the step that these partitions are left of. `said` is what the checks before it have said,
    `changes` how the table's columns change. `watch` is None where nothing is to be checked,
    `observed` what is counted while rows are written. `closing` ends what a phase has opened.
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
    inputs: Inputs | None = None
    session: StepSession | None = None
    step_inputs: StepInputs | None = None
    check_target: CheckTarget | None = None
    said: tuple[CheckResult, ...] = ()
    watch: Watch | None = None
    work: Work | None = None
    changes: tuple[str, ...] = ()
    decided: Decided | None = None
    observed: Observation | None = None
    checked: Checked | None = None
    outcome: Outcome | None = None
    ended: Ended | None = None

    @property
    def is_idle(self) -> bool:
        """Whether all windows are empty: no statement, no commit, new pins."""
        found = self.step_inputs
        return found is not None and found.has_nothing_to_read and not self.step.initial

    @property
    def late(self) -> int | None:
        """How many rows came below the watermark, None where nobody can tell."""
        return self.step_inputs.late if self.step_inputs else None

    @property
    def is_kept_back(self) -> bool:
        """Whether a gate lets nothing of the step be published."""
        blocked = self.watch is not None and self.watch.blocks and self.checked is not None
        if not blocked or self.checked is None or self.checked.failure is None:
            return False
        return self.decided is not None and self.decided.statement is None


def known(value: Known | None) -> Known:
    """Give what an earlier phase has found out; a phase that comes too soon is a bug."""
    if value is None:
        raise TypeError("a phase of a step came before the one that it needs")
    return value
