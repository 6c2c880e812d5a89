"""The use cases `sync` and `backfill`: run what drifted, or a range in any state."""

from __future__ import annotations

import datetime as dt
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.app.commands.plan import (
    Preview,
    diffs_of,
    drifted_of,
    planned_partitions,
    planned_results,
    preview_of,
    report_of,
)
from penstock.app.commands.rerun import RerunRequest, plan_rerun, rerun_of, takes_range, with_range
from penstock.app.commands.runner import Runner, begun
from penstock.app.commands.status import keys_of, states_named
from penstock.app.events import Listener, silent
from penstock.app.flags import NARROWING, command_words
from penstock.app.observation.deferral import deferred_lines
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.make_plan import (
    Planned,
    facts_of,
    findings_on,
    gap_notes,
    run_timestamp_of,
    seed_notes,
)
from penstock.app.planning.selection import (
    check_named,
    narrowed,
    pending_notes,
    selected_models,
    steps_of_their_own,
)
from penstock.app.receivers.notify import notified
from penstock.app.reports import Cascaded, Overwrite, SyncPreview
from penstock.app.request import AnySync, BackfillRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services, dated_project, in_one_state, named_model
from penstock.core.errors import UsageError
from penstock.core.graph import children, reach
from penstock.core.masking import mask
from penstock.core.partitions.ranges import (
    WHOLE,
    Ranges,
    count,
    difference,
    intersection,
    merged,
    union,
)
from penstock.core.project import Project
from penstock.plan.cascade import cascade, direct_parents, parents_of
from penstock.plan.obstacles import migration_of
from penstock.plan.planner import plan
from penstock.plan.resolve import due_partitions
from penstock.plan.steps import Scope
from penstock.plan.values import State, Step
from penstock.plan.verdict import Verdict, has_other_table


@in_one_state
def overwrites(services: Services, planned: Planned) -> tuple[Overwrite, ...]:
    """Return one warning per model whose rows the plan would overwrite, in its order.

    Partitions that never succeeded, or whose rows are gone, do not count.
    """
    by_model: dict[str, list[Step]] = {}
    for step in planned.plan.steps:
        by_model.setdefault(step.model, []).append(step)
    models = planned.project_state.project.models
    found = [
        _of_table(planned, name, steps[0])
        if models[name].partition is None
        else _of_partitions(services, planned, name, steps)
        for name, steps in by_model.items()
    ]
    return tuple(one for one in found if one is not None)


def _of_partitions(
    services: Services, planned: Planned, name: str, steps: list[Step]
) -> Overwrite | None:
    model, verdict = planned.project_state.project.models[name], planned.scope.verdicts[name]
    wanted = merged(piece for step in steps for piece in step.partitions)
    lost = difference(intersection(verdict.recorded, wanted), verdict.missing)
    moved = migration_of(model, planned.scope)
    breaking = moved.breaking if moved is not None else ()
    # somebody's own table stands where the model's was
    replaced = has_other_table(verdict)
    if not lost and not breaking and not replaced and not verdict.relaid:
        return None
    shown = lost or wanted
    tampered = merged(each.range for each in verdict.pieces if State.TAMPERED in each.states)
    foreign = intersection(tampered, shown)
    runs = services.reading.records.runs(name)[name] if lost else ()
    times = [run.executed_at for run in runs if intersection(lost, ((run.low, run.high),))]
    return Overwrite(
        model=name,
        count=count(shown),
        partitions=keys_of(model.grid, shown),
        last_success=max((time for time in times if time is not None), default=None),
        foreign=keys_of(model.grid, foreign),
        foreign_count=count(foreign),
        breaking=tuple(breaking),
        full_refresh=bool(verdict.relaid),
    )


def _of_table(planned: Planned, name: str, step: Step) -> Overwrite | None:
    project_state = planned.project_state
    model, record = project_state.project.models[name], project_state.records.get(name)
    built = record is not None and record.succeeded_once and State.MISSING not in step.reason.states
    if model.is_view or not built or record is None:
        return None
    tampered = State.TAMPERED in step.reason.states
    return Overwrite(
        model=name,
        count=1,
        partitions=(("*", "*"),),
        last_success=record.executed_at,
        foreign=(("*", "*"),) if tampered else (),
        foreign_count=int(tampered),
        full_refresh=model.strategy.keeps_rows and step.initial,
    )


Ask = Callable[[tuple[Overwrite, ...]], bool]


def sync(
    services: Services, request: AnySync, listener: Listener = silent, ask: Ask = lambda _: True
) -> RunReport:
    """Recover, plan, ask before overwriting, and execute the plan.

    If there is nothing to do, no JVM starts and there is no prompt. A refusal changes nothing.
    """
    return notified(services, request, listener, lambda tell: _sync(services, request, tell, ask))


