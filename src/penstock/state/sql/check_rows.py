"""What checks said, as rows and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import Connection, Row, insert

from penstock.core.check_results import CheckRecord, CheckResult, CheckStatus, Quarantine
from penstock.core.checks import CheckScope, Phase
from penstock.core.findings import Location, Severity
from penstock.state.schema import check_results, quarantines
from penstock.state.sql.rows import next_number
from penstock.state.transitions.check_history import read_sample, read_value
from penstock.state.transitions.verdict import (
    read_numbers,
    write_numbers,
)

Found = Row[tuple[object, ...]]


def insert_results(
    connection: Connection, model: int, step_seq: int | None, records: Sequence[CheckRecord]
) -> None:
    """Write records that were made together."""
    batch = next_number(connection, check_results.c.batch)
    rows = [
        {
            "batch": batch,
            "number": number,
            "run": record.run,
            "step_seq": step_seq,
            "model_id": model,
            "partitions": ",".join(record.partitions),
            "version": record.version,
            "started": record.started,
            **_cells(record.result),
        }
        for number, record in enumerate(records, 1)
    ]
    if rows:
        connection.execute(insert(check_results), rows)


def insert_quarantine(
    connection: Connection, model: int, step_seq: int, quarantine: Quarantine
) -> None:
    """Write where the rows are that a step did not publish."""
    connection.execute(
        insert(quarantines).values(
            step_seq=step_seq,
            model_id=model,
            uri=quarantine.uri,
            table=quarantine.table,
            failed=write_numbers(quarantine.failed),
            rows=quarantine.rows,
            expires=quarantine.expires,
        )
    )


def quarantine_of(row: Found) -> Quarantine:
    """Read where rows are kept; `step` and `model` are named in the row."""
    cells = row._mapping  # noqa: SLF001  # public in spite of its name; `rows` and `table` are taken
    return Quarantine(
        step=row.step,
        model=row.model,
        uri=row.uri,
        table=cells["table"],
        failed=read_numbers(row.failed),
        rows=cells["rows"],
        expires=row.expires,
    )


def record_of(row: Found) -> CheckRecord:
    """Read a row of the history of checks; `step` and `model` are named in it."""
    return CheckRecord(
        model=row.model,
        step=row.step or "",
        run=row.run,
        result=_result(row),
        partitions=_words(row.partitions),
        version=row.version,
        started=row.started,
    )


def _cells(result: CheckResult) -> Mapping[str, object]:
    place = result.where
    return {
        "phase": str(result.phase),
        "name": result.name,
        "type": result.type,
        "severity": str(result.severity),
        "status": str(result.status),
        "message": result.message,
        "details": result.details,
        "values": _json([asdict(value) for value in result.values]),
        "failures": result.failures,
        "sample": None if result.sample is None else _json(asdict(result.sample)),
        "error": result.error,
        "scope": str(result.scope),
        "definition": result.definition,
        "duration_us": round(result.duration * 1_000_000),
        "where": None if place is None else _json([place.path, place.line, place.column]),
    }


def _result(row: Found) -> CheckResult:
    cells = row._mapping  # noqa: SLF001  # public in spite of its name; `values` is taken
    status = CheckStatus(row.status)
    return CheckResult(
        name=row.name,
        type=row.type,
        phase=Phase(row.phase),
        severity=Severity(row.severity),
        status=status,
        message=row.message,
        details=row.details,
        partitions=_words(row.partitions) if status is CheckStatus.FAILED else (),
        values=tuple(read_value(each) for each in json.loads(cells["values"])),
        failures=row.failures,
        sample=None if row.sample is None else read_sample(json.loads(row.sample)),
        error=row.error,
        duration=row.duration_us / 1_000_000,
        definition=row.definition,
        scope=CheckScope(row.scope),
        where=None if cells["where"] is None else Location(*json.loads(cells["where"])),
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
