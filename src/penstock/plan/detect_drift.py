"""Detecting drift: what is no longer what code and inputs would make.

Everything is worked out on ranges of partitions of which the same is known; the cost follows
their number, not that of the partitions. A table without partitions is
the one partition `*`, of which the record of its model tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.core.model import Body, Fingerprint, Model
from penstock.core.partitions.ranges import WHOLE, Ranges, count, difference, intersection, merged
from penstock.core.project import Project
from penstock.core.records import ModelRecord, PartitionRun, Status
from penstock.core.steps.inputs import Pin
from penstock.core.strategy import Writing
from penstock.plan.cascade import is_decided_alone
from penstock.plan.changes import (
    Changes,
    differences,
    input_differences,
    means_same,
    sources_below,
    table_input_differences,
)
from penstock.plan.resolve import Segment
from penstock.plan.slices import owes_nothing, slice_differences
from penstock.plan.values import (
    Explain,
    Meaning,
    Now,
    Observed,
    Reason,
    SlicesNow,
    State,
    as_recorded,
    error_line,
    unexplained,
)
from penstock.plan.verdict import (
    Difference,
    Piece,
    Verdict,
    first_of,
    foreign_detail,
    gap_line,
    lines_of,
    target_differences,
    unrecorded_detail,
    without_success,
)

_INPUTS = (State.SOURCE_CHANGED, State.UPSTREAM_CHANGED)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is remembered and seen of one model. `recorded` is the table that the records are of.

    `unread` says why a source of it cannot be read, "" if all can.
    """

    runs: tuple[PartitionRun, ...] = ()
    pins: Mapping[int, Mapping[str, Pin]] = field(default_factory=dict)
    fingerprints: Mapping[int, Fingerprint] = field(default_factory=dict)
    recorded: str = ""
    target: Observed = Observed()
    meaning: Meaning = as_recorded
    explain: Explain = unexplained
    unread: str = ""


def detect_drift(
    model: Model, known: Ranges, segments: tuple[Segment, ...], evidence: Evidence, changes: Changes
) -> Verdict:
    """Set the first state that holds for every partition, with the others beside it."""
    done = tuple(run for run in evidence.runs if run.step_seq)
    seen = evidence.target
    if seen.unrecorded:
        messages = (unrecorded_detail(seen.unrecorded[0]),)
        return Verdict(model.name, known, segments, whole=State.UNRECORDED, lines=messages)
    ours = bool(evidence.recorded) and evidence.recorded == seen.table_id
    replaced = evidence.runs and (seen.ever_ours or seen.owner is not None)
    if seen.there and not ours and not replaced:
        whole = State.UNRECORDED if seen.ever_ours else State.FOREIGN_TABLE
        return Verdict(model.name, known, segments, whole=whole, owner=seen.owner)
    effective = intersection(known, merged(segment.range for segment in segments))
    on_record = merged((run.low, run.high) for run in evidence.runs)
    failed = merged((r.low, r.high) for r in evidence.runs if r.status is Status.FAILED)
    all_found = [
        *_without_segment(difference(known, effective), done, evidence),
        Difference(State.NEVER_RUN, ranges=difference(effective, on_record)),
        Difference(State.FAILED, ranges=failed),
        *target_differences(model, done, seen, evidence.recorded),
        *input_differences(model, done, segments, evidence.pins, changes),
        Difference(State.UNREADABLE, evidence.unread, effective if evidence.unread else ()),
    ]
    found = list(_of_code(done, segments, evidence))
    all_found += (each for each in found if each.state is not State.CURRENT)
    return Verdict(
        model.name,
        known,
        segments,
        tuple(_pieces(all_found, segments, known)),
        merged((run.low, run.high) for run in done),
        sum(count(each.ranges) for each in found if each.state is State.CURRENT),
        lines=lines_of(model, known, seen),
        mutated=tuple(_mutated(done, evidence, model)) if model.immutable else (),
        owner=seen.owner,
        gap=seen.gap,
    )


