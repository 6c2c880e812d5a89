"""Writing what catalogues read: manifest.json and run_results.json in dbt's shapes."""

from __future__ import annotations

import datetime as dt
import json
import secrets
from pathlib import Path

from penstock.app.manifest import Json, Node, manifest, node_id, relation_name
from penstock.app.reports import ModelResult, RunReport
from penstock.app.shop import Shop
from penstock.app.wire import version
from penstock.core.masking import mask_value

FOLDER = (".penstock", "target")
_SCHEMA = "https://schemas.getdbt.com/dbt/{name}.json"
_SHAPE = "1.8.0"  # the dbt whose artifacts have these schema versions
_STATUS = {"failed": "error", "skipped": "skipped"}


def write_artifacts(shop: Shop, report: RunReport) -> None:
    """Write both files under `.penstock/target/`, each whole or not at all; secrets are masked."""
    folder = Path(shop.project.root, *FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    at = shop.clock.now()
    project = manifest(shop.project, _manifest_metadata(shop, report, at))
    _write(folder / "manifest.json", project)
    _write(folder / "run_results.json", run_results(shop, report, at))


def run_results(shop: Shop, report: RunReport, at: dt.datetime) -> Node:
    """Give what became of each model or seed that the command looked at."""
    starts = [result.started for result in report.results if result.started]
    ends = [_ended(result) for result in report.results if result.started]
    elapsed = (max(ends) - min(starts)).total_seconds() if starts else 0.0
    return {
        "metadata": _metadata(report, "run-results/v6", at),
        "results": [_result(shop, result) for result in report.results],
        "elapsed_time": elapsed,
        "args": {"which": report.command, "target": shop.project.target.name},
    }


def _result(shop: Shop, result: ModelResult) -> Node:
    project = shop.project
    model = project.models.get(result.name)
    return {
        "status": _STATUS.get(result.status, "success"),
        "timing": _timing(result),
        "thread_id": "main",
        "execution_time": result.duration,
        "adapter_response": {
            "_message": result.status,
            "rows_affected": result.rows.written + result.rows.deleted,
            "delta_version": result.version,
        },
        "message": result.error.sentence if result.error else f"{result.status}: {result.reason}",
        "failures": None,
        "unique_id": node_id(project, result.name),
        "compiled": model is not None,
        "compiled_code": project.shown_sql(model) if model else None,
        "relation_name": relation_name(project, result.table),
    }


def _timing(result: ModelResult) -> list[Json]:
    if result.started is None:
        return []
    span = {"started_at": _stamp(result.started), "completed_at": _stamp(_ended(result))}
    return [{"name": "execute", **span}]


def _ended(result: ModelResult) -> dt.datetime:
    started = result.started or dt.datetime.min.replace(tzinfo=dt.UTC)
    return started + dt.timedelta(seconds=result.duration)


def _manifest_metadata(shop: Shop, report: RunReport, at: dt.datetime) -> Node:
    return _metadata(report, "manifest/v12", at) | {
        "project_name": shop.project.name,
        "adapter_type": "spark",
    }


def _metadata(report: RunReport, name: str, at: dt.datetime) -> Node:
    return {
        "dbt_schema_version": _SCHEMA.format(name=name),
        "dbt_version": _SHAPE,
        "generated_at": _stamp(at),
        "invocation_id": report.run_id,
        "env": {"PENSTOCK_VERSION": version()},
    }


def _stamp(moment: dt.datetime) -> str:
    return f"{moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _write(path: Path, document: Node) -> None:
    """Write to a sibling file, then rename: readers see the old file or the new one."""
    half = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    half.write_text(json.dumps(_masked(document), indent=1), encoding="utf-8")
    half.replace(path)


def _masked(value: Json, key: str = "") -> Json:
    if isinstance(value, str):
        return mask_value(key, value)
    if isinstance(value, list):
        return [_masked(each, key) for each in value]
    if isinstance(value, dict):
        return {name: _masked(each, name) for name, each in value.items()}
    return value
