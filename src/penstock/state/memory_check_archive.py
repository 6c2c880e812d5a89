"""Checks of the memory store as parts of its document."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, fields
from typing import Any

from penstock.core.check_results import CheckRecord, CheckResult, CheckStatus, Quarantine
from penstock.core.checks import CheckScope, Phase
from penstock.core.findings import Location, Severity
from penstock.state.check_rules import read_sample, read_value
from penstock.state.memory_tables import MemoryEvent, MemoryQuarantine, MemoryTables

Json = Any  # what json gives; it does not leave this file


def write_checks(tables: MemoryTables) -> dict[str, list[Json]]:
    """Give the tables of a document that tell of checks; times are still times."""
    kept = sorted(tables.quarantines.items())
    return {
        "results": [
            {"batch": batch, **asdict(record)}
            for batch, records in enumerate(tables.results)
            for record in records
        ],
        "quarantines": [asdict(quarantine) for _, quarantine in kept],
        "events": [asdict(event) for event in tables.events],
    }


def read_results(rows: Json) -> list[tuple[CheckRecord, ...]]:
    """Read the records of checks as they were recorded together."""
    batches: dict[int, list[CheckRecord]] = {}
    for row in rows:
        batches.setdefault(row["batch"], []).append(_read_record(row))
    return [tuple(records) for _, records in sorted(batches.items())]


def read_quarantines(rows: Json) -> dict[str, MemoryQuarantine]:
    """Read what was kept, by step."""
    found = {}
    for row in rows:
        kept = row["kept"]
        failed = tuple((low, high) for low, high in kept["failed"])
        expires = dt.datetime.fromisoformat(kept["expires"])
        quarantine = Quarantine(**{**kept, "failed": failed, "expires": expires})
        found[quarantine.step] = MemoryQuarantine(quarantine, _time(row["dropped"]))
    return found


def read_events(rows: Json) -> list[MemoryEvent]:
    """Read what changed records without a step."""
    return [
        MemoryEvent(
            **{
                **row,
                "at": dt.datetime.fromisoformat(row["at"]),
                "closes": tuple((step_seq, number) for step_seq, number in row["closes"]),
            }
        )
        for row in rows
    ]


def _read_record(row: Json) -> CheckRecord:
    read = {field.name: row[field.name] for field in fields(CheckRecord)}
    started = dt.datetime.fromisoformat(row["started"])
    partitions, result = tuple(row["partitions"]), _read_result(row["result"])
    return CheckRecord(**{**read, "result": result, "partitions": partitions, "started": started})


def _read_result(row: Json) -> CheckResult:
    read = {
        "phase": Phase(row["phase"]),
        "severity": Severity(row["severity"]),
        "status": CheckStatus(row["status"]),
        "partitions": tuple(row["partitions"]),
        "values": tuple(read_value(value) for value in row["values"]),
        "sample": read_sample(row["sample"]) if row["sample"] else None,
        "scope": CheckScope(row["scope"]),
        "where": Location(**row["where"]) if row["where"] else None,
    }
    return CheckResult(**{**row, **read})


def _time(text: str | None) -> dt.datetime | None:
    return None if text is None else dt.datetime.fromisoformat(text)
