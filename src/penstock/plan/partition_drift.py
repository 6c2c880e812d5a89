"""Judging partitions: which of them are no longer what code and inputs would make.

Everything is worked out on ranges of partitions of which the same is known; the cost follows
their number, not that of the partitions (spec/drift.md §8.1, §13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from penstock.core.errors import PenstockError
from penstock.core.facts import Touched
from penstock.core.inputs import Pin
from penstock.core.mapping import Computed, RangeMapping, downstream, reading
from penstock.core.model import Body, Fingerprint, InputMapping, Model
from penstock.core.names import InputKind
from penstock.core.partition import Grain, Grid, Span, overlapping
from penstock.core.ranges import Range, Ranges, count, difference, intersection, merged
from penstock.core.records import PartitionRun, Status
from penstock.plan.changes import Changes, TargetNow, differences, means_same
from penstock.plan.refusals import unrecorded_detail
from penstock.plan.resolve import Segment
from penstock.plan.values import Meaning, Owner, State, Versions, as_recorded, told_error


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is remembered and seen of one model. `recorded` is the table that the records are of.

    `unread` says why a source of it cannot be read, "" if all can.
    """

    runs: tuple[PartitionRun, ...] = ()
    pins: Mapping[int, Mapping[str, Pin]] = field(default_factory=dict)
    marks: Mapping[int, Fingerprint] = field(default_factory=dict)
    recorded: str = ""
    target: TargetNow = TargetNow()
    meaning: Meaning = as_recorded
    unread: str = ""


@dataclass(frozen=True, slots=True)
class PartitionCode:
    """The partitions that a verdict is about, and the SQL that is for them now."""

    known: Ranges
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring partitions in the same states, for the same reasons; the first one counts."""

    low: int
    high: int
    states: tuple[State, ...]
    because: tuple[str, ...] = ()
    segment: Segment | None = None

    @property
    def state(self) -> State:
        """The state by precedence."""
        return self.states[0]

    @property
    def range(self) -> Range:
        """The partitions, both ends included."""
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of a model: pieces that are not current, rising.

    `known` are the due partitions and those on record, `recorded` those with a success. `whole` is
    a state of the table as such, in which nothing of it may run: `unrecorded`, `foreign_table`, or
    `unreadable` for the reason in `error`. `owner` is another state store that writes it, `gap`
    what its log lost of it. `relaid` says how the partitions were cut before, if otherwise than
    now. `mutated` is the SQL of an immutable model that is not what its partitions were made by.
    """

    model: str
    known: Ranges = ()
    segments: tuple[Segment, ...] = ()
    pieces: tuple[Piece, ...] = ()
    recorded: Ranges = ()
    cosmetic: int = 0
    whole: State | None = None
    lines: tuple[str, ...] = ()
    relaid: str = ""
    mutated: tuple[tuple[Body, Ranges], ...] = ()
    error: PenstockError | None = None
    owner: Owner | None = None
    gap: Versions | None = None

    @property
    def effective(self) -> Ranges:
        """The partitions that have SQL."""
        return intersection(self.known, merged(segment.range for segment in self.segments))

    @property
    def drifted(self) -> Ranges:
        """The partitions that a sync would run."""
        return merged(p.range for p in self.pieces if p.state is not State.NOT_EFFECTIVE)

    @property
    def missing(self) -> Ranges:
        """The partitions whose rows are gone."""
        return merged(p.range for p in self.pieces if State.MISSING in p.states)


@dataclass(frozen=True, slots=True)
class _Mark:
    ranges: Ranges
    state: State
    because: str = ""


