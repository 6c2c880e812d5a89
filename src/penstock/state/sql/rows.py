"""Values as rows and back; numbers that penstock gives."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from sqlalchemy import Column, Connection, Row, func, insert, select, update

from penstock.core.check_results import CheckRecord, CheckResult, Quarantine, Sample
from penstock.core.check_type import CheckStatus, GroupValue
from penstock.core.checks import CheckScope, OnFailure, Phase
from penstock.core.findings import Location, Severity
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Span, write_grid
from penstock.core.partitions.ranges import Ranges
from penstock.core.records import Lease, Status, WatermarkChange
from penstock.core.sessions.manifest import EventCounts, PassEvents
from penstock.core.steps.step import Outcome, RowCounts, StepFailure
from penstock.core.steps.token import pin_parts, read_intent, write_intent
from penstock.state.schema import (
    check_results,
    contents,
    fingerprints,
    leases,
    models,
    step_inputs,
    steps,
    watermarks,
)
from penstock.state.transitions.model_state import RecordedChecks, StoredStep

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
_RESULT = ("name", "type", "message", "details", "failures", "error", "definition")
_RESULT_WORDS: Mapping[str, Callable[[str], Any]] = {
    "phase": Phase,
    "severity": Severity,
    "status": CheckStatus,
    "scope": CheckScope,
}
_STEP = ("started", "executed_by", "lease_token", "ended", "duration_ms", "recovered")
_RECORD = ("run", "version", "started")
QUARANTINE = ("uri", "table", "rows", "expires")

STATE_COLUMNS = (
    "status",
    "fingerprint_id",
    "step_seq",
    "last_step_seq",
    "commit_version",
    "settled_version",
    "executed_at",
)
"""What is the same of neighbouring partitions of which the same is known."""
FINGERPRINT_COLUMNS = tuple(fingerprints.c[name] for name in _FINGERPRINT)
FREE: Cells = {**dict.fromkeys(LEASE), "process": ""}
"""A lease that nobody has, but for its target and its last token."""
del FREE["target"], FREE["token"]


def state_of(row: Found) -> Cells:
    """Read what is known of partitions, all but their fingerprint."""
    cells = cells_of(row, ("last_step_seq", "commit_version", "settled_version", "executed_at"))
    return {**cells, "status": Status(row.status), "step_seq": row.step_seq or 0}


def as_json(value: object) -> str:
    """Return a value as one line of JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def cells_of(value: object, names: Sequence[str]) -> Cells:
    """Return fields that are called as their columns."""
    return {name: getattr(value, name) for name in names}


def next_number(connection: Connection, column: Column[int]) -> int:
    """Return the number after the greatest one; writing transactions come one at a time."""
    return int(connection.scalar(select(func.max(column))) or 0) + 1


def model_id(connection: Connection, name: str) -> int:
    """Return a model's number, a new one if it has none."""
    found = connection.scalar(select(models.c.id).where(models.c.name == name))
    if found is not None:
        return int(found)
    number = next_number(connection, models.c.id)
    connection.execute(insert(models).values(id=number, name=name))
    return number


def fingerprint_id(connection: Connection, model: int, fingerprint: Fingerprint) -> int:
    """Return a fingerprint's number, a new one if the model never had it.

    Its schema is written as soon as the text of it is stored.
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
    """Read the columns of a fingerprint."""
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
            kind=str(intent.kind),
            slice=intent.slice.name if intent.slice else None,
            grid=write_grid(intent.grid),
            partitions=",".join(intent.partitions),
            intent=write_intent(intent),
            reason=intent.reason,
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
    """Return the cells of a step that are not its intent's, its name among them: it may change."""
    failure, outcome = step.failure, step.outcome
    cells: Cells = {
        "id": step.intent.step,
        "status": str(step.status),
        **cells_of(step, _STEP),
        "undone_by": step.undone_by or None,
        "checked": as_json(asdict(step.verdict)) if step.verdict else None,
        "pending": as_json(step.pending) if step.pending else None,
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
        "metrics": json.dumps(dict(outcome.metrics), sort_keys=True, separators=(",", ":")),
    }


def step_of(row: Found) -> StoredStep:
    """Read a step; one that was given up has another name than its intent.

    One that failed by its checks has an outcome too.
    """
    return StoredStep(
        intent=replace(read_intent(row.intent), step=row.id),
        **cells_of(row, _STEP),
        status=Status(row.status),
        outcome=None if row.table_id is None else _outcome(row),
        failure=failure_of(row) if row.status in (Status.FAILED, Status.SKIPPED) else None,
        verdict=read_verdict(json.loads(row.checked)) if row.checked else None,
        pending=read_ranges(json.loads(row.pending)) if row.pending else (),
        undone_by=row.undone_by or 0,
    )


def failure_of(row: Found) -> StepFailure:
    """Read why a step failed."""
    return StepFailure(**{field: getattr(row, name) for name, field in FAILURE.items()})


def _outcome(row: Found) -> Outcome:
    return Outcome(
        version=row.commit_version,
        table_id=row.table_id,
        settled_version=row.settled_version,
        rows=RowCounts(**{field: getattr(row, name) for name, field in _COUNTS.items()}),
        bytes_written=row.bytes_written,
        metrics=json.loads(row.metrics),
        duration_ms=row.duration_ms,
    )


