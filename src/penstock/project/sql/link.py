"""The second pass of one query: holes become tokens, now that every name is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.core.findings import Finding, Location, Severity
from penstock.core.history import SystemColumns
from penstock.core.names import InputKind, InputName, TableName, quoted
from penstock.core.query import Query, live, mention, parameter, present, shown_name
from penstock.project.files.parsed import Branch, Hole, HoleKind, fill
from penstock.project.sql.names import Book, Named

_OF_HISTORY = (HoleKind.VALID_FROM, HoleKind.VALID_TO, HoleKind.PRESENT)


@dataclass(slots=True)
class Linked:
    """A query with its tokens, what it reads, and what is wrong with its names."""

    query: Query
    shown: str
    inputs: dict[InputName, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks: the file, and the model (None for a user's query)."""

    path: str
    model: Named | None = None


@dataclass(slots=True)
class _Texts:
    text: str
    shown: str
    canonical: str | None
    flags: dict[InputName, str]


def link(branches: Sequence[Branch], book: Book, reader: Reader) -> Linked:
    """Fill the holes of a query's branches; the first one is that of the whole history.

    The canonical text, and the shown text that fingerprints see, hold every branch that differs.
    """
    inputs: dict[InputName, int] = {}
    findings: list[Finding] = []
    texts = [_fill(branch, book, reader, inputs, findings) for branch in branches]
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
    book: Book,
    reader: Reader,
    inputs: dict[InputName, int],
    findings: list[Finding],
) -> _Texts:
    flags: dict[InputName, str] = {}
    named = [_named(hole, book, reader) for hole in branch.holes]
    aliases = _aliases(branch.holes, named)
    tokens: list[tuple[str, str, str]] = []
    for hole, found in zip(branch.holes, named, strict=True):
        alias = aliases.get(found.table.folded, found.table.table)
        if hole.kind is HoleKind.PARAM:
            tokens.append(_parameter(hole))
        elif hole.kind in _OF_HISTORY:
            tokens.append(_of_history(hole.kind, found, book, flags))
            findings += _without_history(hole, found, book, reader)
        elif hole.qualifies:
            is_read = found.table.folded in aliases or hole.kind is not HoleKind.QUALIFIER
            tokens.append((quoted(alias),) * 3 if is_read else _as_written(hole))
        else:
            inputs.setdefault(found.input, hole.line)
            findings += _finding(hole, found, book, reader)
            alias = alias if hole.bare else ""
            shown = shown_name(str(found.table))
            tokens.append((mention(found.input, alias), shown, _canonical(found.table)))
    text = fill(branch.text, lambda number: tokens[number][0])
    shown = fill(branch.text, lambda number: tokens[number][1])
    canonical = branch.canonical
    if canonical is not None:
        canonical = fill(canonical, lambda number: tokens[number][2])
    return _Texts(text, shown, canonical, flags)


def _named(hole: Hole, book: Book, reader: Reader) -> Named:
    match hole.kind:
        case HoleKind.THIS:
            return _this(reader)
        case HoleKind.REF:
            return _asked(hole, book)
        case HoleKind.VALID_FROM | HoleKind.VALID_TO | HoleKind.PRESENT:
            return _asked(hole, book)
        case HoleKind.SOURCE:
            found = book.source(*hole.names)
            return found or _unknown(TableName(*hole.names))
        case HoleKind.PARAM:
            return _unknown(TableName("", hole.names[0]))  # no table at all
        case HoleKind.PLAIN | HoleKind.QUALIFIER:
            found = book.table(hole.names)
            if reader.model and found.input == reader.model.input:
                return _this(reader)
            if reader.model is None and len(hole.names) == 1:
                return book.model(hole.names[0]) or found
            return found


def _asked(hole: Hole, book: Book) -> Named:
    return book.ref(hole.names[0]) or _unknown(TableName("", hole.names[0]))


def _this(reader: Reader) -> Named:
    if reader.model is None:
        return _unknown(TableName("", "this"))
    return Named(InputName(InputKind.THIS, reader.model.input.name), reader.model.table)


def _unknown(table: TableName) -> Named:
    return Named(InputName(InputKind.EXTERNAL, str(table)), table)