def judge(model: Model, code: PartitionCode, evidence: Evidence, changes: Changes) -> Verdict:
    """Give every partition its first state that holds, with the others beside it."""
    known, segments = code.known, code.segments
    done = tuple(run for run in evidence.runs if run.step_seq)
    recorded = merged((run.low, run.high) for run in done)
    target = evidence.target
    ours = bool(evidence.recorded) and evidence.recorded == target.table_id
    replaced = evidence.runs and (target.ever_ours or target.owner is not None)
    if target.unrecorded:
        told = (unrecorded_detail(target.unrecorded[0]),)
        return Verdict(model.name, known, segments, whole=State.UNRECORDED, lines=told)
    if target.there and not ours and not replaced:
        whole = State.UNRECORDED if target.ever_ours else State.FOREIGN_TABLE
        return Verdict(model.name, known, segments, whole=whole, owner=target.owner)
    effective = intersection(known, merged(segment.range for segment in segments))
    tried = merged((r.low, r.high) for r in evidence.runs)
    failed = merged((r.low, r.high) for r in evidence.runs if r.status is Status.FAILED)
    marks = [
        *_without_segment(difference(known, effective), done, evidence),
        _Mark(difference(effective, tried), State.NEVER_RUN),
        _Mark(failed, State.FAILED),
        *_of_target(model, done, evidence),
    ]
    found = list(_of_code(done, segments, evidence))
    marks += (m for m in found if m.state is not State.CURRENT)
    cosmetic = sum(count(mark.ranges) for mark in found if mark.state is State.CURRENT)
    marks += _of_inputs(model, done, segments, evidence, changes)
    marks += [_Mark(effective, State.UNREADABLE, evidence.unread)] if evidence.unread else []
    return Verdict(
        model.name,
        known,
        segments,
        tuple(_pieces(marks, segments, known)),
        recorded,
        cosmetic,
        lines=_lines(model, known, target),
        mutated=tuple(_mutated(done, evidence, model)) if model.immutable else (),
        owner=target.owner,
        gap=target.gap,
    )


def _without_segment(
    ranges: Ranges, done: tuple[PartitionRun, ...], evidence: Evidence
) -> Iterator[_Mark]:
    yield _Mark(ranges, State.NOT_EFFECTIVE)
    for run in done:
        left = intersection(ranges, ((run.low, run.high),))
        if left:
            made = evidence.marks[run.fingerprint]
            yield _Mark(left, State.NOT_EFFECTIVE, f"has data of {made.label}")


def _of_target(model: Model, done: tuple[PartitionRun, ...], evidence: Evidence) -> Iterator[_Mark]:
    target, grid = evidence.target, model.grid
    gone = not target.there
    replaced = bool(target.table_id and evidence.recorded) and target.table_id != evidence.recorded
    held = None if target.lying is None else overlapping(grid, target.lying)
    for run in done:
        here = ((run.low, run.high),)
        if gone or replaced:
            yield _lost(here, target)
            continue
        if run.settled_version is None:
            yield _Mark(here, State.MISSING, "its rows are gone")
            continue
        since = [commit for commit in target.foreign if commit.version > run.settled_version]
        tampered = [_Mark(_touched(model, c, here), State.TAMPERED, told(c)) for c in since]
        yield from tampered
        if held is None or not run.holds_rows:
            continue
        unseen = target.gap is not None and target.gap[1] > run.settled_version
        suspect = here if unseen else merged(each for mark in tampered for each in mark.ranges)
        yield _Mark(difference(suspect, held), State.MISSING, "its rows are gone")


def _lost(here: Ranges, target: TargetNow) -> _Mark:
    if not target.there:
        return _Mark(here, State.MISSING, "the table is gone")
    if target.owner is not None:
        return _Mark(here, State.TAMPERED, f"another table took its place, of {target.owner}")
    return _Mark(here, State.MISSING, "another table took its place")


def _touched(model: Model, commit: Touched, here: Ranges) -> Ranges:
    spans = commit.spans.get(model.partition.field) if model.partition else None
    return here if spans is None else intersection(here, overlapping(model.grid, spans))


def told(commit: Touched) -> str:
    """Word somebody else's commit."""
    by = f" by {commit.user}" if commit.user else ""
    when = f"{commit.time:%Y-%m-%d %H:%M:%S} UTC"
    return f"version {commit.version} {commit.operation}{by} at {when}"


def _of_code(
    done: tuple[PartitionRun, ...],
    segments: tuple[Segment, ...],
    evidence: Evidence,
) -> Iterator[_Mark]:
    """Compare what built each range with what is for it now; CURRENT stands for cosmetic."""
    known: dict[tuple[int, int], tuple[tuple[State, str], ...]] = {}
    for run in done:
        for segment in segments:
            here = intersection(((run.low, run.high),), (segment.range,))
            if not here:
                continue
            key = run.fingerprint, id(segment.body)
            if key not in known:
                made = evidence.marks[run.fingerprint]
                known[key] = tuple(differences(made, segment.body.fingerprint, evidence.meaning))
            for state, because in known[key]:
                yield _Mark(here, state, because)


