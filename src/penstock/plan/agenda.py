"""What a plan does with the partitions of a model: which run, which wait, which are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.core.errors import PenstockError, TableError
from penstock.core.model import Model
from penstock.core.project import Project
from penstock.core.ranges import Ranges, count, difference, intersection, union
from penstock.plan.cascade import mapped_to, parents_of, reads_itself
from penstock.plan.drift.verdict import Verdict, states_of
from penstock.plan.obstacles import obstacle
from penstock.plan.partition_steps import Wanted, partition_steps
from penstock.plan.question import LEFT, Decided, Earlier, Question, Scope
from penstock.plan.refusals import (
    foreign_table,
    incompatible_type,
    source_mutated,
    table_of_another_store,
    unrecorded,
    unrecorded_commit,
)
from penstock.plan.resolve import Segment
from penstock.plan.schema.table_columns import Migration, migration, target_schema
from penstock.plan.values import Options, State


def decide_partitions(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Decide about a model of partitions: those of the scope, and those that follow from above."""
    scope, is_selected = question.scope, model.name in question.selected
    todo = {name: above.todo for name, above in earlier.items() if above.todo}
    wanted = wanted_of(question.project, model, scope, todo, question.options)
    verdict = scope.verdicts[model.name]
    notes = tuple(left_alone(verdict, wanted)) if is_selected and not scope.syncs else ()
    if not wanted.partitions and not (verdict.whole and is_selected):
        return Decided(notes=notes, is_current=is_selected)
    error = refusal(question, model, wanted) or obstacle(question, earlier, model)
    if error is not None:
        return Decided(notes=notes, error=error)
    moved = migration_of(model, scope)
    record = question.records.get(model.name)
    planned_on = record.last_step_seq if record else 0
    steps = partition_steps(model, verdict, wanted, scope.trigger, scope.batch_size)
    return Decided(
        steps=tuple(replace(step, planned_on=planned_on) for step in steps),
        notes=(*notes, *(f"{model.name}: {line}" for line in (moved.lines if moved else ()))),
        todo=wanted.partitions,
        at_once=_at_once(model, moved),
    )


def _at_once(model: Model, moved: Migration | None) -> bool:
    """Whether steps meet no other's rows, once the first has made the table what it must be."""
    if moved is None or moved.breaking or moved.moved:
        return False
    return bool(model.layout.partition_by) and not reads_itself(model)


def wanted_of(
    project: Project,
    model: Model,
    scope: Scope,
    todo: Mapping[str, Ranges],
    options: Options,
) -> Wanted:
    """Give the partitions of a model that the plan runs; `todo` are those of models above it."""
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
    below = _below(project, model, _clipped(verdict.segments, place), todo, own)
    below = union(below, _left_undone(verdict, scope))
    if not scope.cascade:
        own = union(own, below)
    everything = union(own, below)
    sure = union(forced, intersection(verdict.drifted, everything))
    after = tuple(name for name in parents_of(project, model) if name in todo)
    if reads_itself(model):
        after = (*after, model.name)
    return Wanted(everything, own, sure, after)


def _left_undone(verdict: Verdict, scope: Scope) -> Ranges:
    """Give what failed, or was never reached, after the models above it were made."""
    asked = scope.within.get(verdict.model, ())
    followed = difference(scope.followed.get(verdict.model, ()), asked)
    return intersection(states_of(verdict, LEFT), intersection(followed, verdict.effective))


def _below(
    project: Project,
    model: Model,
    segments: tuple[Segment, ...],
    todo: Mapping[str, Ranges],
    own: Ranges,
) -> Ranges:
    """Follow what runs above, and of a model that reads itself what runs before."""
    found = mapped_to(project, model, segments, {**todo, model.name: own})
    while True:
        more = mapped_to(project, model, segments, {**todo, model.name: union(own, found)})
        if not difference(more, found):
            return found
        found = union(found, more)


def _clipped(segments: tuple[Segment, ...], within: Ranges) -> tuple[Segment, ...]:
    return tuple(
        Segment(low, high, segment.version, segment.body)
        for segment in segments
        for low, high in intersection((segment.range,), within)
    )


def left_alone(verdict: Verdict, wanted: Wanted) -> Iterator[str]:
    """Say how many drifted partitions a run passes by, which only a sync repairs."""
    left = count(difference(verdict.drifted, wanted.partitions))
    if left:
        word = "partition" if left == 1 else "partitions"
        yield f"{verdict.model}: {left:,} other {word} drifted; penstock sync runs them"


def refusal(question: Question, model: Model, wanted: Wanted) -> PenstockError | None:
    """Find what keeps every partition of a model from being run."""
    scope, options = question.scope, question.options
    verdict = scope.verdicts[model.name]
    if verdict.error is not None:
        return verdict.error
    if verdict.whole is State.UNRECORDED:
        return unrecorded_commit(model, verdict.lines[0]) if verdict.lines else unrecorded(model)
    if verdict.owner is not None and (verdict.whole or not options.adopt):
        takes = "" if verdict.whole else "--full-refresh --adopt"
        return table_of_another_store(model, verdict.owner, question.project.name, takes)
    if verdict.whole is State.FOREIGN_TABLE:
        return foreign_table(model, "move it away, or give the model another table")
    if verdict.relaid and not options.full_refresh:
        return TableError(
            "partition-layout-changed",
            f"the partitions of {model.table} were {verdict.relaid}",
            where=model.where,
            hint=f"penstock sync --select {model.name} --full-refresh writes the table anew",
        )
    if model.immutable and not options.allow_source_mutation:
        error = _mutated(model, verdict, wanted)
        if error is not None:
            return error
    moved = migration_of(model, scope)
    if moved is not None and moved.breaking and not options.allow_breaking:
        return incompatible_type(model, moved.breaking)
    return None


def migration_of(model: Model, scope: Scope) -> Migration | None:
    """Give what must happen to a model's table before its rows; None where nobody can tell yet."""
    facts, schema = scope.facts.get(model.name), target_schema(model)
    if facts is None or schema is None:
        return None
    return migration(model, schema, facts)


def _mutated(model: Model, verdict: Verdict, wanted: Wanted) -> TableError | None:
    for body, made in verdict.mutated:
        total = count(intersection(made, wanted.partitions))
        if not total:
            continue
        word = "partition" if total == 1 else "partitions"
        place = body.source if body.source.endswith(".sql") else body.where
        mark = body.fingerprint
        return source_mutated(model, mark, f"{total:,} {word}", body.where, f" ({place})")
    return None
