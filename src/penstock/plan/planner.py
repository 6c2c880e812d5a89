"""The plan of a run: which of the selected models need a step, in which order, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.core.graph import ordered
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.partitions.mapping import spans
from penstock.core.partitions.partition import Span
from penstock.core.partitions.ranges import first_numbers, numbers
from penstock.core.project import Project
from penstock.plan.cascade import grid_of, upstream_models
from penstock.plan.changes import joined, spans_of
from penstock.plan.decide import decide
from penstock.plan.resolve import body_of
from penstock.plan.steps import Decided, Earlier, Question, Records, Scope
from penstock.plan.values import Blocked, Now, Options, Plan, Step

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
    return _folded(question, decided)


def _folded(question: Question, decided: Earlier) -> Plan:
    """Put the decisions together, in their order."""
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


def limited(steps: Sequence[Step], most: int) -> tuple[list[Step], int]:
    """Keep the first `most` partitions in the order of the steps; give how many are left out.

    A step may be split. Steps come after those they read, so what is kept never reads what is not.
    """
    kept, left, room = [], 0, most
    for step in steps:
        take = min(step.count, room)
        room -= take
        left += step.count - take
        if take == step.count:
            kept.append(step)
        elif take:
            kept.append(replace(step, partitions=first_numbers(step.partitions, take)))
    return kept, left


def linked(project: Project, steps: Sequence[Step], parallel: frozenset[str]) -> list[Step]:
    """Say of every step which others it comes after.

    A step of partitions waits for the steps above that make what it reads; a step of a whole
    table for all steps of its upstreams. Steps of one model wait for its first one, which makes
    the table what it must be; for each other where the model is not in `parallel`. Steps that make
    what only checks read come before too.
    """
    by_model: dict[str, list[Step]] = {}
    for step in steps:
        by_model.setdefault(step.model, []).append(step)
    return [
        replace(
            step,
            upstream=_before(project, step, by_model, parallel),
            later_than=tuple(_keys(by_model, project.models[step.model].order_after)),
            at_once=step.model in parallel and len(by_model[step.model]) > 1,
        )
        for step in steps
    ]


def _before(
    project: Project, step: Step, by_model: Mapping[str, list[Step]], parallel: frozenset[str]
) -> tuple[str, ...]:
    model = project.models[step.model]
    if model.partition is None:
        keys = [key for key in step.upstream if key not in by_model]
        named = {key.partition(" ")[0] for key in step.upstream}
        return tuple(sorted({*keys, *_keys(by_model, named)}))
    found: set[str] = set()
    _, body = body_of(model, step.version, step.revision)
    for mapping in body.inputs:
        name = mapping.input
        if name.kind is not InputKind.MODEL or name.name == model.name:
            continue
        above = by_model.get(name.name)
        if not above:
            continue
        read = _read(project, model, step, mapping.input.name)
        for other in above:
            made = spans_of(other.grid, other.partitions)
            if any(low < end and begin < high for low, high in made for begin, end in read):
                found.add(other.key)
    siblings = by_model[step.model]
    at = siblings.index(step)
    if at:
        found.add(siblings[0 if step.model in parallel else at - 1].key)
    return tuple(sorted(found))


def _keys(by_model: Mapping[str, list[Step]], names: Iterable[str]) -> list[str]:
    return [step.key for name in names for step in by_model.get(name, ())]


def _read(project: Project, model: Model, step: Step, name: str) -> tuple[Span, ...]:
    _, body = body_of(model, step.version, step.revision)
    grid, below = model.grid, grid_of(project, name)
    found: list[Span] = []
    for mapping in body.inputs:
        if mapping.input.name == name:
            for number in numbers(step.partitions):
                found.extend(spans(mapping.mapping, grid.span(number), below))
    return joined(found)