def read_verdict(document: Mapping[str, Any]) -> RecordedChecks:
    """Read what the checks of a step decided."""
    failure = document["failure"]
    return RecordedChecks(
        mode=OnFailure(document["mode"]),
        version=document["version"],
        failure=StepFailure(**failure) if failure else None,
        failed=read_ranges(document["failed"]),
        gates=tuple((name, read_ranges(failed)) for name, failed in document["gates"]),
    )


def read_ranges(found: list[list[int]]) -> Ranges:
    """Read ranges from their bounds."""
    return tuple((low, high) for low, high in found)


def read_spans(written: Mapping[str, list[list[int]] | None]) -> Spans:
    """Read the spans of a commit by column; None stands for all that there are."""
    return {name: None if found is None else read_ranges(found) for name, found in written.items()}


def insert_watermark(connection: Connection, change: WatermarkChange) -> None:
    """Append one change of a watermark."""
    number, model = next_number(connection, watermarks.c.id), model_id(connection, change.model)
    cells = cells_of(change, _WATERMARK)
    connection.execute(insert(watermarks).values(id=number, model_id=model, **cells))


def watermark_of(row: Found) -> WatermarkChange:
    """Read a change of a watermark; its model's `name` is in the row."""
    return WatermarkChange(row.name, **cells_of(row, _WATERMARK))


def lease_of(row: Found) -> Lease:
    """Read a lease that somebody holds."""
    return Lease(**cells_of(row, LEASE))


def insert_results(
    connection: Connection, model: int, step_seq: int | None, records: Sequence[CheckRecord]
) -> None:
    """Write what checks said, together."""
    batch = next_number(connection, check_results.c.batch)
    rows = [
        {
            "batch": batch,
            "number": number,
            **cells_of(record, _RECORD),
            "step_seq": step_seq,
            "model_id": model,
            "partitions": ",".join(record.partitions),
            **_result_cells(record.result),
        }
        for number, record in enumerate(records, 1)
    ]
    if rows:
        connection.execute(insert(check_results), rows)


def check_record_of(row: Found) -> CheckRecord:
    """Read a row of the history of checks; `step` and `model` are named in it."""
    partitions = tuple(row.partitions.split(",")) if row.partitions else ()
    return CheckRecord(
        model=row.model,
        step=row.step or "",
        result=_result(row, partitions),
        partitions=partitions,
        **cells_of(row, _RECORD),
    )


def _result_cells(result: CheckResult) -> Cells:
    place = result.where
    return {
        **cells_of(result, _RESULT),
        **{name: str(getattr(result, name)) for name in _RESULT_WORDS},
        "values": as_json([asdict(value) for value in result.values]),
        "sample": None if result.sample is None else as_json(asdict(result.sample)),
        "duration_us": round(result.duration * 1_000_000),
        "where": None if place is None else as_json([place.path, place.line, place.column]),
    }


def _result(row: Found, partitions: tuple[str, ...]) -> CheckResult:
    cells = row._mapping  # noqa: SLF001  # public in spite of its name; `values` is taken
    return CheckResult(
        **{name: cells[name] for name in _RESULT},
        **{name: kind(cells[name]) for name, kind in _RESULT_WORDS.items()},
        partitions=partitions if row.status == CheckStatus.FAILED else (),
        values=read_values(json.loads(cells["values"])),
        sample=None if row.sample is None else read_sample(json.loads(row.sample)),
        duration=row.duration_us / 1_000_000,
        where=None if cells["where"] is None else Location(*json.loads(cells["where"])),
    )


def read_events(document: Mapping[str, Any]) -> PassEvents:
    """Read what is known of the events of a pass."""
    newest = document["greatest"]
    return PassEvents(
        greatest=dt.datetime.fromisoformat(newest) if newest else None,
        later_events=document["later_events"],
        window=EventCounts(**document["window"]),
        history=EventCounts(**document["history"]),
        behind=document["behind"],
    )


def write_events(events: PassEvents) -> str:
    """Write what `read_events` reads."""
    newest = events.greatest.isoformat() if events.greatest else None
    return as_json({**asdict(events), "greatest": newest})


def read_values(documents: Sequence[Mapping[str, Any]]) -> tuple[GroupValue, ...]:
    """Read what was measured of groups from the fields of their values."""

    def read(document: Mapping[str, Any]) -> GroupValue:
        grave = document.get("severity")
        kinds = {"status": CheckStatus(document["status"]), "severity": grave and Severity(grave)}
        return GroupValue(**{**document, **kinds})

    return tuple(map(read, documents))


def read_sample(document: Mapping[str, Any]) -> Sample:
    """Read a sample from its fields."""
    return Sample(tuple(document["columns"]), tuple(tuple(row) for row in document["rows"]))


def quarantine_of(row: Found) -> Quarantine:
    """Read where rows are kept; `step` and `model` are named in the row."""
    cells = row._mapping  # noqa: SLF001  # public in spite of its name; `rows` and `table` are taken
    given = {name: cells[name] for name in QUARANTINE}
    return Quarantine(
        step=row.step, model=row.model, failed=read_ranges(json.loads(row.failed)), **given
    )
