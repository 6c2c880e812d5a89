"""The project in the format of dbt's manifest.json, schema version 12."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from penstock.core.beside.exposures import Exposure, ModelGroup
from penstock.core.beside.hooks import Hook
from penstock.core.checks.check import ANY_ROW, Check, Phase
from penstock.core.checks.check_type import CheckType, Condition, fields_of, parts_of
from penstock.core.graph import children
from penstock.core.masking import mask
from penstock.core.model import ColumnDoc, Model, Seed, Source
from penstock.core.names import InputKind, InputName, TableName, literal, shown_name
from penstock.core.project import Project, shown_hook
from penstock.core.query import Query, mentioned


def node_id(project: Project, name: str) -> str:
    """Return the unique id of a model or seed."""
    return f"{'model' if name in project.models else 'seed'}.{project.name}.{name}"


def source_id(project: Project, source: Source) -> str:
    """Return the unique id of a source."""
    return f"source.{project.name}.{source.table.schema}.{source.table.table}"


def check_id(project: Project, model: str, phase: Phase, name: str) -> str:
    """Return the unique id of a check of a model."""
    return f"test.{project.name}.{model}.{phase}.{name}"


def unit_test_id(project: Project, model: str, name: str) -> str:
    """Return the unique id of a unit test of a model."""
    return f"unit_test.{project.name}.{model}.{name}"


def input_ids(project: Project, name: InputName) -> list[str]:
    """Return the id of an input; empty for a table outside the project."""
    if name.kind is InputKind.MODEL:
        return [node_id(project, name.name)]
    if name.kind is InputKind.SOURCE:
        return [source_id(project, project.sources[name.name])]
    return []


def upstream_ids(project: Project, model: Model) -> list[str]:
    """Return the ids of what a model reads or depends on, without other tables."""
    found = {node_id(project, name) for name in model.depends_on if name != model.name}
    for name in model.inputs:
        if name != InputName(InputKind.MODEL, model.name):
            found.update(input_ids(project, name))
    return sorted(found)


Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Node = dict[str, Json]

_SEVERITY = {"error": "error", "warning": "warn"}


def _check(project: Project, model: Model, check: Check) -> Node:
    """Return SQL as dbt's singular test, every other type as a generic one."""
    path = check.where.path
    labels: Node = {"tags": [*check.tags], "meta": {**check.meta}}
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
        "checksum": _sha256(check.definition),
        "config": {**_config(project, model, check), **labels},
        **labels,
        "description": check.description,
        "columns": {},
        "raw_code": "",
        "language": "sql",
        **_read(check.reads),
        "depends_on": {"macros": [], "nodes": [*_upstream(project, model, check)]},
    }
    sql = parts_of(check.rule, Query)
    if sql:
        node |= {"raw_code": _shown_sql(project, model, sql[0].text)}
        if not check.test:
            return node
    asked = {} if sql else _arguments(project, model, check.rule)
    metadata: Node = {"name": check.test or check.type, "kwargs": asked, "namespace": None}
    return node | {
        "test_metadata": metadata,
        "column_name": getattr(check.rule, "column", None),
        "attached_node": node_id(project, model.name),
    }


def _config(project: Project, model: Model, check: Check) -> Node:
    condition, limits = check.condition, check.thresholds
    return {
        "enabled": True,
        "materialized": "test",
        "severity": _SEVERITY[check.severity],
        "where": _shown_sql(project, model, condition.text) if condition else None,
        "limit": check.limit,
        "store_failures": check.store,
        "warn_if": str((limits.warning or "never") if limits else ANY_ROW),
        "error_if": str((limits.error or "never") if limits else ANY_ROW),
    }


def _read(names: Iterable[InputName]) -> Node:
    """Return the inputs in two lists: models and seeds, and sources."""
    known = [*names]
    refs = [name.name for name in known if name.kind is InputKind.MODEL]
    return {
        "refs": [{"name": name, "package": None, "version": None} for name in refs],
        "sources": [[*n.name.split(".", 1)] for n in known if n.kind is InputKind.SOURCE],
    }


