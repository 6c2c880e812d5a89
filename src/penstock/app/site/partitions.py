"""The partitions of a model as ranges: their states, their code, and what built them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Generic, TypeVar, cast

from penstock.app.site.model_documents import (
    BuiltBy,
    MappedRange,
    PartitionMapping,
    PartitionRange,
    PartitionsDocument,
)
from penstock.app.site.reading import SiteInputs, utc
from penstock.app.site.tasks import Task
from penstock.core.model import Model
from penstock.core.partitions.ranges import Range, Ranges, merged, union
from penstock.core.records import StepRecord
from penstock.plan.resolve import Segment
from penstock.plan.values import State
from penstock.plan.verdict import Piece, Verdict

STATES = tuple(State)
_PLACE = ("low", "high", "built_by", "rows", "bytes")
_TRUE = attrgetter(*(each.name for each in fields(PartitionRange) if each.name not in _PLACE))
"""What is true of the partitions of a range."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class _Layer(Generic[Item]):
    """Things that cover disjoint ranges, ascending."""

    lows: Sequence[int]
    highs: Sequence[int]
    items: Sequence[Item]

    @classmethod
    def of(cls, items: Iterable[Item], range_of: Callable[[Item], Range]) -> _Layer[Item]:
        """Sort the things by their ranges."""
        found = sorted(items, key=range_of)
        return cls([range_of(i)[0] for i in found], [range_of(i)[1] for i in found], found)

    def at(self, number: int) -> Item | None:
        """Return what covers a partition, None if nothing does."""
        place = bisect_right(self.lows, number) - 1
        return self.items[place] if place >= 0 and number <= self.highs[place] else None

    @property
    def edges(self) -> Iterable[int]:
        """The partitions at which something begins, and those behind an end."""
        return (*self.lows, *(high + 1 for high in self.highs))


def partitions_document(inputs: SiteInputs, name: str) -> PartitionsDocument:
    """Return the partitions of a model."""
    model, verdict = inputs.model(name), inputs.drift.verdicts[name]
    numbered = {each.intent.step_seq: each for each in inputs.steps.get(name, ())}
    ranges = _whole(inputs, model, verdict) if verdict.of_table else _split(inputs, model, verdict)
    built = {seq: place for place, seq in enumerate(sorted({seq for _, seq in ranges if seq}))}
    return PartitionsDocument(
        name=name,
        grain=str(model.grid.grain).lower(),
        start=model.grid.start,
        width=model.grid.interval,
        ranges=tuple(
            _written(inputs, name, each, numbered.get(seq), built.get(seq, -1))
            for each, seq in ranges
        ),
        steps=tuple(_built_by(inputs, numbered.get(seq)) for seq in built),
        mappings=tuple(_mappings(inputs, name)),
    )


Built = list[tuple[PartitionRange, int]]
"""Ranges, and the number of the step that built them; 0 for none."""


def _whole(inputs: SiteInputs, model: Model, verdict: Verdict) -> Built:
    """Return the one partition of a table without partitions."""
    record = inputs.state.records.get(model.name)
    piece = verdict.pieces[0] if verdict.pieces else None
    found = _described(verdict, piece, None, (0, 0), is_pending=model.name in inputs.drift.pending)
    code = model.fingerprint
    found = replace(found, version=code.version, revision=code.revision or None, code=code.sql)
    return [(found, record.step_seq if record else 0)]


def _split(inputs: SiteInputs, model: Model, verdict: Verdict) -> Built:
    """Cut the partitions where anything changes, and join neighbours that agree again."""
    runs = _Layer.of(inputs.partitions.get(model.name, ()), lambda run: (run.low, run.high))
    pieces = _Layer.of(verdict.pieces, lambda piece: piece.range)
    segments = _Layer.of(verdict.segments, lambda segment: segment.range)
    pending = _Layer.of(inputs.drift.pending.get(model.name, ()), lambda each: each)
    layers = (runs, pieces, segments, pending)
    found: Built = []
    for low, high in _cut(
        _ranges_of(inputs, verdict), {edge for layer in layers for edge in layer.edges}
    ):
        run, is_pending = runs.at(low), pending.at(low) is not None
        each = _described(
            verdict, pieces.at(low), segments.at(low), (low, high), is_pending=is_pending
        )
        _join(found, each, run.step_seq if run else 0)
    return found


def _ranges_of(inputs: SiteInputs, verdict: Verdict) -> Ranges:
    """Return the partitions that a model should have, and those that it has."""
    if verdict.of_table:
        return ((0, 0),)
    runs = inputs.partitions.get(verdict.model, ())
    return union(verdict.partitions, merged((run.low, run.high) for run in runs))


