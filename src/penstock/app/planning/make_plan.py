"""The use case `plan`: what a run would do, and why. Writes nothing and starts no JVM."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock.app.observation.deferral import deferred_lines
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.observation.recorded import regranted
from penstock.app.planning.packages import (
    limits_said,
    not_refreshed,
    passes_now,
    refreshed,
    selecting,
    with_base_tables,
)
from penstock.app.planning.selection import (
    check_named,
    divided,
    narrowed,
    pending_notes,
    seed_lines,
)
from penstock.app.request import AnyRun, StepsRequest
from penstock.app.run_report import Settled
from penstock.app.services.services import Services, dated_project, in_one_state
from penstock.core.entities.entity import ProcessType
from penstock.core.errors import (
    PenstockError,
    ProcessStrategyNotSupportedError,
    ProjectError,
    TableError,
    UsageError,
)
from penstock.core.facts import TableFacts
from penstock.core.findings import Finding, Severity
from penstock.core.graph import reach
from penstock.core.partitions.partition import Grain
from penstock.core.partitions.ranges import difference, intersection
from penstock.core.project import Project
from penstock.core.sessions.manifest import RebuildRequest
from penstock.core.sessions.package import SessionPackage
from penstock.plan.cascade import direct_parents
from penstock.plan.changes import sources_below
from penstock.plan.history import check_prune
from penstock.plan.planner import plan
from penstock.plan.resolve import due_partitions
from penstock.plan.slices import unmatched_notes
from penstock.plan.steps import Scope
from penstock.plan.values import Blocked, Options, Plan, State
from penstock.plan.verdict import Verdict, gap_line
from penstock.project.files.values import some_of
from penstock.strategies.entities.moments import read_moment

Asked = TypeVar("Asked", bound=StepsRequest)
_AHEAD = dt.timedelta(seconds=60)  # clocks of machines differ; a slip of that much is no mistake


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with its inputs, so that a run executes exactly this plan.

    `names` are the selected models in topological order, without those of `not_run`, which another
    command builds. The messages in `said` are printed first.
    """

    plan: Plan
    names: tuple[str, ...]
    project_state: ProjectState
    scope: Scope
    notes: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    settled: Settled = Settled()
    said: tuple[str, ...] = ()
    regranted: tuple[str, ...] = ()
    """Models without a step whose `grants` changed."""

    @property
    def again(self) -> Mapping[str, str]:
        """How to select models of session packages again."""
        return selecting(self.project_state.project, self.names)

    @property
    def sources(self) -> list[str]:
        """The sources that its steps read, also through views."""
        project = self.project_state.project
        models = dict.fromkeys(step.model for step in self.plan.steps)
        return sources_below(project, *(project.models[name] for name in models))

    def after(self, settled: Settled) -> Planned:
        """Return the plan without steps that this command settled as failed.

        An uninterrupted run would have failed there too; the next plan builds them again.
        """
        steps = []
        for step in self.plan.steps:
            stays = step.model in settled.unlooked
            failed = () if stays else settled.failed.get(step.model, ())
            if left := difference(step.partitions, failed):
                steps.append(step.of(left))
        return replace(self, plan=replace(self.plan, steps=tuple(steps)), settled=settled)

    def only(self, names: Collection[str]) -> Planned:
        """Return the part of the plan that builds some models, as if nothing was settled before."""
        plan = self.plan
        part = replace(
            plan,
            steps=tuple(each for each in plan.steps if each.model in names),
            blocked=tuple(each for each in plan.blocked if each.model in names),
            current=tuple(each for each in plan.current if each in names),
        )
        return replace(self, plan=part, settled=Settled())

    def without(self, stuck: Mapping[str, PenstockError]) -> Planned:
        """Return the plan with models blocked whose open step could not be settled."""
        names = [name for name in self.names if name in stuck]
        if not names:
            return self
        known = {each.model for each in self.plan.blocked}
        blocked = tuple(Blocked(name, stuck[name]) for name in names if name not in known)
        made = replace(
            self.plan,
            steps=tuple(step for step in self.plan.steps if step.model not in stuck),
            current=tuple(name for name in self.plan.current if name not in stuck),
            blocked=(*self.plan.blocked, *blocked),
        )
        return replace(self, plan=made)