def _sha256(checksum: str) -> Node:
    return {"name": "sha256", "checksum": checksum}


def _upstream(project: Project, model: Model, check: Check) -> list[str]:
    """Return the ids of what a check reads: its model and further tables."""
    read = {found for name in check.reads for found in input_ids(project, name)}
    return sorted(read | {node_id(project, model.name)})


def _shown_sql(project: Project, model: Model, text: str) -> str:
    """Return SQL with the user's names of tables and parameters."""
    read = mentioned(text)
    names = {name: shown_name(str(project.table_of(name, model))) for name in read}
    return Query(text, text, text, read).shown_sql(names)


def _arguments(project: Project, model: Model, rule: CheckType) -> Node:
    """Return the arguments of a rule by name, without those that are not set."""
    found: Node = {}
    for field in fields_of(rule):
        value = getattr(rule, field.name)
        match value:
            case None:
                continue
            case Condition(text=text):
                found[field.name] = _shown_sql(project, model, text)
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
    *("macros", "docs", "metrics", "selectors", "disabled"),
    *("saved_queries", "semantic_models", "unit_tests"),
)


def manifest(project: Project, metadata: Node) -> Node:
    """Return models, seeds, checks and sources, with their dependencies."""
    nodes = {node_id(project, m.name): _model(project, m) for m in project.models.values()}
    nodes |= {node_id(project, s.name): _seed(project, s) for s in project.seeds.values()}
    sources = {source_id(project, s): _source(project, s) for s in project.sources.values()}
    parents: dict[str, list[str]] = {key: [] for key in (*nodes, *sources)}
    for model in project.models.values():
        parents[node_id(project, model.name)] = upstream_ids(project, model)
        # of checks of one name that of the newest version is told
        for checks in (*(version.checks for version in model.versions), model.checks):
            for check in checks.all:
                key = check_id(project, model.name, check.phase, check.name)
                nodes[key] = _check(project, model, check)
                parents[key] = _upstream(project, model, check)
    exposures = {exposure_id(project, e.name): e for e in project.exposures.values()}
    parents |= {key: _used(project, each) for key, each in exposures.items()}
    groups = {f"group.{project.name}.{each.name}": each for each in project.groups.values()}
    return {
        "metadata": metadata,
        "nodes": {**nodes},
        "sources": {**sources},
        "exposures": {key: _exposure(project, each) for key, each in exposures.items()},
        "groups": {key: _group(project, each) for key, each in groups.items()},
        "group_map": {
            each.name: [node_id(project, n) for n, m in project.models.items() if m.group == name]
            for name, each in project.groups.items()
        },
        **{name: {} for name in _EMPTY_MAPS},
        "parent_map": {key: [*parents[key]] for key in sorted(parents)},
        "child_map": {key: [*ids] for key, ids in sorted(children(parents).items())},
    }


def _model(project: Project, model: Model) -> Node:
    text, layer = "", _resource_names(project, model.table, model.where.path, "model", model.name)
    if model.entity is not None:  # its file holds other entities, and settings of users
        text = project.shown_sql(model)
    else:
        with suppress(OSError):  # gone since the project was loaded
            text = Path(project.root, model.where.path).read_text(encoding="utf-8")
    return layer | {
        "checksum": _sha256(model.fingerprint.sql),
        "config": _model_config(project, model),
        "group": model.group or None,
        "access": str(model.access),
        "tags": [*model.tags],
        "meta": _meta(model),
        "description": model.description,
        "columns": _columns(model.columns),
        "raw_code": text,
        "language": "sql" if model.function is None else "python",
        **_read(model.inputs),
        "depends_on": {"macros": [], "nodes": [*upstream_ids(project, model)]},
        "compiled": True,
        "compiled_code": project.shown_sql(model),
    }


def exposure_id(project: Project, name: str) -> str:
    """Return the unique id of an exposure."""
    return f"exposure.{project.name}.{name}"


