"""Results of models, checks and unit tests in dbt's run_results.json, version 6."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.artifacts.manifest import (
    Json,
    Node,
    check_id,
    manifest,
    node_id,
    source_id,
    unit_test_id,
)
from penstock.app.reports import ModelResult
from penstock.app.run_report import RunReport
from penstock.app.services.files import replace_file
from penstock.app.services.services import Services
from penstock.app.services.wire import version
from penstock.core.check_results import CheckResult, InvariantReport
from penstock.core.checks.check_type import CheckStatus
from penstock.core.errors import CheckFailedError
from penstock.core.masking import masked
from penstock.core.model import Model
from penstock.core.project import Project
from penstock.strategies.entities.metrics import NAMES as SUMMARY

if TYPE_CHECKING:
    from penstock.app.unit_testing.differences import UnitResult, UnitTestReport
    from penstock.project.unit_tests.definition import UnitTest

_STATUS = {"failed": "error", "skipped": "skipped"}
_TESTED = {"passed": "pass", "failed": "fail", "skipped": "skipped"}


def model_results(project: Project, result: ModelResult) -> list[Json]:
    """Return the result of a model or seed, followed by those of its checks."""
    model, error = project.models.get(result.name), result.error
    status = _STATUS.get(result.status, "success")
    message = error.sentence if error else f"{result.status}: {result.reason}"
    if isinstance(error, CheckFailedError):
        # a step that a gate kept from starting is skipped for penstock alone
        status, message = "error", f"{error.code}: {error.sentence}"
    timing: list[Json] = []
    if result.started is not None:
        span = {"started_at": stamp(result.started), "completed_at": stamp(ended(result))}
        timing = [{"name": "execute", **span}]
    node: Node = {
        **_bare(node_id(project, result.name), status, result.duration, message),
        "timing": timing,
        "adapter_response": {
            "_message": result.status,
            "rows_affected": result.rows.written + result.rows.deleted,
            "delta_version": result.version,
            **(summary_of(model, result) if model else {}),
        },
        "compiled": model is not None,
        "compiled_code": project.shown_sql(model) if model else None,
        "relation_name": project.sql_of(result.table),
    }
    report = result.invariant_report or InvariantReport()
    return [node, *check_results(project, result.name, report)]


def summary_of(model: Model, result: ModelResult) -> Mapping[str, Json]:
    """Return the summary of an entity's step; {} for others, and if counts are missing.

    They are missing if the step failed, or if no token has room for them.
    """
    counts = {name: result.metrics[name] for name in SUMMARY if name in result.metrics}
    if model.entity is None or len(counts) < len(SUMMARY) or result.moment is None:
        return {}
    return {
        "event": "entity.summary",
        "model": result.name,
        "entity_id": model.entity.id,
        "slice_file": result.slice,
        "strategy": result.shown_strategy,
        **counts,
        "processing_time": stamp(result.moment),
        "duration_ms": round(result.duration * 1000),
        "delta_version": result.version,
        "step": result.step,
        "watermark": {each.column: str(each.value) for each in result.watermarks},
        "warnings": list(result.notes),
    }


def check_results(project: Project, model: str, report: InvariantReport) -> list[Json]:
    """Return the result of each check, without cells of rows."""
    return [_check(check_id(project, model, each.phase, each.name), each) for each in report.all]


def unit_test_node(project: Project, test: UnitTest) -> Node:
    """Return a unit test for the manifest; its rows stay in its file."""
    path = test.where.path
    return {
        "name": test.name,
        "model": test.model,
        "resource_type": "unit_test",
        "package_name": project.name,
        "path": path,
        "original_file_path": path,
        "unique_id": unit_test_id(project, test.model, test.name),
        "fqn": [project.name, test.model, test.name],
        "given": [],
        "expect": {"rows": None},
        "description": "",
        "depends_on": {"macros": [], "nodes": [node_id(project, test.model)]},
    }


def _check(key: str, result: CheckResult) -> Node:
    details = f" [{result.details}]" if result.details else ""
    if result.status is CheckStatus.SKIPPED:
        status = "skipped"
    elif result.error is not None:
        status = "error"
    elif not result.failed:
        status = "pass"
    else:
        status = "fail" if result.failed_gate else "warn"
    said = _bare(key, status, result.duration, f"{result.message}{details}")
    return said | {"failures": result.failures}


def _bare(key: str, status: str, seconds: float, message: str | None) -> Node:
    return {
        "status": status,
        "timing": [],
        "thread_id": "main",
        "execution_time": seconds,
        "adapter_response": {},
        "message": message,
        "failures": None,
        "unique_id": key,
        "compiled": False,
        "compiled_code": None,
        "relation_name": None,
    }


def ended(result: ModelResult) -> dt.datetime:
    """Return when a started step ended."""
    started = result.started or dt.datetime.min.replace(tzinfo=dt.UTC)
    return started + dt.timedelta(seconds=result.duration)


def stamp(time: dt.datetime) -> str:
    """Return a time in the format of artifacts."""
    return f"{time.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


FOLDER = (".penstock", "target")
LOGS = (".penstock", "logs")
_SCHEMA = "https://schemas.getdbt.com/dbt/{name}.json"
_SHAPE = "1.8.0"  # the dbt whose artifacts have these schema versions


def write_artifacts(services: Services, report: RunReport) -> None:
    """Write both files under `.penstock/target/`, each atomically, with secrets masked."""
    _write_both(services, report.command, report.run_id, *_of_run(services.project, report))
    _log_summaries(services, report)


def write_build_artifacts(services: Services, parts: Sequence[UnitTestReport | RunReport]) -> None:
    """Write both files after `penstock build`, with the results of all its parts."""
    results, elapsed, tests = list[Json](), 0.0, dict[str, Json]()
    for part in parts:
        if isinstance(part, RunReport):
            found, seconds = _of_run(services.project, part)
        else:
            found, seconds, own = _of_tests(services.project, part.results)
            tests |= own
        results += found
        elapsed += seconds
    runs = [part.run_id for part in parts if isinstance(part, RunReport) and part.run_id]
    _write_both(services, "build", runs[-1] if runs else "", results, elapsed, tests)


def _of_run(project: Project, report: RunReport) -> tuple[list[Json], float]:
    """Return the results of a run, and its seconds from the first step's start to the last end."""
    starts = [result.started for result in report.results if result.started]
    ends = [ended(result) for result in report.results if result.started]
    elapsed = (max(ends) - min(starts)).total_seconds() if starts else 0.0
    return [one for each in report.results for one in model_results(project, each)], elapsed


