"""What `audit` prints."""

from __future__ import annotations

from penstock.app.reports import AuditReport, AuditRow
from penstock.core.masking import mask
from penstock.ui.text_diff import sql_diff_text
from penstock.ui.text_partitions import partitions_text
from penstock.ui.text_table import table
from penstock.ui.text_values import day

_SHOWN = 30
_SIGNS = {
    "current": "✓",
    "modified": "⚠",
    "cosmetic": "~",
    "never_executed": "○",
    "deleted": "✗",
}


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
    if len(words) == 1 or len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}…"


def _changes(row: AuditRow) -> str:
    head = f"{row.model} {row.label}: {partitions_text(sum(diff.count for diff in row.diffs))}"
    many = len(row.diffs) > 1
    blocks = [
        sql_diff_text(diff, of=partitions_text(diff.count) if many else "") for diff in row.diffs
    ]
    return "\n\n".join([head, *blocks])
