"""The use cases `sync` and `backfill`: run what drifted, or a range whatever its state."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from penstock.app.confirming import overwrites
from penstock.app.drift_reports import Cascaded, Overwrite, SyncPreview
from penstock.app.events import Listener, Said, silent
from penstock.app.looking import Looked, dated_project, look
from penstock.app.named import named_model
from penstock.app.narrow import check_named, narrowed
from penstock.app.one_state import in_one_state
from penstock.app.planning import Planned, facts_of, gap_notes, moment_of, seed_notes
from penstock.app.previewing import diffs_of, drifted_of, planned_results
from penstock.app.recover import recover
from penstock.app.reports import RunReport
from penstock.app.request import AnySync
from penstock.app.run import Runner
from penstock.app.selecting import selected_models
from penstock.app.settling import pending_notes, settle
from penstock.app.shop import Shop
from penstock.app.status import states_named
from penstock.core.errors import UsageError
from penstock.core.model import window_settings
from penstock.core.project import Project
from penstock.core.ranges import Ranges, count, difference, intersection, union
from penstock.plan.cascade import WHOLE, cascaded, parents_of
from penstock.plan.drift import drift
from penstock.plan.judge import Verdict
from penstock.plan.planner import plan
from penstock.plan.question import Scope
from penstock.plan.resolve import due
from penstock.plan.values import Plan, State

Ask = Callable[[tuple[Overwrite, ...]], bool]


def sync(
    shop: Shop, request: AnySync, listener: Listener = silent, ask: Ask = lambda _: True
) -> RunReport:
    """Recover, plan, ask about what would be overwritten, and execute the plan.

    Nothing to do starts no JVM and asks nothing. A refusal leaves everything as it is.
    """
    recovery = recover(shop)
    for sentence in recovery.sentences:
        listener(Said(sentence))
    decided = settle(shop)
    planned = plan_sync(shop, request).after(decided).without(recovery.stuck)
    report = replace(
        _report(shop, request, planned),
        run_id=shop.run_id or shop.clock.new_id(),
        recovered=recovery.sentences,
    )
    if planned.plan.is_empty:
        return replace(report, results=decided.results)
    warnings = overwrites(shop, planned)
    if warnings and not ask(warnings):
        return replace(report, aborted=True)
    if planned.plan.steps:
        shop.engine.require()
    if planned.looked is not None:
        planned.looked.judging.sight.keep()
    return Runner(shop, request, listener, planned, report).run()


@in_one_state
def preview_sync(shop: Shop, request: AnySync) -> RunReport:
    """Plan what `sync` would do with the same request. Nothing is written, no JVM starts."""
    planned = plan_sync(shop, request)
    report = _report(shop, request, planned)
    results = planned_results(shop, planned.plan)
    preview = replace(report.preview or SyncPreview(), diffs=diffs_of(shop, planned))
    return replace(report, dry_run=True, results=results, preview=preview)


@in_one_state
def plan_sync(shop: Shop, request: AnySync) -> Planned:
    """Select, judge the whole project, decide."""
    moment = moment_of(shop, request.run_timestamp)
    dated_project(shop, moment)
    names = _names(shop, request, moment)
    looked = look(shop, shop.project.models, moment)
    scope = _scope(looked, names, request)
    project, now = looked.project, looked.view.now
    made = plan(project, names, looked.records, now, request.options, scope)
    warnings = (finding.render() for finding in project.findings)
    told = (*made.notes, *gap_notes(looked, names), *pending_notes(shop))
    notes = (*warnings, *told, *seed_notes(shop, looked, names))
    return Planned(made, names, looked.view, looked.records, notes, (), looked, scope)


def _names(shop: Shop, request: AnySync, moment: dt.datetime) -> tuple[str, ...]:
    if not request.model:
        return selected_models(shop, request.select, request.exclude, moment)
    model = named_model(shop, request.model)
    if window_settings(model.strategy) is not None or model.is_snapshot:
        raise UsageError(
            "not-supported-yet",
            f"backfill re-makes partitions; {model.name} is built as {model.strategy_name}",
            hint=f"penstock run --select {model.name} --full-refresh"
            if not model.is_snapshot
            else f"penstock snapshot run --select {model.name} brings it up to date; "
            "--full-refresh would drop its versions",
        )
    return (model.name,)


def _scope(looked: Looked, names: tuple[str, ...], request: AnySync) -> Scope:
    project = looked.project
    verdicts = {
        name: looked.judging.verdict(name)
        for name, model in project.models.items()
        if model.partition is not None
    }
    within = {}
    for name in names:
        if name not in verdicts:
            continue
        model, verdict = project.models[name], verdicts[name]
        there = due(model, looked.moment)
        if request.model:
            check_named(model, request.range, verdict, there)
        known = there if request.model else union(verdict.known, there)
        within[name] = narrowed(model, request.range, looked.moment, known)
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
        facts=facts_of(looked, verdicts, forced=forced),
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
        lambda model: not (model.is_view or model.is_snapshot),
    )


def _report(shop: Shop, request: AnySync, planned: Planned) -> RunReport:
    preview = SyncPreview(
        drifted=drifted_of(planned),
        cascaded=_cascaded(shop, planned.plan),
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


def _cascaded(shop: Shop, made: Plan) -> tuple[Cascaded, ...]:
    counts: dict[str, int] = {}
    for step in made.steps:
        if step.trigger == "cascade":
            counts[step.model] = counts.get(step.model, 0) + step.count
    planned = {step.model for step in made.steps}
    project = shop.project
    return tuple(
        Cascaded(name, number, _above(project, name, planned)) for name, number in counts.items()
    )


def _above(project: Project, name: str, planned: Collection[str]) -> tuple[str, ...]:
    return tuple(up for up in parents_of(project, project.models[name]) if up in planned)


def _left(planned: Planned) -> tuple[Cascaded, ...]:
    """Give what a cascade would add to the plan and nobody asked for."""
    looked = planned.looked
    if looked is None:
        return ()
    verdicts = planned.scope.verdicts
    start: dict[str, Ranges] = {}
    for step in planned.plan.steps:
        start[step.model] = union(start.get(step.model, ()), step.partitions or WHOLE)
    todo = _cascade(looked.project, start, verdicts)
    found = []
    for name, ranges in todo.items():
        more = difference(ranges, start.get(name, ()))
        if more:
            above = _above(looked.project, name, todo)
            found.append(Cascaded(name, count(more), above))
    return tuple(found)


def _lines(planned: Planned, request: AnySync) -> tuple[str, ...]:
    """Warn of drift above what is synced, which nobody selected."""
    looked = planned.looked
    if looked is None:
        return ()
    project = looked.project
    stale = set()
    for name in planned.names:
        for above in parents_of(project, project.models[name]):
            unselected = above in project.models and above not in planned.names
            if unselected and _drifted(looked, planned.scope.verdicts, above):
                stale.add(above)
    skipped = (*_passed_over(planned, request), *_undone(planned))
    if not stale:
        return skipped
    names = ", ".join(sorted(stale))
    return (f"not selected, though drifted, and read here: {names}", *skipped)


def _undone(planned: Planned) -> tuple[str, ...]:
    """Name what drifted below the selected models and is no part of the plan, with its command."""
    looked, made = planned.looked, {step.model for step in planned.plan.steps}
    if looked is None:
        return ()
    verdicts = planned.scope.verdicts
    found = [
        name
        for name in planned.scope.followed
        if name not in planned.names and name not in made and _drifted(looked, verdicts, name)
    ]
    if not found:
        return ()
    names = " ".join(sorted(found))
    return (f"drifted below what is selected: {names}; penstock sync --select '{names}'",)


def _drifted(looked: Looked, verdicts: Mapping[str, Verdict], name: str) -> bool:
    if name in verdicts:
        return bool(verdicts[name].drifted)
    reason = drift(looked.project, looked.project.models[name], looked.records, looked.view.now)
    return reason.state is not State.CURRENT and reason.drift


def _passed_over(planned: Planned, request: AnySync) -> tuple[str, ...]:
    if not request.model or planned.looked is None:
        return ()
    lines = []
    for name, within in planned.scope.within.items():
        verdict = planned.scope.verdicts[name]
        none = count(difference(within, intersection(within, verdict.effective)))
        if none:
            lines.append(f"{name}: {none:,} partitions have no version and are passed over")
    return tuple(lines)
