"""The use case `plan`, which is `run --dry-run`: the report of a run before it does anything.

`rehearse` is the dry run of `snapshot run`, which counts rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from penstock.app.checking.chosen import PlannedChecks, planned_checks
from penstock.app.commands.diff import model_diff, text_of
from penstock.app.commands.status import status_of_models
from penstock.app.planning.make_plan import Planned, make_plan, timed
from penstock.app.planning.selection import drift_report
from penstock.app.reports import ModelDiff, ModelResult, ModelStatus
from penstock.app.request import AnyRun, AnySync
from penstock.app.run_report import NO_CHANGE, WOULD_COMMIT, RunReport
from penstock.app.services.services import Services, in_one_state
from penstock.core.errors import PenstockError, TableError
from penstock.core.graph import ordered
from penstock.core.masking import mask
from penstock.core.model import kind_of as kind_of_model
from penstock.core.partitions.ranges import Ranges, merged, union
from penstock.core.project import hook_lines
from penstock.core.records import ModelRecord
from penstock.plan.cascade import parents_of, upstream_models
from penstock.plan.values import Plan, Step
from penstock.plan.windows import expected_windows, kind_of
from penstock.strategies.relations import input_tables

if TYPE_CHECKING:
    from penstock.app.planning.slice_previews import SlicePreview
    from penstock.app.preparing.run_context import Context


def report_of(planned: Planned, request: AnyRun | AnySync) -> RunReport:
    """Return the report of a run of the plan before it starts."""
    return RunReport(
        run_id="",
        run_timestamp=planned.plan.run_timestamp,
        plan=planned.plan,
        results=(),
        command=request.command,
        said=planned.said,
        packages=tuple(planned.project_state.view.now.passes.values()),
        notes=planned.notes,
        not_run=planned.not_run,
    )


def context_of(
    services: Services, planned: Planned, request: AnyRun | AnySync, report: RunReport
) -> Context:
    """Return the shared context of the steps of a run."""
    from penstock.app.preparing.pass_runs import PassesOf, PassRuns  # plans need none of these
    from penstock.app.preparing.run_context import Context

    holder, view = services.holder(report.run_id), planned.project_state.view
    records = dict(planned.project_state.records)
    of = PassesOf(holder, report.run_timestamp, request.wait, records, view)
    return Context(
        holder=holder,
        run_timestamp=report.run_timestamp,
        project=services.project,
        view=view,
        records=records,
        passes=PassRuns(services, of, planned.plan.steps),
        as_of=request.run_timestamp,
        wait_seconds=request.wait,
        options=request.options,
        triggered_by="run" if request.options.rerun is None else "rerun",
    )


def planned_results(services: Services, plan: Plan) -> tuple[ModelResult, ...]:
    """Return the planned result of each step and each model without one, in the plan's order."""
    models = services.project.models
    found = [ModelResult.of(models[name], "unchanged", "current") for name in plan.current]
    for blocked in plan.blocked:
        result = ModelResult.of(models[blocked.model], "failed", blocked.error.code)
        found.append(replace(result, error=blocked.error))
    bad = {blocked.model: blocked.model for blocked in plan.blocked}  # and what failed above it
    for step in plan.steps:
        status, reason = "planned", str(step.reason)
        above = list(step.upstream)
        if step.work.has_parts:  # it waits for steps alone, and each leaves out what it lacks
            above += parents_of(services.project, models[step.model])
        if stopped := [up for up in above if up in bad]:
            bad[step.key] = bad[stopped[0]]
            status, reason = "skipped", f"upstream {bad[step.key]} failed"
        result = ModelResult.of(models[step.model], status, reason, step)
        found.append(replace(result, notes=step.notes) if step.notes else result)
    return tuple(found)


def drifted_of(planned: Planned) -> tuple[ModelStatus, ...]:
    """Return the states of the models that run because they drifted themselves."""
    own = planned_partitions(planned, cascaded=False)
    drift = drift_report(planned.project_state)
    names = (name for name in planned.project_state.names if name in own)
    found = (status_of_models(drift, name, own[name]) for name in names)
    return tuple(replace(one, states=tuple(s for s in one.states if s.drifted)) for one in found)


