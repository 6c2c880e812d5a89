"""What changed in the inputs since they were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from penstock.core.model import InputMapping, Model
from penstock.core.names import InputKind
from penstock.core.partitions.mapping import Computed, RangeMapping, downstream, reading
from penstock.core.partitions.partition import Grain, Grid, Span
from penstock.core.partitions.ranges import Ranges, intersection, merged
from penstock.core.project import Project
from penstock.core.records import ModelRecord, PartitionRun
from penstock.core.steps.inputs import DeltaPin, Pin, ViewPin
from penstock.plan.changes import Changes
from penstock.plan.drift.verdict import Difference
from penstock.plan.resolve import Segment
from penstock.plan.values import Now, State


def sources_below(project: Project, model: Model) -> list[str]:
    """Give the sources that a model reads, itself or through views, sorted."""
    found: set[str] = set()
    waiting = list(model.inputs)
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        if name.kind is InputKind.SOURCE:
            found.add(name.name)
        inner = project.models.get(name.name)
        if name.kind is InputKind.MODEL and inner is not None and inner.is_view:
            more = [each for each in inner.inputs if each not in seen]
            seen.update(more)
            waiting.extend(more)
    return sorted(found)


def of_table(
    project: Project,
    model: Model,
    record: ModelRecord,
    records: Mapping[str, ModelRecord],
    now: Now,
) -> Iterator[Difference]:
    """Compare the inputs of a table without partitions with what its last success read."""
    if model.is_unpinned and not model.is_view:
        yield Difference(State.SOURCE_CHANGED, f"input-unpinned: {model.name} itself")
    for name, pin in wanted_pins(project, model, records, now).items():
        if name in project.models and project.models[name].is_unpinned:
            yield Difference(State.SOURCE_CHANGED, f"input-unpinned: {name}")
        recorded = record.pins.get(name)
        if recorded == pin:
            continue
        upstream = records.get(name)
        if name in project.models or name in project.seeds:
            if recorded is None or upstream is None or _moved(recorded, pin):
                yield Difference(State.UPSTREAM_CHANGED, name)
        elif recorded is None:
            yield Difference(State.SOURCE_CHANGED, f"{name} is new")
        else:
            yield Difference(State.SOURCE_CHANGED, f"{name} {recorded} -> {pin}")
    if record.cut_at is not None and record.cut_at < now.run_timestamp:
        yield Difference(State.SOURCE_CHANGED, f"read up to {record.cut_at:%Y-%m-%d %H:%M:%S} only")


def _moved(recorded: Pin, pin: Pin) -> bool:
    """Whether an upstream's last data change came after the version that was read."""
    match recorded, pin:
        case DeltaPin(old_id, read), DeltaPin(new_id, changed):
            return old_id != new_id or changed > read
        case ViewPin(read), ViewPin(made):
            return made > read
        case _:
            return True


def wanted_pins(
    project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now
) -> dict[str, Pin]:
    """Give the version that each input of the model has now, views and what they read included.

    A model counts with the version of its last data change; sources with their newest.
    """
    pins: dict[str, Pin] = {}
    waiting = [each for each in model.query.inputs if each.kind is not InputKind.THIS]
    seen = set(waiting)
    while waiting:
        name = waiting.pop(0)
        inner = project.models.get(name.name)
        record = records.get(name.name)
        if inner is not None and inner.is_view:
            more = [each for each in inner.query.inputs if each not in seen]
            seen.update(more)
            waiting.extend(more)
            pins[name.name] = ViewPin(record.step_seq if record else 0)
        elif inner is not None or name.name in project.seeds:
            if record is not None and record.commit_version is not None:
                pins[name.name] = DeltaPin(record.table_id, record.commit_version)
        elif name.name in now.sources:
            pins[name.name] = now.sources[name.name]
    return pins


def of_partitions(
    model: Model,
    done: tuple[PartitionRun, ...],
    segments: tuple[Segment, ...],
    all_pins: Mapping[int, Mapping[str, Pin]],
    changes: Changes,
) -> Iterator[Difference]:
    """Give the partitions that read what changed after their steps pinned it."""
    by_step = sorted(done, key=lambda run: run.step_seq)
    for step_seq, runs in groupby(by_step, key=lambda run: run.step_seq):
        here = merged((run.low, run.high) for run in runs)
        pins = all_pins.get(step_seq, {})
        for segment in segments:
            candidates = intersection(here, (segment.range,))
            if not candidates:
                continue
            for mapping in segment.body.inputs:
                name, pin = mapping.input.name, pins.get(mapping.input.name)
                grid = changes.grid(name)
                read = hull(mapping.mapping, model.grid, candidates, grid)
                if read is not None and changes.is_old(name, pin, read):
                    continue
                changed = changes.since(mapping, pin)
                hit = downstream(mapping.mapping, model.grid, candidates, changed, grid)
                if hit:
                    yield Difference(_state_of(mapping), name, hit)


def hull(mapping: RangeMapping, grid: Grid, candidates: Ranges, grid_input: Grid) -> Span | None:
    """Give what all candidates read together, from the first and the last alone; None if unsure.

    Bounds rise with the partitions. Only months that are added to a time of day may put two hours
    in another order; and of several ranges one may be empty where another begins.
    """
    simple = not isinstance(mapping, Computed) or len(mapping.ranges) == 1
    if grid.grain is Grain.HOUR or not simple:
        return None
    read = reading(mapping, grid_input)
    first, last = candidates[0][0], candidates[-1][1]
    begin, end = (
        read((grid.lower(first), grid.upper(first))),
        read((grid.lower(last), grid.upper(last))),
    )
    return (begin[0][0], end[-1][1]) if begin and end else None


def _state_of(mapping: InputMapping) -> State:
    name = mapping.input
    ours = name.kind in (InputKind.MODEL, InputKind.THIS)
    return State.UPSTREAM_CHANGED if ours and name.name else State.SOURCE_CHANGED
