"""What `history` prints."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.app.reports import HistoryReport, HistoryRow
from penstock.core.masking import mask
from penstock.ui.text_diff import RULE
from penstock.ui.text_table import table
from penstock.ui.text_values import moment

_CUT = 6
_WHOLE = "*"


def history_text(report: HistoryReport, *, verbose: bool = False) -> str:
    """Give one row per execution, newest first; with `verbose` its step, which `rollback` takes.

    Full texts of SQL stand below where they were asked for.
    """
    if not report.rows:
        return f"no executions of {report.model} {report.partition}".rstrip()
    of_many = not report.partition and any(row.execution.partition != _WHOLE for row in report.rows)
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
        "sql_checksum": one.fingerprint.sql[:_CUT],
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
