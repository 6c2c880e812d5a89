"""Steps, runs, leases and fingerprints as rows and back; numbers that penstock gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Column, Connection, Row, func, insert, select, update

from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import write_grid
from penstock.core.records import Lease, Run, Status, StepRecord, WatermarkChange
from penstock.core.steps.step import Outcome, RowCounts, StepFailure
from penstock.core.steps.token import pin_parts, read_intent, write_intent
from penstock.state.schema import (
    contents,
    fingerprints,
    leases,
    models,
    step_inputs,
    steps,
    watermarks,
)
from penstock.state.transitions.model_state import StoredStep
from penstock.state.transitions.verdict import (
    read_numbers,
    read_verdict,
    write_numbers,
    write_verdict,
)

Found = Row[tuple[object, ...]]
Cells = dict[str, object]

FINGERPRINT_COLUMNS = (
    fingerprints.c.version,
    fingerprints.c.revision,
    fingerprints.c.effective_from,
    fingerprints.c.sql_checksum,
    fingerprints.c.canonical_checksum,
    fingerprints.c.settings_checksum,
    fingerprints.c.layout_checksum,
    fingerprints.c.schema_checksum,
    fingerprints.c.yaml_checksum,
    fingerprints.c.parser_version,
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


def fingerprint_id(connection: Connection, model: int, fingerprint: Fingerprint) -> int:
    """Give a fingerprint's number, a new one if the model never had it.

    Its schema is written as soon as the text of it is stored.
    """
    cells = _fingerprint_cells(fingerprint)
    same = [fingerprints.c[name].is_not_distinct_from(value) for name, value in cells.items()]
    found = connection.execute(
        select(fingerprints.c.id, fingerprints.c.schema_json).where(
            fingerprints.c.model_id == model, *same
        )
    ).first()
    number = found.id if found else next_number(connection, fingerprints.c.id)
    if found is None:
        connection.execute(insert(fingerprints).values(id=number, model_id=model, **cells))
    if fingerprint.schema and not (found and found.schema_json):
        of_schema = contents.c.hash == fingerprint.schema
        text = connection.scalar(select(contents.c.text).where(of_schema))
        if text is not None:
            row = fingerprints.c.id == number
            connection.execute(update(fingerprints).where(row).values(schema_json=text))
    return int(number)


def fingerprint_of(row: Found) -> Fingerprint:
    """Read the columns of a fingerprint."""
    return Fingerprint(
        sql=row.sql_checksum,
        canonical=row.canonical_checksum,
        settings=row.settings_checksum,
        layout=row.layout_checksum,
        version=int(row.version),
        revision=int(row.revision or 0),
        effective_from=row.effective_from,
        schema=row.schema_checksum,
        yaml=row.yaml_checksum,
        parser=row.parser_version,
    )


def _fingerprint_cells(fingerprint: Fingerprint) -> Mapping[str, object]:
    return {
        "version": str(fingerprint.version),
        "revision": str(fingerprint.revision) if fingerprint.revision else "",
        "effective_from": fingerprint.effective_from,
        "sql_checksum": fingerprint.sql,
        "canonical_checksum": fingerprint.canonical,
        "settings_checksum": fingerprint.settings,
        "layout_checksum": fingerprint.layout,
        "schema_checksum": fingerprint.schema,
        "yaml_checksum": fingerprint.yaml,
        "parser_version": fingerprint.parser,
    }


def insert_step(connection: Connection, step: StoredStep) -> None:
    """Write a step, its fingerprint and its inputs."""
    intent = step.intent
    model = model_id(connection, intent.model)
    fingerprint_id(connection, model, intent.fingerprint)
    connection.execute(
        insert(steps).values(
            step_seq=intent.step_seq,
            run=intent.run,
            model_id=model,
            target=step.target,
            kind=str(intent.kind),
            grid=write_grid(intent.grid),
            partitions=",".join(intent.partitions),
            intent=write_intent(intent),
            lease_token=step.lease_token,
            reason=intent.reason,
            run_date=intent.run_timestamp.date(),
            executed_by=step.executed_by,
            started=step.started,
            **step_cells(step),
        )
    )
    rows = [
        {"step_seq": step.seq, "input": name, "kind": kind, "table_id": text, "pinned_version": n}
        for name, (kind, text, n) in (
            (given.input, pin_parts(given.pin)) for given in intent.inputs
        )
    ]
    if rows:
        connection.execute(insert(step_inputs), rows)


def step_cells(step: StoredStep) -> Cells:
    """Give the cells of a step that may change: its name, how it ended, what was checked."""
    return {
        "id": step.intent.step,
        "status": str(step.status),
        "recovered": step.recovered,
        "ended": step.ended,
        "duration_ms": step.duration_ms,
        "undone_by": step.undone_by or None,
        "checked": write_verdict(step.verdict) if step.verdict else None,
        "pending": write_numbers(step.pending) if step.pending else None,
        **_outcome_cells(step.outcome),
        **_failure_cells(step.failure),
    }


def step_state(row: Found) -> StoredStep:
    """Read a step; one that was given up has another name than its intent."""
    return StoredStep(
        intent=replace(read_intent(row.intent), step=row.id),
        started=row.started,
        executed_by=row.executed_by,
        lease_token=row.lease_token,
        status=Status(row.status),
        ended=row.ended,
        duration_ms=row.duration_ms,
        recovered=row.recovered,
        outcome=None if row.table_id is None else _outcome(row),
        failure=_failed(row),
        verdict=read_verdict(row.checked) if row.checked else None,
        pending=read_numbers(row.pending) if row.pending else (),
        undone_by=row.undone_by or 0,
    )


def ended_step(row: Found) -> StepRecord:
    """Read a step that has ended; one that failed by its checks has an outcome too."""
    return step_state(row).record


def failure_of(row: Found) -> StepFailure:
    """Read why a step failed."""
    return StepFailure(row.error_code, row.error_message, row.error_where, row.error_hint)


def _failed(row: Found) -> StepFailure | None:
    return failure_of(row) if row.status in (Status.FAILED, Status.SKIPPED) else None


def _failure_cells(failure: StepFailure | None) -> Cells:
    return {
        "error_code": failure.code if failure else "",
        "error_message": failure.message if failure else "",
        "error_where": failure.where if failure else "",
        "error_hint": failure.hint if failure else "",
    }


def _outcome(row: Found) -> Outcome:
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


def _outcome_cells(outcome: Outcome | None) -> Cells:
    if outcome is None:
        return {}
    rows = outcome.rows
    return {
        "table_id": outcome.table_id,
        "commit_version": outcome.version,
        "settled_version": outcome.settled_version,
        "rows_written": rows.written,
        "rows_inserted": rows.inserted,
        "rows_updated": rows.updated,
        "rows_deleted": rows.deleted,
        "rows_late": rows.late,
        "rows_null_time": rows.null_time,
        "bytes_written": outcome.bytes_written,
        "metrics": json.dumps(dict(outcome.metrics), sort_keys=True, separators=(",", ":")),
    }


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


def watermark_of(row: Found) -> WatermarkChange:
    """Read a change of a watermark; its model's `name` is in the row."""
    return WatermarkChange(
        model=row.name,
        input=row.input,
        column=row.column,
        value=row.value,
        set_at=row.set_at,
        step=row.step,
        who=row.who,
        why=row.why,
    )


def run_cells(run: Run) -> Cells:
    """Give a run as the cells of its row."""
    return {
        "id": run.id,
        "command": run.command,
        "arguments": run.arguments,
        "target": run.target,
        "run_timestamp": run.run_timestamp,
        "host": run.holder.host,
        "user": run.holder.user,
        "pid": run.holder.pid,
        "started": run.started,
        "ended": run.ended,
        "status": str(run.status),
    }


def taken_lease(row: Found) -> Lease:
    """Read a lease that somebody holds."""
    return Lease(**{name: getattr(row, name) for name in LEASE_COLUMNS})


def lease_cells(lease: Lease) -> Cells:
    """Give a lease as the cells of its row."""
    return {name: getattr(lease, name) for name in LEASE_COLUMNS}


LEASE_COLUMNS = tuple(column.name for column in leases.c)
