"""Records in a database: reading is set-based, whatever the number of models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, select

from penstock.core.model import Fingerprint
from penstock.core.pin import Pin
from penstock.core.records import Execution, ModelRecord, Status, WatermarkChange
from penstock.core.step import StepFailure
from penstock.core.token import pin_of
from penstock.core.typed import read_typed
from penstock.core.window import Watermark
from penstock.state.sql_database import Database
from penstock.state.sql_rows import insert_watermark
from penstock.state.tables import (
    contents,
    execution_history,
    fingerprints,
    models,
    partition_state,
    step_inputs,
    steps,
    target_state,
    watermarks,
)

Found = Row[tuple[object, ...]]
MARK_COLUMNS = (
    fingerprints.c.sql_checksum,
    fingerprints.c.canonical_checksum,
    fingerprints.c.settings_checksum,
    fingerprints.c.layout_checksum,
)
FAILURE_COLUMNS = ("error_code", "error_message", "error_where", "error_hint")


class SqlRecords:
    """Reads what is remembered, and sets watermarks by hand."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def models(self) -> Mapping[str, ModelRecord]:
        """Give the record of every model that ever ended a step: three queries, one state."""
        with self._database.read() as connection:
            pins = _pins(connection)
            marks = _watermarks(connection)
            return {
                row.name: _model_record(row, pins.get(row.model_id, {}), marks[row.model_id])
                for row in connection.execute(_models())
            }

    def text(self, checksum: str) -> str | None:
        """Give a stored SQL text by its checksum."""
        with self._database.read() as connection:
            return connection.scalar(select(contents.c.text).where(contents.c.hash == checksum))

    def history(self, model: str, limit: int) -> tuple[Execution, ...]:
        """Give a model's executions, newest step first."""
        query = (
            select(
                execution_history,
                models.c.name,
                steps.c.id.label("step_id"),
                steps.c.error_where,
                steps.c.error_hint,
                *MARK_COLUMNS,
            )
            .join(models, models.c.id == execution_history.c.model_id)
            .join(steps, steps.c.step_seq == execution_history.c.step_seq)
            .join(fingerprints, fingerprints.c.id == execution_history.c.fingerprint_id)
            .where(models.c.name == model)
            .order_by(execution_history.c.step_seq.desc(), execution_history.c.ord)
            .limit(limit)
        )
        with self._database.read() as connection:
            return tuple(_execution(row) for row in connection.execute(query))

    def last_results(self) -> Mapping[str, Status]:
        """Give what became of each model in the last run that had steps."""
        last = select(steps.c.run).order_by(steps.c.step_seq.desc()).limit(1).scalar_subquery()
        query = (
            select(models.c.name, steps.c.status)
            .join(models, models.c.id == steps.c.model_id)
            .where(steps.c.run == last)
            .order_by(steps.c.step_seq)
        )
        with self._database.read() as connection:
            return {row.name: Status(row.status) for row in connection.execute(query)}

    def watermark_history(self, model: str) -> tuple[WatermarkChange, ...]:
        """Give every change of a model's watermarks, newest first."""
        query = (
            select(watermarks, models.c.name)
            .join(models, models.c.id == watermarks.c.model_id)
            .where(models.c.name == model)
            .order_by(watermarks.c.id.desc())
        )
        with self._database.read() as connection:
            return tuple(_change(row) for row in connection.execute(query))

    def change_watermark(self, change: WatermarkChange) -> None:
        """Append a change that a person made; the value may go down."""
        with self._database.write() as connection:
            insert_watermark(connection, change)


def _models() -> Select[Any]:
    state = partition_state.c
    done, last, tried = steps.alias("done"), steps.alias("last"), steps.alias("tried")
    latest = steps.alias("latest")  # names the table that the model writes now
    newest = (  # not always the last step: a change of properties may come after it
        select(func.max(tried.c.step_seq))
        .where(tried.c.model_id == state.model_id, tried.c.status == str(Status.FAILED))
        .correlate(partition_state)
        .scalar_subquery()
    )
    failed = and_(state.status == str(Status.FAILED), last.c.step_seq == newest)
    return (
        select(
            partition_state,
            models.c.name,
            *MARK_COLUMNS,
            done.c.id.label("step"),
            done.c.table_id,
            target_state.c.high_time,
            *(last.c[name] for name in FAILURE_COLUMNS),
        )
        .join(models, models.c.id == state.model_id)
        .outerjoin(fingerprints, fingerprints.c.id == state.fingerprint_id)
        .outerjoin(done, done.c.step_seq == state.step_seq)
        .outerjoin(last, failed)
        .join(latest, latest.c.step_seq == state.last_step_seq)
        .outerjoin(target_state, target_state.c.target == latest.c.target)
        .order_by(models.c.name)
    )


def _pins(connection: Connection) -> dict[int, dict[str, Pin]]:
    query = select(partition_state.c.model_id, step_inputs).join(
        step_inputs, step_inputs.c.step_seq == partition_state.c.step_seq
    )
    pins: dict[int, dict[str, Pin]] = defaultdict(dict)
    for row in connection.execute(query):
        pins[row.model_id][row.input] = pin_of(row.kind, row.table_id, row.pinned_version)
    return pins


def _watermarks(connection: Connection) -> dict[int, tuple[Watermark, ...]]:
    newest = select(func.max(watermarks.c.id)).group_by(
        watermarks.c.model_id, watermarks.c.input, watermarks.c.column
    )
    query = (
        select(watermarks.c.model_id, watermarks.c.input, watermarks.c.column, watermarks.c.value)
        .where(watermarks.c.id.in_(newest), watermarks.c.value.is_not(None))
        .order_by(watermarks.c.input, watermarks.c.column)
    )
    marks: dict[int, tuple[Watermark, ...]] = defaultdict(tuple)
    for row in connection.execute(query):
        marks[row.model_id] += (Watermark(row.input, row.column, read_typed(row.value)),)
    return marks


def _model_record(row: Found, pins: Mapping[str, Pin], marks: tuple[Watermark, ...]) -> ModelRecord:
    return ModelRecord(
        model=row.name,
        status=Status(row.status),
        last_step_seq=row.last_step_seq,
        step=row.step or "",
        step_seq=row.step_seq or 0,
        fingerprint=None if row.fingerprint_id is None else _fingerprint(row),
        table_id=row.table_id or "",
        commit_version=row.commit_version,
        settled_version=row.settled_version,
        pins=pins,
        watermarks=marks,
        executed_at=row.executed_at,
        duration_ms=row.execution_time_ms,
        rows_written=row.rows_written,
        bytes_written=row.bytes_written,
        failure=None if row.error_code is None else _failure(row),
        high_time=row.high_time,
    )


def _execution(row: Found) -> Execution:
    failed = row.status == Status.FAILED
    return Execution(
        model=row.name,
        partition=row.partition,
        step=row.step_id,
        step_seq=row.step_seq,
        fingerprint=_fingerprint(row),
        executed_at=row.executed_at,
        duration_ms=row.execution_time_ms,
        rows_written=row.rows_written,
        bytes_written=row.bytes_written,
        status=Status(row.status),
        triggered_by=row.triggered_by,
        executed_by=row.executed_by,
        failure=_failure(row) if failed else None,
    )


def _fingerprint(row: Found) -> Fingerprint:
    return Fingerprint(
        row.sql_checksum, row.canonical_checksum, row.settings_checksum, row.layout_checksum
    )


def _failure(row: Found) -> StepFailure:
    return StepFailure(row.error_code, row.error_message, row.error_where, row.error_hint)


def _change(row: Found) -> WatermarkChange:
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
