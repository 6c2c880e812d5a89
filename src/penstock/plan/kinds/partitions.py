"""Partitions of a table: which of them drifted, and which a plan builds.

Drift is computed on ranges of partitions with the same record; the cost depends on the number of
ranges, not of partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.core.checks.check import OnFailure
from penstock.core.model import Body, Fingerprint, Model
from penstock.core.names import InputKind
from penstock.core.partitions.mapping import joined, spans
from penstock.core.partitions.ranges import (
    Ranges,
    count,
    difference,
    first_numbers,
    intersection,
    merged,
    numbers,
    union,
)
from penstock.core.project import Project
from penstock.core.records import PartitionRun, Status
from penstock.core.steps.inputs import Pin
from penstock.plan.cascade import followers, grid_of, parents_of, reads_itself
from penstock.plan.changes import (
    Changes,
    code_drift,
    input_differences,
    is_same,
    lookback_differences,
    spans_of,
)
from penstock.plan.obstacles import migration_of, obstacle, refusal
from penstock.plan.resolve import Segment
from penstock.plan.steps import LEFT, Agenda, Decided, Earlier, Question, Scope, Wanted
from penstock.plan.values import (
    Explain,
    Meaning,
    Observed,
    Options,
    Reason,
    State,
    Step,
    as_recorded,
    settings_changed,
)
from penstock.plan.verdict import (
    Difference,
    Piece,
    Verdict,
    first_reason,
    partitions_in,
    side_notes,
    target_differences,
    unrecorded_detail,
)
from penstock.plan.work import PartitionsWork

BATCH = 31
"""The number of partitions in a commit: a month of days, so that a failure loses no more."""
APART = 8
"""The greatest number of separate ranges with a commit each."""


def decide(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Decide about a partitioned model: the partitions of the scope, and those of a cascade."""
    scope, is_selected = question.scope, model.name in question.selected
    todo = {name: above.todo for name, above in earlier.items() if above.todo}
    wanted = wanted_partitions(question.project, model, scope, todo, question.options)
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
        at_once=stays and bool(model.layout.partition_by) and not _is_chain(question, model),
    )


def _is_chain(question: Question, model: Model) -> bool:
    """Return whether each step of a model needs the table as the previous step left it.

    That is so if a gate reads the whole table before the rows are published.
    """
    wanted, settings = question.options.on_failure, question.project.checks
    sets = [version.checks for version in model.versions] or [model.checks]
    return reads_itself(model) or any(
        check.is_gate and check.reads_table
        for checks in sets
        for check in checks.after
        if (wanted or checks.on_failure or settings.on_failure) is OnFailure.BLOCK
    )


def wanted_partitions(
    project: Project, model: Model, scope: Scope, todo: Mapping[str, Ranges], options: Options
) -> Wanted:
    """Return the partitions of a model to run; `todo` are those of its upstreams."""
    verdict = scope.verdicts[model.name]
    within = intersection(scope.limits.get(model.name, ()), verdict.effective)
    if verdict.relaid and model.name in scope.limits:
        within = verdict.effective  # the table is written anew: none of its rows stays on record
    forced = within if scope.force or options.full_refresh else ()
    asked = intersection(verdict.drifted, within)
    if scope.states:
        asked = intersection(asked, partitions_in(verdict, scope.states))
    own = union(forced, asked)
    place = verdict.effective if scope.cascade else () if scope.syncs else within
    segments = tuple(
        replace(segment, low=low, high=high)
        for segment in verdict.segments
        for low, high in intersection((segment.range,), place)
    )
    # what failed, or was never reached, after the models above it were made
    followed = scope.followed.get(model.name, ())
    undone = difference(followed, scope.limits.get(model.name, ()))
    undone = intersection(partitions_in(verdict, LEFT), intersection(undone, verdict.effective))
    below = followers(project, model, segments, {**todo, model.name: own})
    below = union(below, undone)
    if not scope.cascade:
        own = union(own, below)
    everything = union(own, below)
    sure = union(forced, intersection(verdict.drifted, everything))
    after = tuple(name for name in parents_of(project, model) if name in todo)
    if reads_itself(model):
        after = (*after, model.name)
    return Wanted(everything, own, sure, after)