def _mutated(
    done: tuple[PartitionRun, ...], evidence: Evidence, model: Model
) -> Iterator[tuple[Body, Ranges]]:
    """Find SQL that made some partitions and is another now under the same number."""
    for body in (body for version in model.versions for body in version.bodies):
        now = body.fingerprint
        made = ((run, evidence.marks[run.fingerprint]) for run in done)
        found = merged(
            (run.low, run.high)
            for run, mark in made
            if mark.label == now.label and not means_same(mark, now, evidence.meaning)
        )
        if found:
            yield body, found


def _of_inputs(
    model: Model,
    done: tuple[PartitionRun, ...],
    segments: tuple[Segment, ...],
    evidence: Evidence,
    changes: Changes,
) -> Iterator[_Mark]:
    by_step = sorted(done, key=lambda run: run.step_seq)
    for step_seq, runs in groupby(by_step, key=lambda run: run.step_seq):
        here = merged((run.low, run.high) for run in runs)
        pins = evidence.pins.get(step_seq, {})
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
                    yield _Mark(hit, _state_of(mapping), name)


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


_ORDER = {state: number for number, state in enumerate(State)}


def _pieces(marks: list[_Mark], segments: tuple[Segment, ...], known: Ranges) -> Iterator[Piece]:
    """Cut the partitions where anything changes; leave out what is current."""
    events: dict[int, list[tuple[bool, _Mark | Segment]]] = {}
    for mark in marks:
        for low, high in intersection(mark.ranges, known):
            events.setdefault(low, []).append((True, mark))
            events.setdefault(high + 1, []).append((False, mark))
    for segment in segments:
        events.setdefault(segment.low, []).append((True, segment))
        events.setdefault(segment.high + 1, []).append((False, segment))
    active: list[_Mark] = []
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
            yield _piece(place, places[at + 1] - 1, active, inside)


def _piece(low: int, high: int, active: list[_Mark], segment: Segment | None) -> Piece:
    found = sorted(active, key=lambda mark: _ORDER[mark.state])
    states = tuple(dict.fromkeys(mark.state for mark in found))
    first = states[0]
    because = tuple(
        dict.fromkeys(mark.because for mark in found if mark.state is first and mark.because)
    )
    return Piece(low, high, states, because, segment)


def _lines(model: Model, known: Ranges, target: TargetNow) -> tuple[str, ...]:
    lines = []
    for commit in target.foreign:
        spans = commit.spans.get(model.partition.field) if model.partition else None
        if spans is not None and spans and not intersection(overlapping(model.grid, spans), known):
            lines.append(f"foreign rows: {told(commit)} touched no known partition")
    if target.gap:
        lines.append(told_gap(model, target.gap))
    return tuple(lines)


def told_gap(model: Model, gap: Versions) -> str:
    """Say what the log of a table no longer tells."""
    low, high = gap
    which = f"version {low}" if low == high else f"versions {low} to {high}"
    verb = "is" if low == high else "are"
    return (
        f"log-gap: {which} of the log of {model.table} {verb} gone; "
        f"changes in {'it' if low == high else 'them'} are not known"
    )


def unreadable(model: str, partition_code: PartitionCode, error: PenstockError) -> Verdict:
    """Give the verdict on a model whose log, or that of an input, cannot be read."""
    lines, whole = (told_error(error),), State.UNREADABLE
    return Verdict(
        model, partition_code.known, partition_code.segments, whole=whole, error=error, lines=lines
    )


def all_current(model: str, known: Ranges, segments: tuple[Segment, ...]) -> Verdict:
    """Give the verdict on a model of which nothing differs, without looking at its partitions."""
    return Verdict(model, known, segments, recorded=known)


def states_of(verdict: Verdict, wanted: frozenset[State]) -> Ranges:
    """Give the partitions that are in one of the states, whether it counts first or not."""
    return merged(p.range for p in verdict.pieces if wanted & set(p.states))
