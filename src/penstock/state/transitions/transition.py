"""The one transition: records and an event give records. Every store applies it."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from functools import partial
from typing import assert_never

from penstock.core.check_results import Quarantine
from penstock.core.checks.check import OnFailure
from penstock.core.partitions.ranges import intersection, of_numbers
from penstock.core.records import Status
from penstock.state.transitions.checks import Asked, close, new_flags, records_of
from penstock.state.transitions.ending import after_failure, after_success
from penstock.state.transitions.model_state import (
    Began,
    ChecksNoted,
    ChecksRecorded,
    ChecksSettled,
    Event,
    Failed,
    Finished,
    FlagsClosed,
    GivenUp,
    ModelState,
    PartitionState,
    QuarantineDropped,
    QuarantineKept,
    QuarantineState,
    RecordedChecks,
    StoredStep,
)
from penstock.state.transitions.runs import alter


def apply(records: ModelState, event: Event) -> ModelState:
    """Return the records after an event; the old value does not change.

    The journal decides whether an event is allowed, by leases and by the state of the step.
    """
    match event:
        case Began():
            step = StoredStep(event.intent, event.started, event.executed_by, event.lease_token)
            return records.with_step(step)
        case Finished():
            return after_success(records, event)
        case Failed():
            return after_failure(records, event)
        case GivenUp():
            step = records.steps[event.step_seq]
            renamed = replace(step.intent, step=f"{step.intent.step}/given-up")
            return records.with_step(replace(step, intent=renamed))
        case ChecksRecorded():
            return _record_checks(records, event)
        case ChecksSettled():
            return _settle_checks(records, event)
        case ChecksNoted():
            asked = Asked(records.model, event.run, event.partitions, records.grid)
            batch = records_of(asked, event.report, event.version, event.at)
            return replace(records, results=(*records.results, batch))
        case FlagsClosed():
            return _forgive(records, event)
        case QuarantineKept() | QuarantineDropped():
            return _change_quarantine(records, event)
        case _ as never:
            assert_never(never)


def _record_checks(records: ModelState, event: ChecksRecorded | ChecksSettled) -> ModelState:
    """Record the checks of a step; results that are already recorded stay."""
    step = records.steps[event.step_seq]
    if step.verdict is not None:
        return records
    checked, intent = event.checked, step.intent
    batch = records_of(Asked.by(intent), checked.report, checked.version, event.at)
    if checked.quarantine is not None:
        records = _keep_quarantine(records, step.seq, checked.quarantine)
    return replace(
        records.with_step(replace(step, verdict=RecordedChecks.of(checked, intent))),
        results=(*records.results, batch),
    )


def _keep_quarantine(records: ModelState, seq: int, quarantine: Quarantine) -> ModelState:
    """Record where a step keeps rows; rows that a gate holds back replace records left out."""
    intent = records.steps[seq].intent
    kept = QuarantineState(replace(quarantine, step=intent.step, model=intent.model))
    return replace(records, quarantines={**records.quarantines, seq: kept})


def _settle_checks(records: ModelState, event: ChecksSettled) -> ModelState:
    """Record pending checks, or that rows with a due rollback stay, flagged."""
    step = records.steps[event.step_seq]
    if step.verdict is not None:
        is_due = step.status is Status.FAILED and step.verdict.mode is OnFailure.ROLLBACK
        if event.checked.mode is OnFailure.ROLLBACK or not is_due:
            return records
        stays = replace(step.verdict, mode=OnFailure.FLAG)
        return records.with_step(replace(step, verdict=stays))
    if not step.pending or step.undone_by:
        return records
    left = intersection(event.checked.failed, step.pending)
    records = _record_checks(records, replace(event, checked=replace(event.checked, failed=left)))
    step = replace(records.steps[step.seq], pending=())
    verdict = step.verdict
    if verdict is None or verdict.failure is None:
        return records.with_step(step)
    step = replace(step, status=Status.FAILED, failure=verdict.failure)
    return _fail_late(records.with_step(step), step, verdict, event.at)


def _fail_late(
    records: ModelState, step: StoredStep, verdict: RecordedChecks, at: dt.datetime
) -> ModelState:
    """Set partitions to FAILED if their rows are still the step's own, and flag them."""

    def after(was: PartitionState | None) -> PartitionState | None:
        is_own = was and was.step_seq == step.seq
        return replace(was, status=Status.FAILED) if was and is_own else was

    late = tuple(
        replace(each, low=low, high=high, at=at, failure=verdict.failure)
        for each in records.history
        if each.step_seq == step.seq
        for low, high in intersection(((each.low, each.high),), verdict.failed)
    )
    return replace(
        records,
        partitions=alter(records.partitions, step.failing, after),
        history=records.history + late,
        flags={**records.flags, **new_flags(step, verdict.failed, at)},
    )


def _forgive(records: ModelState, event: FlagsClosed) -> ModelState:
    """Close flags; a partition without other failures is SUCCESS again.

    That applies if the step of the flag was the last one to change it.
    """
    keys = [key for key in event.keys if key in records.flags and not records.flags[key].closed]
    records = close(records, keys, event.at, (event.why, event.who))
    still = {number for (_, number), flag in records.flags.items() if not flag.closed}
    partitions = records.partitions
    for seq in sorted({seq for seq, _ in keys}):
        only = of_numbers(number for of, number in keys if of == seq and number not in still)
        partitions = alter(partitions, only, partial(_forgive_one, seq))
    return replace(records, partitions=partitions)


def _forgive_one(seq: int, was: PartitionState | None) -> PartitionState | None:
    is_last = was is not None and was.step_seq == was.last_step_seq == seq
    if was is None or not is_last or was.status is not Status.FAILED:
        return was
    return replace(was, status=Status.SUCCESS)


def _change_quarantine(
    records: ModelState, event: QuarantineKept | QuarantineDropped
) -> ModelState:
    if isinstance(event, QuarantineKept):
        return _keep_quarantine(records, event.step_seq, event.quarantine)
    known = records.quarantines.get(event.step_seq)
    if known is None or known.dropped is not None:
        return records
    gone = {event.step_seq: replace(known, dropped=event.at)}
    return replace(records, quarantines={**records.quarantines, **gone})
