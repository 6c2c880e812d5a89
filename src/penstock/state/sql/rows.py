"""Values as rows and back; numbers that penstock assigns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Row,
    Select,
    Table,
    Text,
    func,
    insert,
    select,
    update,
)

from penstock.core.beside.hooks import GRANTS, HookMoment
from penstock.core.check_results import CheckRecord, CheckResult, Quarantine
from penstock.core.checks.check_type import CheckStatus
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Span
from penstock.core.query import TemplateRows
from penstock.core.records import HookRecord, Lease, Status, WatermarkChange
from penstock.core.steps.step import Intent, Outcome, RowCounts, StepFailure
from penstock.core.steps.token import pin_parts
from penstock.state.columns import (
    MaskedText,
    UtcTime,
    Value,
    counts,
    document,
    key,
    masked,
    texts,
    words,
)
from penstock.state.schema import (
    check_results,
    contents,
    fingerprints,
    leases,
    metadata,
    models,
    step_inputs,
    steps,
    watermarks,
)
from penstock.state.transitions.model_state import StoredStep

hook_results = Table(
    "hook_results",
    metadata,
    Column("run", Text, primary_key=True),  # no foreign key: `recover` runs hooks without a run
    Column("step", Text, primary_key=True),  # "" of the project's own; none if it never began
    Column("moment", Value(HookMoment), primary_key=True),
    key("number"),
    *texts("model"),
    *masked("text"),
    *words(status=Status),
    Column("run_timestamp", UtcTime, nullable=False),
    Column("started", UtcTime),  # NULL: it has not run yet
    *counts("duration_ms"),
    *texts("error_code", "error_message", "error_where", "error_hint", kind=MaskedText),
    Index(None, "moment", "status"),
    Index(None, "step"),
)

template_rows = Table(
    "template_rows",
    metadata,
    Column("key", Text, primary_key=True),  # the digest of the query
    document("rows", TemplateRows, needed=True),
)

Found = Row[Any]
Cells = dict[str, Any]
Spans = Mapping[str, tuple[Span, ...] | None]

# Fields by the columns in which they are.
_FINGERPRINT = {
    "version": "version",
    "revision": "revision",
    "effective_from": "effective_from",
    "sql_checksum": "sql",
    "canonical_checksum": "canonical",
    "settings_checksum": "settings",
    "layout_checksum": "layout",
    "schema_checksum": "schema",
    "yaml_checksum": "yaml",
    "parser_version": "parser",
}
_COUNTS = {f"rows_{field.name}": field.name for field in fields(RowCounts)}
FAILURE = {f"error_{field.name}": field.name for field in fields(StepFailure)}
# Fields that are called as their columns.
LEASE = tuple(column.name for column in leases.c)
_WATERMARK = ("input", "column", "value", "set_at", "step", "who", "why")
_RESULT = (
    *("name", "type", "message", "details", "failures", "error", "definition"),
    *("phase", "severity", "status", "scope", "values", "sample", "where"),
)
_STEP = ("status", "started", "executed_by", "lease_token", "ended", "duration_ms", "recovered")
_RECORD = ("run", "version", "started", "partitions")
QUARANTINE = ("uri", "table", "failed", "rows", "expires")

STATE = ("status", "step_seq", "last_step_seq", "commit_version", "settled_version", "executed_at")
STATE_COLUMNS = ("status", "fingerprint_id", *STATE[1:])
"""The columns that are equal within a run of partitions."""
FINGERPRINT_COLUMNS = tuple(fingerprints.c[name] for name in _FINGERPRINT)
_HOOK = (
    *("run", "step", "moment", "number", "model", "text", "status", "run_timestamp"),
    *("started", "duration_ms"),
)
FREE: Cells = {**dict.fromkeys(LEASE), "process": ""}
"""A free lease, except for its target and its last token."""
del FREE["target"], FREE["token"]


def state_of(row: Found) -> Cells:
    """Return the state of partitions, without their fingerprint."""
    return {**cells_of(row, STATE), "step_seq": row.step_seq or 0}


def cells_of(value: object, names: Sequence[str]) -> Cells:
    """Return fields that have the names of their columns."""
    return {name: getattr(value, name) for name in names}


def named_cells(row: Found, names: Sequence[str]) -> Cells:
    """Return cells of a row, including names that are also methods of rows: `values`, `table`."""
    cells = row._mapping  # noqa: SLF001  # public in spite of its name
    return {name: cells[name] for name in names}


def next_number(connection: Connection, column: Column[int]) -> int:
    """Return the number after the greatest one; only one transaction writes at a time."""
    return int(connection.scalar(select(func.max(column))) or 0) + 1


def model_id(connection: Connection, name: str) -> int:
    """Return a model's number; assign a new one if it has none."""
    found = connection.scalar(select(models.c.id).where(models.c.name == name))
    if found is not None:
        return int(found)
    number = next_number(connection, models.c.id)
    connection.execute(insert(models).values(id=number, name=name))
    return number


