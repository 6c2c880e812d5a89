"""s."""

from __future__ import annotations

from penstock.app.drift_reports import ModelStatus, StateCount, StatusReport
from penstock.ui.json_document import Json, instant


def status_document(report: StatusReport) -> Json:
    """Give the states of every model, what is current left out (spec/drift.md §10)."""
    return {
        "command": "status",
        "run_timestamp": instant(report.run_timestamp),
        "partitions": report.partitions,
        "drifted": report.drifted,
        "pending": report.pending,
        "models": [model_status_document(model) for model in report.models],
    }


def model_status_document(model: ModelStatus) -> Json:
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

