"""The unique ids under which dbt's artifacts know what a project has."""

from __future__ import annotations

from penstock.core.checks import Phase
from penstock.core.model import Model, Source
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project


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
