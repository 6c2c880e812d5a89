"""Checks as tests in the shape of dbt's manifest.json, schema version 12."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from typing import TypeAlias

from penstock.app.node_ids import check_id, input_ids, model_id
from penstock.core.checks import Check, Condition, Rule, SqlCheck
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.project import Project
from penstock.core.query import Query, mentioned, shown_name

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Node = dict[str, Json]

_SEVERITY = {"error": "error", "warning": "warn"}


def check_nodes(project: Project) -> dict[str, Node]:
    """Give a node for every check of every model; of equal names that of the newest version."""
    return {key: _node(project, model, check) for key, model, check in _every(project)}


def check_parents(project: Project) -> dict[str, list[str]]:
    """Give the ids of what each check looks at: its model, and the tables it reads beside it."""
    return {key: _upstream(project, model, check) for key, model, check in _every(project)}


def _every(project: Project) -> Iterator[tuple[str, Model, Check]]:
    for model in project.models.values():
        for checks in (*(version.checks for version in model.versions), model.checks):
            for check in checks.all:
                yield check_id(project, model.name, check.phase, check.name), model, check


def _node(project: Project, model: Model, check: Check) -> Node:
    """Give SQL as dbt's singular test, every other type as a generic one."""
    path = check.where.path
    node: Node = {
        "database": project.target.catalog or None,
        "schema": model.table.schema,
        "name": check.name,
        "alias": check.name,
        "resource_type": "test",
        "package_name": project.name,
        "path": path,
        "original_file_path": path,
        "unique_id": check_id(project, model.name, check.phase, check.name),
        "fqn": [project.name, model.name, str(check.phase), check.name],
        "checksum": {"name": "sha256", "checksum": check.definition},
        "config": _config(project, model, check),
        "tags": [*check.tags],
        "meta": {**check.meta},
        "description": check.description,
        "columns": {},
        "raw_code": "",
        "language": "sql",
        **_inputs(check),
        "depends_on": {"macros": [], "nodes": [*_upstream(project, model, check)]},
    }
    if isinstance(check.rule, SqlCheck):
        return node | {"raw_code": _shown(project, model, check.rule.query.text)}
    return node | {
        "test_metadata": {
            "name": check.type,
            "kwargs": _arguments(project, model, check.rule),
            "namespace": None,
        },
        "column_name": getattr(check.rule, "column", None),
        "attached_node": model_id(project, model.name),
    }


def _config(project: Project, model: Model, check: Check) -> Node:
    condition = check.condition
    return {
        "enabled": True,
        "materialized": "test",
        "severity": _SEVERITY[check.severity],
        "where": _shown(project, model, condition.text) if condition else None,
        "tags": [*check.tags],
        "meta": {**check.meta},
    }


def _inputs(check: Check) -> Node:
    models = [name.name for name in check.reads if name.kind is InputKind.MODEL]
    sources = [name.name for name in check.reads if name.kind is InputKind.SOURCE]
    return {
        "refs": [{"name": name, "package": None, "version": None} for name in models],
        "sources": [[*name.split(".", 1)] for name in sources],
    }


def _upstream(project: Project, model: Model, check: Check) -> list[str]:
    read = {found for name in check.reads for found in input_ids(project, name)}
    return sorted(read | {model_id(project, model.name)})


def _shown(project: Project, model: Model, text: str) -> str:
    """Give SQL with tables and parameters as people write them."""
    read = mentioned(text)
    names = {name: shown_name(str(project.table_of(name, model))) for name in read}
    return Query(text, text, text, read).shown(names)


def _arguments(project: Project, model: Model, rule: Rule) -> Node:
    """Give what a rule asks, by name; what is not asked is left out."""
    found: Node = {}
    for field in fields(rule):
        value = getattr(rule, field.name)
        match value:
            case None:
                continue
            case Condition(text=text):
                found[field.name] = _shown(project, model, text)
            case tuple():
                found[field.name] = [str(each) for each in value]
            case dt.timedelta():
                found[field.name] = int(value.total_seconds())
            case Decimal():
                found[field.name] = str(value)
            case bool() | int() | str():
                found[field.name] = value
            case _:
                found[field.name] = str(value)
    return found
