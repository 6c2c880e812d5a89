"""s."""

from __future__ import annotations

from penstock.app.drift_reports import DiffReport, ModelDiff, SqlDiff
from penstock.ui.json_document import Json, instant
from penstock.ui.text_diff import changed_lines


def differences_document(report: DiffReport, *, context: int = 0) -> Json:
    """Give both texts of every pair, and the lines that differ."""
    return {
        "command": "diff",
        "run_timestamp": instant(report.run_timestamp),
        "models": [model_diff_document(model, context) for model in report.models],
    }


def diff_document(diff: SqlDiff, context: int = 0) -> Json:
    """Give one pair of texts with the partitions it is for."""
    return {
        "version": diff.version,
        "ranges": diff.partitions,
        "count": diff.count,
        "before": diff.before,
        "after": diff.after,
        "diff": changed_lines(diff.before, diff.after, context),
        "cosmetic": diff.cosmetic,
        "schema": diff.schema,
    }


def model_diff_document(model: ModelDiff, context: int = 0) -> Json:
    return {"model": model.model, "diffs": [diff_document(diff, context) for diff in model.diffs]}

