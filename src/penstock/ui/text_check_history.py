"""What `history --checks` prints."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.check_results import CheckRecord
from penstock.core.masking import mask
from penstock.ui.text_partitions import WHOLE, ranges_text
from penstock.ui.text_table import table
from penstock.ui.text_values import moment

_COLUMNS = ("started", "phase", "check", "status", "severity", "by", "message")
_RANGE = ".."


def check_history_text(records: Sequence[CheckRecord], *, verbose: bool = False) -> str:
    """Give one row per result, newest first; with `verbose` its step, or its run without one."""
    if not records:
        return "no results of checks"
    found = [_cells(record) for record in records]
    columns = [name for name in _COLUMNS if name != "by" or verbose]
    if any(cells["partitions"] for cells in found):
        columns.insert(1, "partitions")
    return table(columns, [[cells[name] for name in columns] for cells in found])


def _cells(record: CheckRecord) -> dict[str, str]:
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
    first, _, last = text.partition(_RANGE)
    return first, last or first
