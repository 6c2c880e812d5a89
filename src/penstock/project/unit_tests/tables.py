"""Tables of tests: rows, CSV, SQL without tables, or a file under tests/ (spec/checks.md §9.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from penstock.core.findings import Location
from penstock.core.names import quoted
from penstock.core.types import ColumnType
from penstock.core.unit_tests import Cell, CellKind, GivenTable
from penstock.project.unit_tests.csv_text import CsvError, read_csv
from penstock.project.unit_tests.nodes import Node, plain_kind
from penstock.project.unit_tests.places import FOLDER
from penstock.project.unit_tests.reading import Notes
from penstock.project.unit_tests.selects import select_problem

FORMS = ("rows", "csv", "sql", "file")
Json = object  # what json gives; it does not leave this file
_FILES = (".csv", ".json", ".parquet", ".sql")


def table_of(node: Node, notes: Notes, what: str) -> GivenTable | None:
    """Read a table that stands under a key of its own."""
    if node.items is not None:
        return rows_table(node, {}, notes)
    return form_of(notes.members(node, what, (*FORMS, "columns")), node.where, notes, what)


def form_of(
    found: Mapping[str, Node], where: Location, notes: Notes, what: str
) -> GivenTable | None:
    """Read a table by the one of `FORMS` that is there, with the types of `columns`."""
    types = notes.types(found.get("columns"), "columns")
    forms = [form for form in FORMS if form in found]
    if len(forms) != 1:
        said = f"both {forms[0]} and {forms[1]}" if forms else "no rows"
        hint = f"give exactly one of {', '.join(FORMS)}"
        notes.say(where, "bad-value", f"{what} has {said}", hint)
        return None
    node = found[forms[0]]
    match forms[0]:
        case "rows":
            return rows_table(node, types, notes)
        case "csv":
            return csv_table(notes.text(node, "csv"), node.where, types, notes)
        case "sql":
            return _sql_table(notes.text(node, "sql"), node.where, types, notes)
    return file_table(notes.text(node, "file"), node.where, types, notes)


def rows_table(node: Node, types: Mapping[str, ColumnType], notes: Notes) -> GivenTable:
    """Read a list of mappings."""
    rows = []
    for item in notes.items(node, "rows"):
        if item.members is None:
            notes.bad(item, "a row", "a mapping of columns to values")
            continue
        row: dict[str, Cell] = {}
        for name, inner in item.members.items():
            if name.lower() in {known.lower() for known in row}:
                sentence = f"column {name!r} is written twice in one row"
                notes.say(item.keys[name], "duplicate-key", sentence)
            row[name] = inner.as_cell()
        rows.append(row)
    return GivenTable(node.where, tuple(rows), types)


def csv_table(
    text: str, where: Location, types: Mapping[str, ColumnType], notes: Notes
) -> GivenTable | None:
    """Read CSV whose first line stands at a place; a column without values needs a type."""
    try:
        header, rows = read_csv(text, where)
    except CsvError as error:
        line = Location(where.path, where.line + error.line - 1)
        notes.say(line, "bad-value", f"csv: {error}")
        return None
    return GivenTable(where, rows, types, header=header)


def _sql_table(
    text: str, where: Location, types: Mapping[str, ColumnType], notes: Notes
) -> GivenTable | None:
    problem = select_problem(text)
    if problem is not None:
        code, sentence = problem
        notes.say(where, code, f"sql: {sentence}", "write a SELECT of constants")
        return None
    return GivenTable(where, (), types, query=text.strip().rstrip(";"))


def file_table(
    name: str, where: Location, types: Mapping[str, ColumnType], notes: Notes
) -> GivenTable | None:
    """Read a file under tests/, relative to that folder or to the project."""
    path = PurePosixPath(name)
    inside = PurePosixPath(*path.parts[1:]) if path.parts[:1] == (FOLDER,) else path
    place = notes.root / FOLDER / inside
    if path.is_absolute() or ".." in path.parts:
        notes.say(where, "path-outside-project", f"file: {name!r} lies outside of {FOLDER}/")
        return None
    if path.suffix not in _FILES:
        hint = f"one of {', '.join(_FILES)}"
        notes.say(where, "bad-value", f"file: {name!r} is no file of rows", hint)
        return None
    if not place.is_file():
        notes.say(where, "bad-value", f"file: there is no {FOLDER}/{inside}")
        return None
    if path.suffix == ".parquet":
        return GivenTable(where, (), types, query=f"SELECT * FROM parquet.{quoted(str(place))}")
    try:
        text = place.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        notes.say(where, "unreadable-file", f"file: {FOLDER}/{inside} cannot be read: {error}")
        return None
    shown = Location(f"{FOLDER}/{inside}")
    if path.suffix == ".csv":
        return csv_table(text, shown, types, notes)
    if path.suffix == ".sql":
        return _sql_table(text, shown, types, notes)
    return _json_table(text, shown, types, notes)


def _json_table(
    text: str, where: Location, types: Mapping[str, ColumnType], notes: Notes
) -> GivenTable | None:
    """Read a JSON list of objects, or an object per line."""
    try:
        found = list(_objects(text, where))
    except ValueError as error:
        hint = "a list of objects, or an object per line"
        notes.say(where, "bad-value", f"no JSON rows: {error}", hint)
        return None
    rows = tuple({str(k): _json_cell(v, at) for k, v in item.items()} for at, item in found)
    return GivenTable(where, rows, types)


def _objects(text: str, where: Location) -> Iterator[tuple[Location, dict[Json, Json]]]:
    if text.lstrip().startswith("["):
        items = _parsed(text)
        found = [(where, item) for item in items] if isinstance(items, list) else []
    else:
        lines = enumerate(text.splitlines(), 1)
        found = [(Location(where.path, n), _parsed(line)) for n, line in lines if line.strip()]
    for at, item in found:
        if not isinstance(item, dict):
            raise ValueError("a row is no object")  # noqa: TRY004  one kind of error for bad files
        yield at, item


class _Number(str):
    """A number as the file writes it."""

    __slots__ = ()


def _parsed(text: str) -> Json:
    found: Json = json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    return found


def _json_cell(value: Json, where: Location) -> Cell:
    match value:
        case None:
            return Cell("", CellKind.NULL, where)
        case bool():
            return Cell(str(value).lower(), CellKind.BOOLEAN, where)
        case _Number():
            kind = plain_kind(value)
            return Cell(str(value), CellKind.NUMBER if kind is CellKind.TEXT else kind, where)
        case list():
            return Cell("", CellKind.LIST, where, items=tuple(_json_cell(v, where) for v in value))
        case dict():
            pairs = tuple((str(k), _json_cell(v, where)) for k, v in value.items())
            return Cell("", CellKind.MAPPING, where, entries=pairs)
    return Cell(str(value), CellKind.TEXT, where)