def _log_summaries(services: Services, report: RunReport) -> None:
    """Add a line for each step of an entity to the log of the run, at any log level."""
    models, run = services.project.models, {"run": report.run_id}
    found = ((models.get(r.name), r) for r in report.results)
    lines = [summary_of(model, result) for model, result in found if model is not None]
    texts = [f"{json.dumps(masked({**line, **run}))}\n" for line in lines if line]
    if texts:
        path = Path(services.project.root, *LOGS, f"{report.run_id}.log")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(texts)


def write_check_artifacts(
    services: Services, reports: Mapping[str, InvariantReport], sources: Mapping[str, CheckResult]
) -> None:
    """Write both files after `penstock check`: a result for each check, by model; sources last."""
    project = services.project
    results = [
        one for model, each in reports.items() for one in check_results(project, model, each)
    ]
    results += [_check(source_id(project, project.sources[n]), each) for n, each in sources.items()]
    elapsed = sum(one.duration for each in reports.values() for one in each.all)
    elapsed += sum(result.duration for result in sources.values())
    _write_both(services, "check", services.run_id, results, elapsed)


def write_unit_test_artifacts(services: Services, tested: Sequence[UnitResult]) -> None:
    """Write both files after `penstock test`: a result for each unit test."""
    _write_both(services, "test", services.run_id, *_of_tests(services.project, tested))


def _of_tests(project: Project, tested: Sequence[UnitResult]) -> tuple[list[Json], float, Node]:
    """Return the results of unit tests, their seconds, and their nodes."""
    results: list[Json] = []
    nodes: Node = {}
    for each in tested:
        key, said = unit_test_id(project, each.test.model, each.test.name), "; ".join(each.lines)
        results.append(_bare(key, _TESTED[each.status], each.seconds, said or None))
        nodes[key] = unit_test_node(project, each.test)
    return results, sum(each.seconds for each in tested), nodes


def _write_both(  # one command, and what became of each step, check or test
    services: Services,
    command: str,
    run: str,
    results: list[Json],
    elapsed: float,
    unit_tests: Node | None = None,
) -> None:
    """Write both; only manifests of `penstock test` and `build` contain unit tests."""
    folder = Path(services.project.root, *FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    metadata: Node = {
        "dbt_schema_version": _SCHEMA.format(name="manifest/v12"),
        "dbt_version": _SHAPE,
        "generated_at": stamp(services.clock.now()),
        "invocation_id": run,
        "env": {"PENSTOCK_VERSION": version()},
    }
    names: Node = {"project_name": services.project.name, "adapter_type": "spark"}
    project = manifest(services.project, metadata | names)
    ran: Node = {
        "metadata": metadata | {"dbt_schema_version": _SCHEMA.format(name="run-results/v6")},
        "results": results,
        "elapsed_time": elapsed,
        "args": {"which": command, "target": services.project.target.name},
    }
    manifested = project | {"unit_tests": unit_tests or {}}
    for name, document in (("manifest.json", manifested), ("run_results.json", ran)):
        replace_file(folder / name, json.dumps(masked(document), indent=1))
