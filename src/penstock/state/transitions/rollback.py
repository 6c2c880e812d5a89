"""Going back: which steps are as if they never ran, and what the ones before them left."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.model import Fingerprint
from penstock.core.partitions.ranges import (
    Ranges,
    difference,
    intersection,
    merged,
    of_numbers,
    union,
)
from penstock.core.records import Status
from penstock.core.steps.step import Intent, StepFailure
from penstock.state.transitions.checks import undoes_failure
from penstock.state.transitions.model_state import (
    BUILDS,
    REMAKES,
    Key,
    ModelState,
    PartitionState,
    StoredStep,
    is_whole,
)
from penstock.state.transitions.runs import (
    Runs,
    compared,
    cut,
    joined,
    newest,
    overlaid,
    ranges_of,
    spread,
)
from penstock.state.transitions.step_end import StepEnd, executed, written
from penstock.state.transitions.verdict import ords_of

ROLLED_BACK = StepFailure("rolled-back", "undone with partitions of the same step that failed")


@dataclass(frozen=True, slots=True)
class Restored:
    """Whose rows come back to neighbouring partitions."""

    step_seq: int
    fingerprint: Fingerprint


def undone(records: ModelState, step: StoredStep) -> ModelState:
    """Mark the steps from `restores` on as undone; what those of them had undone counts again."""
    first = step.intent.restores
    steps = dict(records.steps)
    for seq, other in records.steps.items():
        if seq < first <= other.undone_by < step.seq:
            steps[seq] = replace(other, undone_by=0)
        elif first <= seq < step.seq and other.undone_by < step.seq:
            steps[seq] = replace(other, undone_by=step.seq)
    return replace(records, steps=steps)


def restored(records: ModelState, intent: Intent) -> Runs[Restored]:
    """Give what was written last to each partition before `restores`, flagged rows included."""
    flagged: dict[int, list[int]] = {}
    for seq, number in records.flags:
        flagged.setdefault(seq, []).append(number)
    pieces = []
    for each in records.history:
        step = records.steps[each.step_seq]
        counts = each.step_seq < intent.restores and not step.undone_by
        if not counts or step.intent.kind not in BUILDS or step.intent.grid != intent.grid:
            continue
        ords: Ranges = ((each.low, each.high),)
        if each.failure is not None:  # a failure left rows only where a flag was opened on them
            ords = intersection(ords, of_numbers(flagged.get(each.step_seq, ())))
        left = Restored(each.step_seq, each.fingerprint)
        pieces += [(each.step_seq, bounds, left) for bounds in ords]
    return newest(pieces)


def written_since(records: ModelState, step: StoredStep, back: Ranges, *, is_ours: bool) -> Ranges:
    """Give the partitions that steps from `restores` on have written, those it names included.

    A step that made or rewrote the table has written all: those that come `back`, and those on
    record if the records are of the rollback's grid.
    """
    intent = step.intent
    since = [
        other
        for other in records.steps.values()
        if intent.restores <= other.seq < step.seq and other.outcome is not None
    ]
    if any(other.intent.kind in REMAKES for other in since):
        found = union(ranges_of(records.partitions) if is_ours else (), back)
    else:
        numbers = {other.seq for other in since if other.intent.grid == intent.grid}
        found = merged((e.low, e.high) for e in records.history if e.step_seq in numbers)
    return union(found, ords_of(intent))


def parts(
    intent: Intent, closes: tuple[Key, ...], ords: Ranges
) -> tuple[tuple[StepFailure | None, Ranges], ...]:
    """Give what the history says of a rollback, with the partitions of which it does.

    One that takes back rows that failed a gate undoes the other partitions of the step too.
    """
    if not undoes_failure(intent) or not closes:
        return ((None, ords),)
    failed = of_numbers(number for _, number in closes)
    others = difference(intersection(ords, ords_of(intent)), failed)
    return ((None, difference(ords, others)), (ROLLED_BACK, others))


def rolled_back(
    records: ModelState, end: StepEnd, closes: tuple[Key, ...], *, is_ours: bool
) -> ModelState:
    """Give the records that were there before, and a history that says so."""
    step, outcome = end.step, end.outcome
    if outcome is None:
        return records
    back = restored(records, step.intent)
    ords = written_since(records, step, ranges_of(back), is_ours=is_ours)
    runs = written(step.intent, outcome, ords)
    rows = tuple(
        replace(each, fingerprint=was.fingerprint if was else each.fingerprint)
        for failure, part in parts(step.intent, closes, ords)
        for low, high, got, was in compared(cut(runs, part), cut(back, part))
        if got is not None
        for each in executed(step, ((low, high, got),), failure)
    )
    partitions = records.partitions
    if is_ours:
        left = None
        if is_whole(step.intent) or undoes_failure(step.intent):
            status = Status.FAILED if undoes_failure(step.intent) else Status.SUCCESS
            left = PartitionState(status, step.seq)
        gone = difference(ords, ranges_of(back))
        partitions = end.dropped(partitions, gone, left)
        partitions = overlaid(partitions, _again(records, end, cut(back, ords)), end.restored)
    return replace(records, partitions=partitions, history=records.history + rows)


def _again(records: ModelState, end: StepEnd, back: Runs[Restored]) -> Runs[PartitionState]:
    """Give what comes back: FAILED where its rows are flagged, or undone with rows that failed."""
    undone = ords_of(end.intent) if undoes_failure(end.intent) else ()
    result: list[tuple[int, int, PartitionState]] = []
    for low, high, was in back:
        state = PartitionState(
            status=Status.SUCCESS,
            last_step_seq=end.step.seq,
            fingerprint=was.fingerprint,
            step_seq=was.step_seq,
            settled_version=end.outcome.stands_at if end.outcome else None,
            executed_at=records.steps[was.step_seq].ended,
        )
        bad = intersection(((low, high),), union(records.open_flags_of(was.step_seq), undone))
        result += spread(difference(((low, high),), bad), state)
        result += spread(bad, replace(state, status=Status.FAILED))
    return joined(result)
