"""What a plan says of a step's checks before anything runs (spec/checks.md §6.1, §8.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

from penstock.app.checking.chosen import SKIPPED, checks_of_step
from penstock.core.checks import Check, OnFailure, Relationships, SqlCheck
from penstock.core.model import Model, Writing
from penstock.core.project import Project
from penstock.plan.values import Options, Step
from penstock.strategies.relations import leaves_of


@dataclass(frozen=True, slots=True)
class PlannedChecks:
    """How many checks a step has, and what looking at them costs beside the step.

    `observed` are computed while the rows are written, `scans` counts the queries for the others.
    `of_views` are those of the views that the step reads, looked at ahead of it. `on_failure` is
    None where nothing after the step can stop anything.
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
        """How many checks there are."""
        return self.before + self.after + self.of_views

    def __str__(self) -> str:
        """Give the line of a plan, "" without checks.

        >>> print(PlannedChecks(1, 4, 3, 1, OnFailure.FLAG))
        checks: 1 before, 4 after (3 observed, 1 scan), on failure: flag
        """
        if not self.total:
            return ""
        if self.skipped:
            return f"checks: {self.total} skipped ({SKIPPED})"
        return f"checks: {', '.join(self._parts())}"

    def _parts(self) -> Iterator[str]:
        if self.of_views:
            yield f"{self.of_views} of views it reads"
        if self.before:
            yield f"{self.before} before"
        if self.after:
            how = [f"{self.observed} observed"] * bool(self.observed)
            how += [f"{self.scans} scan{'' if self.scans == 1 else 's'}"] * bool(self.scans)
            yield f"{self.after} after ({', '.join(how)})"
        if self.on_failure is not None:
            yield f"on failure: {self.on_failure}"


def planned_checks(
    project: Project, step: Step, options: Options, creates: Callable[[], bool]
) -> PlannedChecks:
    """Count the checks of a step and the queries that they cost; none of a step without rows.

    `creates` tells whether the step makes its target: then there is nothing to go back to.
    """
    model = project.models[step.model]
    its = checks_of_step(project, model, step.version, options)
    numbers = len(its.before), len(its.after)
    if step.only_alters:
        return PlannedChecks()
    above = _of_views(project, model)
    if its.skips:
        return PlannedChecks(*numbers, skipped=True, of_views=above)
    undoes = its.mode is OnFailure.ROLLBACK
    mode = its.mode_where(creates=creates()) if undoes else its.mode
    observes = _observes(model, step, mode)
    scanned = [check for check in its.after if not (observes and check.is_observable)]
    gates = any(check.is_gate for check in its.after)
    return PlannedChecks(
        *numbers,
        observed=len(its.after) - len(scanned),
        scans=_scans(scanned),
        on_failure=mode if gates else None,
        of_views=above,
    )


def _of_views(project: Project, model: Model) -> int:
    """Count the checks of the views that a model reads, directly or through others."""
    names = (name for name in leaves_of(project, model.inputs) if name != model.input_name)
    read = (project.models.get(name.name) for name in names)
    return sum(len(each.all_checks) for each in read if each is not None and each.is_view)


def _observes(model: Model, step: Step, mode: OnFailure) -> bool:
    """Whether one write reports what passes through it; neither CREATE nor MERGE does."""
    match model.writing:
        case Writing.MERGED:
            return False
        case Writing.RANGES:
            return step.count == 1
        case Writing.WHOLE:
            return mode is OnFailure.BLOCK and not model.is_view  # staged files are observed
        case Writing.ADDED:
            return mode is OnFailure.BLOCK or not step.initial
        case _ as never:
            assert_never(never)


def _scans(checks: list[Check]) -> int:
    """Count queries: one for each SQL or relationship, one for all others over the same rows."""
    alone = [check for check in checks if isinstance(check.rule, SqlCheck | Relationships)]
    shared = {
        (check.scope, check.query.text if check.query else "")
        for check in checks
        if check not in alone
    }
    return len(alone) + len(shared)