@in_one_state
def make_plan(services: Services, request: AnyRun, state: ProjectState | None = None) -> Planned:
    """Select models, read tables and inputs, decide; `state` is a survey of all models, if any."""
    run_timestamp = run_timestamp_of(services, request.run_timestamp)
    dated_project(services, run_timestamp)
    names, not_run, note = divided(services, request, run_timestamp)
    found = findings_on(services.project, with_base_tables(services.project, names))
    warned = [each for each in found if each.is_warning]
    if request.options.strict and warned:
        raise ProjectError(tuple(replace(each, severity=Severity.ERROR) for each in warned))
    _check_entities(services, names, request.options)
    if request.options.adopt and len(names) != 1:
        raise UsageError(
            "adopt-one-model",
            f"--adopt takes over one table at a time; {len(names)} models are selected",
            hint="name it: --select MODEL --adopt",
        )
    check_prune([services.project.models[name] for name in names], request.options)
    names = with_base_tables(services.project, names)
    project_state = replace(state, names=names) if state else survey(services, names, run_timestamp)
    services.project = project_state.project
    anew = refreshed(services.project, request)
    said = _look_at_packages(project_state, anew, getattr(request, "rebuild", None))
    scope = _scope(project_state, request)
    records = project_state.records
    made = plan(
        project_state.project, names, records, project_state.view.now, request.options, scope
    )
    pending = pending_notes(services)
    unmatched = unmatched_notes(project_state.view.now, names)
    messages = (*made.notes, *unmatched, *gap_notes(project_state, names))
    messages += tuple(_reading_notes(services.project, made))
    messages += (*((note,) if note else ()), *pending)
    warnings = (finding.render() for finding in found)
    kept = not_refreshed(services.project, names, request, anew)
    notes = (*warnings, *messages, *seed_notes(services, project_state, names), *kept)
    if request.command == "snapshot run":
        notes += tuple(_stale_notes(services, names, run_timestamp))
    passes = project_state.view.now.passes.values()
    notes += tuple(warning.render() for each in passes for warning in each.warnings)
    said = (*said, *deferred_lines(made.deferred))
    return _with_grants(Planned(made, names, project_state, scope, notes, not_run, said=said))


def _with_grants(planned: Planned) -> Planned:
    """Add the models whose rights change, though no step builds them."""
    building = {step.model for step in planned.plan.steps}
    granting = regranted(planned.project_state.services, planned.names, building)
    lines = (f"{name}: its rights change, {text}" for name, text in granting.items())
    return replace(planned, said=(*planned.said, *lines), regranted=(*granting,))


def _look_at_packages(
    state: ProjectState, anew: Sequence[SessionPackage], rebuild: RebuildRequest | None
) -> tuple[str, ...]:
    """Add what the passes of the packages would do; return their messages."""
    names, now = state.names, state.view.now
    changing: set[str] = set()
    if state.project.packages:
        outside = (name for name in names if not state.project.package_of(name))
        changing.update(name for name in outside if state.verdict(name).pieces)
    found = passes_now(state.services, names, state.run_timestamp, changing, anew, rebuild)
    state.view = replace(state.view, now=replace(now, passes=found))
    at = state.services.clock.now()
    return tuple(f"{at:%H:%M:%S} + {line}" for each in found.values() for line in limits_said(each))


def _stale_notes(services: Services, names: Sequence[str], at: dt.datetime) -> Iterator[str]:
    """Return the outdated inputs of histories that are not histories themselves."""
    project = dated_project(services, at)
    parents = {name: direct_parents(model) for name, model in project.models.items()}
    above = reach(names, parents).intersection(project.models).difference(names)
    state = survey(services, above, at)
    for command, what in (("run", False), ("sync", True)):
        stale = [
            name
            for name in state.names
            if _is_behind(state.verdict(name))
            and (project.models[name].partition is not None) is what
            and not project.models[name].keeps_history
        ]
        if stale:
            named = " ".join(stale)
            which = f"{', '.join(stale)} {'has' if len(stale) == 1 else 'have'} drifted"
            mends = shlex.join(["penstock", command, "--select", named])
            yield f"upstream-drifted: {which}, and what reads it sees it as it is; first: {mends}"


def _is_behind(verdict: Verdict) -> bool:
    found = (piece.state for piece in verdict.pieces)
    return verdict.whole is not None or any(each is not State.NOT_EFFECTIVE for each in found)


def findings_on(project: Project, names: Sequence[str]) -> list[Finding]:
    """Return the findings on the whole project, and on the selected models."""
    chosen = set(names)
    return [f for f in project.findings if not f.about or not chosen.isdisjoint(f.about)]


def _check_entities(services: Services, names: Sequence[str], options: Options) -> None:
    """Raise for entity options if not exactly one entity is selected, or it lacks support."""
    entities = [e for name in names if (e := services.project.models[name].entity) is not None]
    adopts = options.adopt and bool(entities)
    words = {"--slice": options.slice, "--strategy": options.strategy, "--adopt": adopts}
    asked = [word for word, value in words.items() if value]
    if not asked:
        return
    if len(names) != 1 or not entities:
        sentence = f"{', '.join(asked)} is about one entity; {len(names)} models are selected"
        hint = f"name it: --select entity:NAME {asked[0]}"
        raise UsageError("one-entity-only", sentence, hint=hint)
    entity, wanted = entities[0], options.strategy or entities[0].process
    full = wanted is ProcessType.FULL
    merged = wanted is ProcessType.MERGE and entity.process is ProcessType.FULL
    if wanted is entity.process or full or (merged and entity.business_keys):
        return
    raise ProcessStrategyNotSupportedError(
        "strategy-mismatch",
        f"{entity.model} is {entity.process}, its slices cannot be written as {wanted}",
        where=entity.where,
        hint="only full, or merge where a full entity has business keys, can replace another",
    )