def _without_segment(
    ranges: Ranges, done: tuple[PartitionRun, ...], evidence: Evidence
) -> Iterator[Difference]:
    yield Difference(State.NOT_EFFECTIVE, ranges=ranges)
    for run in done:
        left = intersection(ranges, ((run.low, run.high),))
        if left:
            made = evidence.fingerprints[run.fingerprint]
            yield Difference(State.NOT_EFFECTIVE, f"has data of {made.label}", left)


def _of_code(
    done: tuple[PartitionRun, ...], segments: tuple[Segment, ...], evidence: Evidence
) -> Iterator[Difference]:
    """Compare what built each range with what is for it now; CURRENT stands for cosmetic."""
    known: dict[tuple[int, int], tuple[tuple[State, str], ...]] = {}
    for run in done:
        for segment in segments:
            here = intersection(((run.low, run.high),), (segment.range,))
            if not here:
                continue
            key = run.fingerprint, id(segment.body)
            if key not in known:
                made = evidence.fingerprints[run.fingerprint]
                found = differences(
                    made, segment.body.fingerprint, evidence.meaning, evidence.explain
                )
                known[key] = tuple(found)
            for state, because in known[key]:
                yield Difference(state, because, here)


def _mutated(
    done: tuple[PartitionRun, ...], evidence: Evidence, model: Model
) -> Iterator[tuple[Body, Ranges]]:
    """Find SQL that made some partitions and is another now under the same number."""
    for body in (body for version in model.versions for body in version.bodies):
        now = body.fingerprint
        made = ((run, evidence.fingerprints[run.fingerprint]) for run in done)
        found = merged(
            (run.low, run.high)
            for run, fingerprint in made
            if fingerprint.label == now.label and not means_same(fingerprint, now, evidence.meaning)
        )
        if found:
            yield body, found


_ORDER = {state: number for number, state in enumerate(State)}


def _pieces(
    found: list[Difference], segments: tuple[Segment, ...], known: Ranges
) -> Iterator[Piece]:
    """Cut the partitions where anything changes; leave out what is current."""
    events: dict[int, list[tuple[bool, Difference | Segment]]] = {}
    for each in found:
        for low, high in intersection(each.ranges, known):
            events.setdefault(low, []).append((True, each))
            events.setdefault(high + 1, []).append((False, each))
    for segment in segments:
        events.setdefault(segment.low, []).append((True, segment))
        events.setdefault(segment.high + 1, []).append((False, segment))
    active: list[Difference] = []
    inside: Segment | None = None
    places = sorted(events)
    for at, place in enumerate(places):
        for begins, what in events[place]:
            if isinstance(what, Segment):
                inside = what if begins else (None if inside is what else inside)
            elif begins:
                active.append(what)
            else:
                active.remove(what)
        if active and at + 1 < len(places):
            here = sorted(active, key=lambda each: _ORDER[each.state])
            reason = replace(first_of(here), detail="")
            because = (each.because for each in here if each.state is reason.state)
            details = tuple(dict.fromkeys(each for each in because if each))
            yield Piece(place, places[at + 1] - 1, reason, details, inside)


def detect_table_drift(
    project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now
) -> Verdict:
    """Return the verdict on a table without partitions, or a view: on its partition `*`."""
    record = records.get(model.name)
    seen = now.targets.get(model.name, Observed())
    reason = _reason(project, model, records, now)
    because = (reason.detail,) if reason.detail else ()
    piece = Piece(*WHOLE[0], reason, because)
    made, code = record.fingerprint if record else None, model.fingerprint
    cosmetic = made is not None and made.sql != code.sql and made.canonical == code.canonical
    lines = [gap_line(model, seen.gap)] if seen.gap is not None else []
    if record is None and reason.state is State.CURRENT:
        lines.append(owes_nothing(now.slices.get(model.name)))
    return Verdict(
        model.name,
        WHOLE,
        pieces=() if reason.state is State.CURRENT else (piece,),
        recorded=WHOLE if record is not None and record.succeeded_once else (),
        cosmetic=int(cosmetic),
        lines=tuple(lines),
        owner=seen.owner,
        gap=seen.gap,
        of_table=True,
    )


