"""The document of every RunReport."""

from __future__ import annotations

from penstock.app.checking.documents import invariants_document
from penstock.app.checking.planned import PlannedChecks
from penstock.app.diffs import SqlChange
from penstock.app.preview import Preview
from penstock.app.reports import Estimate, ModelResult, RunReport, Step
from penstock.core.window import Bound, InputWindow, Watermark
from penstock.ui.json_document import Json, instant
from penstock.ui.json_sync import sync_document
from penstock.ui.json_errors import error_document
from penstock.ui.text_diff import changed_lines

_Keyed = tuple[str, tuple[tuple[str, str], ...]]


def runmodels_document(report: RunReport) -> Json:
    """Give what a run did, model by model in topological order; with partitions step by step."""
    steps = steps_of(report)
    models: list[Json] = [
        with_version(result, steps.get(keyed(result))) for result in report.results
    ]
    return models_document(report, models)




def result_document(result: ModelResult) -> dict[str, Json]:
    """Give what became of one model."""
    checked = result.invariant_report
    return {
        "model": result.name,
        "status": result.status,
        "reason": result.reason,
        "version": result.version,
        "metrics": dict(result.metrics),
        "schema_changes": result.schema_changes,
        "error": error_document(result.error) if result.error else None,
        "table": str(result.table),
        "strategy": result.strategy,
        "step": result.step or None,
        "rows": {
            "inserted": result.rows.inserted,
            "updated": result.rows.updated,
            "deleted": result.rows.deleted,
            "late": result.rows.late,
            "null_time": result.rows.null_time,
        },
        "windows": [_window(window) for window in result.windows],
        "watermarks": [_watermark(mark) for mark in result.watermarks],
        "inputs": [{"input": pin.input, "version": str(pin.pin)} for pin in result.inputs],
        "started": instant(result.started),
        "duration": result.duration,
        "notes": result.notes,
        "partitions": result.partitions,
        "count": result.count,
        "trigger": result.trigger,
        "invariant_report": invariants_document(checked) if checked is not None else None,
        "consequence": result.consequence or None,
    }


def steps_of(report: RunReport) -> dict[_Keyed, Step]:
    return {(step.model, step.keys): step for step in report.plan.steps}


def keyed(result: ModelResult) -> _Keyed:
    return result.name, result.partitions


def with_version(result: ModelResult, step: Step | None) -> dict[str, Json]:
    """Add which version and revision of the model the step is of, null without a step."""
    return {
        **result_document(result),
        "model_version": step.version if step else None,
        "revision": step.revision or None if step else None,
    }


def models_document(report: RunReport, models: list[Json]) -> Json:
    return {
        "command": report.command,
        "run": report.run_id or None,
        "run_timestamp": instant(report.run_timestamp),
        "dry_run": report.dry_run,
        "succeeded": report.succeeded,
        "interrupted": report.interrupted,
        "aborted": report.aborted,
        "models": models,
        "not_run": report.not_run,
        "recovered": report.recovered,
        "notes": report.notes,
        "resume": report.resume or None,
        "log": None if report.plan.is_empty else report.log_path or None,
        "preview": syncmodels_document(report.preview) if report.preview else None,
    }








def _window(window: InputWindow) -> Json:
    return {
        "input": window.input,
        "column": window.window.column,
        "lower": _bound(window.window.lower),
        "upper": _bound(window.window.upper),
        "nulls": window.window.nulls,
    }


def _bound(bound: Bound | None) -> Json:
    if bound is None:
        return None
    return {"type": bound.value.type, "value": bound.value.text, "inclusive": bound.inclusive}


def _watermark(mark: Watermark) -> Json:
    return {
        "input": mark.input,
        "column": mark.column,
        "type": mark.value.type,
        "value": mark.value.text,
    }