def timed(services: Services, request: Asked) -> tuple[Asked, tuple[str, ...]]:
    """Return the processing time of a request, and its messages.

    An invalid time is ignored with a warning, and the run timestamp is used; with `strict` it
    raises `invalid-processing-time`.
    """
    text = getattr(request, "processing_time", None)
    if not isinstance(text, str):
        return request, ()
    found = read_moment(text, services.project.environment.timezone)
    sentence = f"--processing-time {text!r} is not a time"
    hint = "write it as 2025-05-05T12:00:00, with Z or an offset if it is not of the entities' zone"
    if found is None and request.options.strict:
        raise UsageError("invalid-processing-time", sentence, hint=hint)
    if found is not None:
        run_timestamp_of(services, found)
    note = f"invalid-processing-time: {sentence}; the run timestamp counts"
    taken = replace(request, processing_time=found)  # type: ignore[call-arg]  # it has the flag
    return taken, () if found else (note,)


def _scope(project_state: ProjectState, request: AnyRun) -> Scope:
    """Return the partitions for `run`: those of the dates, or the newest due ones.

    With `lookback` they include that number of partitions before the newest one.
    """
    verdicts = {
        name: project_state.verdict(name)
        for name in project_state.names
        if project_state.project.models[name].partition is not None
    }
    within = {}
    for name, verdict in verdicts.items():
        model = project_state.project.models[name]
        there = due_partitions(model, project_state.run_timestamp)
        if request.range.is_open and not request.options.full_refresh:
            effective = intersection(verdict.effective, there)
            last = effective[-1][1] if effective else 0
            back = model.partition.lookback or 0 if model.partition else 0
            timed = model.grid.grain is not Grain.RANGE
            within[name] = intersection(effective, ((last - back, last),)) if timed else effective
            continue
        check_named(model, request.range, verdict, there)
        within[name] = narrowed(model, request.range, project_state.run_timestamp, there)
    facts = facts_of(project_state, verdicts, forced=request.options.full_refresh)
    return Scope(verdicts=verdicts, limits=within, batch_size=request.batch_size, facts=facts)


def facts_of(
    project_state: ProjectState, verdicts: dict[str, Verdict], *, forced: bool
) -> dict[str, TableFacts]:
    """Return the facts of the tables whose partitions may run.

    A table that cannot be read makes its model `unreadable`.
    """
    found = {}
    for name, verdict in verdicts.items():
        if verdict.whole is not None or not (verdict.pieces or forced):
            continue
        try:
            facts = project_state.services.log.facts(
                project_state.project.uri_of(project_state.project.models[name].table)
            )
        except (TableError, OSError) as error:
            verdicts[name] = project_state.give_up(name, error)
            continue
        if facts is not None:
            found[name] = facts
    return found


def _reading_notes(project: Project, decided: Plan) -> Iterator[str]:
    """Yield a note on the models whose text may change in the run."""
    steps = dict.fromkeys(each.model for each in decided.steps)
    if reading := [name for name in steps if project.models[name].query.reads]:
        again = "the run reads them again, and plans again if they have changed"
        yield f"templates of {some_of(reading)} read rows: {again}"


def gap_notes(project_state: ProjectState, names: Iterable[str]) -> Iterator[str]:
    """Return which tables' logs lost commits after the last success."""
    for name in names:
        model, targets = project_state.project.models[name], project_state.view.now.targets
        source = targets.get(name) if model.partition is None else project_state.verdict(name)
        if source is not None and source.gap is not None:
            yield f"{name}: {gap_line(model, source.gap)}"


def run_timestamp_of(services: Services, as_of: dt.datetime | None) -> dt.datetime:
    """Return the run timestamp; raise `as-of-in-future`."""
    now = services.clock.now()
    if as_of is not None and as_of > now + _AHEAD:
        raise UsageError(
            "as-of-in-future",
            f"{as_of.isoformat()} is in the future (now: {now.isoformat(timespec='seconds')})",
            hint="use a time in the past",
        )
    return as_of or now


def seed_notes(
    services: Services, project_state: ProjectState, names: Sequence[str]
) -> tuple[str, ...]:
    """Return one note for each seed that the models read and whose file changed since loading."""
    found = seed_lines(services, project_state, names)
    return tuple(dict.fromkeys(line for lines in found.values() for line in lines))
