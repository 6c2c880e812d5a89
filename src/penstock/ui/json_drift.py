"""What drifted, as JSON: `status`, `diff`, and what `sync` says beside its plan."""

from __future__ import annotations

from penstock.app.reports import (
    Cascaded,
    DiffReport,
    ModelDiff,
    ModelStatus,
    SqlDiff,
    StateCount,
    StatusReport,
    SyncPreview,
)
from penstock.ui.json_document import Json, instant
from penstock.ui.text_diff import changed_lines


def status_document(report: StatusReport) -> Json:
    """Give the states of every model, what is current left out (spec/drift.md §10)."""
    return {
        "command": "status",
        "run_timestamp": instant(report.run_timestamp),
        "partitions": report.partitions,
        "drifted": report.drifted,
        "pending": report.pending,
        "models": [_model(model) for model in report.models],
    }


def differences_document(report: DiffReport, *, context: int = 0) -> Json:
    """Give both texts of every pair, and the lines that differ."""
    return {
        "command": "diff",
        "run_timestamp": instant(report.run_timestamp),
        "models": [_differences(model, context) for model in report.models],
    }


def sync_document(preview: SyncPreview) -> Json:
    """Give what drifted, what a cascade adds or would add, and what is left out."""
    return {
        "drifted": [_model(model) for model in preview.drifted],
        "cascaded": [_cascaded(each) for each in preview.cascaded],
        "left": [_cascaded(each) for each in preview.left],
        "diffs": [_differences(model) for model in preview.diffs],
        "remaining": preview.remaining,
        "lines": preview.lines,
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


def _differences(model: ModelDiff, context: int = 0) -> Json:
    return {"model": model.model, "diffs": [diff_document(diff, context) for diff in model.diffs]}


def _cascaded(each: Cascaded) -> Json:
    return {"model": each.model, "count": each.count, "after": each.after}


def _model(model: ModelStatus) -> Json:
    return {
        "model": model.model,
        "table": str(model.table),
        "strategy": model.strategy,
        "grain": model.grain,
        "partitions": model.partitions,
        "cosmetic": model.cosmetic,
        "executed_at": instant(model.executed_at),
        "states": [_state(each) for each in model.states],
        "lines": model.lines,
    }


def _state(each: StateCount) -> Json:
    return {
        "state": str(each.state),
        "also": each.also,
        "pending": each.pending,
        "drifted": each.drifted,
        "count": each.count,
        "version": each.version,
        "revision": each.revision,
        "ranges": each.ranges,
        "because": each.because,
    }
