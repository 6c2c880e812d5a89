"""Models as JSON: the documents of `list`, `show` and `graph`."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.app.graphing import Graph
from penstock.app.listing import ModelInfo
from penstock.app.showing import CheckInfo, ModelDetail
from penstock.core.records import Execution, ModelRecord
from penstock.ui.json_document import Json, instant


def list_document(models: Sequence[ModelInfo]) -> Json:
    """Give the models in topological order."""
    return {"models": [model_document(model) for model in models]}


def model_document(model: ModelInfo) -> dict[str, Json]:
    """Give one model as `list` knows it."""
    return {
        "model": model.name,
        "table": str(model.table),
        "kind": model.kind,
        "strategy": model.strategy,
        "tags": model.tags,
        "path": model.path,
        "description": model.description,
    }


def show_document(detail: ModelDetail) -> Json:
    """Give one model in full."""
    return {
        **model_document(detail.info),
        "where": detail.place,
        "uri": detail.uri or None,
        "version": detail.version,
        "versions": detail.versions,
        "config": dict(detail.config),
        "columns": [
            {"name": c.name, "type": c.type or None, "description": c.description}
            for c in detail.columns
        ],
        "checks": [_check(each) for each in detail.checks],
        "inputs": [{"kind": str(name.kind), "name": name.name} for name in detail.inputs],
        "sql": detail.sql,
        "fingerprint": {
            "sql": detail.fingerprint.sql,
            "canonical": detail.fingerprint.canonical,
            "settings": detail.fingerprint.settings,
            "layout": detail.fingerprint.layout,
        },
        "state": str(detail.drift.state),
        "detail": detail.drift.detail or None,
        "also": [str(state) for state in detail.drift.also],
        "record": _record(detail.record) if detail.record else None,
        "executions": [_execution(one) for one in detail.executions],
    }




def _check(found: CheckInfo) -> Json:
    check = found.check
    return {
        "version": found.version or None,
        "phase": str(check.phase),
        "name": check.name,
        "type": check.type,
        "severity": str(check.severity),
        "description": check.description,
        "tags": check.tags,
        "meta": dict(check.meta),
        "where": str(check.where),
    }


def _record(record: ModelRecord) -> Json:
    return {
        "status": str(record.status),
        "step": record.step or None,
        "commit_version": record.commit_version,
        "settled_version": record.settled_version,
        "inputs": [{"input": name, "version": str(pin)} for name, pin in record.pins.items()],
        "watermarks": {
            m.key: {"type": m.value.type, "value": m.value.text} for m in record.watermarks
        },
        "executed_at": instant(record.executed_at),
        "duration": record.duration_ms / 1000,
        "rows_written": record.rows_written,
        "bytes_written": record.bytes_written,
        "error": record.failure.code if record.failure else None,
    }


def _execution(one: Execution) -> Json:
    return {
        "step": one.step,
        "executed_at": instant(one.executed_at),
        "status": str(one.status),
        "sql_checksum": one.fingerprint.sql,
        "rows_written": one.rows_written,
        "bytes_written": one.bytes_written,
        "duration": one.duration_ms / 1000,
        "triggered_by": one.triggered_by,
        "executed_by": one.executed_by,
        "error": one.failure.code if one.failure else None,
    }
