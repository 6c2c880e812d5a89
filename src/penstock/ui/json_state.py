"""What the state holds, and the machine, as JSON: `watermark`, `query`, `recover`, `doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.app.rebuild import RebuildReport
from penstock.app.recover import Recovery
from penstock.app.watermarks import WatermarkReport
from penstock.core.engine_ports import QueryResult
from penstock.core.records import WatermarkChange
from penstock.ui.json_document import Json, instant
from penstock.ui.json_errors import error_document

if TYPE_CHECKING:
    from penstock.app.doctor import DoctorReport


def watermarks_document(report: WatermarkReport) -> Json:
    """Give the watermarks that are set; with their history where it was asked for."""
    document = {"watermarks": [_change(change) for change in report.current]}
    if report.history is not None:
        document["history"] = [_change(change) for change in report.history]
    return document


def changes_document(changes: Sequence[WatermarkChange]) -> Json:
    """Give what was changed by hand."""
    return {"changed": [_change(change) for change in changes]}


def query_document(result: QueryResult) -> Json:
    """Give every value as text, null for NULL."""
    return {
        "columns": result.columns,
        "rows": result.rows,
        "truncated": result.truncated,
    }


def recovered_document(found: Recovery) -> Json:
    """Give what became of each step that a crash had left open, and what could not be settled."""
    return {
        "recovered": [
            {"step": one.step, "model": one.model, "version": one.version} for one in found.steps
        ],
        "stuck": [
            {"model": name, "error": error_document(error)} for name, error in found.stuck.items()
        ],
    }


def rebuild_document(report: RebuildReport) -> Json:
    """Give what was written anew from the tables' logs."""
    return {"steps": report.steps, "models": report.models, "untold": report.untold}


def doctor_document(report: DoctorReport) -> Json:
    """Give every check."""
    return {
        "healthy": report.healthy,
        "checks": [
            {
                "name": check.name,
                "health": str(check.health),
                "message": check.says,
                "hint": check.hint or None,
            }
            for check in report.checks
        ],
    }




def files_document(made: tuple[str, Sequence[str]]) -> Json:
    """Give the files that were made in a folder."""
    folder, files = made
    return {"folder": folder, "files": files}




def _change(change: WatermarkChange) -> Json:
    type_, _, value = (change.value or "").partition(" ")
    return {
        "model": change.model,
        "input": change.input,
        "column": change.column,
        "type": type_ or None,
        "value": None if change.value is None else value,
        "set_at": instant(change.set_at),
        "step": change.step or None,
        "who": change.who or None,
        "why": change.why or None,
    }
