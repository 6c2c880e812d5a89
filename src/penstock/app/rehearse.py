"""`snapshot run --dry-run`: what a run of history tables would count. Nothing is written."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.execute import schema_changes
from penstock.app.inputs import pin_inputs
from penstock.app.look import Looking
from penstock.app.planning import make_plan
from penstock.app.preview import preview_results
from penstock.app.reports import ModelResult, RunReport
from penstock.app.request import AnyRun
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.app.stages import decide
from penstock.app.works import build_of, work_of
from penstock.core.errors import PenstockError
from penstock.plan.values import Step

WOULD_COMMIT = "would commit"
NO_CHANGE = "no change"


def rehearse(shop: Shop, request: AnyRun) -> RunReport:
    """Classify for real, so start Spark, and commit nothing: no table, no record, no lease.

    A snapshot over another is counted against that one's table as it is now.
    """
    planned = make_plan(shop, request)
    report = RunReport(
        run_id="",
        run_timestamp=planned.plan.run_timestamp,
        plan=planned.plan,
        results=preview_results(shop, planned.plan),
        command=request.command,
        dry_run=True,
        notes=planned.notes,
        not_run=planned.not_run,
    )
    context = Context(
        run="",
        run_timestamp=planned.plan.run_timestamp,
        project=shop.project,
        view=planned.view,
        records=dict(planned.records),
        as_of=request.run_timestamp,
        options=request.options,
    )
    if planned.plan.steps:
        shop.engine.require()
    steps = {step.model: step for step in planned.plan.steps}
    results = [
        _counted(shop, context, steps[result.name], result)
        if result.status == "planned"
        else result
        for result in report.results
    ]
    return replace(report, results=tuple(results))


def _counted(shop: Shop, context: Context, step: Step, result: ModelResult) -> ModelResult:
    if step.only_alters:
        return replace(result, status="planned", reason=WOULD_COMMIT)
    try:
        return _classified(shop, context, step, result)
    except PenstockError as error:
        return replace(result, status="failed", error=error)


def _classified(shop: Shop, context: Context, step: Step, result: ModelResult) -> ModelResult:
    model = shop.project.models[step.model]
    inputs = pin_inputs(shop, model, context.records, context.view)
    with shop.engine.session(model.name, model.where) as session:
        looked = Looking(shop, context, step, model, inputs).look(session)
        work = work_of(shop, context, build_of(shop, model, looked))
        decided = decide(session, work.again or work, model.where)
        commits = decided.statement is not None
    return replace(
        result,
        status="planned" if commits else "unchanged",
        reason=WOULD_COMMIT if commits else NO_CHANGE,
        metrics=decided.work.told(decided.seen),
        version=looked.facts.version if looked.facts else None,
        schema_changes=schema_changes(looked) if commits else (),
        inputs=inputs.pins,
    )
