"""The use case `plan`, which is `run --dry-run`: the report of a run that did nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.app.checking.chosen import PlannedChecks, planned_checks
from penstock.app.commands.diff import model_diff
from penstock.app.commands.status import status_of_models
from penstock.app.observation.project_state import detect_drift
from penstock.app.planning.make_plan import Planned, make_plan
from penstock.app.reports import ModelDiff, ModelResult, ModelStatus, RunReport
from penstock.app.request import AnyRun, AnySync
from penstock.app.services.services import Services, in_one_state
from penstock.core.graph import ordered
from penstock.core.partitions.ranges import Ranges, merged, union
from penstock.core.records import ModelRecord
from penstock.plan.cascade import upstream_models
from penstock.plan.values import Plan, Step


def report_of(planned: Planned, request: AnyRun | AnySync) -> RunReport:
    """Give the report of a run of the plan before anything is done."""
    return RunReport(
        run_id="",
        run_timestamp=planned.plan.run_timestamp,
        plan=planned.plan,
        results=(),
        command=request.command,
        notes=planned.notes,
        not_run=planned.not_run,
    )


def planned_results(services: Services, made: Plan) -> tuple[ModelResult, ...]:
    """Give what would become of each step and each model without one, in the plan's order."""
    models = services.project.models
    found = [ModelResult.of(models[name], "unchanged", "current") for name in made.current]
    for blocked in made.blocked:
        result = ModelResult.of(models[blocked.model], "failed", blocked.error.code)
        found.append(replace(result, error=blocked.error))
    bad = {blocked.model for blocked in made.blocked}
    for step in made.steps:
        status, reason = "planned", str(step.reason)
        if stopped := [up for up in step.upstream if up in bad]:
            model, _, _ = stopped[0].partition(" ")  # a step's key begins with it
            status, reason = "skipped", f"upstream {model} failed"
            bad.add(step.key)
        found.append(
            replace(
                ModelResult.of(models[step.model], status, reason),
                partitions=step.keys,
                count=step.count,
                trigger=step.trigger,
                notes=step.notes,
            )
        )
    return tuple(found)


def drifted_of(planned: Planned) -> tuple[ModelStatus, ...]:
    """Give the states of the models that the plan runs on their own account."""
    own = planned_partitions(planned, cascaded=False)
    drift_report = detect_drift(planned.project_state)
    found = []
    for name in planned.project_state.names:
        if name in own:
            status = status_of_models(drift_report, name, own[name])
            kept = tuple(state for state in status.states if state.drifted)
            found.append(replace(status, states=kept))
    return tuple(found)


def planned_partitions(planned: Planned, *, cascaded: bool) -> dict[str, Ranges]:
    """Give the partitions of a plan by model; of those that follow from others only if asked."""
    found: dict[str, Ranges] = {}
    for step in planned.plan.steps:
        if cascaded or step.trigger != "cascade":
            ranges = merged(step.partitions)
            found[step.model] = union(found.get(step.model, ()), ranges)
    return found


def diffs_of(services: Services, planned: Planned) -> tuple[ModelDiff, ...]:
    """Give what changed in SQL and schema of the partitions that the plan runs."""
    state, wanted = planned.project_state, planned_partitions(planned, cascaded=True)
    names = (name for name in state.names if name in wanted)
    found = (model_diff(services, state, name, wanted[name]) for name in names)
    return tuple(one for one in found if one.diffs)


@dataclass(frozen=True, slots=True)
class SqlChange:
    """Two texts of one model; `cosmetic` says that they mean the same."""

    model: str
    executed: str
    resolved: str
    cosmetic: bool = False


def executed_sql(services: Services, step: Step, record: ModelRecord | None) -> SqlChange | None:
    """Give both texts of a step; None where the SQL is as it was, or the old text was not kept."""
    if not step.executed:
        return None
    executed = services.reading.records.text(step.executed)
    if executed is None:
        return None
    model = services.project.models[step.model]
    old = record.fingerprint if record else None
    cosmetic = old is not None and old.canonical == model.fingerprint.canonical
    return SqlChange(step.model, executed, services.project.shown_sql(model), cosmetic)


@dataclass(frozen=True, slots=True)
class Preview:
    """A run's report before the run, and what changed in the SQL of its steps.

    `checks` says of each step, by its key, how its checks are looked at.
    """

    report: RunReport
    changes: tuple[SqlChange, ...] = ()
    checks: Mapping[str, PlannedChecks] = field(default_factory=dict)


@in_one_state
def preview(services: Services, request: AnyRun) -> Preview:
    """Plan what `run` would do with the same request. Nothing is written, no JVM starts."""
    planned = make_plan(services, request)
    results = preview_results(services, planned.plan)
    report = replace(report_of(planned, request), results=results, dry_run=True)
    records, steps = planned.project_state.records, planned.plan.steps
    changes = (executed_sql(services, step, records.get(step.model)) for step in steps)
    project = services.project

    def creates(step: Step) -> bool:
        """Whether it finds no table to write to."""
        return services.log.head(project.uri_of(project.models[step.model].table)) is None

    checks = {
        step.key: planned_checks(project, step, request.options, partial(creates, step))
        for step in steps
    }
    return Preview(report, tuple(change for change in changes if change is not None), checks)


def preview_results(services: Services, plan: Plan) -> tuple[ModelResult, ...]:
    """Give what would become of each step and each model without one, in topological order."""
    parents = {name: upstream_models(model) for name, model in services.project.models.items()}
    place = {name: number for number, name in enumerate(ordered(parents))}
    return tuple(sorted(planned_results(services, plan), key=lambda result: place[result.name]))