def planned_partitions(planned: Planned, *, cascaded: bool) -> dict[str, Ranges]:
    """Return the partitions of a plan by model; those of a cascade only if requested."""
    found: dict[str, Ranges] = {}
    for step in planned.plan.steps:
        if cascaded or step.trigger != "cascade":
            ranges = merged(step.partitions)
            found[step.model] = union(found.get(step.model, ()), ranges)
    return found


def diffs_of(services: Services, planned: Planned) -> tuple[ModelDiff, ...]:
    """Return what changed in SQL and schema of the partitions that the plan runs."""
    state, wanted = planned.project_state, planned_partitions(planned, cascaded=True)
    names = (name for name in state.names if name in wanted)
    found = (model_diff(services, state, name, wanted[name]) for name in names)
    return tuple(one for one in found if one.diffs)


@dataclass(frozen=True, slots=True)
class SqlChange:
    """Two texts of one model without secrets; `cosmetic` means that they are equivalent.

    `kind` is the kind of text.
    """

    model: str
    executed: str
    resolved: str
    cosmetic: bool = False
    kind: str = "sql"


def executed_sql(services: Services, step: Step, record: ModelRecord | None) -> SqlChange | None:
    """Return both texts of a step; None if the SQL is unchanged or the old text was not kept."""
    if not step.executed:
        return None
    executed = text_of(services, step.executed)
    if executed is None:
        return None
    model = services.project.models[step.model]
    old = record.fingerprint if record else None
    cosmetic = old is not None and old.canonical == model.fingerprint.canonical
    shown = mask(executed), mask(services.project.shown_sql(model))
    return SqlChange(step.model, *shown, cosmetic, kind_of_model(model))


