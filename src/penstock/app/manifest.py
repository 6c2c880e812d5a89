"""The project in the shape of dbt's manifest.json, schema version 12."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from penstock.app.check_nodes import Json, Node, check_nodes, check_parents
from penstock.app.node_ids import model_id, seed_id, source_id, upstream_ids
from penstock.core.graph import children
from penstock.core.history import Snapshot
from penstock.core.model import (
    Append,
    ColumnDoc,
    Fingerprint,
    Merge,
    Model,
    Partition,
    Seed,
    Source,
    Table,
    View,
    window_settings,
)
from penstock.core.names import InputKind, InputName, TableName, literal
from penstock.core.project import Project

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
        "config": _config(model),
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


def _config(model: Model) -> Node:
    """Say the strategy in dbt's words: `incremental` and how."""
    kinds = {
        View: "view",
        Table: "table",
        Append: "incremental",
        Merge: "incremental",
        Snapshot: "snapshot",
        Partition: "incremental",
    }
    config: Node = {
        "enabled": True,
        "materialized": kinds[type(model.strategy)],
        "schema": model.table.schema,
        "alias": model.table.table,
        "tags": [*model.tags],
        "on_schema_change": str(model.on_schema_change),
    }
    if isinstance(model.strategy, Append | Merge):
        config["incremental_strategy"] = model.strategy_name
    if model.partition is not None:
        config["incremental_strategy"] = "insert_overwrite"
        config["event_time"] = model.partition.field
    if isinstance(model.strategy, Merge | Snapshot):
        config["unique_key"] = [*model.strategy.keys]
    if settings := window_settings(model.strategy):
        config["event_time"] = settings.time_column
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
