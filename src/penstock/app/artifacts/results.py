"""What became of models, checks and unit tests, as results in dbt's run_results.json, version 6."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from penstock.app.artifacts.manifest import Json, Node, check_id, node_id, source_id, unit_test_id
from penstock.app.reports import ModelResult
from penstock.core.check_results import CheckResult, CheckStatus, InvariantReport
from penstock.core.errors import CheckFailedError
from penstock.core.project import Project

_STATUS = {"failed": "error", "skipped": "skipped"}
_TESTED = {"passed": "pass", "failed": "fail"}  # error and skipped are dbt's own words


class UnitTested(NamedTuple):
    """How one unit test came out: `passed`, `failed`, `skipped`, or `error` if it could not run.

    `path` is its file, seen from the project's folder.
    """

    model: str
    name: str
    status: str
    message: str
    seconds: float
    path: str = ""


def model_results(project: Project, result: ModelResult) -> list[Json]:
    """Give what became of a model or seed, and after it of each of its checks."""
    report = result.invariant_report or InvariantReport()
    return [_model(project, result), *check_results(project, result.name, report)]


def _model(project: Project, result: ModelResult) -> Node:
    model = project.models.get(result.name)
    return {
        **_bare(node_id(project, result.name), _status(result), result.duration, _said(result)),
        "timing": _timing(result),
        "adapter_response": {
            "_message": result.status,
            "rows_affected": result.rows.written + result.rows.deleted,
            "delta_version": result.version,
        },
        "compiled": model is not None,
        "compiled_code": project.shown_sql(model) if model else None,
        "relation_name": project.sql_of(result.table),
    }


def _status(result: ModelResult) -> str:
    if isinstance(result.error, CheckFailedError):
        return "error"  # a step that a gate kept from starting is skipped for penstock alone
    return _STATUS.get(result.status, "success")


def _said(result: ModelResult) -> str:
    if isinstance(result.error, CheckFailedError):
        return f"{result.error.code}: {result.error.sentence}"
    return result.error.sentence if result.error else f"{result.status}: {result.reason}"


def check_results(project: Project, model: str, report: InvariantReport) -> list[Json]:
    """Give what each check said; cells of rows are never among it."""
    found: list[Json] = []
    for result in report.all:
        key = check_id(project, model, result.phase, result.name)
        found.append(_check(key, result))
    return found


def source_result(project: Project, name: str, result: CheckResult) -> Node:
    """Give how old a source's newest row is."""
    return _check(source_id(project, project.sources[name]), result)


def unit_test_node(project: Project, tested: UnitTested) -> Node:
    """Give a unit test for the manifest; its rows stay in its file."""
    return {
        "name": tested.name,
        "model": tested.model,
        "resource_type": "unit_test",
        "package_name": project.name,
        "path": tested.path,
        "original_file_path": tested.path,
        "unique_id": unit_test_id(project, tested.model, tested.name),
        "fqn": [project.name, tested.model, tested.name],
        "given": [],
        "expect": {"rows": None},
        "description": "",
        "depends_on": {"macros": [], "nodes": [node_id(project, tested.model)]},
    }


def unit_test_result(project: Project, tested: UnitTested) -> Node:
    """Give how a unit test came out."""
    key = unit_test_id(project, tested.model, tested.name)
    status = _TESTED.get(tested.status, tested.status)
    return _bare(key, status, tested.seconds, tested.message or None)


def _check(key: str, result: CheckResult) -> Node:
    details = f" [{result.details}]" if result.details else ""
    said = _bare(key, _check_status(result), result.duration, f"{result.message}{details}")
    return said | {"failures": result.failures}


def _check_status(result: CheckResult) -> str:
    if result.status is CheckStatus.SKIPPED:
        return "skipped"
    if result.error is not None:
        return "error"
    if not result.failed:
        return "pass"
    return "fail" if result.failed_gate else "warn"


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


def _timing(result: ModelResult) -> list[Json]:
    if result.started is None:
        return []
    span = {"started_at": stamp(result.started), "completed_at": stamp(ended(result))}
    return [{"name": "execute", **span}]


def ended(result: ModelResult) -> dt.datetime:
    """Give when a step that started came to its end."""
    started = result.started or dt.datetime.min.replace(tzinfo=dt.UTC)
    return started + dt.timedelta(seconds=result.duration)


def stamp(time: dt.datetime) -> str:
    """Give a time as artifacts have it."""
    return f"{time.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