@dataclass(frozen=True, slots=True)
class Preview:
    """A run's report before the run, and the changes in the SQL of its steps.

    `checks` maps each step, by its key, to how its checks are evaluated. `sql` is the SQL of an
    entity's first slice by step key, as far as it is known without the slice.
    """

    report: RunReport
    changes: tuple[SqlChange, ...] = ()
    checks: Mapping[str, PlannedChecks] = field(default_factory=dict)
    sql: Mapping[str, str] = field(default_factory=dict)
    hooks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The hooks of each step by its key, and those of the run by ""."""


@in_one_state
def preview(services: Services, request: AnyRun) -> Preview:
    """Plan what `run` would do with the same request. Writes nothing and starts no JVM."""
    request, messages = timed(services, request)
    planned = make_plan(services, request)
    planned = replace(planned, notes=(*messages, *planned.notes))
    return preview_of(services, planned, request)


def preview_of(services: Services, planned: Planned, request: AnyRun | AnySync) -> Preview:
    """Return the planned results, with the changes in the SQL of the steps."""
    steps = {step.key: step for step in planned.plan.steps}
    slices = _slices(services, planned, request)
    results = tuple(
        replace(each, windows=found.windows)
        if (found := slices.get(f"{each.name} {each.slice}".strip())) is not None
        else _expected(services, planned, steps[each.name], each, request)
        if each.name in steps
        else each
        for each in preview_results(services, planned.plan)
    )
    report = replace(report_of(planned, request), results=results, dry_run=True)
    records = planned.project_state.records
    changes = (executed_sql(services, step, records.get(step.model)) for step in steps.values())
    project = services.project

    @cache
    def creates(model: str) -> bool:
        """Return whether a model has no table yet."""
        return services.log.head(project.uri_of(project.models[model].table)) is None

    alike: dict[tuple[object, ...], PlannedChecks] = {}  # of steps: slices are many
    checks = {}
    for step in planned.plan.steps:
        kind = (step.model, step.version, step.initial, step.count, step.only_alters)
        if kind not in alike:
            creates_it = partial(creates, step.model)
            alike[kind] = planned_checks(project, step, request.options, creates_it)
        checks[step.key] = alike[kind]
    changed = tuple(change for change in changes if change is not None)
    texts = {key: each.sql for key, each in slices.items() if each.sql}
    hooks = {
        step.key: hook_lines(project, project.models[step.model])
        for step in planned.plan.steps
        if not step.only_alters
    }
    return Preview(report, changed, checks, texts, {"": hook_lines(project), **hooks})


def _slices(
    services: Services, planned: Planned, request: AnyRun | AnySync
) -> Mapping[str, SlicePreview]:
    models = services.project.models
    if not any(models[step.model].entity for step in planned.plan.steps):
        return {}
    from penstock.app.planning.slice_previews import slice_previews  # imports entities

    return dict(slice_previews(services, planned, request))


def _expected(
    services: Services, planned: Planned, step: Step, result: ModelResult, request: AnyRun | AnySync
) -> ModelResult:
    """Add the windows that each step will read, as far as the records show."""
    from penstock.app.preparing.pins import pin_names, version_read  # only where a step is

    project, model = services.project, services.project.models[step.model]
    record = planned.project_state.records.get(step.model)
    if step.initial or record is None or model.strategy.window is None:
        return result
    facts = services.log.facts(project.uri_of(model.table))
    again = request.options.rerun
    windows = expected_windows(model, record.watermarks, facts.schema if facts else None, again)
    made = {each.model for each in planned.plan.steps}
    here = [each for each in input_tables(project, model) if each.name not in made]
    records, view = planned.project_state.records, planned.project_state.view
    try:
        pins = pin_names(services, model, tuple(here), dict(records), view).pins
    except TableError:  # an upstream whose table is gone: the step will say so
        pins = ()
    windows = tuple(
        replace(
            each,
            kind=kind_of(each.window, step.kind),
            version=version_read(project, model, pins, each.input),
        )
        for each in windows
    )
    kind = windows[0].kind if windows else step.kind
    return replace(result, kind=kind, windows=windows, inputs=pins)


def preview_results(services: Services, plan: Plan) -> tuple[ModelResult, ...]:
    """Return the planned result of each step and each model without one, in topological order."""
    parents = {name: upstream_models(model) for name, model in services.project.models.items()}
    place = {name: number for number, name in enumerate(ordered(parents))}
    return tuple(sorted(planned_results(services, plan), key=lambda result: place[result.name]))


def unchanged_results(services: Services, planned: Planned) -> tuple[ModelResult, ...]:
    """Return the results of models that are current."""
    found = []
    for name in planned.plan.current:
        record = planned.project_state.records.get(name)
        version = record.settled_version if record else None
        result = ModelResult.of(services.project.models[name], "unchanged", "current")
        found.append(replace(result, version=version))
    return tuple(found)


def rehearse(services: Services, request: AnyRun) -> RunReport:
    """Classify rows with Spark but commit nothing: no table, no record, no lease.

    A snapshot over another one is counted against that one's current table.
    """
    planned = make_plan(services, request)
    report = report_of(planned, request)
    context = context_of(services, planned, request, report)
    if planned.plan.steps:
        services.engine.require()
    steps = {step.model: step for step in planned.plan.steps}
    results = tuple(
        _dry_run(services, context, steps[each.name], each) if each.status == "planned" else each
        for each in preview_results(services, planned.plan)
    )
    return replace(report, results=results, dry_run=True)


def _dry_run(services: Services, context: Context, step: Step, result: ModelResult) -> ModelResult:
    from penstock.app.preparing.pins import pin_inputs  # as above
    from penstock.app.preparing.statements import build_of, decide
    from penstock.app.preparing.step_inputs import Looking

    if step.only_alters:
        return replace(result, reason=WOULD_COMMIT)
    model = services.project.models[step.model]
    try:
        inputs = pin_inputs(services, model, context.records, context.view)
        uri = "" if model.is_view else services.project.uri_of(model.table)
        with services.engine.session(model.name, model.where) as session:
            step_inputs = Looking(services, context, step, model, inputs, uri).inspect(session)
            work = model.strategy.work(build_of(services, context, model, step_inputs))
            decided = decide(session, work.again or work, model.where)
    except PenstockError as error:
        return replace(result, status="failed", error=error)
    commits = decided.statement is not None
    return replace(
        result,
        status="planned" if commits else "unchanged",
        reason=WOULD_COMMIT if commits else NO_CHANGE,
        metrics=decided.work.counts(decided.row),
        version=step_inputs.facts.version if step_inputs.facts else None,
        schema_changes=step_inputs.schema_changes if commits else (),
        inputs=inputs.pins,
    )
