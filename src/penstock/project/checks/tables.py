"""The columns of every table of a project, as far as files tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.core.model import ColumnDoc, Seed, Source, Version
from penstock.core.names import InputKind, InputName
from penstock.core.schema import Schema
from penstock.core.strategy import Strategy
from penstock.project.checks.scene import UNKNOWN, Columns
from penstock.project.parsed import SqlFile
from penstock.project.trees.field_types import (
    UnknownTypeError,
    UnsupportedTypeError,
    read_type,
)


@dataclass(frozen=True, slots=True)
class Tables:
    """Sources and seeds by name; `models` gives the columns of a model's newest version."""

    models: Callable[[str], Columns]
    sources: Mapping[str, Source]
    seeds: Mapping[str, Seed]
    known: dict[InputName, Columns] = field(default_factory=dict)

    def columns_of(self, name: InputName) -> Columns:
        """Give the columns of an input."""
        if name not in self.known:
            self.known[name] = self._columns(name)
        return self.known[name]

    def _columns(self, name: InputName) -> Columns:
        if name.kind is InputKind.SOURCE and name.name in self.sources:
            return _declared(self.sources[name.name].columns)
        if name.kind is InputKind.MODEL and name.name in self.seeds:
            return Columns(types=_types(self.seeds[name.name].columns))
        return self.models(name.name) if name.kind is InputKind.MODEL else UNKNOWN


def columns_of_version(version: Version, file: SqlFile | None) -> Columns:
    """Give the columns that a version declares, else those that its query selects."""
    return columns_in(version.schema) if version.schema.columns else selected(file, (), None)


def columns_in(schema: Schema) -> Columns:
    """Give the columns of a schema that is whole."""
    return Columns(schema.names, {each.name.lower(): each.type for each in schema.columns})


def selected(file: SqlFile | None, docs: Sequence[ColumnDoc], strategy: Strategy | None) -> Columns:
    """Give the columns that a query selects, with the types that the project says of them."""
    names = file.branches[0].outputs.names if file and file.branches else None
    if names is not None and strategy is not None and strategy.history is not None:
        names = (*names, *strategy.history.columns.names)
    return Columns(names, _types(docs)) if names is not None or docs else UNKNOWN


def _declared(docs: Sequence[ColumnDoc]) -> Columns:
    """Give described columns; they are all that there are if every one has a type."""
    types = _types(docs)
    is_whole = bool(docs) and len(types) == len({each.name.lower() for each in docs})
    return Columns(tuple(each.name for each in docs) if is_whole else None, types)


def _types(docs: Sequence[ColumnDoc]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in docs:
        if each.type:
            with suppress(UnknownTypeError, UnsupportedTypeError):
                found[each.name.lower()] = str(read_type(each.type))
    return found
