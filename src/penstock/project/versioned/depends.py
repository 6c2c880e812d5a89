"""`depends_on:`: inputs by name, and which range of each a partition reads (spec/drift.md §6.2)."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.findings import Finding, Location
from penstock.core.mapping import Calendar, Everything, RangeMapping, Same, Trailing
from penstock.core.names import InputKind, InputName
from penstock.project.book import Book, Named
from penstock.project.mappings import Declared
from penstock.project.nearest import did_you_mean
from penstock.project.trees.nodes import Broken, Node
from penstock.project.trees.sheet import Keys, Sheet, open_sheet

_ENTRY = Keys(("model", "partitions", "column"), ("model",))
_TRAILING = Keys(("trailing",), ("trailing",))
_UNITS = ("day", "week", "month", "year")
_WORDS = ("auto", "same", *_UNITS, "all")


def declared_of(node: Node, reader: Named, book: Book, findings: list[Finding]) -> Declared | None:
    """Read an entry; a name that means nothing is a finding."""
    if isinstance(node.value, Broken):
        return None
    if isinstance(node.value, str):
        found = _find(node.value, node.where, reader, book, findings)
        return Declared(found, None, "", node.where) if found else None
    if not isinstance(node.value, Mapping):
        sentence = f"depends_on holds {node.value!r}; it must be a name or a mapping with model"
        findings.append(Finding(node.where, "bad-value", sentence))
        return None
    before = len(findings)
    sheet = open_sheet(node, _ENTRY, "depends_on", findings)
    name = sheet.text("model")
    mapping = _mapping(sheet)
    found = _find(name, sheet.place("model"), reader, book, findings) if name else None
    column = sheet.text("column")
    whole = found is not None and len(findings) == before
    return Declared(found, mapping, column, node.where) if found and whole else None


def _mapping(sheet: Sheet) -> RangeMapping | None:
    node = sheet.find("partitions")
    if node is not None and isinstance(node.value, Mapping):
        inner = open_sheet(node, _TRAILING, "depends_on.partitions", sheet.findings)
        count = inner.number("trailing", 1)
        return Trailing(count) if count else None
    word = sheet.word("partitions", _WORDS)
    if word in _UNITS:
        return Calendar(word)
    if word == "same":
        return Same()
    return Everything() if word == "all" else None


def _find(
    name: str, where: Location, reader: Named, book: Book, findings: list[Finding]
) -> InputName | None:
    """Find a model by name, `dataset.name` or `dataset.table`, a seed or a source."""
    schema, _, last = name.rpartition(".")
    found = book.ref(name) or book.table(tuple(name.split(".")))
    if found.input.kind is InputKind.EXTERNAL:
        named = book.model(last)
        inside = named is not None and schema.lower() in _schemas(named, book)
        if named is None or not inside:
            known = {
                str(each.input.name) for each in (*book.models.values(), *book.tables.values())
            }
            hint = did_you_mean(name, known | set(book.tables)) or book.model_hint(last)
            sentence = f'depends_on "{name}" is no model, seed or source'
            findings.append(Finding(where, "unknown-reference", sentence, hint))
            return None
        found = named
    if found.input == reader.input:
        return InputName(InputKind.THIS, reader.input.name)
    return found.input


def _schemas(named: Named, book: Book) -> set[str]:
    """Give the schemas under which a model is known, with and without the target's prefix."""
    tables = (key for key, each in book.tables.items() if each.input == named.input)
    return {key.rpartition(".")[0] for key in tables}