def _reason(project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now) -> Reason:
    """Return the first state that holds for the model, with the others in `also`.

    New input of a windowed model is not drift, because its window takes the new rows; the reason
    then says `drift=False`. What an upstream changed below the watermark no window takes: it is,
    until a step reads everything; so are others' changes of its table.
    """
    record = records.get(model.name)
    # a failure is seen before the table is, and hides nothing that forbids a step
    found = sorted(_differences(project, model, records, now), key=lambda each: _ORDER[each.state])
    is_windowed, beside = model.strategy.window is not None, list(_beside(model, record))
    if not is_windowed and not model.query.deltas and not beside:
        return first_of(found)
    passed, lasting = record.passed_by if record is not None else (), list(beside)
    if stale := {*now.below.get(model.name, ()), *passed} - {model.name}:
        lasting.append(Difference(State.UPSTREAM_CHANGED, ", ".join(sorted(stale))))
    only_new = bool(found) and found[0].state in _INPUTS  # the next window takes what is new
    if lasting and (only_new or not found):
        return replace(first_of([*lasting, *found]), stale=True, passed=not found)
    reason = first_of([*found, *beside])
    return replace(reason, stale=bool(lasting), drift=not (only_new and is_windowed))


def _beside(model: Model, record: ModelRecord | None) -> Iterator[Difference]:
    """Yield the drift of rows that others changed and that later steps kept."""
    if record is None or _is_scratch(model):
        return
    if record.foreign:
        yield Difference(State.TAMPERED, foreign_detail(record.foreign))
    elif model.name in record.passed_by:
        yield Difference(State.TAMPERED, "rows that others changed stay as they are")


def _is_scratch(model: Model) -> bool:
    """Whether each pass of a package writes the whole table anew, so that nobody can spoil it."""
    return model.strategy.by_passes and model.writing is Writing.WHOLE


def _differences(
    project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now
) -> Iterator[Difference]:
    record, seen = records.get(model.name), now.targets.get(model.name, Observed())
    begins = model.fingerprint.effective_from
    if begins is not None and begins > now.run_timestamp.date():
        yield Difference(State.NOT_EFFECTIVE, f"its first version is effective from {begins}")
        return
    if model.name in now.unreadable:
        yield Difference(State.UNREADABLE, error_line(now.unreadable[model.name]))
        return
    if record is None or not record.succeeded_once:
        silent = State.NEVER_RUN if owes_nothing(now.slices.get(model.name)) else None
        states = without_success(model, record, seen)
        yield from (each for each in states if each.state is not silent)
        return
    if record.status is Status.FAILED:
        code = record.failure.code if record.failure else ""
        yield Difference(State.FAILED, code)
    if not model.is_view:
        left = record.settled_version or 0  # what nobody noted since then is not known either
        run = PartitionRun(0, 0, record.status, 0, record.step_seq, 0, None, left, holds_rows=True)
        of_table = target_differences(model, (run,), seen, record.table_id)
        is_scratch = _is_scratch(model)
        yield from (e for e in of_table if not (is_scratch and e.state is State.TAMPERED))
    if record.fingerprint is not None:
        found = differences(record.fingerprint, model.fingerprint, now.meaning, now.explain)
        yield from (Difference(*each) for each in found if each[0] is not State.CURRENT)
    by_manifest = project.package_of(model.name) is not None  # that tells what is new to it
    if not by_manifest and (not model.is_view or is_decided_alone(project, model)):
        # a view has no rows that could be stale, but checks that somebody must look at
        yield from table_input_differences(project, model, record, records, now)
    yield from _of_sources(project, model, now)


def _of_sources(project: Project, model: Model, now: Now) -> Iterator[Difference]:
    """Tell of slices that nobody has read yet, and of sources that nobody can read."""
    for detail in slice_differences(now.slices.get(model.name, SlicesNow())):
        yield Difference(State.SOURCE_CHANGED, detail)
    for name in sources_below(project, model) if now.broken else ():
        if name in now.broken:
            yield Difference(State.UNREADABLE, error_line(now.broken[name]))
