"""Resolve the names in a query, and replace them by tokens, once all names are known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.core.findings import Finding, Location, Severity
from penstock.core.history import SystemColumns
from penstock.core.names import InputKind, InputName, TableName, quoted, shown_name
from penstock.core.query import Query, live, mention, parameter, present
from penstock.project.files.parsed import Branch, RefKind, TableRef, fill
from penstock.project.files.values import did_you_mean

_CALL = re.compile(r"""\s*(?:\{\{)?\s*(ref|source)\s*\((.*)\)\s*(?:\}\})?\s*""", re.DOTALL)
_TEXT = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)")\s*""")


@dataclass(frozen=True, slots=True)
class Named:
    """A possible input of queries: its input name and its table."""

    input: InputName
    table: TableName


@dataclass(slots=True)
class NameResolver:
    """Models and seeds by name, sources by `schema.table`, and all of them by their tables.

    Names compare case-insensitively. `built` are the models, `frames` those without a table,
    `incremental` Python models with windows, `hidden` disabled names with the reason, `history` the
    system columns of models that keep versions, `places` the owners of folders.
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
    places: dict[str, Named] = field(default_factory=dict)
    catalog: str = ""

    def add_model(self, name: str, table: TableName) -> None:
        """Add a model or a seed."""
        named = Named(InputName(InputKind.MODEL, name), table)
        self.schemas.add(table.schema.lower())
        self.models.setdefault(name.lower(), named)
        self.tables[table.folded] = named

    def add_table(self, written: TableName, name: str) -> None:
        """Add another spelling of a model's table, for example without the schema prefix."""
        self.schemas.add(written.schema.lower())
        self.tables.setdefault(written.folded, self.models[name.lower()])

    def add_source(
        self, table: TableName, path: str = "", known_as: TableName | None = None
    ) -> None:
        """Add a source, its folder if it has one, and its name in `source()` if that differs."""
        named = Named(InputName(InputKind.SOURCE, str(table)), table)
        if known_as is not None:
            self.sources[known_as.folded] = named
        self.sources.setdefault(table.folded, named)
        self.tables.setdefault(table.folded, named)
        self.places.setdefault(path.rstrip("/"), named)

    def model(self, name: str) -> Named | None:
        """Find a model or seed: by its exact name, or by a file name with a suffix."""
        return self.models.get(name.lower())

    def ref(self, name: str) -> Named | None:
        """Find a model or seed for a template's `ref`; the suffix `.ff` is optional."""
        return self.model(name) or self.model(name.lower().removesuffix(".ff"))

    def source(self, schema: str, table: str) -> Named | None:
        """Find a source."""
        return self.sources.get(f"{schema}.{table}".lower())

    def table(self, parts: tuple[str, ...]) -> Named:
        """Find the meaning of a written table name; an unknown one is external."""
        if len(parts) == 3 and parts[0].lower() == self.catalog.lower():  # noqa: PLR2004
            parts = parts[1:]
        dotted = ".".join(parts)
        found = self.tables.get(dotted.lower()) if len(parts) > 1 else None
        schema, _, table = dotted.rpartition(".")
        external = InputName(InputKind.EXTERNAL, dotted)
        return found or Named(external, TableName(schema, table))

    def model_hint(self, name: str) -> str:
        """Return a hint for an unknown model."""
        reason = self.hidden.get(name.lower())
        return reason or did_you_mean(name, {n.input.name for n in self.models.values()})

    def source_hint(self, name: str) -> str:
        """Return a hint for an unknown source."""
        near = did_you_mean(name, {n.input.name for n in self.sources.values()})
        return near or "declare it under sources: in a YAML file"


def called(written: str) -> tuple[str, list[str]]:
    """Return `ref` or `source` and its text arguments; for no call "" and the name."""
    call = _CALL.fullmatch(written)
    if call is None:
        return "", [written.replace("`", "").strip()]
    found = (_TEXT.fullmatch(each) for each in call[2].split(","))
    return call[1], [each[1] or each[2] or "" for each in found if each]


def input_named(
    written: str, resolver: NameResolver, inputs: Sequence[InputName]
) -> tuple[InputName | None, str]:
    """Find the input for a name, also an undeclared table among `inputs`; None with a hint."""
    kind, names = called(written)
    if not kind:
        name = names[0]
        found = resolver.ref(name) or resolver.table(tuple(name.split(".")))
        if found.input.kind is not InputKind.EXTERNAL or found.input in inputs:
            return found.input, ""
        otherwise = resolver.source_hint(name) if "." in name else "name a model or a source"
        return None, resolver.model_hint(name.rpartition(".")[2]) or otherwise
    if kind == "ref" and len(names) == 1:
        model = resolver.ref(names[0])
        return (model.input, "") if model else (None, resolver.model_hint(names[0]))
    if kind == "source" and len(names) == 2:  # noqa: PLR2004  schema and table
        source = resolver.source(*names)
        return (source.input, "") if source else (None, resolver.source_hint(".".join(names)))
    return None, "write ref('model') or source('schema', 'table')"


