"""Keeping the run's own picture of the records up to date as steps end."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from penstock.app.execution.commit import Ended
from penstock.core.records import ModelRecord, Status
from penstock.core.step import StepKind
from penstock.state.high_time import high_time_after


def remembered(before: ModelRecord | None, ended: Ended, at: dt.datetime) -> ModelRecord:
    """Give the record that the store now holds of a model whose step has just ended well."""
    intent, outcome = ended.intent, ended.outcome
    if intent.kind not in (StepKind.BUILD, StepKind.SEED):
        return _reshaped(before, ended)
    kept = (
        {} if before is None or intent.lowers_watermarks else {m.key: m for m in before.watermarks}
    )
    for mark in intent.watermarks:
        known = kept.get(mark.key)
        if known is None or known.value < mark.value:
            kept[mark.key] = mark
    commit = outcome.version
    if commit is None and before is not None:
        commit = before.commit_version
    return ModelRecord(
        model=intent.model,
        status=Status.FAILED if ended.checked and ended.checked.failure else Status.SUCCESS,
        last_step_seq=intent.step_seq,
        step=intent.step,
        step_seq=intent.step_seq,
        fingerprint=intent.fingerprint,
        table_id=outcome.table_id,
        commit_version=commit,
        settled_version=outcome.settled_version,
        pins={pin.input: pin.pin for pin in intent.inputs},
        watermarks=tuple(kept[key] for key in sorted(kept)),
        executed_at=at,
        duration_ms=outcome.duration_ms,
        rows_written=outcome.rows.written,
        bytes_written=outcome.bytes_written,
        high_time=high_time_after(intent, outcome, before.high_time if before else None),
        cut_at=intent.cut_at,
        passed_by=intent.passed_by,
    )


def _reshaped(before: ModelRecord | None, ended: Ended) -> ModelRecord:
    """Give the record after a step that made or changed the table and built no rows."""
    intent, outcome = ended.intent, ended.outcome
    start = before or ModelRecord(intent.model, Status.SUCCESS, intent.step_seq)
    if intent.kind in (StepKind.CREATE, StepKind.REWRITE, StepKind.ROLLBACK):
        return replace(
            start,
            last_step_seq=intent.step_seq,
            table_id=outcome.table_id,
            settled_version=outcome.settled_version,
        )
    if before is None or not intent.grid.is_whole:
        return start
    return replace(
        before,
        last_step_seq=intent.step_seq,
        fingerprint=intent.fingerprint,
        settled_version=outcome.settled_version,
    )
