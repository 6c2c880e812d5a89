"""The record of a model: what `Records.models` tells, of one with partitions as a sum."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace

from penstock.core.check_results import Checked
from penstock.core.records import (
    ModelRecord,
    Status,
    WatermarkChange,
)
from penstock.core.steps.step import Intent, Outcome
from penstock.core.steps.window import Watermark
from penstock.state.transitions.events import Began, ChecksRecorded, Finished
from penstock.state.transitions.model_state import (
    BUILDS,
    ModelState,
    PartitionState,
    StoredStep,
    TargetState,
)
from penstock.state.transitions.transition import apply


def model_record(records: ModelState) -> ModelRecord | None:
    """Give what is known of a model; of one with partitions it is a sum. None: no step ended."""
    ended = [step for step in records.steps.values() if step.ended is not None]
    if not ended or (records.is_whole and not records.partitions):
        return None
    last = max(ended, key=lambda step: step.seq)
    if records.is_whole:
        state = records.partitions[0][2]
        built = records.steps.get(state.step_seq)
        failed = (s for s in ended if s.status in (Status.FAILED, Status.SKIPPED))
        newest = max(failed, key=lambda step: step.seq, default=None)
        record = replace(
            _built(ModelRecord(records.model, state.status, state.last_step_seq), built),
            fingerprint=state.fingerprint,
            commit_version=state.commit_version,
            settled_version=state.settled_version,
            failure=newest.failure if newest and state.status is Status.FAILED else None,
        )
    else:
        record = _sum(records, last)
    target = records.targets.get(last.target)
    return replace(
        record,
        watermarks=_watermarks(records),
        high_time=target.high_time if target else None,
    )


def record_after(
    before: ModelRecord | None,
    intent: Intent,
    outcome: Outcome,
    checked: Checked | None,
    at: dt.datetime,
) -> ModelRecord:
    """Give the record after one more step that ended well, as far as the record before tells.

    For the run itself, which goes on with what its own steps left.
    """
    seq, records = intent.step_seq, apply(_known(before, intent), Began(intent, at))
    if checked is not None:
        records = apply(records, ChecksRecorded(seq, at, checked))
    records = apply(records, Finished(seq, at, outcome))
    step, states = records.steps[seq], [state for _, _, state in records.partitions]
    has_built = any(state.step_seq == seq for state in states)
    record = before or ModelRecord(intent.model, step.status, seq)
    record = _built(record, step) if has_built else record
    status = states[0].status if records.is_whole else step.status
    known = states[0].fingerprint if records.is_whole else record.fingerprint
    return replace(
        record,
        status=status,
        failure=(step.failure or record.failure) if status is Status.FAILED else None,
        last_step_seq=seq,
        fingerprint=intent.fingerprint if has_built else known,
        table_id=outcome.table_id,
        commit_version=greatest(state.commit_version for state in states),
        settled_version=greatest(state.settled_version for state in states),
        watermarks=_watermarks(records),
        high_time=records.targets[step.target].high_time,
    )


def _built(record: ModelRecord, built: StoredStep | None) -> ModelRecord:
    """Add the step whose rows are there, and what it left unread of its pins."""
    if built is None or built.outcome is None:
        return record
    return replace(
        record,
        step=built.intent.step,
        step_seq=built.seq,
        table_id=built.outcome.table_id,
        pins={given.input: given.pin for given in built.intent.inputs},
        executed_at=built.ended,
        duration_ms=built.duration_ms,
        rows_written=built.outcome.rows.written,
        bytes_written=built.outcome.bytes_written,
        cut_at=built.intent.cut_at,
        passed_by=built.intent.passed_by,
    )


def _sum(records: ModelState, last: StoredStep) -> ModelRecord:
    """Give the last step, and the newest build that counts: one that was rolled back does not."""
    states = [state for _, _, state in records.partitions]
    target = records.targets.get(last.target)
    builds = [
        step
        for step in records.steps.values()
        if step.outcome is not None
        and step.intent.kind in BUILDS
        and not step.undone_by
        and step.intent.grid == records.grid
    ]
    built = max(builds, key=lambda step: step.seq, default=None)
    record = _built(ModelRecord(records.model, last.status, last.seq), built)
    return replace(
        record,
        fingerprint=built.intent.fingerprint if built else None,
        table_id=target.table_id if target else "",
        commit_version=greatest(each.commit_version for each in states),
        settled_version=greatest(each.settled_version for each in states),
        failure=last.failure,
        cut_at=None,  # of a model with partitions each step has its own
        passed_by=(),
    )


def _known(before: ModelRecord | None, intent: Intent) -> ModelState:
    """Give the records of a model as far as its record tells; of many partitions as of one."""
    if before is None:
        return ModelState(intent.model, intent.grid)
    state = PartitionState(
        status=before.status,
        last_step_seq=before.last_step_seq,
        fingerprint=before.fingerprint,
        step_seq=before.step_seq,
        commit_version=before.commit_version,
        settled_version=before.settled_version,
        executed_at=before.executed_at,
    )
    at = intent.run_timestamp
    watermarks = (
        WatermarkChange(intent.model, m.input, m.column, str(m.value), at)
        for m in before.watermarks
    )
    target = TargetState(before.table_id, before.settled_version, before.high_time)
    return ModelState(
        intent.model,
        intent.grid,
        partitions=((0, 0, state),),
        watermarks=tuple(watermarks),
        targets={str(intent.table): target},
    )


def greatest(versions: Iterable[int | None]) -> int | None:
    """Give the greatest version that is known, None if none is."""
    return max((version for version in versions if version is not None), default=None)


def _watermarks(records: ModelState) -> tuple[Watermark, ...]:
    current = sorted(records.current_watermarks.items())
    return tuple(Watermark(name, column, value) for (name, column), value in current)