def fingerprint_id(connection: Connection, model: int, fingerprint: Fingerprint) -> int:
    """Return a fingerprint's number; assign a new one if the model never had it.

    Its schema is written as soon as its text is stored.
    """
    cells: Cells = {name: getattr(fingerprint, field) for name, field in _FINGERPRINT.items()}
    cells["version"] = str(fingerprint.version)
    cells["revision"] = str(fingerprint.revision or "")
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
    """Return the fingerprint in a row."""
    given = {field: getattr(row, name) for name, field in _FINGERPRINT.items()}
    numbers = {"version": int(row.version), "revision": int(row.revision or 0)}
    return Fingerprint(**{**given, **numbers})


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
            slice=intent.slice.name if intent.slice else None,
            intent=intent,
            **cells_of(intent, ("kind", "grid", "partitions", "reason")),
            run_date=intent.run_timestamp.date(),
            **step_cells(step),
        )
    )
    names = ("kind", "table_id", "pinned_version")
    rows = [
        {"step_seq": step.seq, "input": given.input, **dict(zip(names, parts, strict=True))}
        for given in intent.inputs
        for parts in [pin_parts(given.pin)]
    ]
    if rows:
        connection.execute(insert(step_inputs), rows)


def step_cells(step: StoredStep) -> Cells:
    """Return the cells of a step that are not in its intent, and its name, which may change."""
    failure, outcome = step.failure, step.outcome
    cells: Cells = {
        "id": step.intent.step,
        **cells_of(step, _STEP),
        "undone_by": step.undone_by or None,
        "checked": step.verdict,
        "pending": step.pending or None,
        **{name: getattr(failure, field) if failure else "" for name, field in FAILURE.items()},
    }
    if outcome is None:
        return cells
    return {
        **cells,
        "table_id": outcome.table_id,
        "commit_version": outcome.version,
        "settled_version": outcome.settled_version,
        "rows_written": outcome.rows.written,
        **{name: getattr(outcome.rows, field) for name, field in _COUNTS.items()},
        "bytes_written": outcome.bytes_written,
        "metrics": outcome.metrics,
    }


def step_of(row: Found, intent: Intent | None = None) -> StoredStep:
    """Return the step in a row; a step that was given up has another name than its intent.

    `intent` replaces the one in the row. A step that failed its checks has an outcome too.
    """
    given = intent or row.intent
    return StoredStep(
        intent=given if given.step == row.id else replace(given, step=row.id),
        **cells_of(row, _STEP),
        outcome=None if row.table_id is None else _outcome(row),
        failure=failure_of(row) if row.status in (Status.FAILED, Status.SKIPPED) else None,
        verdict=row.checked,
        pending=row.pending or (),
        undone_by=row.undone_by or 0,
    )


def failure_of(row: Found) -> StepFailure:
    """Return the failure of a step."""
    return StepFailure(**{field: getattr(row, name) for name, field in FAILURE.items()})


