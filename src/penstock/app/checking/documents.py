"""What checks said, as JSON: for `--json`, `to_json` and run reports (spec/checks.md §7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from penstock.core.check_results import CheckResult, GroupValue, InvariantReport, Sample
from penstock.core.masking import mask

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def invariants_document(report: InvariantReport) -> dict[str, Json]:
    """Give the results of both phases."""
    return {
        "before": [check_document(result) for result in report.before],
        "after": [check_document(result) for result in report.after],
    }


def check_document(result: CheckResult) -> dict[str, Json]:
    """Give all that one check said; cells of rows are there only where it may keep them."""
    return {
        "name": result.name,
        "type": result.type,
        "phase": str(result.phase),
        "severity": str(result.severity),
        "status": str(result.status),
        "message": mask(result.message),
        "details": mask(result.details) if result.details is not None else None,
        "partitions": result.partitions,
        "values": [_value(value) for value in result.values],
        "failures": result.failures,
        "sample": _sample(result.sample) if result.sample is not None else None,
        "error": result.error,
        "duration": result.duration,
        "scope": str(result.scope),
        "where": str(result.where) if result.where is not None else None,
    }


def _value(value: GroupValue) -> Json:
    return {
        "group": value.group,
        "status": str(value.status),
        "values": dict(value.values),
        "message": mask(value.message) or None,
        "details": mask(value.details) if value.details is not None else None,
        "failures": value.failures,
    }


def _sample(sample: Sample) -> Json:
    rows = [[None if cell is None else mask(cell) for cell in row] for row in sample.rows]
    return {"columns": sample.columns, "rows": rows}
