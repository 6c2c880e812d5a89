"""What names in a query stand for; linking puts tokens in their places, now that all are known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.findings import Finding, Location, Severity
from penstock.core.history import SystemColumns
from penstock.core.names import InputKind, InputName, TableName, quoted
from penstock.core.query import Query, live, mention, parameter, present, shown_name
from penstock.project.files.parsed import Branch, RefKind, TableRef, fill
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

    Names compare without case. `built` are the models, `hidden` names that are off and why,
    `history` the system columns of the models that keep versions.
    """

    models: dict[str, Named] = field(default_factory=dict)
    sources: dict[str, Named] = field(default_factory=dict)
    tables: dict[str, Named] = field(default_factory=dict)
    schemas: set[str] = field(default_factory=set)
    hidden: dict[str, str] = field(default_factory=dict)
    built: set[str] = field(default_factory=set)
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


_OF_HISTORY = (RefKind.VALID_FROM, RefKind.VALID_TO, RefKind.PRESENT)


@dataclass(slots=True)
class Linked:
    """A query with its tokens, what it reads, and what is wrong with its names."""

    query: Query
    shown: str
    inputs: dict[InputName, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class QueryOwner:
    """Who asks: the file, and the model (None for a user's query)."""

    path: str
    model: Named | None = None


@dataclass(slots=True)
class _Texts:
    text: str
    shown: str
    canonical: str | None
    flags: dict[InputName, str]


def link(branches: Sequence[Branch], resolver: NameResolver, reader: QueryOwner) -> Linked:
    """Fill in the references of a query's branches; the first one is that of the whole history.

    The canonical text, and the shown text that fingerprints see, hold every branch that differs.
    """
    inputs: dict[InputName, int] = {}
    findings: list[Finding] = []
    texts = [_fill(branch, resolver, reader, inputs, findings) for branch in branches]
    shown = "\n".join(t.shown for t in texts)
    parsed = all(t.canonical is not None for t in texts)
    canonical = "\n".join(t.shown if t.canonical is None else t.canonical for t in texts)
    names = tuple(inputs)
    flags = {name: column for t in texts for name, column in t.flags.items()}
    pairs = tuple(flags.items())
    query = Query(
        texts[0].text, texts[-1].text, canonical, names, parsed=parsed, deleted_flags=pairs
    )
    return Linked(query, shown, inputs, list(dict.fromkeys(findings)))


def _fill(
    branch: Branch,
    resolver: NameResolver,
    reader: QueryOwner,
    inputs: dict[InputName, int],
    findings: list[Finding],
) -> _Texts:
    flags: dict[InputName, str] = {}
    named = [_named(ref, resolver, reader) for ref in branch.refs]
    aliases = _aliases(branch.refs, named)
    tokens: list[tuple[str, str, str]] = []
    for ref, found in zip(branch.refs, named, strict=True):
        alias = aliases.get(found.table.folded, found.table.table)
        if ref.kind is RefKind.PARAM:
            tokens.append(_parameter(ref))
        elif ref.kind in _OF_HISTORY:
            tokens.append(_of_history(ref.kind, found, resolver, flags))
            findings += _without_history(ref, found, resolver, reader)
        elif ref.qualifies:
            is_read = found.table.folded in aliases or ref.kind is not RefKind.QUALIFIER
            tokens.append((quoted(alias),) * 3 if is_read else _as_written(ref))
        else:
            inputs.setdefault(found.input, ref.line)
            findings += _finding(ref, found, resolver, reader)
            alias = alias if ref.bare else ""
            shown = shown_name(str(found.table))
            tokens.append((mention(found.input, alias), shown, _canonical(found.table)))
    text = fill(branch.text, lambda number: tokens[number][0])
    shown = fill(branch.text, lambda number: tokens[number][1])
    canonical = branch.canonical
    if canonical is not None:
        canonical = fill(canonical, lambda number: tokens[number][2])
    return _Texts(text, shown, canonical, flags)


def _named(ref: TableRef, resolver: NameResolver, reader: QueryOwner) -> Named:
    match ref.kind:
        case RefKind.THIS:
            return _this(reader)
        case RefKind.REF:
            return _asked(ref, resolver)
        case RefKind.VALID_FROM | RefKind.VALID_TO | RefKind.PRESENT:
            return _asked(ref, resolver)
        case RefKind.SOURCE:
            found = resolver.source(*ref.names)
            return found or _unknown(TableName(*ref.names))
        case RefKind.PARAM:
            return _unknown(TableName("", ref.names[0]))  # no table at all
        case RefKind.PLAIN | RefKind.QUALIFIER:
            found = resolver.table(ref.names)
            if reader.model and found.input == reader.model.input:
                return _this(reader)
            if reader.model is None and len(ref.names) == 1:
                return resolver.model(ref.names[0]) or found
            return found


def _asked(ref: TableRef, resolver: NameResolver) -> Named:
    return resolver.ref(ref.names[0]) or _unknown(TableName("", ref.names[0]))


def _this(reader: QueryOwner) -> Named:
    if reader.model is None:
        return _unknown(TableName("", "this"))
    return Named(InputName(InputKind.THIS, reader.model.input.name), reader.model.table)


def _unknown(table: TableName) -> Named:
    return Named(InputName(InputKind.EXTERNAL, str(table)), table)


def _aliases(refs: Sequence[TableRef], named: Sequence[Named]) -> dict[str, str]:
    """Give each table that is read the name by which its columns are qualified.

    It is the table's own name. Where columns are written `schema.table.column` because two schemas
    have a table of that name, the schema goes into the alias.
    """
    pairs = list(zip(refs, named, strict=True))
    read = {found.table.folded: found.table for ref, found in pairs if not ref.qualifies}
    qualified = {f.table.folded for ref, f in pairs if ref.kind is RefKind.QUALIFIER}
    counts = Counter(table.table.lower() for table in read.values())
    return {
        folded: f"{table.schema}__{table.table}"
        if folded in qualified and counts[table.table.lower()] > 1
        else table.table
        for folded, table in read.items()
    }


def _parameter(ref: TableRef) -> tuple[str, str, str]:
    spelt = f"@{ref.names[0]}"
    return parameter(ref.names[0]), spelt, spelt


def _of_history(
    kind: RefKind, found: Named, resolver: NameResolver, flags: dict[InputName, str]
) -> tuple[str, str, str]:
    """Give what `as_of` refers to: a system column, or the condition on tombstones."""
    columns = resolver.history_of(found) or SystemColumns.named()
    if kind is RefKind.PRESENT:
        flags[found.input] = columns.is_deleted
        shown = live(columns.is_deleted)
        return present(found.input), shown, _canonical_live(columns.is_deleted)
    column = columns.valid_from if kind is RefKind.VALID_FROM else columns.valid_to
    return (quoted(column),) * 3


def _canonical_live(is_deleted: str) -> str:
    """Give the canonical form of what `live` writes."""
    return f"COALESCE({quoted(is_deleted)}, FALSE) = FALSE"


def _without_history(
    ref: TableRef, found: Named, resolver: NameResolver, reader: QueryOwner
) -> list[Finding]:
    is_unknown = found.input.kind is InputKind.EXTERNAL  # reported where the table stands
    if ref.kind is not RefKind.VALID_FROM or is_unknown or resolver.history_of(found):
        return []
    sentence = f"as_of reads history tables, and {found.input.name!r} is none"
    hint = f"write ref({found.input.name!r}) alone, or make it a snapshot"
    return [Finding(Location(reader.path, ref.line), "not-a-history-model", sentence, hint)]


def _as_written(ref: TableRef) -> tuple[str, str, str]:
    written = ".".join(ref.names)
    return shown_name(written), shown_name(written), ".".join(quoted(n) for n in ref.names)


def _canonical(table: TableName) -> str:
    parts = [*table.schema.split("."), table.table] if table.schema else [table.table]
    return ".".join(quoted(part) for part in parts)


def _finding(
    ref: TableRef, found: Named, resolver: NameResolver, reader: QueryOwner
) -> list[Finding]:
    where = Location(reader.path, ref.line)
    unknown = found.input.kind is InputKind.EXTERNAL
    if ref.kind is RefKind.REF and unknown:
        name = ref.names[0]
        sentence = f"no model is called {name!r}"
        return [Finding(where, "unknown-reference", sentence, resolver.model_hint(name))]
    if ref.kind is RefKind.REF and len(ref.names) > 1 and ref.names[1] != "1":
        sentence = f"{ref.names[0]!r} has no version {ref.names[1]}"
        return [Finding(where, "unknown-reference", sentence, "it has the one version 1")]
    if ref.kind is RefKind.SOURCE and unknown:
        name = ".".join(ref.names)
        sentence = f"no source is called {name!r}"
        return [Finding(where, "unknown-reference", sentence, resolver.source_hint(name))]
    if ref.kind is RefKind.PLAIN and unknown:
        return _external(where, ref, found, resolver)
    return []


def _external(
    where: Location, ref: TableRef, found: Named, resolver: NameResolver
) -> list[Finding]:
    name = str(found.table)
    near = resolver.model(name) if len(ref.names) == 1 else None
    if near:
        sentence = f"table {name} is external, though a model is called so"
        hint = f"write {near.table} or ref('{near.input.name}')"
    elif found.table.schema.lower() in resolver.schemas:
        sentence = f"table {name} is no model or source, though the project builds its schema"
        hint = resolver.model_hint(found.table.table)
    else:
        return []
    return [Finding(where, "external-table", sentence, hint, Severity.WARNING)]
