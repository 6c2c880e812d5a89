"""Rows by their names: numbers that penstock gives, steps and runs as rows and back."""

from __future__ import annotations

import json

from sqlalchemy import Column, Connection, Row, func, insert, select

from penstock.core.model import Fingerprint
from penstock.core.partition import write_grid
from penstock.core.records import Lease, Run, Status, StepRecord, WatermarkChange
from penstock.core.step import Outcome, RowCounts, StepFailure
from penstock.core.token import pin_parts, read_intent, write_intent
from penstock.state.lease import unknown_step
from penstock.state.sql_marks import find_mark, insert_mark
from penstock.state.tables import (
    contents,
    fingerprints,
    leases,
    models,
    runs,
    step_inputs,
    steps,
    watermarks,
)


def next_number(connection: Connection, column: Column[int]) -> int:
    """Give the number after the greatest one; writing transactions come one at a time."""
    return int(connection.scalar(select(func.max(column))) or 0) + 1


def model_id(connection: Connection, name: str) -> int:
    """Give a model's number, a new one if it has none."""
    found = connection.scalar(select(models.c.id).where(models.c.name == name))
    if found is not None:
        return int(found)
    number = next_number(connection, models.c.id)
    connection.execute(insert(models).values(id=number, name=name))
    return number


def fingerprint_id(connection: Connection, model: int, mark: Fingerprint) -> int:
    """Give a fingerprint's number, a new one if the model never had it."""
    found = find_mark(connection, model, mark)
    if found is not None:
        return found
    number = next_number(connection, fingerprints.c.id)
    insert_mark(connection, number, model, mark)
    return number


def keep_text(connection: Connection, checksum: str, text: str) -> None:
    """Store a text unless it is there."""
    if connection.scalar(select(contents.c.hash).where(contents.c.hash == checksum)) is None:
        connection.execute(insert(contents).values(hash=checksum, text=text))


def insert_run(connection: Connection, run: Run) -> None:
    """Write a run."""
    connection.execute(
        insert(runs).values(
            id=run.id,
            command=run.command,
            arguments=run.arguments,
            target=run.target,
            run_timestamp=run.run_timestamp,
            host=run.holder.host,
            user=run.holder.user,
            pid=run.holder.pid,
            started=run.started,
            ended=run.ended,
            status=str(run.status),
        )
    )


def insert_step(connection: Connection, step: StepRecord, executed_by: str) -> None:
    """Write a step, its fingerprint and its inputs; how it ended comes later."""
    intent = step.intent
    model = model_id(connection, intent.model)
    fingerprint_id(connection, model, intent.fingerprint)
    connection.execute(
        insert(steps).values(
            step_seq=intent.step_seq,
            id=intent.step,
            run=intent.run,
            model_id=model,
            target=str(intent.table),
            kind=str(intent.kind),
            grid=write_grid(intent.grid),
            partitions=",".join(intent.partitions),
            intent=write_intent(intent),
            lease_token=step.lease_token,
            status=str(step.status),
            reason=intent.reason,
            run_date=intent.run_timestamp.date(),
            executed_by=executed_by,
            recovered=False,
            started=step.started,
        )
    )
    pins = {given.input: pin_parts(given.pin) for given in intent.inputs}
    rows = [
        {
            "step_seq": intent.step_seq,
            "input": name,
            "kind": kind,
            "table_id": text,
            "pinned_version": number,
        }
        for name, (kind, text, number) in pins.items()
    ]
    if rows:
        connection.execute(insert(step_inputs), rows)


def insert_watermark(connection: Connection, change: WatermarkChange) -> None:
    """Append one change of a watermark."""
    connection.execute(
        insert(watermarks).values(
            id=next_number(connection, watermarks.c.id),
            model_id=model_id(connection, change.model),
            input=change.input,
            column=change.column,
            value=change.value,
            set_at=change.set_at,
            step=change.step,
            who=change.who,
            why=change.why,
        )
    )


def find_step(connection: Connection, step: str) -> Row[tuple[object, ...]]:
    """Give the row of a step; `unknown-step` if it never began."""
    row = connection.execute(select(steps).where(steps.c.id == step)).first()
    if row is None:
        raise unknown_step(step)
    return row


def running_step(row: Row[tuple[object, ...]]) -> StepRecord:
    """Read a step that has not ended."""
    return StepRecord(
        intent=read_intent(row.intent),
        status=Status(row.status),
        started=row.started,
        lease_token=row.lease_token,
    )


def ended_step(row: Row[tuple[object, ...]]) -> StepRecord:
    """Read a step that has ended; one that failed by its checks has an outcome too."""
    succeeded = row.status == Status.SUCCESS
    return StepRecord(
        intent=read_intent(row.intent),
        status=Status(row.status),
        started=row.started,
        lease_token=row.lease_token,
        ended=row.ended,
        outcome=None if row.table_id is None else _outcome(row),
        failure=None if succeeded else failure_of(row),
    )


def failure_of(row: Row[tuple[object, ...]]) -> StepFailure:
    """Read why a step failed."""
    return StepFailure(row.error_code, row.error_message, row.error_where, row.error_hint)


def failure_cells(failure: StepFailure) -> dict[str, object]:
    """Give why a step failed as cells of its row."""
    return {
        "error_code": failure.code,
        "error_message": failure.message,
        "error_where": failure.where,
        "error_hint": failure.hint,
    }


def _outcome(row: Row[tuple[object, ...]]) -> Outcome:
    return Outcome(
        version=row.commit_version,
        table_id=row.table_id,
        settled_version=row.settled_version,
        rows=RowCounts(
            inserted=row.rows_inserted,
            updated=row.rows_updated,
            deleted=row.rows_deleted,
            late=row.rows_late,
            null_time=row.rows_null_time,
        ),
        bytes_written=row.bytes_written,
        metrics=json.loads(row.metrics),
        duration_ms=row.duration_ms,
    )


def taken_lease(row: Row[tuple[object, ...]]) -> Lease:
    """Read a lease that somebody holds."""
    return Lease(
        target=row.target,
        run=row.run,
        host=row.host,
        pid=row.pid,
        token=row.token,
        acquired=row.acquired,
        heartbeat=row.heartbeat,
        expires=row.expires,
        process=row.process,
    )


def lease_values(lease: Lease) -> dict[str, object]:
    """Give a lease as the values of its row."""
    return {column.name: getattr(lease, column.name) for column in leases.c}
