"""What a sync would do, in the words of its report."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.diffing import model_diff
from penstock.app.drift_reports import ModelDiff, ModelStatus
from penstock.app.judged import judged_all
from penstock.app.looking import Looked
from penstock.app.planning import Planned
from penstock.app.reports import ModelResult
from penstock.app.shop import Shop
from penstock.app.status import told_status
from penstock.core.ranges import Ranges, merged, union
from penstock.plan.values import Plan


def planned_results(shop: Shop, made: Plan) -> tuple[ModelResult, ...]:
    """Give what would become of each step and each model without one, in the plan's order."""
    found = [_result(shop, name, "unchanged", "current") for name in made.current]
    for blocked in made.blocked:
        result = _result(shop, blocked.model, "failed", blocked.error.code)
        found.append(replace(result, error=blocked.error))
    bad = {blocked.model for blocked in made.blocked}
    for step in made.steps:
        stopped = [up for up in step.upstream if up in bad]
        status = "skipped" if stopped else "planned"
        reason = f"upstream {_model_of(stopped[0])} failed" if stopped else str(step.reason)
        result = _result(shop, step.model, status, reason)
        found.append(
            replace(
                result,
                partitions=step.keys,
                count=step.count,
                trigger=step.trigger,
                notes=step.notes,
            )
        )
        if stopped:
            bad.add(step.key)
    return tuple(found)


def drifted_of(planned: Planned) -> tuple[ModelStatus, ...]:
    """Give the states of the models that the plan runs on their own account."""
    looked = planned.looked
    if looked is None:
        return ()
    own = planned_partitions(planned, cascaded=False)
    judged = judged_all(looked)
    found = []
    for name in looked.names:
        if name in own:
            told = told_status(judged, name, own[name])
            kept = tuple(state for state in told.states if state.drifted)
            found.append(replace(told, states=kept))
    return tuple(found)


def planned_partitions(planned: Planned, *, cascaded: bool) -> dict[str, Ranges]:
    """Give the partitions of a plan by model; of those that follow from others only if asked."""
    found: dict[str, Ranges] = {}
    for step in planned.plan.steps:
        if cascaded or step.trigger != "cascade":
            ranges = merged(step.partitions or ((0, 0),))
            found[step.model] = union(found.get(step.model, ()), ranges)
    return found


def diffs_of(shop: Shop, planned: Planned) -> tuple[ModelDiff, ...]:
    """Give what changed in SQL and schema of the partitions that the plan runs."""
    looked: Looked | None = planned.looked
    if looked is None:
        return ()
    wanted = planned_partitions(planned, cascaded=True)
    found = [
        model_diff(shop, looked, name, wanted[name]) for name in looked.names if name in wanted
    ]
    return tuple(one for one in found if one.diffs)


def _model_of(key: str) -> str:
    """Give the model that a step's key names."""
    return key.partition(" ")[0]


def _result(shop: Shop, name: str, status: str, reason: str) -> ModelResult:
    model = shop.project.models[name]
    return ModelResult(name, model.table, model.strategy_name, status, reason)
