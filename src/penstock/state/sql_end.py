"""What a step leaves behind when it ends: one place for finish, fail, reject and rebuild."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select, update

from penstock.core.records import Status
from penstock.core.step import Intent, Outcome, StepFailure, StepKind
from penstock.core.typed import TypedValue, read_typed
from penstock.state.high_time import high_time_after
from penstock.state.parts import RECOVER
from penstock.state.sql_rows import fingerprint_id, insert_watermark, model_id
from penstock.state.tables import (
    execution_history,
    partition_state,
    steps,
    target_state,
    watermarks,
)
from penstock.state.watermarks import moves

ORD = 0  # a model of one partition; grains with many come with the drift of partitions


@dataclass(frozen=True, slots=True)
class End:
    """How a step ended. `at` is when, `history_id` names its row in the history.

    `settles` is False for a step that is older than what the records already say.
    """

    intent: Intent
    at: dt.datetime
    duration_ms: int
    executed_by: str
    history_id: str
    recovered: bool = False
    settles: bool = True


def write_success(connection: Connection, end: End, outcome: Outcome) -> None:
    """Write the step, its partition, its target, its watermarks and its history.

    A change of metadata alone (`alter`) leaves rows, inputs and status as the last build left them.
    """
    rows = outcome.rows
    connection.execute(
        update(steps)
        .where(steps.c.step_seq == end.intent.step_seq)
        .values(
            status=str(Status.SUCCESS),
            recovered=end.recovered,
            ended=end.at,
            table_id=outcome.table_id,
            commit_version=outcome.version,
            settled_version=outcome.settled_version,
            rows_written=rows.written,
            rows_inserted=rows.inserted,
            rows_updated=rows.updated,
            rows_deleted=rows.deleted,
            rows_late=rows.late,
            rows_null_time=rows.null_time,
            bytes_written=outcome.bytes_written,
            duration_ms=end.duration_ms,
            metrics=json.dumps(dict(outcome.metrics), sort_keys=True, separators=(",", ":")),
        )
    )
    _append_history(connection, end, outcome)
    _see_target(connection, end, outcome)
    if not end.settles:
        _upsert_partition(connection, end.intent, {})
        return
    _settle(connection, end, outcome)
    _move_watermarks(connection, end)


def write_failure(connection: Connection, end: End, failure: StepFailure) -> None:
    """Write the step and its history; of the partition only that its last execution failed."""
    connection.execute(
        update(steps)
        .where(steps.c.step_seq == end.intent.step_seq)
        .values(
            status=str(Status.FAILED),
            recovered=end.recovered,
            ended=end.at,
            duration_ms=end.duration_ms,
            error_code=failure.code,
            error_message=failure.message,
            error_where=failure.where,
            error_hint=failure.hint,
        )
    )
    _append_history(connection, end, failure)
    if end.settles:
        values = {"status": str(Status.FAILED), "last_step_seq": end.intent.step_seq}
        _upsert_partition(connection, end.intent, values)


def _append_history(connection: Connection, end: End, what: Outcome | StepFailure) -> None:
    intent = end.intent
    model = model_id(connection, intent.model)
    ended = (
        {
            "status": str(Status.SUCCESS),
            "rows_written": what.rows.written,
            "bytes_written": what.bytes_written,
        }
        if isinstance(what, Outcome)
        else {
            "status": str(Status.FAILED),
            "error_code": what.code,
            "error_message": what.message,
        }
    )
    connection.execute(
        insert(execution_history).values(
            id=end.history_id,
            model_id=model,
            ord=ORD,
            partition=",".join(intent.partitions),
            step_seq=intent.step_seq,
            fingerprint_id=fingerprint_id(connection, model, intent.fingerprint),
            executed_at=end.at,
            execution_time_ms=end.duration_ms,
            triggered_by=RECOVER if end.recovered else intent.triggered_by,
            executed_by=end.executed_by,
            **ended,
        )
    )


def _settle(connection: Connection, end: End, outcome: Outcome) -> None:
    intent = end.intent
    model = model_id(connection, intent.model)
    if intent.kind is StepKind.ALTER:
        made = {"fingerprint_id": fingerprint_id(connection, model, intent.fingerprint)}
        settled = {"settled_version": outcome.settled_version}
        _upsert_partition(connection, intent, {"last_step_seq": intent.step_seq, **made, **settled})
        return
    values: dict[str, object] = {
        "status": str(Status.SUCCESS),
        "fingerprint_id": fingerprint_id(connection, model, intent.fingerprint),
        "step_seq": intent.step_seq,
        "last_step_seq": intent.step_seq,
        "settled_version": outcome.settled_version,
        "executed_at": end.at,
        "execution_time_ms": end.duration_ms,
        "rows_written": outcome.rows.written,
        "bytes_written": outcome.bytes_written,
    }
    if outcome.version is not None:
        values["commit_version"] = outcome.version
    _upsert_partition(connection, intent, values)


def _upsert_partition(connection: Connection, intent: Intent, values: dict[str, object]) -> None:
    model = model_id(connection, intent.model)
    row = partition_state.c.model_id == model, partition_state.c.ord == ORD
    last = connection.scalar(select(partition_state.c.last_step_seq).where(*row))
    values["partition"] = ",".join(intent.partitions)
    if last is None:
        values = {"status": str(Status.SUCCESS)} | values  # an alter comes before any build
        connection.execute(insert(partition_state).values(model_id=model, ord=ORD, **values))
        return
    values["last_step_seq"] = max(last, intent.step_seq)
    connection.execute(update(partition_state).where(*row).values(values))


def _see_target(connection: Connection, end: End, outcome: Outcome) -> None:
    target = str(end.intent.table)
    row = target_state.c.target == target
    known = connection.execute(select(target_state.c.high_time).where(row)).first()
    before = known.high_time if known else None
    high = high_time_after(end.intent, outcome, before, settles=end.settles)
    seen = {"table_id": outcome.table_id, "seen_version": outcome.settled_version}
    if known is None:
        connection.execute(insert(target_state).values(target=target, high_time=high, **seen))
        return
    values = {"high_time": high, **(seen if end.settles else {})}
    connection.execute(update(target_state).where(row).values(values))


def _move_watermarks(connection: Connection, end: End) -> None:
    current = current_watermarks(connection, model_id(connection, end.intent.model))
    for change in moves(end.intent, current, end.at):
        insert_watermark(connection, change)


def current_watermarks(connection: Connection, model: int) -> dict[tuple[str, str], TypedValue]:
    """Give the values that count now, by input and column."""
    newest = (
        select(func.max(watermarks.c.id))
        .where(watermarks.c.model_id == model)
        .group_by(watermarks.c.input, watermarks.c.column)
    )
    rows = connection.execute(
        select(watermarks.c.input, watermarks.c.column, watermarks.c.value).where(
            watermarks.c.id.in_(newest), watermarks.c.value.is_not(None)
        )
    )
    return {(row.input, row.column): read_typed(row.value) for row in rows}
