"""What was run and by which code, as JSON: `history`, `audit`, `rollback`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.app.drift_reports import AuditReport, AuditRow, HistoryReport, HistoryRow
from penstock.ui.json_document import Json, instant
from penstock.ui.json_diff import diff_document

if TYPE_CHECKING:
    from penstock.app.rolling_back import RollbackReport


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
