"""The context in which templates are rendered: variables, environment, target, known tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Protocol, TypeAlias

from penstock.core.findings import Finding
from penstock.core.query import TemplateRows
from penstock.project.files.parsed import Dependency, RefKind
from penstock.project.files.values import Plain, digest


@dataclass(frozen=True, slots=True)
class TargetView:
    """The attributes of a target for templates."""

    name: str = ""
    catalog: str = ""
    schema_prefix: str = ""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """What a template can know of a table before it is built."""

    name: str = ""
    """The name of the model, seed or source."""
    schema: str = ""
    table: str = ""
    catalog: str = ""
    is_view: bool = False
    resource: str = "model"
    path: str = ""
    """The file of its definition."""


KnownColumns: TypeAlias = "tuple[tuple[str, str], ...]"
"""Names and types of columns, "" for an unknown type."""


class KnownTables(Protocol):
    """What is known of tables once every name has one."""

    def table(self, key: str) -> KnownTable | None:
        """Find a table by its `table_key`."""

    def columns(self, key: str) -> KnownColumns | None:
        """Return the columns of a table; None if its query does not show them."""

    def setting(self, key: str, name: str) -> Plain:
        """Return a setting of a model from its header, YAML or defaults."""

    def all(self) -> Sequence[KnownTable]:
        """Return all models, seeds and sources."""


def table_key(kind: RefKind, names: Sequence[str]) -> str:
    """Return the key of a table that a template asks for; for `this`, of the asking query."""
    return "\n".join((kind, *names))


LATER = frozenset({"relation", "columns", "setting", "graph", "rows"})
"""The kinds of dependencies that are known once every name has a table."""


@dataclass(frozen=True, slots=True)
class RenderContext:
    """The context of one load; `tables` is None until every name has a table.

    `rows` are those that templates read in earlier runs, by the key of their query. Files in
    `refused` are broken by theirs.
    """

    environ: Mapping[str, str]
    vars: Mapping[str, Plain] = field(default_factory=dict)
    target: TargetView = TargetView()
    project: str = ""
    threads: int = 1
    docs: Mapping[str, str] = field(default_factory=dict)
    """The blocks `{% docs %}` of Markdown files, by name."""
    tables: KnownTables | None = None
    rows: Mapping[str, TemplateRows] = field(default_factory=dict)
    refused: Mapping[str, Finding] = field(default_factory=dict)
    command_vars: frozenset[str] = frozenset()
    """The names of `--vars`."""

    def variable(self, name: str, package: str = "") -> list[Plain]:
        """Return the value of a variable in a list: of the command, the package, the project."""
        own = self.vars.get(package) if package and name not in self.command_vars else None
        held = own if isinstance(own, Mapping) and name in own else self.vars
        return [held[name]] if name in held else []

    def read(self, kind: str, name: str = "") -> Dependency:
        """Record that a file depends on a value outside of it, by its kind and name.

        The record holds a digest: values of the environment may be secret and the cache is a file.
        It is pending for what is not known yet.
        """
        if kind in LATER and self.tables is None:
            return Dependency(kind, name, "")
        value: object
        match kind:
            case "env":
                value = self.environ.get(name)
            case "var":
                package, _, own = name.rpartition("\n")
                value = self.variable(own, package) or None
            case "doc":
                value = self.docs.get(name)
            case "target":
                target = [self.target.name, self.target.catalog, self.target.schema_prefix]
                value = [*target, self.project, self.threads]
            case "rows":
                path, _, key = name.rpartition("\n")
                found = self.rows.get(key)
                value = [astuple(found) if found else None, path in self.refused]
            case _:
                value = _value_of(self.tables, kind, name) if self.tables else None
        return Dependency(kind, name, digest(json.dumps(value, sort_keys=True)))

    def agrees(self, reads: Sequence[Dependency]) -> bool:
        """Return whether all recorded values are unchanged, as far as they are known yet."""
        return all(
            self.read(note.kind, note.name) == note
            for note in reads
            if self.tables is not None or note.kind not in LATER
        )


def _value_of(tables: KnownTables, kind: str, name: str) -> object:
    """Return what is known of a table, as JSON."""
    match kind:
        case "relation":
            known = tables.table(name)
            return astuple(known) if known else None
        case "columns":
            return tables.columns(name)
        case "setting":
            key, _, setting = name.rpartition("\n")
            return tables.setting(key, setting)
    return [astuple(each) for each in tables.all()]