def _outcome(row: Found) -> Outcome:
    return Outcome(
        version=row.commit_version,
        table_id=row.table_id,
        settled_version=row.settled_version,
        rows=RowCounts(**{field: getattr(row, name) for name, field in _COUNTS.items()}),
        bytes_written=row.bytes_written,
        metrics=row.metrics,
        duration_ms=row.duration_ms,
    )


def insert_watermark(connection: Connection, change: WatermarkChange) -> None:
    """Append one change of a watermark."""
    number, model = next_number(connection, watermarks.c.id), model_id(connection, change.model)
    cells = cells_of(change, _WATERMARK)
    connection.execute(insert(watermarks).values(id=number, model_id=model, **cells))


def watermark_of(row: Found) -> WatermarkChange:
    """Return the change of a watermark in a row that contains its model's `name`."""
    return WatermarkChange(row.name, **cells_of(row, _WATERMARK))


def lease_of(row: Found) -> Lease:
    """Return the lease in a row."""
    return Lease(**cells_of(row, LEASE))


def insert_results(
    connection: Connection, model: int, step_seq: int | None, records: Sequence[CheckRecord]
) -> None:
    """Write check results of the same time."""
    batch = next_number(connection, check_results.c.batch)
    rows = [
        {
            "batch": batch,
            "number": number,
            **cells_of(record, _RECORD),
            "step_seq": step_seq,
            "model_id": model,
            **_result_cells(record.result),
        }
        for number, record in enumerate(records, 1)
    ]
    if rows:
        connection.execute(insert(check_results), rows)


def check_record_of(row: Found) -> CheckRecord:
    """Return the entry of the history of checks in a row with `step` and `model`."""
    result = CheckResult(
        **named_cells(row, _RESULT),
        partitions=row.partitions if row.status is CheckStatus.FAILED else (),
        duration=row.duration_us / 1_000_000,
    )
    return CheckRecord(
        model=row.model, step=row.step or "", result=result, **cells_of(row, _RECORD)
    )


def _result_cells(result: CheckResult) -> Cells:
    return {**cells_of(result, _RESULT), "duration_us": round(result.duration * 1_000_000)}


def quarantine_of(row: Found) -> Quarantine:
    """Return the quarantine in a row with `step` and `model`."""
    return Quarantine(step=row.step, model=row.model, **named_cells(row, QUARANTINE))


def hook_cells(hook: HookRecord) -> Cells:
    """Return the row of a hook."""
    failure = hook.failure
    errors = {column: getattr(failure, name) if failure else "" for column, name in FAILURE.items()}
    return {**cells_of(hook, _HOOK), **errors}


def due_hooks() -> Select[Any]:
    """Return the query for hooks that are to run after recorded steps."""
    hook = hook_results.c
    found = select(hook_results).join(steps, steps.c.id == hook.step)
    found = found.where(
        hook.moment == HookMoment.AFTER,
        hook.status.in_((Status.RUNNING, Status.FAILED)),
        steps.c.status == Status.SUCCESS,
        steps.c.undone_by.is_(None),
        steps.c.pending.is_(None),
    )
    return found.order_by(steps.c.step_seq, hook.number)


def last_grants() -> Select[Any]:
    """Return the query for the grants that ran last of each model."""
    hook = hook_results.c
    grants = hook.moment == HookMoment.AFTER, hook.text.startswith(GRANTS)
    last = select(hook.model, func.max(hook.started).label("started")).where(*grants)
    newest = last.group_by(hook.model).subquery()
    is_newest = (hook.model == newest.c.model) & (hook.started == newest.c.started)
    return select(hook_results).join(newest, is_newest).where(*grants)


def hook_of(row: Found) -> HookRecord:
    """Return a hook from its row."""
    failure = failure_of(row)
    return HookRecord(**cells_of(row, _HOOK), failure=failure if failure.code else None)