def partition_steps(
    model: Model, verdict: Verdict, wanted: Wanted, trigger: str, batch_size: int | None
) -> Iterator[Step]:
    """Return the steps of one model in the order of its partitions.

    Neighbours of one segment share a step: all of them if the SQL accepts a range, at most
    `batch_size` if it takes one partition; if there are many gaps, separate ranges share steps too.
    A model that reads itself runs one partition at a time.
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
                step = Step(
                    model=model.name,
                    reason=_reason_of_batch(verdict, batch, wanted, pending=pending),
                    initial=False,
                    work=PartitionsWork(
                        batch,
                        model.grid,
                        segment.version.number,
                        segment.body.fingerprint.revision,
                        is_range=segment.body.is_range,
                    ),
                    trigger=name,
                )
                found.append(step)
    yield from sorted(found, key=lambda step: step.partitions)


def _batches(
    model: Model, segment: Segment, pieces: Ranges, batch_size: int | None
) -> Iterator[Ranges]:
    """Divide partitions into those of one commit each.

    Separate ranges get their own batch, so that a failure does not block the others. Many ranges
    share batches, because a commit for each would be too many.
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
        left = pieces
        while left:
            batch = first_numbers(left[:BATCH], size)
            yield batch
            left = difference(left, batch)
        return
    for low, high in pieces:
        for first in range(low, high + 1, size):
            yield ((first, min(high, first + size - 1)),)


def _reason_of_batch(verdict: Verdict, batch: Ranges, wanted: Wanted, *, pending: bool) -> Reason:
    inside = [p for p in verdict.pieces if intersection((p.range,), batch)]
    if not inside or pending:
        if wanted.after and pending:
            return Reason.after(wanted.after)
        return Reason(State.CURRENT, "asked for", drift=False)
    order = list(State)
    first = min(inside, key=lambda p: order.index(p.state))
    others = {state for p in inside for state in p.states} - {first.state}
    silent = first.state in (State.SQL_CHANGED, State.NEVER_RUN)
    detail = "" if silent else ", ".join(first.because)
    return Reason(first.state, detail, tuple(sorted(others, key=order.index)))


