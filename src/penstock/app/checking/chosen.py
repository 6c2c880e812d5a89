"""Which checks a step has, and the mode for a failed gate after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from penstock.app.checking.results import skip
from penstock.core.check_results import CheckResult
from penstock.core.checks.check import Check, OnFailure
from penstock.core.model import Model
from penstock.core.project import Project
from penstock.core.strategy import Writing
from penstock.plan.values import Options, Step
from penstock.strategies.checks.literals import amount
from penstock.strategies.relations import query_tables

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
        """Whether there is nothing to report."""
        return not (self.before or self.after)

    @property
    def looks_after(self) -> bool:
        """Whether anything is evaluated after the step."""
        return bool(self.after) and not self.skips

    def mode_where(self, *, creates: bool) -> OnFailure:
        """Return the mode of a step; a step that creates its target has no version to return to."""
        return OnFailure.BLOCK if creates and self.mode is OnFailure.ROLLBACK else self.mode

    @property
    def needs_table(self) -> bool:
        """Whether an `after` check reads the whole table, not only the rows of the step."""
        return any(check.reads_table for check in self.after)

    @property
    def gates_table(self) -> bool:
        """Whether a check of the whole table decides if the step's rows may be published."""
        return any(check.reads_table and check.is_gate for check in self.after)


def checks_of_step(project: Project, model: Model, version: int, options: Options) -> StepChecks:
    """Return the checks of a version of a model, in the mode of the command, model or project.

    Without a gate after the step, there is nothing to hold back or to undo. A view has no version
    to return to, so `rollback` acts as `block` there.
    """
    checks = model.checks_of(version)
    mode = options.on_failure or checks.on_failure or project.checks.on_failure
    if not checks.has_gate_after:
        mode = OnFailure.FLAG
    elif model.is_view and mode is OnFailure.ROLLBACK:
        mode = OnFailure.BLOCK
    return StepChecks(checks.before, checks.after, mode, options.skip_checks)


def skipped(checks: Sequence[Check], why: str) -> tuple[CheckResult, ...]:
    """Return the results of skipped checks."""
    return tuple(skip(check, why) for check in checks)


@dataclass(frozen=True, slots=True)
class PlannedChecks:
    """How many checks a step has, and what evaluating them costs in addition.

    `observed` are computed while the rows are written, `scans` counts the queries for the others.
    `of_views` are those of the views that the step reads, evaluated before it. `on_failure` is None
    if no check after the step can stop anything.
    """

    before: int = 0
    after: int = 0
    observed: int = 0
    scans: int = 0
    on_failure: OnFailure | None = None
    skipped: bool = False
    of_views: int = 0

    @property
    def total(self) -> int:
        """The number of checks."""
        return self.before + self.after + self.of_views

    def __str__(self) -> str:
        """Return the line of a plan, "" without checks.

        >>> print(PlannedChecks(1, 4, 3, 1, OnFailure.FLAG))
        checks: 1 before, 4 after (3 observed, 1 scan), on failure: flag
        """
        if not self.total:
            return ""
        if self.skipped:
            return f"checks: {self.total} skipped ({SKIPPED})"
        how = [f"{self.observed} observed"] if self.observed else []
        how += [amount(self.scans, "scan")] if self.scans else []
        parts = {
            f"{self.of_views} of views it reads": self.of_views,
            f"{self.before} before": self.before,
            f"{self.after} after ({', '.join(how)})": self.after,
            f"on failure: {self.on_failure}": self.on_failure,
        }
        return f"checks: {', '.join(part for part, is_there in parts.items() if is_there)}"


def _checks_of_views(project: Project, model: Model) -> int:
    """Count the checks of views that a model reads, including nested views."""
    read = [project.models.get(name.name) for name in model.inputs if name != model.input_name]
    if not any(each is not None and each.is_view for each in read) or not project.checked_views:
        return 0
    below = {name.name for name in query_tables(project, model.inputs)} - {model.name}
    return sum(len(project.models[name].all_checks) for name in below & project.checked_views)


def planned_checks(
    project: Project, step: Step, options: Options, creates: Callable[[], bool]
) -> PlannedChecks:
    """Count the checks of a step and the queries that they cost; 0 for a step without rows."""
    if step.only_alters:
        return PlannedChecks()
    model = project.models[step.model]
    its = checks_of_step(project, model, step.version, options)
    above = _checks_of_views(project, model)
    if its.skips:
        return PlannedChecks(len(its.before), len(its.after), skipped=True, of_views=above)
    undoes = its.mode is OnFailure.ROLLBACK
    mode = its.mode_where(creates=creates()) if undoes else its.mode
    # a rerun replaces rows, and so adds none that a write would tell of
    observes = options.rerun is None and _observes(model, step, mode)
    scanned = [check for check in its.after if not (observes and check.is_observable)]
    # One query for each SQL or relationship, one for all others over the same rows.
    alone = [check for check in scanned if check.rule.is_alone]
    shared = {
        (check.scope, check.query.text if check.query else "")
        for check in scanned
        if check not in alone
    }
    return PlannedChecks(
        len(its.before),
        len(its.after),
        observed=len(its.after) - len(scanned),
        scans=len(alone) + len(shared),
        on_failure=mode if any(check.is_gate for check in its.after) else None,
        of_views=above,
    )


def _observes(model: Model, step: Step, mode: OnFailure) -> bool:
    """Return whether one write reports the rows that it writes; CREATE and MERGE do not."""
    blocks = mode is OnFailure.BLOCK
    match model.writing:
        case Writing.MERGED:
            return False
        case Writing.RANGES:
            return step.count == 1
        case Writing.WHOLE:
            return blocks and model.strategy.takes_feed  # staged files are observed
        case Writing.ADDED:
            return blocks or not step.initial
        case _ as never:
            assert_never(never)