def _sync(services: Services, request: AnySync, listener: Listener, ask: Ask) -> RunReport:
    request = effective_request(services, request)
    planned, report = begun(services, request, listener, plan_sync)
    if isinstance(request, RerunRequest):
        report = replace(report, recovered=(*request.recovered, *report.recovered))
    else:
        report = replace(report, preview=_preview(services, request, planned))
    if planned.plan.is_empty:
        return replace(report, results=planned.settled.results)
    warnings = overwrites(services, planned)
    if isinstance(request, RerunRequest):
        warnings = with_range(request, warnings)
    if warnings and not ask(warnings):
        return replace(report, aborted=True)
    return Runner(services, request, listener, planned, report, plan_sync).run()


def effective_request(services: Services, request: AnySync) -> AnySync:
    """Return the request; for a model with windows as a range of its time column."""
    if isinstance(request, RerunRequest) or not isinstance(request, BackfillRequest):
        return request
    package = services.project.package_of(named_model(services, request.model).name)
    if package is not None:
        raise UsageError(
            "not-backfilled",
            f"{request.model} is made by the passes of {package.name!r}, not by a backfill",
            hint="rebuild the package from its events: "
            f"penstock run --select {package.name} --full-refresh",
        )
    if not takes_range(named_model(services, request.model)):
        return request
    return rerun_of(services, request, request.from_, request.to)


@in_one_state
def preview_sync(services: Services, request: AnySync) -> Preview:
    """Plan what `sync` would do with the same request. Writes nothing and starts no JVM."""
    request = effective_request(services, request)
    planned = plan_sync(services, request)
    if isinstance(request, RerunRequest):
        return preview_of(services, planned, request)
    preview = _preview(services, request, planned)
    report = replace(
        report_of(planned, request),
        results=planned_results(services, planned.plan),
        dry_run=True,
        preview=replace(preview, diffs=diffs_of(services, planned)),
    )
    return Preview(report)


@in_one_state
def plan_sync(services: Services, request: AnySync, state: ProjectState | None = None) -> Planned:
    """Select, compare the whole project, decide; a rerun covers only its own model.

    `state` is a survey of all models, if there is one.
    """
    if isinstance(request, RerunRequest):
        return plan_rerun(services, request)
    run_timestamp = run_timestamp_of(services, request.run_timestamp)
    dated_project(services, run_timestamp)
    selected = _names(services, request, run_timestamp)
    names = steps_of_their_own(services.project, selected)
    building = _building(services.project, names) if request.cascade else names
    models = services.project.models
    project_state = state or survey(services, models, run_timestamp, building)
    services.project = project_state.project
    scope = _scope(project_state, names, request)
    project, now = project_state.project, project_state.view.now
    made = plan(project, names, project_state.records, now, request.options, scope)
    warnings = (finding.render() for finding in findings_on(project, names))
    messages = (*made.notes, *gap_notes(project_state, names), *pending_notes(services))
    left = _packages_left(project_state, selected)
    notes = (*warnings, *messages, *seed_notes(services, project_state, names), *left)
    said = deferred_lines(made.deferred)
    return Planned(made, names, project_state, scope, notes, said=said)


def _building(project: Project, names: Sequence[str]) -> set[str]:
    """Return the models that a cascade may build."""
    parents = {name: direct_parents(model) for name, model in project.models.items()}
    return {*names, *reach(names, children(parents))}


def _packages_left(project_state: ProjectState, names: Sequence[str]) -> Iterator[str]:
    """Return the session packages that drifted: passes build their tables, not sync."""
    project, drifted = project_state.project, Counter[str]()
    for name in names:
        package = project.package_of(name)
        drifted[package.name if package else ""] += bool(project_state.verdict(name).drifted)
    for name, number in drifted.items():
        if name and number:
            word = "table" if number == 1 else "tables"
            yield f"{name} is left alone: {number} {word} drifted; penstock run --select {name}"


def _names(services: Services, request: AnySync, run_timestamp: dt.datetime) -> tuple[str, ...]:
    if not request.model:
        return selected_models(services, request.select, request.exclude, run_timestamp)
    model = named_model(services, request.model)
    if model.strategy.window is not None or model.keeps_history:
        sentence = f"{model.name} is built as {model.shown_strategy}: there is nothing to backfill"
        command = f"penstock {model.strategy.command} --select {model.name}"
        hint = f"{command} --full-refresh"
        if model.keeps_history:
            hint = f"{command} brings it up to date; --full-refresh would drop its versions"
        raise UsageError("not-backfilled", sentence, hint=hint)
    return (model.name,)


