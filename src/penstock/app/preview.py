"""The use case `plan`, which is `run --dry-run`: the report of a run that did nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from penstock.app.checking.planned import PlannedChecks, planned_checks
from penstock.app.diffs import SqlChange, executed_sql
from penstock.app.one_state import in_one_state
from penstock.app.planning import make_plan
from penstock.app.previewing import planned_results
from penstock.app.reports import ModelResult, Plan, RunReport
from penstock.app.request import AnyRun
from penstock.app.shop import Shop
from penstock.core.graph import ordered
from penstock.plan.cascade import upstream_models
from penstock.plan.values import Step


@dataclass(frozen=True, slots=True)
class Preview:
    """A run's report before the run, and what changed in the SQL of its steps.

    `checks` says of each step, by its key, how its checks are looked at.
    """

    report: RunReport
    changes: tuple[SqlChange, ...] = ()
    checks: Mapping[str, PlannedChecks] = field(default_factory=dict)


@in_one_state
def preview(shop: Shop, request: AnyRun) -> Preview:
    """Plan what `run` would do with the same request. Nothing is written, no JVM starts."""
    planned = make_plan(shop, request)
    report = RunReport(
        run_id="",
        run_timestamp=planned.plan.run_timestamp,
        plan=planned.plan,
        results=preview_results(shop, planned.plan),
        dry_run=True,
        notes=planned.notes,
        not_run=planned.not_run,
    )
    changes = [
        executed_sql(shop, step, planned.records.get(step.model)) for step in planned.plan.steps
    ]
    checks = {
        step.key: planned_checks(shop.project, step, request.options, partial(_creates, shop, step))
        for step in planned.plan.steps
    }
    return Preview(report, tuple(change for change in changes if change is not None), checks)


def preview_results(shop: Shop, plan: Plan) -> tuple[ModelResult, ...]:
    """Give what would become of each step and each model without one, in topological order."""
    parents = {name: upstream_models(model) for name, model in shop.project.models.items()}
    place = {name: number for number, name in enumerate(ordered(parents))}
    return tuple(sorted(planned_results(shop, plan), key=lambda result: place[result.name]))


def _creates(shop: Shop, step: Step) -> bool:
    """Whether a step finds no table to write to."""
    return shop.log.head(shop.project.uri_of(shop.project.models[step.model].table)) is None