def _cut(ranges: Ranges, edges: set[int]) -> Iterable[Range]:
    places = sorted(edges)
    for low, high in ranges:
        inner = places[bisect_right(places, low) : bisect_right(places, high)]
        starts = [low, *inner]
        yield from zip(starts, [*(each - 1 for each in inner), high], strict=True)


def _join(joined: Built, each: PartitionRange, step: int) -> None:
    """Append a range, or extend the last one if only the place differs."""
    last, seq = joined[-1] if joined else (each, -1)
    if seq == step and last.high + 1 == each.low and _TRUE(last) == _TRUE(each):
        joined[-1] = (replace(last, high=each.high), seq)
    else:
        joined.append((each, step))


def _described(
    verdict: Verdict,
    piece: Piece | None,
    segment: Segment | None,
    place: Range,
    *,
    is_pending: bool,
) -> PartitionRange:
    state = verdict.whole or (piece.state if piece else State.CURRENT)
    if state is State.CURRENT and is_pending:
        state = State.UPSTREAM_CHANGED
    body = segment.body if segment else None
    return PartitionRange(
        low=place[0],
        high=place[1],
        state=STATES.index(state),
        also=tuple(STATES.index(each) for each in (piece.states[1:] if piece else ())),
        is_pending=is_pending and (piece is None or not piece.reason.drift),
        is_drifted=verdict.whole is not None
        or (piece is not None and piece.reason.drift and state is not State.NOT_EFFECTIVE),
        because=piece.because if piece else (),
        version=body.fingerprint.version if body else None,
        revision=(body.fingerprint.revision or None) if body else None,
        code=body.fingerprint.sql if body else "",
        built_by=-1,
        rows=(),
        bytes=(),
    )


def _written(
    inputs: SiteInputs, name: str, each: PartitionRange, step: StepRecord | None, built_by: int
) -> PartitionRange:
    """Return a range with what built it: the step's place, and the rows and bytes it wrote."""
    counts, outcome = inputs.written.get(name), step.outcome if step else None
    if inputs.drift.verdicts[name].of_table and outcome:
        rows, size = _shared([outcome.rows.written]), _shared([outcome.bytes_written])
        return replace(each, built_by=built_by, rows=rows, bytes=size)
    if counts is None or built_by < 0:
        return replace(each, built_by=built_by)
    place = slice(bisect_left(counts.numbers, each.low), bisect_right(counts.numbers, each.high))
    if place.stop - place.start <= each.high - each.low:  # records lost some of them
        return replace(each, built_by=built_by)
    rows, size = _shared(counts.rows[place]), _shared(counts.bytes[place])
    return replace(each, built_by=built_by, rows=rows, bytes=size)


def _shared(counts: Sequence[int | None]) -> tuple[int, ...]:
    """Return one count if all are equal, nothing if one is not known."""
    found = {*counts}
    known = () if None in found else counts
    return cast("tuple[int, ...]", tuple(known[:1] if len(found) == 1 else known))


def _built_by(inputs: SiteInputs, step: StepRecord | None) -> BuiltBy:
    """Return a step that built partitions; of one that records lost, nothing is known."""
    if step is None:
        return BuiltBy("", "", "", 0.0, None, None, None, "", ())
    intent, outcome = step.intent, step.outcome
    return BuiltBy(
        step=intent.step,
        run=intent.run,
        at=utc(step.ended or step.started),
        seconds=(outcome.duration_ms if outcome else 0) / 1000,
        rows=outcome.rows.written if outcome else None,
        bytes=outcome.bytes_written if outcome else None,
        table_version=outcome.version if outcome else None,
        code=intent.fingerprint.sql,
        inputs=inputs.input_versions(intent.inputs),
    )


def _mappings(inputs: SiteInputs, name: str) -> Iterable[PartitionMapping]:
    """Yield what partitions read of inputs that have partitions themselves."""
    for node, task in mapping_tasks(inputs, name):
        kept = inputs.cache.computed(*task)
        if isinstance(kept, list):
            rows = cast("list[tuple[int, int, int, int, bool]]", kept)
            yield PartitionMapping(node, tuple(MappedRange(*row) for row in rows))


def mapping_tasks(inputs: SiteInputs, name: str) -> Iterable[tuple[str, Task]]:
    """Yield the inputs of a model that have partitions, with what computes their mapping."""
    model = inputs.model(name)
    if model.partition is None:
        return
    partitions = _ranges_of(inputs, inputs.drift.verdicts[name])
    bodies = [body for version in model.versions for body in version.bodies]
    latest = {mapping.input: mapping for body in bodies for mapping in body.inputs}
    for each, mapping in latest.items():
        above = inputs.project.models.get(each.name)
        if above is not None and above.partition is not None:
            yield inputs.node_of(each), ("mapping", mapping, model.grid, above.grid, partitions)