def _used(project: Project, exposure: Exposure) -> list[str]:
    """Return the ids of what an exposure depends on."""
    models = {node_id(project, name) for name in exposure.models}
    return sorted(models | {source_id(project, project.sources[n]) for n in exposure.sources})


def _exposure(project: Project, exposure: Exposure) -> Node:
    labels: Node = {"tags": [*exposure.tags], "meta": {**exposure.meta}}
    read = [InputName(InputKind.MODEL, name) for name in exposure.models]
    read += [InputName(InputKind.SOURCE, name) for name in exposure.sources]
    return {
        **_declared(project, "exposure", exposure),
        "fqn": [project.name, exposure.name],
        "type": exposure.type,
        "label": exposure.label or None,
        "url": exposure.url or None,
        "maturity": exposure.maturity or None,
        "config": {"enabled": True, **labels},
        **labels,
        **_read(read),
        "metrics": [],
        "depends_on": {"macros": [], "nodes": [*_used(project, exposure)]},
    }


def _group(project: Project, group: ModelGroup) -> Node:
    return _declared(project, "group", group)


def _declared(project: Project, kind: str, each: Exposure | ModelGroup) -> Node:
    """Return what exposures and groups have alike."""
    return {
        "name": each.name,
        "resource_type": kind,
        "package_name": project.name,
        "path": PurePosixPath(*PurePosixPath(each.where.path).parts[1:]).as_posix(),
        "original_file_path": each.where.path,
        "unique_id": f"{kind}.{project.name}.{each.name}",
        "owner": {"name": each.owner.name or None, "email": each.owner.email or None},
        "description": each.description,
    }


def _seed(project: Project, seed: Seed) -> Node:
    path = Path(seed.path).relative_to(project.root).as_posix()
    return _resource_names(project, seed.table, path, "seed", seed.name) | {
        "checksum": _sha256(seed.digest),
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
    layer = _resource_names(project, source.table, source.where.path, "source", source.table.table)
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


def _resource_names(project: Project, table: TableName, path: str, kind: str, name: str) -> Node:
    """Return the names and the place that every resource has."""
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
        "relation_name": project.sql_of(table),
    }


def _hooks(project: Project, model: Model, hooks: Iterable[Hook]) -> list[Json]:
    """Return hooks as dbt writes them; no hook is part of a transaction."""
    shown = (shown_hook(project, each, model) for each in hooks)
    return [{"sql": mask(sql), "transaction": False, "index": n} for n, sql in enumerate(shown)]


def _model_config(project: Project, model: Model) -> Node:
    """Return the strategy in dbt's terms: `incremental` with its details."""
    strategy, (materialized, how) = model.strategy, model.strategy.dbt
    config: Node = {
        "enabled": True,
        "materialized": materialized,
        "schema": model.table.schema,
        "alias": model.table.table,
        "tags": [*model.tags],
        "meta": _meta(model),
        "on_schema_change": str(model.on_schema_change),
        "pre-hook": _hooks(project, model, model.hooks.before),
        "post-hook": _hooks(project, model, model.hooks.after),
        "group": model.group or None,
        "access": str(model.access),
        "grants": _grants(model),
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


def _grants(model: Model) -> Node:
    grants = model.grants or ()
    privileges = dict.fromkeys(each.privilege for each in grants)
    return {each: [g.grantee for g in grants if g.privilege == each] for each in privileges}


def _meta(model: Model) -> Node:
    """Return the texts under a user's `meta`; nested values have dotted keys."""
    texts = ((key.partition("."), text) for key, text in model.config.items())
    return {inner: text for (key, _, inner), text in texts if key == "meta"}


def _columns(columns: Iterable[ColumnDoc]) -> Node:
    return {
        column.name: {
            "name": column.name,
            "description": column.description,
            "data_type": column.type or None,
            "meta": {**column.meta},
            "tags": [*column.tags],
        }
        for column in columns
    }
