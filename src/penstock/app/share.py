"""What is left of a step when its turn comes: what failed above it, what changed above it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.core.mapping import downstream
from penstock.core.model import InputMapping, Model
from penstock.core.partition import Grid, Span
from penstock.core.ranges import Ranges, difference, intersection, union
from penstock.plan.cascade import mapped_to
from penstock.plan.changes import column_of, touched_since
from penstock.plan.resolve import Segment, body_of
from penstock.plan.values import Step

EVERYTHING: Ranges = ((-(2**62), 2**62),)
UPSTREAM_FAILED = "upstream failed"


@dataclass(frozen=True, slots=True)
class Share:
    """A step in parts: those to do, those that read what failed, those that nothing changed for."""

    steps: tuple[Step, ...] = ()
    blocked: tuple[Step, ...] = ()
    idle: tuple[Step, ...] = ()


def share_of(shop: Shop, context: Context, step: Step) -> Share:
    """Divide a step of partitions; any other step is done as it is.

    Partitions that read failed ones are not made, and count as failed for those below them. Those
    that were only planned because something above would change are not made where nothing did.
    """
    if not step.partitions:
        return Share((step,))
    model = context.project.models[step.model]
    version, body = body_of(model, step.version, step.revision)
    here = tuple(Segment(low, high, version, body) for low, high in step.partitions)
    blocked = intersection(mapped_to(context.project, model, here, context.failed), step.partitions)
    left = difference(step.partitions, blocked)
    idle: Ranges = ()
    if step.reason.pending:
        moved = _moved(shop, context, model, here)
        idle = difference(left, moved)
        left = difference(left, idle)
    found = Share(_cut(step, left), _cut(step, blocked), _cut(step, idle))
    for each in found.blocked:
        context.fail(each)
    return found


def _moved(shop: Shop, context: Context, model: Model, here: tuple[Segment, ...]) -> Ranges:
    """Give the partitions that read rows which this run changed; of a whole table by its log."""
    bases = context.bases
    cut = {name: ranges for name, ranges in context.changed.items() if name not in bases}
    found = mapped_to(context.project, model, here, cut)
    for segment in here:
        for mapping in segment.body.inputs:
            if mapping.input.name in bases:
                spans = _touched(shop, context, mapping)
                below = downstream(mapping.mapping, model.grid, (segment.range,), spans, Grid())
                found = union(found, below)
    return found


def _touched(shop: Shop, context: Context, mapping: InputMapping) -> tuple[Span, ...]:
    name, column = mapping.input.name, column_of(mapping)
    uri = shop.project.uri_of(shop.project.table_of(mapping.input))
    facts = shop.log.facts(uri)
    known = facts.schema.find(column) if facts is not None and column else None
    kinds = {column: known.type} if known is not None else {}
    commits = shop.places.touched(uri, context.bases[name], kinds)
    return touched_since(commits, context.bases[name], column)


def _cut(step: Step, ranges: Ranges) -> tuple[Step, ...]:
    """Give the step for some of its partitions; one that takes a range needs them without gaps."""
    if ranges == step.partitions:
        return (step,)
    return tuple(replace(step, partitions=(piece,)) for piece in ranges)
