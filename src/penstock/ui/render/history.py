"""What `history`, `audit` and `rollback` print: what was run, and by which code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.app.checking.results import check_document
from penstock.app.reports import AuditReport, AuditRow, HistoryReport, HistoryRow
from penstock.core.check_results import CheckRecord
from penstock.core.masking import mask
from penstock.ui.render.diff import RULE, diff_document, diffs_text
from penstock.ui.render.document import Json, instant
from penstock.ui.render.run import ABORTED
from penstock.ui.render.values import WHOLE, day, moment, partitions_text, ranges_text, table

if TYPE_CHECKING:
    from penstock.app.commands.rollback import RollbackReport

_CHECKSUM = 6
_SOURCE = 30
_CHECK_COLUMNS = ("started", "phase", "check", "status", "severity", "by", "message")
_SIGNS = {
    "current": "✓",
    "modified": "⚠",
    "cosmetic": "~",
    "never_executed": "○",
    "deleted": "✗",
}


def history_text(report: HistoryReport, *, verbose: bool = False) -> str:
    """Give one row per execution, newest first; with `verbose` its step, which `rollback` takes.

    Full texts of SQL stand below where they were asked for.
    """
    if not report.rows:
        return f"no executions of {report.model} {report.partition}".rstrip()
    of_many = not report.partition and any(row.execution.partition != "*" for row in report.rows)
    columns = ["executed_at"]
    columns += ["partition"] * of_many
    columns += ["version", "sql_checksum", "status", "triggered_by"]
    columns += ["step"] * verbose
    found = [_cells(row) for row in report.rows]
    rows = [[cells[column] for column in columns] for cells in found]
    return "\n".join([table(columns, rows), *_texts(report)])


def _cells(row: HistoryRow) -> dict[str, str]:
    one = row.execution
    return {
        "executed_at": moment(one.executed_at),
        "partition": one.partition,
        "version": one.fingerprint.label.removeprefix("v"),
        "sql_checksum": one.fingerprint.sql[:_CHECKSUM],
        "status": str(one.status),
        "triggered_by": f"{one.triggered_by}{_beside(row)}",
        "step": one.step or "-",
    }


def _beside(row: HistoryRow) -> str:
    said = ["reverted"] * row.reverted + ["--skip-checks"] * row.skipped_checks
    return f" ({', '.join(said)})" if said else ""


def _texts(report: HistoryReport) -> Iterator[str]:
    for row in report.rows:
        if row.sql:
            cells = _cells(row)
            names = ("executed_at", "partition", "version", "sql_checksum")
            yield "\n".join(
                ["", "  ".join(cells[name] for name in names), RULE, mask(row.sql), RULE]
            )


def check_history_text(records: Sequence[CheckRecord], *, verbose: bool = False) -> str:
    """Give one row per result, newest first; with `verbose` its step, or its run without one."""
    if not records:
        return "no results of checks"
    found = [_check_cells(record) for record in records]
    columns = [name for name in _CHECK_COLUMNS if name != "by" or verbose]
    if any(cells["partitions"] for cells in found):
        columns.insert(1, "partitions")
    return table(columns, [[cells[name] for name in columns] for cells in found])


def _check_cells(record: CheckRecord) -> dict[str, str]:
    result = record.result
    keys = tuple(_ends(text) for text in record.partitions)
    details = f" [{result.details}]" if result.details else ""
    return {
        "started": moment(record.started),
        "partitions": "" if keys == WHOLE else ranges_text(keys),
        "phase": str(result.phase),
        "check": result.name,
        "status": str(result.status),
        "severity": str(result.severity),
        "by": f"step {record.step}" if record.step else f"check {record.run}",
        "message": mask(f"{result.message}{details}"),
    }


def _ends(text: str) -> tuple[str, str]:
    """Read `2024-12-01..2024-12-03`, or one key."""
    first, _, last = text.partition("..")
    return first, last or first


def audit_text(report: AuditReport, *, modified_only: bool = False) -> str:
    """Give one row per version and revision, then the changes of SQL that were asked for."""
    if not report.rows:
        return "No version is modified." if modified_only else "no versions"
    header = ["query", "version", "source", "status", "partitions", "executed"]
    shown = table(header, [_row(row) for row in report.rows])
    blocks = [_changes(row) for row in report.rows if row.diffs]
    return "\n\n".join([shown, *blocks])


def _row(row: AuditRow) -> list[str]:
    executed = "-" if row.first is None else f"{day(row.first)} to {day(row.last or row.first)}"
    status = f"{_SIGNS[row.status]} {row.status}"
    return [row.model, row.label, _source(row.source), status, f"{row.partitions:,}", executed]


def _source(source: str) -> str:
    """Give a file as it is, inline SQL by its beginning."""
    words = source.split()
    text = mask(" ".join(words))
    if len(words) == 1 or len(text) <= _SOURCE:
        return text
    return f"{text[:_SOURCE]}…"


def _changes(row: AuditRow) -> str:
    head = f"{row.model} {row.label}: {partitions_text(sum(diff.count for diff in row.diffs))}"
    return diffs_text(head, row.diffs, lambda diff: partitions_text(diff.count))


def rollback_text(report: RollbackReport) -> str:
    """Say which partitions went back to which version, and what drifts because of it."""
    return ABORTED if report.aborted else "\n".join(_lines(report))


def _lines(report: RollbackReport) -> Iterator[str]:
    done = "would be restored" if report.dry_run else "restored"
    yield (
        f"{report.model}: {done} to version {report.version}, before step {report.step} "
        f"({partitions_text(report.count)})"
    )
    yield f"    {ranges_text(report.partitions)}"
    if report.deleted:
        yield f"    {partitions_text(report.deleted)} without an earlier success: records deleted"
    yield from map(mask, report.lines)
    yield "Nothing was done." if report.dry_run else "Next: penstock status"


def history_document(report: HistoryReport) -> Json:
    """Give every execution, newest first; `sql` is null where it was not asked for."""
    return {
        "command": "history",
        "model": report.model,
        "partition": report.partition or None,
        "executions": [_execution(row) for row in report.rows],
    }


def audit_document(report: AuditReport) -> Json:
    """Give every version and revision in the files or on record."""
    return {"command": "audit", "versions": [_version(row) for row in report.rows]}


def rollback_document(report: RollbackReport) -> Json:
    """Give what was restored; `committed` is null if nothing was written."""
    return {
        "command": "rollback",
        "model": report.model,
        "step": report.step,
        "restored_to": report.version,
        "ranges": report.partitions,
        "count": report.count,
        "deleted": report.deleted,
        "committed": report.committed,
        "dry_run": report.dry_run,
        "aborted": report.aborted,
        "lines": report.lines,
    }


def _execution(row: HistoryRow) -> Json:
    one = row.execution
    return {
        "executed_at": instant(one.executed_at),
        "partition": one.partition,
        "version": one.fingerprint.version,
        "revision": one.fingerprint.revision or None,
        "sql_checksum": one.fingerprint.sql,
        "status": str(one.status),
        "reverted": row.reverted,
        "skipped_checks": row.skipped_checks,
        "triggered_by": one.triggered_by,
        "executed_by": one.executed_by,
        "step": one.step or None,
        "rows_written": one.rows_written,
        "bytes_written": one.bytes_written,
        "duration": one.duration_ms / 1000,
        "error": _failure(row),
        "sql": row.sql or None,
    }


def _failure(row: HistoryRow) -> Json:
    failure = row.execution.failure
    return {"code": failure.code, "message": failure.message} if failure else None


def _version(row: AuditRow) -> Json:
    return {
        "model": row.model,
        "version": row.version,
        "revision": row.revision or None,
        "source": row.source,
        "status": row.status,
        "partitions": row.partitions,
        "first": instant(row.first),
        "last": instant(row.last),
        "diffs": [diff_document(diff) for diff in row.diffs],
    }


def check_history_document(model: str, records: Sequence[CheckRecord]) -> Json:
    """Give results of a model's checks, newest first; `step` is null for `penstock check`."""
    return {
        "command": "history",
        "model": model,
        "checks": [
            {
                "started": instant(record.started),
                "step": record.step or None,
                "run": record.run,
                "groups": record.partitions,
                "version": record.version,
                **check_document(record.result),
            }
            for record in records
        ],
    }
