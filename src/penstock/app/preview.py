"""The use case `plan`, which is `run --dry-run`: the report of a run that did nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.app.checking.planned import PlannedChecks, planned_checks
from penstock.app.diffs import SqlChange, executed_sql
from penstock.app.planning import make_plan
from penstock.app.reports import ModelResult, Plan, RunReport
from penstock.app.request import RunRequest
from penstock.app.shop import Shop
from penstock.core.graph import ordered
from penstock.plan.planner import upstream_models


@dataclass(frozen=True, slots=True)
class Preview:
    """A run's report before the run, and what changed in the SQL of its steps.

    `checks` says of each step, by its key, how its checks are looked at.
    """

    report: RunReport
    changes: tuple[SqlChange, ...] = ()
    checks: Mapping[str, PlannedChecks] = field(default_factory=dict)


def preview(shop: Shop, request: RunRequest) -> Preview:
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
        step.key: planned_checks(shop.project, step, request.options) for step in planned.plan.steps
    }
    return Preview(report, tuple(change for change in changes if change is not None), checks)


def preview_results(shop: Shop, plan: Plan) -> tuple[ModelResult, ...]:
    """Give what would become of each model, in topological order."""
    found: dict[str, ModelResult] = {}
    for name in plan.current:
        found[name] = _result(shop, name, "unchanged", "current")
    for blocked in plan.blocked:
        model = shop.project.models[blocked.model]
        found[blocked.model] = ModelResult(
            model.name,
            model.table,
            model.strategy_name,
            "failed",
            blocked.error.code,
            error=blocked.error,
        )
    for step in plan.steps:
        stopped = [up for up in step.upstream if up in found and not found[up].ok]
        found[step.model] = (
            _result(shop, step.model, "skipped", f"upstream {stopped[0]} failed")
            if stopped
            else _result(shop, step.model, "planned", str(step.reason), step.notes)
        )
    parents = {name: upstream_models(model) for name, model in shop.project.models.items()}
    return tuple(found[name] for name in ordered(parents) if name in found)


def _result(
    shop: Shop, name: str, status: str, reason: str, notes: tuple[str, ...] = ()
) -> ModelResult:
    model = shop.project.models[name]
    return ModelResult(name, model.table, model.strategy_name, status, reason, notes=notes)
