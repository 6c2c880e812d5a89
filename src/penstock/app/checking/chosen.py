"""Which checks a step has, and in which mode a failed gate after it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.check_results import CheckResult, CheckStatus, InvariantReport
from penstock.core.checks import Check, Checks, CheckScope, OnFailure, Relationships, SqlCheck
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.project import Project
from penstock.plan.values import Options

SKIPPED = "--skip-checks"


@dataclass(frozen=True, slots=True)
class StepChecks:
    """The checks of one step; with `skips` none of them is evaluated."""

    before: tuple[Check, ...] = ()
    after: tuple[Check, ...] = ()
    mode: OnFailure = OnFailure.FLAG
    skips: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.before or self.after)

    @property
    def looks_after(self) -> bool:
        """Whether anything is evaluated after the step."""
        return bool(self.after) and not self.skips

    def mode_where(self, *, creates: bool) -> OnFailure:
        """Give the mode of a step; one that makes its target has nothing to go back to."""
        return OnFailure.BLOCK if creates and self.mode is OnFailure.ROLLBACK else self.mode

    @property
    def needs_table(self) -> bool:
        """Whether an `after` check sees the whole table, not only the rows of the step."""
        return any(map(reads_table, self.after))


def reads_table(check: Check) -> bool:
    """Whether a check sees the target as a whole."""
    if check.scope is CheckScope.TABLE or isinstance(check.rule, SqlCheck):
        return True
    tables = check.query.inputs if check.query else ()
    if isinstance(check.rule, Relationships):
        tables = (*tables, check.rule.to)
    return any(name.kind is InputKind.THIS for name in tables)


def checks_of_step(project: Project, model: Model, version: int, options: Options) -> StepChecks:
    """Give the checks of a version of a model, in the mode of the command, model or project.

    Without a gate after the step there is nothing to hold back or to undo.
    """
    checks = model.checks_of(version)
    return StepChecks(
        checks.before, checks.after, mode_of(project, model, checks, options), options.skip_checks
    )


def mode_of(project: Project, model: Model, checks: Checks, options: Options) -> OnFailure:
    """Give the mode; a view has no version to go back to, so there `rollback` acts as `block`."""
    mode = options.on_failure or checks.on_failure or project.checks.on_failure
    if not checks.has_gate_after:
        return OnFailure.FLAG
    return OnFailure.BLOCK if model.is_view and mode is OnFailure.ROLLBACK else mode


def skipped(checks: Sequence[Check], why: str) -> tuple[CheckResult, ...]:
    """Give the results of checks that nobody looks at."""
    return tuple(
        CheckResult(
            name=check.name,
            type=check.type,
            phase=check.phase,
            severity=check.severity,
            status=CheckStatus.SKIPPED,
            message=why,
            definition=check.definition,
            scope=check.scope,
            where=check.where,
        )
        for check in checks
    )


def all_skipped(checks: StepChecks, why: str) -> InvariantReport:
    """Give the report of a step of which no check was looked at."""
    return InvariantReport(skipped(checks.before, why), skipped(checks.after, why))
