"""The types that project files declare for the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from penstock.core.model import ColumnDoc, Model
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project
from penstock.core.types import ColumnType, ScalarType, parse_type
from penstock.project.trees.field_types import (
    UnknownTypeError,
    UnsupportedTypeError,
    read_type,
)


def known_types(project: Project, name: InputName) -> Mapping[str, ColumnType]:
    """Give the declared types of a source, a model or a seed by column; none of other tables."""
    if name.kind is InputKind.SOURCE:
        return _of_docs(project.sources[name.name].columns)
    if name.kind is InputKind.EXTERNAL:
        return {}
    model = project.models.get(name.name)
    if model is None:
        return _of_docs(project.seeds[name.name].columns)
    return model_types(model)


def model_types(model: Model) -> Mapping[str, ColumnType]:
    """Give the declared types of a model's own table, system columns with them.

    Columns that no version declares any more stay known; the newest version counts.
    """
    found = dict(_of_docs(model.columns))
    for version in sorted(model.versions, key=lambda each: each.number):
        for column in version.schema.columns:
            found[column.name] = parse_type(column.type)
    if model.history is not None:
        columns = model.history.columns
        found |= dict.fromkeys((columns.valid_from, columns.valid_to), ScalarType("timestamp"))
        found |= dict.fromkeys((columns.is_current, columns.is_deleted), ScalarType("boolean"))
    return found


def system_names(model: Model) -> tuple[str, ...]:
    """Give the columns that penstock adds to a model's table."""
    return model.history.columns.names if model.history is not None else ()


def _of_docs(docs: Iterable[ColumnDoc]) -> dict[str, ColumnType]:
    found = {}
    for doc in docs:
        with suppress(UnknownTypeError, UnsupportedTypeError):  # a finding has said it, or nobody
            if doc.type:
                found[doc.name] = read_type(doc.type)
    return found
