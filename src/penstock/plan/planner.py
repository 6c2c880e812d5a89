"""The plan of a run: which of the selected models need a step, in which order, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.core.checks import OnFailure
from penstock.core.graph import ordered
from penstock.core.model import Model
from penstock.core.partitions.ranges import WHOLE, Ranges, count, difference, intersection, union
from penstock.core.project import Project
from penstock.plan.cascade import (
    following,
    is_decided_alone,
    parents_of,
    reads_itself,
    upstream_models,
)
from penstock.plan.detect_drift import detect_table_drift
from penstock.plan.evolution import is_described_otherwise, moved_layout
from penstock.plan.history import must_look
from penstock.plan.obstacles import in_time, migration_of, obstacle, refusal, table_obstacle
from penstock.plan.rerun import never_built
from penstock.plan.sessions.steps import decide_passes
from penstock.plan.slices import last_failure, slice_steps, slices_to_run
from penstock.plan.steps import (
    LEFT,
    Decided,
    Earlier,
    Question,
    Records,
    Scope,
    Wanted,
    limited,
    linked,
    partition_steps,
    table_step,
    waits_for,
    way_out,
)
from penstock.plan.values import (
    Blocked,
    Now,
    Observed,
    Options,
    Plan,
    Reason,
    SlicesNow,
    State,
    Step,
)
from penstock.plan.verdict import states_of


def decide(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Decide about one model, after those above it."""
    package = question.project.package_of(model.name)
    if package is not None:
        return decide_passes(question, earlier, model, package)
    decide_one = decide_table if model.partition is None else decide_partitions
    return decide_one(question, earlier, model)


