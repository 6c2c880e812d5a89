"""What a name that a query or a check writes stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.history import SystemColumns
from penstock.core.names import InputKind, InputName, TableName
from penstock.project.files.values import did_you_mean

_CALL = re.compile(r"""\s*(?:\{\{)?\s*(ref|source)\s*\((.*)\)\s*(?:\}\})?\s*""", re.DOTALL)
_TEXT = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)")\s*""")


@dataclass(frozen=True, slots=True)
class Named:
    """Something that queries may read: its input name and its table."""

    input: InputName
    table: TableName


@dataclass(slots=True)
class NameResolver:
    """Models and seeds by name, sources by `schema.table`, and all of them by their tables.

    Names compare without case. `built` are the models, `frames` those that are no tables,
    `incremental` those of Python that windows keep up to date, `hidden` names that are off and why,
    `history` the system columns of the models that keep versions.
    """

    models: dict[str, Named] = field(default_factory=dict)
    sources: dict[str, Named] = field(default_factory=dict)
    tables: dict[str, Named] = field(default_factory=dict)
    schemas: set[str] = field(default_factory=set)
    hidden: dict[str, str] = field(default_factory=dict)
    built: set[str] = field(default_factory=set)
    frames: set[str] = field(default_factory=set)
    incremental: set[str] = field(default_factory=set)
    history: dict[str, SystemColumns] = field(default_factory=dict)
    catalog: str = ""

    def add_model(self, name: str, table: TableName, aliases: Iterable[str] = ()) -> None:
        """Note a model or a seed; `aliases` are other names that ref() and SQL may use."""
        named = Named(InputName(InputKind.MODEL, name), table)
        self.schemas.add(table.schema.lower())
        for alias in (name, *aliases):
            self.models.setdefault(alias.lower(), named)
        self.tables[table.folded] = named

    def add_table(self, written: TableName, name: str) -> None:
        """Note that SQL may write a model's table so, for example without the schema prefix."""
        self.schemas.add(written.schema.lower())
        self.tables.setdefault(written.folded, self.models[name.lower()])

    def add_source(self, table: TableName) -> None:
        """Note a source."""
        named = Named(InputName(InputKind.SOURCE, str(table)), table)
        self.sources[table.folded] = named
        self.tables.setdefault(table.folded, named)

    def model(self, name: str) -> Named | None:
        """Find a model or seed: the exact name, or a file name with its tail."""
        return self.models.get(name.lower())

    def ref(self, name: str) -> Named | None:
        """Find a model or seed as a template means it; the tail `.ff` may be there or not."""
        return self.model(name) or self.model(name.lower().removesuffix(".ff"))

    def history_of(self, named: Named) -> SystemColumns | None:
        """Give the system columns of a model that keeps versions."""
        is_model = named.input.kind is InputKind.MODEL
        return self.history.get(named.input.name) if is_model else None

    def source(self, schema: str, table: str) -> Named | None:
        """Find a source."""
        return self.sources.get(f"{schema}.{table}".lower())

    def table(self, parts: tuple[str, ...]) -> Named:
        """Find what a written table name means; one that is not known is external."""
        if len(parts) == 3 and parts[0].lower() == self.catalog.lower():  # noqa: PLR2004
            parts = parts[1:]
        dotted = ".".join(parts)
        found = self.tables.get(dotted.lower()) if len(parts) > 1 else None
        if found:
            return found
        schema, _, table = dotted.rpartition(".")
        return Named(InputName(InputKind.EXTERNAL, dotted), TableName(schema, table))

    def model_hint(self, name: str) -> str:
        """Word a hint for a model that is not there."""
        reason = self.hidden.get(name.lower())
        return reason or did_you_mean(name, {n.input.name for n in self.models.values()})

    def source_hint(self, name: str) -> str:
        """Word a hint for a source that is not there."""
        known: Mapping[str, Named] = self.sources
        near = did_you_mean(name, {n.input.name for n in known.values()})
        return near or "declare it under sources: in a YAML file"


def called(written: str) -> tuple[str, list[str]]:
    """Give `ref` or `source` and the texts that it is called with; of no call "" and the name.

    >>> called("{{ source('raw', 'events') }}"), called("`raw`.events")
    (('source', ['raw', 'events']), ('', ['raw.events']))
    """
    call = _CALL.fullmatch(written)
    if call is None:
        return "", [written.replace("`", "").strip()]
    found = (_TEXT.fullmatch(each) for each in call[2].split(","))
    return call[1], [each[1] or each[2] or "" for each in found if each]


def input_named(
    written: str, resolver: NameResolver, inputs: Sequence[InputName]
) -> tuple[InputName | None, str]:
    """Find what a name means; beside None stands a hint.

    A table that nobody declared is known where it is one of the `inputs` of the model.
    """
    kind, names = called(written)
    if not kind:
        name = names[0]
        found = resolver.ref(name) or resolver.table(tuple(name.split(".")))
        if found.input.kind is not InputKind.EXTERNAL or found.input in inputs:
            return found.input, ""
        is_table = "." in name
        hint = resolver.model_hint(name.rpartition(".")[2])
        return None, hint or (
            resolver.source_hint(name) if is_table else "name a model or a source"
        )
    if kind == "ref" and len(names) == 1:
        model = resolver.ref(names[0])
        return (model.input, "") if model else (None, resolver.model_hint(names[0]))
    if kind == "source" and len(names) == 2:  # noqa: PLR2004  schema and table
        source = resolver.source(*names)
        return (source.input, "") if source else (None, resolver.source_hint(".".join(names)))
    return None, "write ref('model') or source('schema', 'table')"