def _scope(project_state: ProjectState, names: tuple[str, ...], request: AnySync) -> Scope:
    project = project_state.project
    verdicts = {
        name: project_state.verdict(name)
        for name, model in project.models.items()
        if model.partition is not None
    }
    within = {}
    for name in names:
        if name not in verdicts:
            continue
        model, verdict = project.models[name], verdicts[name]
        there = due_partitions(model, project_state.run_timestamp)
        if request.model:
            check_named(model, request.range, verdict, there)
        known = there if request.model else union(verdict.partitions, there)
        within[name] = narrowed(model, request.range, project_state.run_timestamp, known)
    most = None if request.everything else request.max_partitions or project.max_partitions
    forced = bool(request.model) or request.full_refresh
    start = {name: within.get(name, WHOLE) for name in names}
    return Scope(
        trigger=request.command,
        verdicts=verdicts,
        limits=within,
        syncs=True,
        force=bool(request.model),
        states=states_named(request.states),
        cascade=request.cascade,
        followed=_cascade(project, start, verdicts) if request.cascade else {},
        batch_size=request.batch_size,
        most=most,
        facts=facts_of(project_state, verdicts, forced=forced),
    )


def _cascade(
    project: Project, start: Mapping[str, Ranges], verdicts: Mapping[str, Verdict]
) -> dict[str, Ranges]:
    """Return the models that a cascade may run: all readers of the models it starts from."""
    return cascade(
        project,
        start,
        lambda name: verdicts[name].segments if name in verdicts else (),
        lambda model: not (model.is_view or model.keeps_history),
    )


def _preview(services: Services, request: AnySync, planned: Planned) -> SyncPreview:
    counts = Counter[str]()
    for step in planned.plan.steps:
        if step.trigger == "cascade":
            counts[step.model] += step.count
    steps = {step.model for step in planned.plan.steps}
    left = _left(planned)
    return SyncPreview(
        drifted=drifted_of(planned),
        cascaded=tuple(
            Cascaded(name, number, _above(services.project, name, steps))
            for name, number in counts.items()
        ),
        left=left,
        mends=_mending(request, left),
        remaining=planned.plan.remaining,
        lines=_lines(planned, request),
    )


_PLACE = ("as_of", "defer_to", "project", "target", "variables")


def _mending(request: AnySync, left: Sequence[Cascaded]) -> str:
    """Return the command that runs what is left too; after a run nothing else has drifted."""
    if request.dry_run:
        named = [request.model] * bool(request.model)
        words = [request.command, *named, *command_words(request, NARROWING), "--cascade"]
    else:
        words = ["sync", "--select", " ".join(each.model for each in left)]
    return mask(shlex.join(["penstock", *words, *command_words(request, _PLACE)]))


def _above(project: Project, name: str, planned: Collection[str]) -> tuple[str, ...]:
    return tuple(up for up in parents_of(project, project.models[name]) if up in planned)


def _left(planned: Planned) -> tuple[Cascaded, ...]:
    """Return what a cascade would add to the plan without being requested."""
    project, start = planned.project_state.project, planned_partitions(planned, cascaded=True)
    todo = _cascade(project, start, planned.scope.verdicts)
    more = {name: difference(ranges, start.get(name, ())) for name, ranges in todo.items()}
    return tuple(
        Cascaded(name, count(ranges), _above(project, name, todo))
        for name, ranges in more.items()
        if ranges
    )


def _lines(planned: Planned, request: AnySync) -> tuple[str, ...]:
    """Warn of drift upstream or downstream of the plan, and of partitions without a version."""
    scope, names = planned.scope, planned.names
    project = planned.project_state.project
    lines = []
    above = {up for name in names for up in parents_of(project, project.models[name])}
    read_here = above.intersection(project.models).difference(names, project.deferred)
    stale = [up for up in read_here if _drifted(planned, up)]
    if stale:
        lines.append(f"not selected, though drifted, and read here: {', '.join(sorted(stale))}")
    for name, within in scope.limits.items() if request.model else ():
        none = count(difference(within, intersection(within, scope.verdicts[name].effective)))
        if none:
            lines.append(f"{name}: {none:,} partitions have no version and are passed over")
    known = {*names, *(step.model for step in planned.plan.steps)}
    undone = [name for name in scope.followed if name not in known and _drifted(planned, name)]
    if undone:
        below = " ".join(sorted(undone))
        lines.append(f"drifted below what is selected: {below}; penstock sync --select '{below}'")
    return tuple(lines)


def _drifted(planned: Planned, name: str) -> bool:
    verdict = planned.scope.verdicts.get(name) or planned.project_state.verdict(name)
    return bool(verdict.drifted)
