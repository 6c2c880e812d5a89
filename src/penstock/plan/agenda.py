"""What a plan does with the partitions of a model: which run, which wait, which are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.core.errors import PenstockError, SchemaError, TableError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.project import Project
from penstock.core.ranges import Ranges, count, difference, intersection, union
from penstock.plan.cascade import mapped_to, parents_of, reads_itself
from penstock.plan.judge import Verdict, states_of
from penstock.plan.partition_steps import Wanted
from penstock.plan.resolve import Segment
from penstock.plan.table_schema import Migration, migration, target_schema
from penstock.plan.values import Options, State


@dataclass(frozen=True, slots=True)
class Scope:
    """What a command asks of partitions.

    `within` are those that each selected model may run on its own account. With `force` they run
    whatever their state, with `states` only those in one of them. `follows` is whether partitions
    run because others above them do: everywhere (a cascade), or only `within`. `facts` are those
    of the tables that may have to change.
    """

    trigger: str = "run"
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    within: Mapping[str, Ranges] = field(default_factory=dict)
    force: bool = False
    states: frozenset[State] = frozenset()
    cascade: bool = False
    batch_size: int | None = None
    most: int | None = None
    facts: Mapping[str, TableFacts] = field(default_factory=dict)

    @property
    def syncs(self) -> bool:
        """Whether drift is repaired; `run` also takes new input and what waits for it."""
        return self.trigger != "run"


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
    if not scope.cascade:
        own = union(own, below)
    everything = union(own, below)
    sure = union(forced, intersection(verdict.drifted, everything))
    after = tuple(name for name in parents_of(project, model) if name in todo)
    if reads_itself(model):
        after = (*after, model.name)
    return Wanted(everything, own, sure, after)


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


def refusal(model: Model, wanted: Wanted, scope: Scope, options: Options) -> PenstockError | None:
    """Find what keeps every partition of a model from being run."""
    verdict = scope.verdicts[model.name]
    if verdict.whole is State.UNRECORDED:
        return TableError(
            "unrecorded",
            f"{model.table} was built by penstock, but the state store does not know it",
            where=model.where,
            hint="restore the records from the tables' logs: penstock state rebuild",
        )
    if verdict.whole is State.FOREIGN_TABLE:
        return TableError(
            "foreign-table",
            f"{model.table} exists and was not built by penstock",
            where=model.where,
            hint="move it away, or give the model another table",
        )
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
        return SchemaError(
            "incompatible-type",
            f"{model.table}: {', '.join(moved.breaking)}",
            where=model.where,
            hint="--allow-breaking rewrites the table with the new types",
        )
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
        return TableError(
            "source-mutated",
            f"{body.fingerprint.label} of {model.name} has built {total:,} {word} and its SQL "
            f"changed ({body.source if body.source.endswith('.sql') else body.where})",
            where=body.where,
            hint="add a revision, or repeat with --allow-source-mutation",
        )
    return None
