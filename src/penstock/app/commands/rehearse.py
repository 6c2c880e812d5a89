"""`snapshot run --dry-run`: what a run of history tables would count. Nothing is written."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.commands.plan import preview_results
from penstock.app.execution.step import schema_changes
from penstock.app.planning.make_plan import make_plan
from penstock.app.preparing.run_context import Context, pin_inputs
from penstock.app.preparing.statements import build_of, decide
from penstock.app.preparing.step_inputs import Looking
from penstock.app.reports import ModelResult, RunReport
from penstock.app.request import AnyRun
from penstock.app.services.services import Services
from penstock.core.errors import PenstockError
from penstock.plan.values import Step

WOULD_COMMIT = "would commit"
NO_CHANGE = "no change"


def rehearse(services: Services, request: AnyRun) -> RunReport:
    """Classify for real, so start Spark, and commit nothing: no table, no record, no lease.

    A snapshot over another is counted against that one's table as it is now.
    """
    planned = make_plan(services, request)
    report = RunReport(
        run_id="",
        run_timestamp=planned.plan.run_timestamp,
        plan=planned.plan,
        results=preview_results(services, planned.plan),
        command=request.command,
        dry_run=True,
        notes=planned.notes,
        not_run=planned.not_run,
    )
    context = Context(
        run="",
        run_timestamp=planned.plan.run_timestamp,
        project=services.project,
        view=planned.project_state.view,
        records=dict(planned.project_state.records),
        as_of=request.run_timestamp,
        options=request.options,
    )
    if planned.plan.steps:
        services.engine.require()
    steps = {step.model: step for step in planned.plan.steps}
    results = [
        _counted(services, context, steps[result.name], result)
        if result.status == "planned"
        else result
        for result in report.results
    ]
    return replace(report, results=tuple(results))


def _counted(services: Services, context: Context, step: Step, result: ModelResult) -> ModelResult:
    if step.only_alters:
        return replace(result, status="planned", reason=WOULD_COMMIT)
    try:
        return _classified(services, context, step, result)
    except PenstockError as error:
        return replace(result, status="failed", error=error)


def _classified(
    services: Services, context: Context, step: Step, result: ModelResult
) -> ModelResult:
    model = services.project.models[step.model]
    inputs = pin_inputs(services, model, context.records, context.view)
    with services.engine.session(model.name, model.where) as session:
        project_state = Looking(services, context, step, model, inputs).look(session)
        work = model.strategy.work(build_of(services, context, model, project_state))
        decided = decide(session, work.again or work, model.where)
        commits = decided.statement is not None
    return replace(
        result,
        status="planned" if commits else "unchanged",
        reason=WOULD_COMMIT if commits else NO_CHANGE,
        metrics=decided.work.counts(decided.seen),
        version=project_state.facts.version if project_state.facts else None,
        schema_changes=schema_changes(project_state) if commits else (),
        inputs=inputs.pins,
    )
