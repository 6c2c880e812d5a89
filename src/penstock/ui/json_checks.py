"""What checks said, as JSON: `check` and `history --checks`."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.app.checking.reports import AcceptReport, CheckReport, check_document
from penstock.core.check_results import CheckRecord
from penstock.core.errors import PenstockError
from penstock.ui.json_document import Json, instant
from penstock.ui.json_errors import error_document


def checks_document(report: CheckReport, error: PenstockError | None = None) -> Json:
    """Give every result; `error` is there where nothing was evaluated."""
    return {**report.document(), "error": error_document(error) if error else None}


def accept_document(report: AcceptReport) -> Json:
    """Give the flags that were closed and the quarantines that were dropped."""
    return {
        "command": "check",
        "accepted": [
            {
                "step": flag.step,
                "model": flag.model,
                "partition": flag.partition,
                "checks": flag.checks,
                "opened": instant(flag.opened),
                "version": flag.version,
            }
            for flag in report.flags
        ],
        "dropped": [
            {
                "step": each.step,
                "model": each.model,
                "table": each.table,
                "rows": each.rows,
                "expires": instant(each.expires),
            }
            for each in report.quarantines
        ],
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
