"""Writing what catalogues read: manifest.json and run_results.json in dbt's shapes."""

from __future__ import annotations

import datetime as dt
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.app.artifacts.manifest import Json, Node, manifest
from penstock.app.artifacts.results import (
    UnitTested,
    check_results,
    ended,
    model_results,
    source_result,
    stamp,
    unit_test_node,
    unit_test_result,
)
from penstock.app.reports import RunReport
from penstock.app.services.services import Services
from penstock.app.services.wire import version
from penstock.core.check_results import CheckResult, InvariantReport
from penstock.core.masking import mask_value

FOLDER = (".penstock", "target")
_SCHEMA = "https://schemas.getdbt.com/dbt/{name}.json"
_SHAPE = "1.8.0"  # the dbt whose artifacts have these schema versions


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command that ran steps, checks or tests, and what became of each.

    Only `penstock test` reads `unit_tests`, so only its manifest has them.
    """

    command: str
    run: str
    results: tuple[Json, ...]
    elapsed: float = 0.0
    unit_tests: tuple[Node, ...] = ()


def write_artifacts(services: Services, report: RunReport) -> None:
    """Write both files under `.penstock/target/`, each whole or not at all; secrets are masked."""
    starts = [result.started for result in report.results if result.started]
    ends = [ended(result) for result in report.results if result.started]
    elapsed = (max(ends) - min(starts)).total_seconds() if starts else 0.0
    results = [one for each in report.results for one in model_results(services.project, each)]
    _write_both(services, Invocation(report.command, report.run_id, tuple(results), elapsed))


def write_check_artifacts(
    services: Services, reports: Mapping[str, InvariantReport], sources: Mapping[str, CheckResult]
) -> None:
    """Write both files after `penstock check`: a result for each check, by model; sources last."""
    project = services.project
    results = [
        one for model, each in reports.items() for one in check_results(project, model, each)
    ]
    results += [source_result(project, name, result) for name, result in sources.items()]
    elapsed = sum(one.duration for each in reports.values() for one in each.all)
    elapsed += sum(result.duration for result in sources.values())
    _write_both(services, Invocation("check", services.run_id, tuple(results), elapsed))


def write_unit_test_artifacts(services: Services, tested: Sequence[UnitTested]) -> None:
    """Write both files after `penstock test`: a result for each unit test."""
    results = tuple(unit_test_result(services.project, each) for each in tested)
    nodes = tuple(unit_test_node(services.project, each) for each in tested)
    elapsed = sum(each.seconds for each in tested)
    _write_both(services, Invocation("test", services.run_id, results, elapsed, nodes))


def _write_both(services: Services, invocation: Invocation) -> None:
    folder = Path(services.project.root, *FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    at = services.clock.now()
    project = manifest(services.project, _manifest_metadata(services, invocation, at))
    tests: Node = {str(node["unique_id"]): node for node in invocation.unit_tests}
    _write(folder / "manifest.json", project | {"unit_tests": tests})
    _write(folder / "run_results.json", run_results(services, invocation, at))


def run_results(services: Services, invocation: Invocation, at: dt.datetime) -> Node:
    """Give what became of each model, seed, check or test that the command looked at."""
    return {
        "metadata": _metadata(invocation, "run-results/v6", at),
        "results": [*invocation.results],
        "elapsed_time": invocation.elapsed,
        "args": {"which": invocation.command, "target": services.project.target.name},
    }


def _manifest_metadata(services: Services, invocation: Invocation, at: dt.datetime) -> Node:
    return _metadata(invocation, "manifest/v12", at) | {
        "project_name": services.project.name,
        "adapter_type": "spark",
    }


def _metadata(invocation: Invocation, name: str, at: dt.datetime) -> Node:
    return {
        "dbt_schema_version": _SCHEMA.format(name=name),
        "dbt_version": _SHAPE,
        "generated_at": stamp(at),
        "invocation_id": invocation.run,
        "env": {"PENSTOCK_VERSION": version()},
    }


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
