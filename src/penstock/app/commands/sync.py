"""The use cases `sync` and `backfill`: run what drifted, or a range whatever its state."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from penstock.app.commands.plan import diffs_of, drifted_of, planned_results
from penstock.app.commands.run import Runner
from penstock.app.commands.status import keys_of, states_named
from penstock.app.execution.recover import recover
from penstock.app.execution.settle import pending_notes, settle
from penstock.app.observation.project_state import ProjectState, dated_project, look
from penstock.app.planning.make_plan import (
    Planned,
    facts_of,
    gap_notes,
    run_timestamp_of,
    seed_notes,
)
from penstock.app.planning.selection import check_named, narrowed, selected_models
from penstock.app.reports import Cascaded, Listener, Overwrite, RunReport, Said, SyncPreview, silent
from penstock.app.request import AnySync
from penstock.app.services.services import Services, in_one_state, named_model
from penstock.core.errors import UsageError
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
from penstock.plan.cascade import cascaded, parents_of
from penstock.plan.obstacles import migration_of
from penstock.plan.planner import plan
from penstock.plan.resolve import due
from penstock.plan.steps import Scope
from penstock.plan.values import Plan, State, Step
from penstock.plan.verdict import Verdict


@in_one_state
def overwrites(services: Services, planned: Planned) -> tuple[Overwrite, ...]:
    """Give a warning per model whose rows the plan would overwrite, in its order.

    Partitions that never succeeded, or whose rows are gone, are nothing to lose.
    """
    by_model: dict[str, list[Step]] = {}
    for step in planned.plan.steps:
        by_model.setdefault(step.model, []).append(step)
    found = [_overwrite(services, planned, name, steps) for name, steps in by_model.items()]
    return tuple(one for one in found if one is not None)


def _overwrite(
    services: Services, planned: Planned, name: str, steps: list[Step]
) -> Overwrite | None:
    project_state = planned.project_state
    model = project_state.project.models[name]
    if model.partition is None:
        return _of_table(planned, name, steps[0])
    verdict = planned.scope.verdicts[name]
    wanted = merged(piece for step in steps for piece in step.partitions)
    lost = difference(intersection(verdict.recorded, wanted), verdict.missing)
    moved = migration_of(model, planned.scope)
    breaking = moved.breaking if moved is not None else ()
    replaced = _replaced(verdict)
    if not lost and not breaking and not replaced and not verdict.relaid:
        return None
    shown = lost or wanted
    foreign = intersection(_in_state(verdict, State.TAMPERED), shown)
    runs = services.reading.records.runs(name) if lost else ()
    newest = _newest(run.executed_at for run in runs if intersection(lost, ((run.low, run.high),)))
    return Overwrite(
        model=name,
        count=count(shown),
        partitions=keys_of(model.grid, shown),
        last_success=newest,
        foreign=keys_of(model.grid, foreign),
        foreign_count=count(foreign),
        breaking=tuple(breaking),
        full_refresh=bool(verdict.relaid),
    )


def _of_table(planned: Planned, name: str, step: Step) -> Overwrite | None:
    project_state = planned.project_state
    model, record = project_state.project.models[name], project_state.records.get(name)
    built = record is not None and record.succeeded_once and step.reason.state is not State.MISSING
    if model.is_view or not built or record is None:
        return None
    tampered = State.TAMPERED in (step.reason.state, *step.reason.also)
    return Overwrite(
        model=name,
        count=1,
        partitions=(("*", "*"),),
        last_success=record.executed_at,
        foreign=(("*", "*"),) if tampered else (),
        foreign_count=int(tampered),
        full_refresh=model.strategy.keeps_rows and step.initial,
    )


def _replaced(verdict: Verdict) -> bool:
    """Whether somebody's own table stands where the model's was."""
    return any("another table took its place" in piece.because for piece in verdict.pieces)


def _in_state(verdict: Verdict, state: State) -> Ranges:
    return merged(piece.range for piece in verdict.pieces if state in piece.states)


def _newest(moments: Iterable[dt.datetime | None]) -> dt.datetime | None:
    return max((each for each in moments if each is not None), default=None)


Ask = Callable[[tuple[Overwrite, ...]], bool]


def sync(
    services: Services, request: AnySync, listener: Listener = silent, ask: Ask = lambda _: True
) -> RunReport:
    """Recover, plan, ask about what would be overwritten, and execute the plan.

    Nothing to do starts no JVM and asks nothing. A refusal leaves everything as it is.
    """
    recovery = recover(services)
    for sentence in recovery.sentences:
        listener(Said(sentence))
    decided = settle(services)
    planned = plan_sync(services, request).after(decided).without(recovery.stuck)
    report = replace(
        _report(services, request, planned),
        run_id=services.run_id or services.clock.new_id(),
        recovered=recovery.sentences,
    )
    if planned.plan.is_empty:
        return replace(report, results=decided.results)
    warnings = overwrites(services, planned)
    if warnings and not ask(warnings):
        return replace(report, aborted=True)
    if planned.plan.steps:
        services.engine.require()
    planned.project_state.detection.log_reader.keep()
    return Runner(services, request, listener, planned, report).run()


@in_one_state
def preview_sync(services: Services, request: AnySync) -> RunReport:
    """Plan what `sync` would do with the same request. Nothing is written, no JVM starts."""
    planned = plan_sync(services, request)
    report = _report(services, request, planned)
    results = planned_results(services, planned.plan)
    preview = replace(report.preview or SyncPreview(), diffs=diffs_of(services, planned))
    return replace(report, dry_run=True, results=results, preview=preview)


@in_one_state
def plan_sync(services: Services, request: AnySync) -> Planned:
    """Select, judge the whole project, decide."""
    run_timestamp = run_timestamp_of(services, request.run_timestamp)
    dated_project(services, run_timestamp)
    names = _names(services, request, run_timestamp)
    project_state = look(services, services.project.models, run_timestamp)
    scope = _scope(project_state, names, request)
    project, now = project_state.project, project_state.view.now
    made = plan(project, names, project_state.records, now, request.options, scope)
    warnings = (finding.render() for finding in project.findings)
    messages = (*made.notes, *gap_notes(project_state, names), *pending_notes(services))
    notes = (*warnings, *messages, *seed_notes(services, project_state, names))
    return Planned(made, names, project_state, scope, notes)


def _names(services: Services, request: AnySync, run_timestamp: dt.datetime) -> tuple[str, ...]:
    if not request.model:
        return selected_models(services, request.select, request.exclude, run_timestamp)
    model = named_model(services, request.model)
    if model.strategy.window is not None or model.keeps_history:
        raise UsageError(
            "not-supported-yet",
            f"backfill re-makes partitions; {model.name} is built as {model.strategy_name}",
            hint=f"penstock {model.strategy.command} --select {model.name} --full-refresh"
            if not model.keeps_history
            else f"penstock {model.strategy.command} --select {model.name} brings it up to date; "
            "--full-refresh would drop its versions",
        )
    return (model.name,)


def _scope(project_state: ProjectState, names: tuple[str, ...], request: AnySync) -> Scope:
    project = project_state.project
    verdicts = {
        name: project_state.detection.verdict(name)
        for name, model in project.models.items()
        if model.partition is not None
    }
    within = {}
    for name in names:
        if name not in verdicts:
            continue
        model, verdict = project.models[name], verdicts[name]
        there = due(model, project_state.run_timestamp)
        if request.model:
            check_named(model, request.range, verdict, there)
        known = there if request.model else union(verdict.known, there)
        within[name] = narrowed(model, request.range, project_state.run_timestamp, known)
    most = None if request.everything else request.max_partitions or project.max_partitions
    forced = bool(request.model) or request.full_refresh
    return Scope(
        trigger=request.command,
        verdicts=verdicts,
        within=within,
        syncs=True,
        force=bool(request.model),
        states=states_named(request.states),
        cascade=request.cascade,
        followed=_followed(project, names, within, verdicts) if request.cascade else {},
        batch_size=request.batch_size,
        most=most,
        facts=facts_of(project_state, verdicts, forced=forced),
    )


def _followed(
    project: Project,
    names: tuple[str, ...],
    within: Mapping[str, Ranges],
    verdicts: Mapping[str, Verdict],
) -> dict[str, Ranges]:
    """Give what a cascade may run at most, by model: all that reads what is selected."""
    start = {name: within.get(name, WHOLE) for name in names}
    return _cascade(project, start, verdicts)


def _cascade(
    project: Project, start: Mapping[str, Ranges], verdicts: Mapping[str, Verdict]
) -> dict[str, Ranges]:
    return cascaded(
        project,
        start,
        lambda name: verdicts[name].segments if name in verdicts else (),
        lambda model: not (model.is_view or model.keeps_history),
    )


def _report(services: Services, request: AnySync, planned: Planned) -> RunReport:
    preview = SyncPreview(
        drifted=drifted_of(planned),
        cascaded=_cascaded(services, planned.plan),
        left=_left(planned),
        remaining=planned.plan.remaining,
        lines=_lines(planned, request),
    )
    return RunReport(
        run_id="",
        run_timestamp=planned.plan.run_timestamp,
        plan=planned.plan,
        results=(),
        command=request.command,
        notes=planned.notes,
        preview=preview,
    )


def _cascaded(services: Services, made: Plan) -> tuple[Cascaded, ...]:
    counts: dict[str, int] = {}
    for step in made.steps:
        if step.trigger == "cascade":
            counts[step.model] = counts.get(step.model, 0) + step.count
    planned = {step.model for step in made.steps}
    project = services.project
    return tuple(
        Cascaded(name, number, _above(project, name, planned)) for name, number in counts.items()
    )


def _above(project: Project, name: str, planned: Collection[str]) -> tuple[str, ...]:
    return tuple(up for up in parents_of(project, project.models[name]) if up in planned)


def _left(planned: Planned) -> tuple[Cascaded, ...]:
    """Give what a cascade would add to the plan and nobody asked for."""
    project_state = planned.project_state
    verdicts = planned.scope.verdicts
    start: dict[str, Ranges] = {}
    for step in planned.plan.steps:
        start[step.model] = union(start.get(step.model, ()), step.partitions)
    todo = _cascade(project_state.project, start, verdicts)
    found = []
    for name, ranges in todo.items():
        more = difference(ranges, start.get(name, ()))
        if more:
            above = _above(project_state.project, name, todo)
            found.append(Cascaded(name, count(more), above))
    return tuple(found)


def _lines(planned: Planned, request: AnySync) -> tuple[str, ...]:
    """Warn of drift above what is synced, which nobody selected."""
    project_state = planned.project_state
    project = project_state.project
    stale = set()
    for name in planned.names:
        for above in parents_of(project, project.models[name]):
            unselected = above in project.models and above not in planned.names
            if unselected and _drifted(project_state, planned.scope.verdicts, above):
                stale.add(above)
    skipped = (*_passed_over(planned, request), *_undone(planned))
    if not stale:
        return skipped
    names = ", ".join(sorted(stale))
    return (f"not selected, though drifted, and read here: {names}", *skipped)


def _undone(planned: Planned) -> tuple[str, ...]:
    """Name what drifted below the selected models and is no part of the plan, with its command."""
    project_state, made = planned.project_state, {step.model for step in planned.plan.steps}
    verdicts = planned.scope.verdicts
    found = [
        name
        for name in planned.scope.followed
        if name not in planned.names
        and name not in made
        and _drifted(project_state, verdicts, name)
    ]
    if not found:
        return ()
    names = " ".join(sorted(found))
    return (f"drifted below what is selected: {names}; penstock sync --select '{names}'",)


def _drifted(project_state: ProjectState, verdicts: Mapping[str, Verdict], name: str) -> bool:
    return bool((verdicts.get(name) or project_state.verdict(name)).drifted)


def _passed_over(planned: Planned, request: AnySync) -> tuple[str, ...]:
    if not request.model:
        return ()
    lines = []
    for name, within in planned.scope.within.items():
        verdict = planned.scope.verdicts[name]
        none = count(difference(within, intersection(within, verdict.effective)))
        if none:
            lines.append(f"{name}: {none:,} partitions have no version and are passed over")
    return tuple(lines)