@dataclass(slots=True)
class Linked:
    """A query with its tokens, its inputs, and the errors in its names."""

    query: Query
    display: str
    inputs: dict[InputName, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class QueryOwner:
    """The owner of a query: the file, and the model (None for a user's query)."""

    path: str
    model: Named | None = None


def link(branches: Sequence[Branch], resolver: NameResolver, reader: QueryOwner) -> Linked:
    """Resolve the references in a query's branches; the first one is for a full run.

    The canonical text, and the displayed text that fingerprints use, contain every differing
    branch.
    """
    linker = _Linker(resolver, reader)
    texts = [linker.filled(branch) for branch in branches]
    query = Query(
        texts[0].text,
        texts[-1].text,
        "\n".join(t.display if t.canonical is None else t.canonical for t in texts),
        tuple(linker.inputs),
        parsed=all(t.canonical is not None for t in texts),
        deleted_flags=tuple(linker.flags.items()),
    )
    display, findings = "\n".join(t.display for t in texts), list(dict.fromkeys(linker.findings))
    return Linked(query, display, linker.inputs, findings)


class _Texts(NamedTuple):
    """One text in the forms for runs, readers and fingerprints."""

    text: str
    display: str
    canonical: str | None


@dataclass(slots=True)
class _Linker:
    resolver: NameResolver
    reader: QueryOwner
    inputs: dict[InputName, int] = field(default_factory=dict)
    flags: dict[InputName, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    this: Named | None = field(init=False)

    def __post_init__(self) -> None:
        """Determine the meaning of `this`."""
        owner = self.reader.model
        self.this = owner and Named(InputName(InputKind.THIS, owner.input.name), owner.table)

    def filled(self, branch: Branch) -> _Texts:
        tables = [self.referent(ref) for ref in branch.refs]
        aliases = _aliases(branch.refs, tables)
        pairs = zip(branch.refs, tables, strict=True)
        tokens = [self.token(ref, found, aliases) for ref, found in pairs]
        return _Texts(
            fill(branch.text, lambda number: tokens[number].text),
            fill(branch.text, lambda number: tokens[number].display),
            branch.canonical and fill(branch.canonical, lambda n: tokens[n].canonical or ""),
        )

    def referent(self, ref: TableRef) -> Named:
        name, owner, this = ref.names[0] if ref.names else "", self.reader.model, self.this
        match ref.kind:
            case RefKind.THIS:
                return this or _unknown(TableName("", "this"))
            case RefKind.REF | RefKind.VALID_FROM | RefKind.VALID_TO | RefKind.PRESENT:
                asked = f"{name}.v{ref.names[1]}" if len(ref.names) > 1 else name  # as dbt has them
                found_by = self.resolver.model(asked) or self.resolver.ref(name)
                return found_by or _unknown(TableName("", name))
            case RefKind.SOURCE:
                return self.resolver.source(*ref.names) or _unknown(TableName(*ref.names))
            case RefKind.PARAM:
                return _unknown(TableName("", name))  # no table at all
            case RefKind.PLAIN | RefKind.QUALIFIER:
                found = self.resolver.table(ref.names)
                if this and owner and found.input == owner.input:
                    return this
                if owner is None and len(ref.names) == 1:
                    return self.resolver.model(name) or found
                return found

    def token(self, ref: TableRef, target: Named, aliases: Mapping[str, str]) -> _Texts:
        alias = aliases.get(target.table.folded, target.table.table)
        if ref.kind is RefKind.PARAM:
            spelt = f"@{ref.names[0]}"
            return _Texts(parameter(ref.names[0]), spelt, spelt)
        if ref.kind in (RefKind.VALID_FROM, RefKind.VALID_TO, RefKind.PRESENT):
            return self.of_history(ref, target)
        if ref.qualifies:
            if target.table.folded in aliases or ref.kind is not RefKind.QUALIFIER:
                return _Texts(*(quoted(alias),) * 3)
            written = shown_name(".".join(ref.names))
            return _Texts(written, written, ".".join(map(quoted, ref.names)))
        self.inputs.setdefault(target.input, ref.line)
        self.findings += self.misnamed(ref, target)
        schema = target.table.schema.split(".") if target.table.schema else []
        return _Texts(
            mention(target.input, alias if ref.bare else ""),
            shown_name(str(target.table)),
            ".".join(map(quoted, (*schema, target.table.table))),
        )

    def of_history(self, ref: TableRef, target: Named) -> _Texts:
        """Return the reference of `as_of`: a system column, or the condition on tombstones."""
        is_model = target.input.kind is InputKind.MODEL
        history = self.resolver.history.get(target.input.name) if is_model else None
        columns = history or SystemColumns.with_prefix()
        if ref.kind is RefKind.PRESENT:
            flag = self.flags[target.input] = columns.is_deleted
            canonical = f"COALESCE({quoted(flag)}, FALSE) = FALSE"  # what `live` writes
            return _Texts(present(target.input), live(flag), canonical)
        is_from = ref.kind is RefKind.VALID_FROM
        is_unknown = target.input.kind is InputKind.EXTERNAL  # reported where the table stands
        if is_from and not history and not is_unknown:
            name, where = target.input.name, Location(self.reader.path, ref.line)
            sentence = f"as_of reads history tables, and {name!r} is none"
            hint = f"write ref({name!r}) alone, or make it a snapshot"
            self.findings.append(Finding(where, "not-a-history-model", sentence, hint))
        return _Texts(*(quoted(columns.valid_from if is_from else columns.valid_to),) * 3)

    def misnamed(self, ref: TableRef, target: Named) -> Iterator[Finding]:
        code, where = "unknown-reference", Location(self.reader.path, ref.line)
        name, is_unknown = ".".join(ref.names), target.input.kind is InputKind.EXTERNAL
        if target.input.kind is InputKind.MODEL and target.input.name in self.resolver.frames:
            sentence = f"{target.input.name!r} is a frame of Python, which no SQL can read"
            yield Finding(where, "not-materialised", sentence, "decorate it with @table")
            return
        match ref.kind:
            case RefKind.REF if is_unknown:
                sentence = f"no model is called {ref.names[0]!r}"
                yield Finding(where, code, sentence, self.resolver.model_hint(ref.names[0]))
            case RefKind.REF if len(ref.names) > 1 and not _is_version(target, ref.names):
                sentence = f"{ref.names[0]!r} has no version {ref.names[1]}"
                start = f"{ref.names[0]}.v".lower()
                versions = (each for each in self.resolver.built if each.lower().startswith(start))
                known = ", ".join(each[len(start) :] for each in sorted(versions))
                hint = f"its versions are {known}" if known else "it has the one version 1"
                yield Finding(where, code, sentence, hint)
            case RefKind.SOURCE if is_unknown:
                sentence = f"no source is called {name!r}"
                yield Finding(where, code, sentence, self.resolver.source_hint(name))
            case RefKind.PLAIN if is_unknown:
                near = self.resolver.model(name) if len(ref.names) == 1 else None
                if near:
                    sentence = f"table {target.table} is external, though a model is called so"
                    hint = f"write {near.table} or ref('{near.input.name}')"
                elif target.table.schema.lower() in self.resolver.schemas:
                    is_no = "is not a model or source, though the project builds its schema"
                    sentence = f"table {target.table} {is_no}"
                    hint = self.resolver.model_hint(target.table.table)
                else:
                    return
                yield Finding(where, "external-table", sentence, hint, Severity.WARNING)


def _is_version(model: Named, names: Sequence[str]) -> bool:
    """Return whether a model is the version that a reference names."""
    name, start = model.input.name.lower(), f"{names[0]}.v".lower()  # of versions as dbt has them
    return name == start + names[1].lower() or (names[1] == "1" and not name.startswith(start))


def _unknown(table: TableName) -> Named:
    return Named(InputName(InputKind.EXTERNAL, str(table)), table)


def _aliases(refs: Sequence[TableRef], tables: Sequence[Named]) -> dict[str, str]:
    """Return an alias for each table, by which its columns are qualified: its own name.

    For columns written `schema.table.column`, if two schemas have that table, the alias has both
    names.
    """
    pairs = list(zip(refs, tables, strict=True))
    read = {found.table.folded: found.table for ref, found in pairs if not ref.qualifies}
    qualified = {f.table.folded for ref, f in pairs if ref.kind is RefKind.QUALIFIER}
    counts = Counter(table.table.lower() for table in read.values() if qualified)  # few have any
    return {
        folded: f"{table.schema}__{table.table}"
        if folded in qualified and counts[table.table.lower()] > 1
        else table.table
        for folded, table in read.items()
    }