def _aliases(holes: Sequence[Hole], named: Sequence[Named]) -> dict[str, str]:
    """Give each table that is read the name by which its columns are qualified.

    It is the table's own name. Where columns are written `schema.table.column` because two schemas
    have a table of that name, the schema goes into the alias.
    """
    pairs = list(zip(holes, named, strict=True))
    read = {found.table.folded: found.table for hole, found in pairs if not hole.qualifies}
    qualified = {f.table.folded for hole, f in pairs if hole.kind is HoleKind.QUALIFIER}
    counts = Counter(table.table.lower() for table in read.values())
    return {
        folded: f"{table.schema}__{table.table}"
        if folded in qualified and counts[table.table.lower()] > 1
        else table.table
        for folded, table in read.items()
    }


def _parameter(hole: Hole) -> tuple[str, str, str]:
    spelt = f"@{hole.names[0]}"
    return parameter(hole.names[0]), spelt, spelt


def _of_history(
    kind: HoleKind, found: Named, book: Book, flags: dict[InputName, str]
) -> tuple[str, str, str]:
    """Give what stands in a hole of `as_of`: a system column, or the condition on tombstones."""
    columns = book.history_of(found) or SystemColumns.named()
    if kind is HoleKind.PRESENT:
        flags[found.input] = columns.is_deleted
        shown = live(columns.is_deleted)
        return present(found.input), shown, _canonical_live(columns.is_deleted)
    column = columns.valid_from if kind is HoleKind.VALID_FROM else columns.valid_to
    return (quoted(column),) * 3


def _canonical_live(is_deleted: str) -> str:
    """Give the canonical form of what `live` writes."""
    return f"COALESCE({quoted(is_deleted)}, FALSE) = FALSE"


def _without_history(hole: Hole, found: Named, book: Book, reader: Reader) -> list[Finding]:
    is_unknown = found.input.kind is InputKind.EXTERNAL  # reported where the table stands
    if hole.kind is not HoleKind.VALID_FROM or is_unknown or book.history_of(found):
        return []
    sentence = f"as_of reads history tables, and {found.input.name!r} is none"
    hint = f"write ref({found.input.name!r}) alone, or make it a snapshot"
    return [Finding(Location(reader.path, hole.line), "not-a-history-model", sentence, hint)]


def _as_written(hole: Hole) -> tuple[str, str, str]:
    written = ".".join(hole.names)
    return shown_name(written), shown_name(written), ".".join(quoted(n) for n in hole.names)


def _canonical(table: TableName) -> str:
    parts = [*table.schema.split("."), table.table] if table.schema else [table.table]
    return ".".join(quoted(part) for part in parts)


def _finding(hole: Hole, found: Named, book: Book, reader: Reader) -> list[Finding]:
    where = Location(reader.path, hole.line)
    unknown = found.input.kind is InputKind.EXTERNAL
    if hole.kind is HoleKind.REF and unknown:
        name = hole.names[0]
        sentence = f"no model is called {name!r}"
        return [Finding(where, "unknown-reference", sentence, book.model_hint(name))]
    if hole.kind is HoleKind.REF and len(hole.names) > 1 and hole.names[1] != "1":
        sentence = f"{hole.names[0]!r} has no version {hole.names[1]}"
        return [Finding(where, "unknown-reference", sentence, "it has the one version 1")]
    if hole.kind is HoleKind.SOURCE and unknown:
        name = ".".join(hole.names)
        sentence = f"no source is called {name!r}"
        return [Finding(where, "unknown-reference", sentence, book.source_hint(name))]
    if hole.kind is HoleKind.PLAIN and unknown:
        return _external(where, hole, found, book)
    return []


def _external(where: Location, hole: Hole, found: Named, book: Book) -> list[Finding]:
    name = str(found.table)
    near = book.model(name) if len(hole.names) == 1 else None
    if near:
        sentence = f"table {name} is external, though a model is called so"
        hint = f"write {near.table} or ref('{near.input.name}')"
    elif found.table.schema.lower() in book.schemas:
        sentence = f"table {name} is no model or source, though the project builds its schema"
        hint = book.model_hint(found.table.table)
    else:
        return []
    return [Finding(where, "external-table", sentence, hint, Severity.WARNING)]
