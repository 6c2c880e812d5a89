"""Rollbacks: which steps they undo, and the state before those."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.checks.check import OnFailure
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
from penstock.core.steps.step import Intent, Outcome, StepFailure, StepKind
from penstock.state.transitions.model_state import (
    BUILDS,
    REMAKES,
    Key,
    ModelState,
    PartitionState,
    StoredStep,
    ords_of,
)
from penstock.state.transitions.runs import Runs, join_runs, newest, ranges_of, spread

Values = dict[tuple[str, str], str | None]  # of watermarks by input and column; None: reset

ROLLED_BACK = StepFailure("rolled-back", "undone with partitions of the same step that failed")


@dataclass(frozen=True, slots=True)
class Restored:
    """The step whose rows are restored in neighbouring partitions."""

    step_seq: int
    fingerprint: Fingerprint


def undoes_failure(intent: Intent) -> bool:
    """Return whether a rollback undoes rows that failed a gate, so that its records stay FAILED."""
    return intent.kind is StepKind.ROLLBACK and intent.on_failure == OnFailure.ROLLBACK


def set_undone(records: ModelState, step: StoredStep) -> ModelState:
    """Mark the steps from `restores` on as undone; steps that those had undone count again."""
    first = step.intent.restores
    steps = dict(records.steps)
    for seq, other in records.steps.items():
        if seq < first <= other.undone_by < step.seq:
            steps[seq] = replace(other, undone_by=0)
        elif first <= seq < step.seq and other.undone_by < step.seq:
            steps[seq] = replace(other, undone_by=step.seq)
    return replace(records, steps=steps)


def last_written(records: ModelState, intent: Intent) -> Runs[Restored]:
    """Return the last write to each partition before `restores`, including flagged rows."""
    flagged: dict[int, list[int]] = {}
    for seq, number in records.flags:
        flagged.setdefault(seq, []).append(number)
    # what was built before a table was made anew lay in another one
    made = [
        step.seq
        for step in records.steps.values()
        if step.seq < intent.restores
        and step.intent.kind is StepKind.CREATE
        and step.outcome is not None
        and not step.undone_by
    ]
    first, pieces = max(made, default=0), []
    for each in records.history:
        step = records.steps[each.step_seq]
        counts = first <= each.step_seq < intent.restores and not step.undone_by
        if not counts or step.intent.kind not in BUILDS or step.intent.grid != intent.grid:
            continue
        ords: Ranges = ((each.low, each.high),)
        if each.failure is not None:  # a failure left rows only where a flag was opened on them
            ords = intersection(ords, of_numbers(flagged.get(each.step_seq, ())))
        left = Restored(each.step_seq, each.fingerprint)
        pieces += [(each.step_seq, bounds, left) for bounds in ords]
    return newest(pieces)


def written_since(records: ModelState, step: StoredStep, back: Ranges, *, is_ours: bool) -> Ranges:
    """Return the partitions written by steps from `restores` on, including those it names.

    A step that created or rewrote the table has written all: those that come `back`, and the
    recorded ones if the records have the rollback's grid.
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


def failures_of(
    intent: Intent, closes: tuple[Key, ...], ords: Ranges
) -> tuple[tuple[StepFailure | None, Ranges], ...]:
    """Return the history of a rollback, with its partitions.

    A rollback of rows that failed a gate also undoes the other partitions of the step.
    """
    if not undoes_failure(intent) or not closes:
        return ((None, ords),)
    failed = of_numbers(number for _, number in closes)
    others = difference(intersection(ords, ords_of(intent)), failed)
    return ((None, difference(ords, others)), (ROLLED_BACK, others))


def runs_after_undo(
    records: ModelState, step: StoredStep, back: Runs[Restored], outcome: Outcome
) -> Runs[PartitionState]:
    """Return the restored state: FAILED if its rows are flagged, or undone with rows that failed.

    Foreign changes after a step, and before the restored version, are restored with it; what was
    accepted by then stays accepted.
    """
    accepted = max(
        (
            each.outcome.settled_version or 0
            for each in records.steps.values()
            if each.outcome and each.intent.kind is StepKind.ACCEPT and each.intent.grid.is_whole
            if each.outcome.table_id == outcome.table_id  # versions of another table say nothing
            if each.seq < step.intent.restores and not each.undone_by
        ),
        default=-1,
    )
    undone = ords_of(step.intent) if undoes_failure(step.intent) else ()
    result: list[tuple[int, int, PartitionState]] = []
    for low, high, was in back:
        made = records.steps[was.step_seq].outcome
        left = made.stands_at if made and made.stands_at is not None else -1
        left = max(left, accepted)
        is_changed = any(each.version > left for each in outcome.foreign)
        state = PartitionState(
            status=Status.SUCCESS,
            last_step_seq=step.seq,
            fingerprint=was.fingerprint,
            step_seq=was.step_seq,
            settled_version=left if is_changed else outcome.stands_at,
            executed_at=records.steps[was.step_seq].ended,
        )
        bad = intersection(((low, high),), union(records.open_flags_of(was.step_seq), undone))
        result += spread(difference(((low, high),), bad), state)
        result += spread(bad, replace(state, status=Status.FAILED))
    return join_runs(result)


def watermarks_before(records: ModelState, intent: Intent) -> Values:
    """Return the watermarks before `restores` began, including manual changes until then.

    Changes are in order; the clock decides only about a manual change between two steps that moved
    no watermark.
    """
    first, number_of = records.steps.get(intent.restores), {"": 0}
    number_of |= {step.intent.step: step.seq for step in records.steps.values()}
    numbers = [number_of.get(change.step, -1) for change in records.watermarks]
    before = max((n for n, seq in enumerate(numbers) if 0 < seq < intent.restores), default=-1)
    since = min((n for n, seq in enumerate(numbers) if seq >= intent.restores), default=None)
    is_exact = since is not None and numbers[since] == intent.restores
    found: Values = {}
    for place, (change, number) in enumerate(zip(records.watermarks, numbers, strict=True)):
        counts = 0 < number < intent.restores and not records.steps[number].undone_by
        if number == 0 and (since is None or place < since):
            in_time = first is not None and change.set_at <= first.started
            counts = place < before or is_exact or in_time
        if counts:
            found[change.input, change.column] = change.value
    return found
