"""From partitions that must be run to steps: cut by version, trigger and batch (spec 8.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.mapping import spans
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.partition import Span
from penstock.core.project import Project
from penstock.core.ranges import (
    Ranges,
    count,
    difference,
    first_numbers,
    intersection,
    numbers,
)
from penstock.plan.cascade import grid_of, reads_itself
from penstock.plan.changes import joined, spans_of
from penstock.plan.drift.verdict import Piece, Verdict
from penstock.plan.resolve import Segment, body_of
from penstock.plan.values import Reason, State, Step

BATCH = 31
APART = 8
"""How many runs of neighbours may have a commit each."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Partitions of one model that are run: `own` were asked for, the others follow from those.

    `sure` are run whatever becomes of the steps before them. `after` names the models above.
    """

    partitions: Ranges
    own: Ranges
    sure: Ranges
    after: tuple[str, ...] = ()


def partition_steps(
    model: Model, verdict: Verdict, wanted: Wanted, trigger: str, batch_size: int | None
) -> Iterator[Step]:
    """Give the steps of one model in the order of its partitions.

    Neighbours of one segment go together: all of them where the SQL takes a range, at most
    `batch_size` where it takes one partition; where there are many gaps, what lies between them
    goes together too. A model that reads itself goes one by one.
    """
    classes = [
        (trigger, False, intersection(wanted.own, wanted.sure)),
        (trigger, True, difference(wanted.own, wanted.sure)),
        ("cascade", False, difference(wanted.sure, wanted.own)),
        ("cascade", True, difference(difference(wanted.partitions, wanted.own), wanted.sure)),
    ]
    found = []
    for name, pending, ranges in classes:
        todo = intersection(ranges, wanted.partitions)
        for segment in verdict.segments:
            pieces = intersection(todo, (segment.range,))
            for batch in _batches(model, segment, pieces, batch_size):
                reason = _reason(verdict, batch, wanted, pending=pending)
                found.append(_step(model, segment, batch, reason, name))
    yield from sorted(found, key=lambda step: step.partitions)


def _batches(
    model: Model, segment: Segment, pieces: Ranges, batch_size: int | None
) -> Iterator[Ranges]:
    """Cut partitions into those of one commit each.

    Neighbours that lie apart from others are a batch of their own, so that the failure of one
    holds up no other. Of many such runs a commit each would be too many: they share some.
    """
    settings = model.partition
    given = batch_size or (settings.batch_size if settings else None)
    if reads_itself(model):
        size = 1
    elif segment.body.is_range:
        size = given or max(count(pieces), 1)
    else:
        size = given or BATCH
    if len(pieces) > APART and size > 1:
        yield from _gathered(pieces, size)
        return
    for low, high in pieces:
        for first in range(low, high + 1, size):
            yield ((first, min(high, first + size - 1)),)


def _gathered(pieces: Ranges, size: int) -> Iterator[Ranges]:
    """Take up to so many partitions, in at most `BATCH` runs, at a time."""
    left = pieces
    while left:
        batch = first_numbers(left[:BATCH], size)
        yield batch
        left = difference(left, batch)


def _step(model: Model, segment: Segment, batch: Ranges, reason: Reason, trigger: str) -> Step:
    return Step(
        model=model.name,
        reason=reason,
        initial=False,
        partitions=batch,
        grid=model.grid,
        version=segment.version.number,
        revision=segment.body.fingerprint.revision,
        trigger=trigger,
        is_range=segment.body.is_range,
    )


def _reason(verdict: Verdict, batch: Ranges, wanted: Wanted, *, pending: bool) -> Reason:
    inside = [p for p in verdict.pieces if intersection((p.range,), batch)]
    if not inside or pending:
        if wanted.after and pending:
            return Reason.after(wanted.after)
        return Reason(State.CURRENT, "asked for", drift=False)
    order = list(State)
    first = min(inside, key=lambda p: order.index(p.state))
    others = {state for p in inside for state in p.states} - {first.state}
    detail = ", ".join(first.because) if _says(first) else ""
    return Reason(first.state, detail, tuple(sorted(others, key=order.index)))


def _says(piece: Piece) -> bool:
    return piece.state not in (State.SQL_CHANGED, State.NEVER_RUN)


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
        found.update(other.key for other in above if _makes(other, read))
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


def _makes(step: Step, read: tuple[Span, ...]) -> bool:
    made = spans_of(step.grid, step.partitions)
    return any(low < end and begin < high for low, high in made for begin, end in read)
