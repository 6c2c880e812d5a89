"""The one transition: records and an event give records. Whatever keeps records applies it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import assert_never

from penstock.core.check_results import Checked
from penstock.core.checks import OnFailure
from penstock.core.partitions.ranges import intersection, of_numbers
from penstock.core.records import Status
from penstock.state.transitions.check_history import Asked, records_of
from penstock.state.transitions.checks import closed, fails, opened_flags
from penstock.state.transitions.ending import failed, finished
from penstock.state.transitions.events import (
    Began,
    ChecksNoted,
    ChecksRecorded,
    ChecksSettled,
    Event,
    Failed,
    Finished,
    FlagsClosed,
    GivenUp,
    OfStep,
    QuarantineDropped,
    WatermarkSet,
)
from penstock.state.transitions.model_state import (
    ModelState,
    PartitionState,
    QuarantineState,
    StoredStep,
)
from penstock.state.transitions.runs import changed
from penstock.state.transitions.verdict import RecordedChecks


def apply(records: ModelState, event: Event) -> ModelState:
    """Give the records after an event; what was read of them before stays as it was.

    Whether an event may happen at all, by leases and by what the step is, is the journal's to ask.
    """
    match event:
        case Began():
            return records.with_step(
                StoredStep(event.intent, event.started, event.executed_by, event.lease_token)
            )
        case ChecksNoted():
            asked = Asked(records.model, event.run, event.partitions, records.grid)
            batch = records_of(asked, event.report, event.version, event.at)
            return replace(records, results=(*records.results, batch))
        case FlagsClosed():
            return _forgiven(records, event)
        case WatermarkSet():
            return replace(records, watermarks=(*records.watermarks, event.change))
        case _:
            return _of_step(records, event)


def _of_step(records: ModelState, event: OfStep) -> ModelState:
    match event:
        case Finished():
            return finished(records, event)
        case Failed():
            return failed(records, event)
        case GivenUp():
            return _given_up(records, event)
        case ChecksRecorded():
            return _recorded(records, event)
        case ChecksSettled():
            return _settled(records, event)
        case QuarantineDropped():
            return _dropped(records, event)
        case _ as never:
            assert_never(never)


def given_up(step: str) -> str:
    """Give the name of a step that was called failed before its commit was found to have landed."""
    return f"{step}/given-up"


def _given_up(records: ModelState, event: GivenUp) -> ModelState:
    step = records.steps[event.step_seq]
    return records.with_step(
        replace(step, intent=replace(step.intent, step=given_up(step.intent.step)))
    )


def _recorded(records: ModelState, event: ChecksRecorded | ChecksSettled) -> ModelState:
    """Write what checks of a step said; what was recorded first stays."""
    step = records.steps[event.step_seq]
    if step.verdict is not None:
        return records
    checked, intent = event.checked, step.intent
    batch = records_of(Asked.by(intent), checked.report, checked.version, event.at)
    verdict = RecordedChecks.of(checked, intent)
    return replace(
        records.with_step(replace(step, verdict=verdict)),
        results=(*records.results, batch),
        quarantines={**records.quarantines, **_kept(step, checked)},
    )


def _kept(step: StoredStep, checked: Checked) -> dict[int, QuarantineState]:
    if checked.quarantine is None:
        return {}
    kept = replace(checked.quarantine, step=step.intent.step, model=step.intent.model)
    return {step.seq: QuarantineState(kept)}


def _settled(records: ModelState, event: ChecksSettled) -> ModelState:
    step = records.steps[event.step_seq]
    if step.verdict is not None:
        return _letting_stay(records, step, step.verdict, event.checked.mode)
    if not step.pending or step.undone_by:
        return records
    left = intersection(event.checked.failed, step.pending)
    records = _recorded(records, replace(event, checked=replace(event.checked, failed=left)))
    step = replace(records.steps[step.seq], pending=())
    verdict = step.verdict
    if verdict is None or verdict.failure is None:
        return records.with_step(step)
    step = replace(step, status=Status.FAILED, failure=verdict.failure)
    return _failed_late(records.with_step(step), step, verdict, event)


def _letting_stay(
    records: ModelState, step: StoredStep, verdict: RecordedChecks, mode: OnFailure
) -> ModelState:
    """Write that rows of which a rollback is due stay, flagged."""
    is_due = step.status is Status.FAILED and verdict.mode is OnFailure.ROLLBACK
    if mode is OnFailure.ROLLBACK or not is_due:
        return records
    return records.with_step(replace(step, verdict=replace(verdict, mode=OnFailure.FLAG)))


def _failed_late(
    records: ModelState, step: StoredStep, verdict: RecordedChecks, event: ChecksSettled
) -> ModelState:
    """Make partitions FAILED whose rows are still the step's own, and flag them."""

    def after(was: PartitionState | None) -> PartitionState | None:
        is_own = was is not None and was.step_seq == step.seq
        return replace(was, status=Status.FAILED) if was is not None and is_own else was

    late = tuple(
        replace(each, low=low, high=high, at=event.at, failure=verdict.failure)
        for each in records.history
        if each.step_seq == step.seq
        for low, high in intersection(((each.low, each.high),), verdict.failed)
    )
    return replace(
        records,
        partitions=changed(records.partitions, fails(step.intent, verdict), after),
        history=records.history + late,
        flags={**records.flags, **opened_flags(step, verdict.failed, event.at)},
    )


def _forgiven(records: ModelState, event: FlagsClosed) -> ModelState:
    """Close flags; a partition that failed by nothing else is SUCCESS again.

    That holds where the step of the flag was the last one to touch it.
    """
    keys = [key for key in event.keys if key in records.flags and not records.flags[key].closed]
    records = closed(records, keys, event.at, (event.why, event.who))
    still = {number for (_, number), flag in records.flags.items() if not flag.closed}
    partitions = records.partitions
    for seq in sorted({seq for seq, _ in keys}):
        only = of_numbers(number for of, number in keys if of == seq and number not in still)
        partitions = changed(partitions, only, partial(_forgiving, seq))
    return replace(records, partitions=partitions)


def _forgiving(seq: int, was: PartitionState | None) -> PartitionState | None:
    is_last = was is not None and was.step_seq == was.last_step_seq == seq
    if was is None or not is_last or was.status is not Status.FAILED:
        return was
    return replace(was, status=Status.SUCCESS)


def _dropped(records: ModelState, event: QuarantineDropped) -> ModelState:
    known = records.quarantines.get(event.step_seq)
    if known is None or known.dropped is not None:
        return records
    gone = replace(known, dropped=event.at)
    return replace(records, quarantines={**records.quarantines, event.step_seq: gone})