def decide_partitions(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Decide about a model of partitions: those of the scope, and those that follow from above."""
    scope, is_selected = question.scope, model.name in question.selected
    todo = {name: above.todo for name, above in earlier.items() if above.todo}
    wanted = wanted_of(question.project, model, scope, todo, question.options)
    verdict = scope.verdicts[model.name]
    left = count(difference(verdict.drifted, wanted.partitions))
    notes: tuple[str, ...] = ()
    if left and is_selected and not scope.syncs:
        word = "partition" if left == 1 else "partitions"
        notes = (f"{model.name}: {left:,} other {word} drifted; penstock sync runs them",)
    if not wanted.partitions and not (verdict.whole and is_selected):
        return Decided(notes=notes, is_current=is_selected)
    error = refusal(question, model, wanted) or obstacle(question, earlier, model)
    if error is not None:
        return Decided(notes=notes, error=error)
    moved = migration_of(model, scope)
    record = question.records.get(model.name)
    planned_on = record.last_step_seq if record else 0
    steps = partition_steps(model, verdict, wanted, scope.trigger, scope.batch_size)
    # steps meet no other's rows, once the first has made the table what it must be
    stays = moved is not None and not (moved.breaking or moved.moved)
    return Decided(
        steps=tuple(replace(step, planned_on=planned_on) for step in steps),
        notes=(*notes, *(f"{model.name}: {line}" for line in (moved.lines if moved else ()))),
        todo=wanted.partitions,
        at_once=stays and bool(model.layout.partition_by) and not _goes_alone(question, model),
    )


def _goes_alone(question: Question, model: Model) -> bool:
    """Whether a step of a model needs its table as the step before it left it.

    It does where its gate looks at the whole table before its rows are published.
    """
    wanted, settings = question.options.on_failure, question.project.checks
    sets = [version.checks for version in model.versions] or [model.checks]
    return reads_itself(model) or any(
        check.is_gate and check.reads_table
        for checks in sets
        for check in checks.after
        if (wanted or checks.on_failure or settings.on_failure) is OnFailure.BLOCK
    )


def wanted_of(
    project: Project, model: Model, scope: Scope, todo: Mapping[str, Ranges], options: Options
) -> Wanted:
    """Return the partitions of a model that the plan runs; `todo` are those of models above it."""
    verdict = scope.verdicts[model.name]
    within = intersection(scope.within.get(model.name, ()), verdict.effective)
    if verdict.relaid and model.name in scope.within:
        within = verdict.effective  # the table is written anew: none of its rows stays on record
    forced = within if scope.force or options.full_refresh else ()
    asked = intersection(verdict.drifted, within)
    if scope.states:
        asked = intersection(asked, states_of(verdict, scope.states))
    own = union(forced, asked)
    place = verdict.effective if scope.cascade else () if scope.syncs else within
    segments = tuple(
        replace(segment, low=low, high=high)
        for segment in verdict.segments
        for low, high in intersection((segment.range,), place)
    )
    # what failed, or was never reached, after the models above it were made
    followed = scope.followed.get(model.name, ())
    undone = difference(followed, scope.within.get(model.name, ()))
    undone = intersection(states_of(verdict, LEFT), intersection(undone, verdict.effective))
    below = following(project, model, segments, {**todo, model.name: own})
    below = union(below, undone)
    if not scope.cascade:
        own = union(own, below)
    everything = union(own, below)
    sure = union(forced, intersection(verdict.drifted, everything))
    after = tuple(name for name in parents_of(project, model) if name in todo)
    if reads_itself(model):
        after = (*after, model.name)
    return Wanted(everything, own, sure, after)


def decide_table(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Bring a table or view up to date with its code, its inputs and the steps before it.

    A sync only repairs it, where that is asked for or follows from what is repaired; histories
    never.
    """
    scope, is_selected = question.scope, model.name in question.selected
    found = detect_table_drift(question.project, model, question.records, question.now).reason
    if scope.syncs and model.keeps_history:
        is_tampered = is_selected and State.TAMPERED in found.states
        return Decided(notes=(f"{model.name}: {found.detail}; {way_out(model)}",) * is_tampered)
    if found.state is State.NOT_EFFECTIVE:
        return postponed(question, model, found)
    waits = waits_for(earlier, model)
    due, trigger = (_to_repair if scope.syncs else _to_run)(question, model, found, waits)
    if due is not None or not scope.syncs:
        error = table_obstacle(question, earlier, model, found)
        if error is not None:
            return Decided(error=error)
    if due is not None:
        return in_time(question, model, _built(question, model, due, waits, trigger))
    if scope.syncs and not (is_selected and not found.is_drift):
        return Decided(hands_on=waits if model.is_view else ())
    left = left_current(question, model, waits)
    if not found.passed:
        return left
    why = f"{found.detail} changed rows that it had read"
    why = f"{why}; penstock sync --select {model.name} rebuilds it"
    if found.state is State.TAMPERED:
        why = f"{found.detail}; {way_out(model)}"
    return replace(left, notes=(*left.notes, f"{model.name}: {why}"))


def _built(
    question: Question, model: Model, due: Reason, waits: tuple[str, ...], trigger: str
) -> Decided:
    """Plan the build of a table, or of what its slices bring."""
    keeps = model.strategy.keeps_rows or bool(model.query.deltas)
    anew = question.scope.syncs and keeps and _has_wrong_rows(question, model, due)
    step = table_step(question, model, due, waits, anew=anew)
    if step.initial and question.options.rerun is not None:
        # the range alone would be all that the table holds
        return Decided(error=never_built(model))
    notes = (*step.notes, "full refresh") if anew else step.notes
    step = replace(step, trigger=trigger, notes=notes)
    if (slices := question.now.slices.get(model.name)) is not None:
        return _of_slices(question, model, step, slices)
    return Decided(steps=(step,), todo=WHOLE)


def _of_slices(question: Question, model: Model, step: Step, slices: SlicesNow) -> Decided:
    """Return a step per slice that waits, or of all where the table is made anew."""
    found = slices_to_run(model, slices, question.options, step)
    steps = tuple(slice_steps(step, found.slices))
    if steps or found.error:
        return Decided(steps, found.notes, found.error, todo=WHOLE if steps else ())
    left = left_current(question, model, step.upstream)  # code that changed has no rows to make
    failed = last_failure(question.records.get(model.name))
    return replace(left, notes=(*left.notes, *failed, *found.notes, *step.notes))


def _to_run(
    question: Question, model: Model, found: Reason, waits: tuple[str, ...]
) -> tuple[Reason | None, str]:
    """Say why a run builds a model, though nothing may differ; None if it does not."""
    if question.options.rerun is not None:
        low, high = question.options.rerun
        why = f"rerun [{low.text}, {high.text}]"
        return Reason(State.CURRENT, why, drift=False), question.scope.trigger
    due = None if found.state is State.CURRENT or found.passed else found
    if due is None and question.options.slice:
        due = Reason(State.CURRENT, f"slice {question.options.slice} asked for", drift=False)
    if due is None and question.options.full_refresh:
        due = Reason(State.CURRENT, "full refresh asked for")
    if due is None and model.keeps_history:
        why = must_look(question.project, model, question.now, question.options)
        due = Reason(State.CURRENT, why, drift=False) if why else None
    if due is None and waits and _matters(question, model):
        due = Reason.after(waits)
    return due, question.scope.trigger


def _to_repair(
    question: Question, model: Model, found: Reason, waits: tuple[str, ...]
) -> tuple[Reason | None, str]:
    """Say why a sync builds a model, and in whose name; None if it does not."""
    scope, is_selected = question.scope, model.name in question.selected
    forced = scope.force or question.options.full_refresh
    fits = not scope.states or bool(scope.states.intersection(found.states))
    if is_selected and (forced or (found.is_drift and fits)):
        asked = Reason(State.CURRENT, "asked for", drift=False)
        return asked if found.state is State.CURRENT else found, scope.trigger
    # a cascade that stopped would have made it
    undone = not is_selected and model.name in scope.followed
    follows = undone and found.is_drift and found.state in LEFT
    matters = found.is_drift or _matters(question, model)
    if not follows and not (scope.cascade and waits and matters):
        return None, ""
    return found if found.is_drift else Reason.after(waits), "cascade"


def _matters(question: Question, model: Model) -> bool:
    """Whether a model is built because of what it reads.

    A view has no rows to make anew, but what reads it needs it to be there, and as the code is.
    """
    return not model.is_view or is_decided_alone(question.project, model)


def _has_wrong_rows(question: Question, model: Model, reason: Reason) -> bool:
    """Whether a table holds rows that no ordinary step would mend.

    A step that only failed is done again, and new rows are taken by their window; but a failure
    hides no other drift, or the next success would tell of rows that nobody mended as current.
    """
    others = {reason.state, *reason.also} - {State.NEVER_RUN, State.FAILED}
    if model.name in question.now.slices:
        others.discard(State.SOURCE_CHANGED)
    if reason.state is not State.FAILED:
        return bool(others)
    if model.strategy.window is not None:
        others -= {State.SOURCE_CHANGED, State.UPSTREAM_CHANGED}
    return bool(others or reason.stale or question.now.below.get(model.name))


def left_current(question: Question, model: Model, waits: tuple[str, ...]) -> Decided:
    """Plan no build of a model; its properties and comments may still need a step."""
    record = question.records.get(model.name)  # none of an entity that no slice has reached yet
    facts = question.now.targets.get(model.name, Observed()).facts
    moved = moved_layout(model, facts) if facts else ""
    notes: tuple[str, ...] = ()
    if moved:
        drops = " and drops its versions" if model.keeps_history else ""
        notes = (f"{model.name}: {moved}; --full-refresh writes the table anew{drops}",)
    if facts and is_described_otherwise(model, facts):
        reason = Reason(State.CURRENT, "its properties or comments changed", drift=False)
        seq = record.last_step_seq if record else 0
        step = Step(model.name, reason, initial=False, planned_on=seq, only_alters=True)
        return Decided(steps=(step,), notes=notes, hands_on=waits)
    made = record.fingerprint if record else None
    is_cosmetic = made is not None and made.sql != model.fingerprint.sql
    return Decided(notes=notes, hands_on=waits, is_current=True, is_cosmetic=is_cosmetic)


def postponed(question: Question, model: Model, reason: Reason) -> Decided:
    """Leave out a model whose first version is still to come; what reads it cannot be built."""
    notes = (f"{model.name}: {reason}",) if model.name in question.selected else ()
    return Decided(notes=notes, is_unborn=True)


NO_PARTITIONS = Scope()


def plan(  # the sides of one decision
    project: Project,
    selected: Sequence[str],
    records: Records,
    now: Now,
    options: Options,
    scope: Scope = NO_PARTITIONS,
) -> Plan:
    """Compare the selected models with what was built; touch nothing.

    Steps come in topological order, ties by name, partitions in their order. A model whose upstream
    has a step in the plan is planned as `pending`: when its turn comes, the upstream's outcome
    decides. A cascade looks at the models below the selected ones too.
    """
    question = Question(project, frozenset(selected), records, now, options, scope)
    decided: dict[str, Decided] = {}
    parents = {
        name: (*upstream_models(model), *model.order_after)
        for name, model in project.models.items()
    }
    wanted = project.models if scope.cascade else question.selected
    for name in (each for each in ordered(parents) if each in wanted):
        decided[name] = decide(question, decided, project.models[name])
    each = decided.items()
    steps, left = [step for one in decided.values() for step in one.steps], 0
    if question.scope.most:
        steps, left = limited(steps, question.scope.most)
    at_once = frozenset(name for name, one in each if one.at_once)
    return Plan(
        question.now.run_timestamp,
        steps=tuple(linked(question.project, steps, at_once)),
        current=tuple(name for name, one in each if one.is_current),
        cosmetic=tuple(name for name, one in each if one.is_cosmetic),
        blocked=tuple(Blocked(name, one.error) for name, one in each if one.error is not None),
        notes=tuple(note for one in decided.values() for note in one.notes),
        remaining=left,
    )