def link(agenda: Agenda, step: Step) -> Step:
    """Wait for the upstream steps that a step reads, and for the first step of its model.

    The first step prepares the table; if steps may not run in parallel, each waits for the previous
    one.
    """
    project, siblings = agenda.project, [*agenda.by_model[step.model]]
    model = project.models[step.model]
    is_parallel, at = step.model in agenda.parallel, siblings.index(step)
    found = {siblings[0 if is_parallel else at - 1].key} if at else set[str]()
    body = step.work.segments(model)[0].body
    for mapping in body.inputs:
        name = mapping.input
        above = agenda.by_model.get(name.name)
        if name.kind is not InputKind.MODEL or name.name == model.name or not above:
            continue
        grid, places = grid_of(project, name.name), map(model.grid.span, numbers(step.partitions))
        read = joined(span for each in places for span in spans(mapping.mapping, each, grid))
        for other in above:
            made = spans_of(other.work.grid, other.partitions)
            if any(low < end and begin < high for low, high in made for begin, end in read):
                found.add(other.key)
    work = step.work
    if is_parallel and siblings[1:] and isinstance(work, PartitionsWork):
        work = replace(work, at_once=True)
    later_than = tuple(agenda.keys(model.order_after))
    return replace(step, work=work, upstream=tuple(sorted(found)), later_than=later_than)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The records and observations of one model. `recorded` is the table of the records.

    `unread` is why a source cannot be read, "" if all can.
    """

    runs: tuple[PartitionRun, ...] = ()
    pins: Mapping[int, Mapping[str, Pin]] = field(default_factory=dict)
    fingerprints: Mapping[int, Fingerprint] = field(default_factory=dict)
    recorded: str = ""
    target: Observed = Observed()
    meaning: Meaning = as_recorded
    explain: Explain = settings_changed
    unread: str = ""


def detect_drift(
    model: Model, ords: Ranges, segments: tuple[Segment, ...], evidence: Evidence, changes: Changes
) -> Verdict:
    """Set the first state that applies to every partition, with the others beside it."""
    runs = (r for r in evidence.runs if not r.step_seq or r.fingerprint in evidence.fingerprints)
    evidence = replace(evidence, runs=tuple(runs))  # others are in a damaged state only
    done = tuple(run for run in evidence.runs if run.step_seq)
    seen = evidence.target
    if lines := tuple(map(unrecorded_detail, seen.unrecorded[:1])):
        return Verdict(model.name, ords, segments, whole=State.UNRECORDED, lines=lines)
    ours = bool(evidence.recorded) and evidence.recorded == seen.table_id
    replaced = evidence.runs and (seen.ever_ours or seen.owner is not None)
    if seen.there and not ours and not replaced:
        whole = State.UNRECORDED if seen.ever_ours else State.FOREIGN_TABLE
        return Verdict(model.name, ords, segments, whole=whole, owner=seen.owner)
    effective = intersection(ords, merged(segment.range for segment in segments))
    on_record = merged((run.low, run.high) for run in evidence.runs)
    failed = merged((r.low, r.high) for r in evidence.runs if r.status is Status.FAILED)
    all_found = [
        *_unversioned(difference(ords, effective), done, evidence),
        Difference(State.NEVER_RUN, ranges=difference(effective, on_record)),
        Difference(State.FAILED, ranges=failed),
        *target_differences(model, done, seen, evidence.recorded),
        *input_differences(model, done, segments, evidence.pins, changes),
        *lookback_differences(model, effective, done, evidence.pins, changes),
        Difference(State.UNREADABLE, evidence.unread, effective if evidence.unread else ()),
    ]
    found = list(_code_differences(done, segments, evidence))
    all_found += (each for each in found if each.state is not State.CURRENT)
    return Verdict(
        model.name,
        ords,
        segments,
        tuple(_pieces(all_found, segments, ords)),
        merged((run.low, run.high) for run in done),
        sum(count(each.ranges) for each in found if each.state is State.CURRENT),
        lines=side_notes(model, ords, seen),
        mutated=tuple(_changed_sql(done, evidence, model)) if model.immutable else (),
        owner=seen.owner,
        gap=seen.gap,
    )


def _unversioned(
    ranges: Ranges, runs: tuple[PartitionRun, ...], evidence: Evidence
) -> Iterator[Difference]:
    yield Difference(State.NOT_EFFECTIVE, ranges=ranges)
    for run in runs:
        left = intersection(ranges, ((run.low, run.high),))
        if left:
            made = evidence.fingerprints[run.fingerprint]
            yield Difference(State.NOT_EFFECTIVE, f"has data of {made.label}", left)


def _code_differences(
    runs: tuple[PartitionRun, ...], segments: tuple[Segment, ...], evidence: Evidence
) -> Iterator[Difference]:
    """Compare the SQL that built each range with the current one; CURRENT means cosmetic."""
    known: dict[tuple[int, int], tuple[tuple[State, str], ...]] = {}
    for run in runs:
        for segment in segments:
            here = intersection(((run.low, run.high),), (segment.range,))
            if not here:
                continue
            key = run.fingerprint, id(segment.body)
            if key not in known:
                made = evidence.fingerprints[run.fingerprint]
                found = code_drift(
                    made, segment.body.fingerprint, evidence.meaning, evidence.explain
                )
                known[key] = tuple(found)
            for state, because in known[key]:
                yield Difference(state, because, here)


def _changed_sql(
    runs: tuple[PartitionRun, ...], evidence: Evidence, model: Model
) -> Iterator[tuple[Body, Ranges]]:
    """Return SQL that built some partitions and has changed under the same number."""
    for body in (body for version in model.versions for body in version.bodies):
        now = body.fingerprint
        made = ((run, evidence.fingerprints[run.fingerprint]) for run in runs)
        found = merged(
            (run.low, run.high)
            for run, fingerprint in made
            if fingerprint.label == now.label and not is_same(fingerprint, now, evidence.meaning)
        )
        if found:
            yield body, found


_ORDER = {state: number for number, state in enumerate(State)}


def _pieces(
    differences: list[Difference], segments: tuple[Segment, ...], partitions: Ranges
) -> Iterator[Piece]:
    """Split the partitions where anything changes, without current ones."""
    events: dict[int, list[tuple[bool, Difference | Segment]]] = {}
    for each in differences:
        for low, high in intersection(each.ranges, partitions):
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
        if active:  # at the last place all have ended
            here = sorted(active, key=lambda each: _ORDER[each.state])
            reason = replace(first_reason(here), detail="")
            because = (each.because for each in here if each.state is reason.state)
            details = tuple(dict.fromkeys(each for each in because if each))
            yield Piece(place, places[at + 1] - 1, reason, details, inside)
