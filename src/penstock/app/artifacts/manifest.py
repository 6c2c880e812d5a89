"""The project in the shape of dbt's manifest.json, schema version 12."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import fields
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from penstock.core.checks import Check, Condition, Phase, Rule, SqlCheck
from penstock.core.graph import children
from penstock.core.model import ColumnDoc, Fingerprint, Model, Seed, Source
from penstock.core.names import InputKind, InputName, TableName, literal
from penstock.core.project import Project
from penstock.core.query import Query, mentioned, shown_name


def node_id(project: Project, name: str) -> str:
    """Give the unique id of a model or seed."""
    return model_id(project, name) if name in project.models else seed_id(project, name)


def model_id(project: Project, name: str) -> str:
    """Give the unique id of a model."""
    return f"model.{project.name}.{name}"


def seed_id(project: Project, name: str) -> str:
    """Give the unique id of a seed."""
    return f"seed.{project.name}.{name}"


def source_id(project: Project, source: Source) -> str:
    """Give the unique id of a source."""
    return f"source.{project.name}.{source.table.schema}.{source.table.table}"


def check_id(project: Project, model: str, phase: Phase, name: str) -> str:
    """Give the unique id of a check of a model."""
    return f"test.{project.name}.{model}.{phase}.{name}"


def unit_test_id(project: Project, model: str, name: str) -> str:
    """Give the unique id of a unit test of a model."""
    return f"unit_test.{project.name}.{model}.{name}"


def input_ids(project: Project, name: InputName) -> list[str]:
    """Give the id of what a query reads; a table outside of the project has none."""
    if name.kind is InputKind.MODEL:
        return [node_id(project, name.name)]
    if name.kind is InputKind.SOURCE:
        return [source_id(project, project.sources[name.name])]
    return []


def upstream_ids(project: Project, model: Model) -> list[str]:
    """Give the ids of what a model reads or depends on; tables outside of the project have none."""
    found = {node_id(project, name) for name in model.depends_on if name != model.name}
    for name in model.inputs:
        if name != InputName(InputKind.MODEL, model.name):
            found.update(input_ids(project, name))
    return sorted(found)


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
        "config": _check_config(project, model, check),
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


def _check_config(project: Project, model: Model, check: Check) -> Node:
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


# The maps that dbt's readers expect and that penstock has nothing for.
_EMPTY_MAPS = (
    *("macros", "docs", "exposures", "metrics", "groups", "selectors", "disabled"),
    *("group_map", "saved_queries", "semantic_models", "unit_tests"),
)


def manifest(project: Project, metadata: Node) -> Node:
    """Give models, seeds, checks and sources, with what reads what."""
    nodes = {model_id(project, m.name): _model(project, m) for m in project.models.values()}
    nodes |= {seed_id(project, s.name): _seed(project, s) for s in project.seeds.values()}
    nodes |= check_nodes(project)
    sources = {source_id(project, s): _source(project, s) for s in project.sources.values()}
    parents: dict[str, list[str]] = {key: [] for key in (*nodes, *sources)}
    for model in project.models.values():
        parents[model_id(project, model.name)] = upstream_ids(project, model)
    parents |= check_parents(project)
    return {
        "metadata": metadata,
        "nodes": {**nodes},
        "sources": {**sources},
        **{name: {} for name in _EMPTY_MAPS},
        "parent_map": {key: [*parents[key]] for key in sorted(parents)},
        "child_map": {key: [*ids] for key, ids in sorted(children(parents).items())},
    }


def relation_name(project: Project, table: TableName) -> str:
    """Give the name under which Spark finds a table."""
    return project.sql_of(table)


def _model(project: Project, model: Model) -> Node:
    layer = _named(project, model.table, model.where.path, "model", model.name)
    return layer | {
        "checksum": _checksum(model.fingerprint),
        "config": _model_config(model),
        "tags": [*model.tags],
        "description": model.description,
        "columns": _columns(model.columns),
        "raw_code": _text(project, model.where.path),
        "language": "sql",
        "refs": [_ref(name) for name in model.inputs if name.kind is InputKind.MODEL],
        "sources": [
            [*name.name.split(".", 1)] for name in model.inputs if name.kind is InputKind.SOURCE
        ],
        "depends_on": {"macros": [], "nodes": [*upstream_ids(project, model)]},
        "compiled": True,
        "compiled_code": project.shown_sql(model),
    }


def _seed(project: Project, seed: Seed) -> Node:
    path = Path(seed.path).relative_to(project.root).as_posix()
    return _named(project, seed.table, path, "seed", seed.name) | {
        "checksum": {"name": "sha256", "checksum": seed.digest},
        "config": {
            "enabled": True,
            "materialized": "seed",
            "schema": seed.table.schema,
            "column_types": {c.name: c.type for c in seed.columns if c.type},
        },
        "tags": [],
        "description": "",
        "columns": _columns(seed.columns),
        "depends_on": {"macros": []},
    }


def _source(project: Project, source: Source) -> Node:
    layer = _named(project, source.table, source.where.path, "source", source.table.table)
    del layer["alias"]
    fqn = [project.name, source.table.schema, source.table.table]
    return layer | {
        "unique_id": source_id(project, source),
        "fqn": [*fqn],
        "source_name": source.table.schema,
        "source_description": "",
        "loader": source.format,
        "identifier": source.table.table,
        "loaded_at_field": source.freshness.column if source.freshness else None,
        "external": {"location": source.path or None, "file_format": source.format},
        "description": source.description,
        "columns": _columns(source.columns),
        "config": {"enabled": True},
        "relation_name": f"{source.format}.{literal(source.path)}" if source.path else None,
    }


def _named(project: Project, table: TableName, path: str, kind: str, name: str) -> Node:
    """Give what every resource has: its names and its place."""
    pure = PurePosixPath(path)
    return {
        "database": project.target.catalog or None,
        "schema": table.schema,
        "name": name,
        "alias": table.table,
        "resource_type": kind,
        "package_name": project.name,
        "path": PurePosixPath(*pure.parts[1:]).as_posix(),
        "original_file_path": path,
        "unique_id": f"{kind}.{project.name}.{name}",
        "fqn": [project.name, *pure.parts[1:-1], name],
        "relation_name": relation_name(project, table),
    }


def _model_config(model: Model) -> Node:
    """Say the strategy in dbt's words: `incremental` and how."""
    strategy, (materialized, how) = model.strategy, model.strategy.dbt
    config: Node = {
        "enabled": True,
        "materialized": materialized,
        "schema": model.table.schema,
        "alias": model.table.table,
        "tags": [*model.tags],
        "on_schema_change": str(model.on_schema_change),
    }
    if how:
        config["incremental_strategy"] = how
    if strategy.partitioning is not None:
        config["event_time"] = strategy.partitioning.field
    if strategy.keys:
        config["unique_key"] = [*strategy.keys]
    if strategy.window is not None:
        config["event_time"] = strategy.window.time_column
    return config


def _columns(columns: Iterable[ColumnDoc]) -> Node:
    return {
        column.name: {
            "name": column.name,
            "description": column.description,
            "data_type": column.type or None,
            "meta": {},
            "tags": [],
        }
        for column in columns
    }


def _ref(name: InputName) -> Json:
    return {"name": name.name, "package": None, "version": None}


def _checksum(fingerprint: Fingerprint) -> Json:
    return {"name": "sha256", "checksum": fingerprint.sql}


def _text(project: Project, path: str) -> str:
    try:
        return Path(project.root, path).read_text(encoding="utf-8")
    except OSError:  # gone since the project was loaded
        return ""
