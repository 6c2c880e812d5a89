"""The types of a test's columns: declared, or by values; and values that do not fit (§9.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    Field,
    ScalarType,
    StructType,
    parse_type,
)
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project
from penstock.project.files.field_types import documented_types, shown_type
from penstock.project.unit_tests.casting import CellError, typed
from penstock.project.unit_tests.definition import Cell, CellKind, GivenTable, UnitTest
from penstock.project.unit_tests.nodes import FileNotes

_TYPES = {
    CellKind.BOOLEAN: "boolean",
    CellKind.INTEGER: "bigint",
    CellKind.NUMBER: "double",
    CellKind.DATE: "date",
    CellKind.TIMESTAMP: "timestamp",
    CellKind.TEXT: "string",
}
_JOINED = {
    frozenset({CellKind.INTEGER, CellKind.NUMBER}): "double",
    frozenset({CellKind.DATE, CellKind.TIMESTAMP}): "timestamp",
}


def known_types(project: Project, name: InputName) -> Mapping[str, ColumnType]:
    """Give the declared types of a source, a model or a seed by column; none of other tables."""
    if name.kind is InputKind.SOURCE:
        return documented_types(project.sources[name.name].columns)
    if name.kind is InputKind.EXTERNAL:
        return {}
    model = project.models.get(name.name)
    if model is None:
        return documented_types(project.seeds[name.name].columns)
    return model_types(model)


def model_types(model: Model) -> Mapping[str, ColumnType]:
    """Give the declared types of a model's own table, system columns with them.

    Columns that no version declares any more stay known; the newest version counts.
    """
    found = documented_types(model.columns)
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


def inferred(cells: Iterable[Cell]) -> ColumnType | None:
    """Give the type of a column by its values; None where all of them are NULL.

    Values of two kinds are texts, unless one kind holds the other.

    >>> from penstock.core.findings import Location
    >>> one = Cell("1", CellKind.INTEGER, Location("t.yml"))
    >>> half = Cell("0.5", CellKind.NUMBER, Location("t.yml"))
    >>> str(inferred([one, half]))
    'double'
    """
    given = [cell for cell in cells if cell.kind is not CellKind.NULL]
    kinds = frozenset(cell.kind for cell in given)
    if not kinds:
        return None
    if kinds == {CellKind.LIST}:
        element = inferred(item for cell in given for item in cell.items)
        return element and ArrayType(element)
    if kinds == {CellKind.MAPPING}:
        return _struct(given)
    if len(kinds) == 1:
        return ScalarType(_TYPES[next(iter(kinds))])
    return ScalarType(_JOINED.get(kinds, "string"))


def _struct(given: list[Cell]) -> ColumnType | None:
    names = dict.fromkeys(name for cell in given for name, _ in cell.entries)
    fields = []
    for name in names:
        kind = inferred(value for cell in given for key, value in cell.entries if key == name)
        if kind is None:
            return None
        fields.append(Field(name, kind))
    return StructType(tuple(fields))


def judge_values_of(model: Model, test: UnitTest, notes: FileNotes) -> None:
    """Find values that no column can hold, in everything that a test gives and expects."""
    known = model_types(model)
    for run in test.runs:
        for table in run.given.inputs.values():
            judge_input(table, notes)
        if run.given.target is not None:
            judge_values(run.given.target, known, notes)
        if run.expect is not None:
            for expected in (run.expect.rows, run.expect.quarantine):
                if expected is not None:
                    judge_values(expected, known, notes)


def judge_input(table: GivenTable, notes: FileNotes) -> None:
    """Find columns of an input without a type, and values that do not fit."""
    if table.query:
        return
    if not table.names and not table.known:
        hint = "give columns: {name: TYPE}"
        notes.say(table.where, "test-type-unknown", "a table without rows has no columns", hint)
    for name in table.names:
        cells = column_of(table, name)
        kind = table.type_of(name) or inferred(cells)
        if kind is None:
            first = next(iter(cells), None)
            sentence = f"column {name!r} holds only NULL, and nothing says its type"
            hint = f"give columns: {{{name}: TYPE}}"
            notes.say(first.where if first else table.where, "test-type-unknown", sentence, hint)
        else:
            _judge_cells(name, cells, kind, notes)


def judge_values(table: GivenTable, known: Mapping[str, ColumnType], notes: FileNotes) -> None:
    """Find values that do not fit the types that are known before anything runs."""
    folded = {name.lower(): kind for name, kind in known.items()}
    for name in table.names if not table.query else ():
        kind = table.type_of(name) or folded.get(name.lower())
        if kind is not None:
            _judge_cells(name, column_of(table, name), kind, notes)


def column_of(table: GivenTable, name: str) -> tuple[Cell, ...]:
    """Give the values of a column that are written, in any case of letters."""
    folded = name.lower()
    return tuple(cell for row in table.rows for key, cell in row.items() if key.lower() == folded)


def _judge_cells(name: str, cells: Iterable[Cell], kind: ColumnType, notes: FileNotes) -> None:
    for cell in cells:
        try:
            typed(cell, kind)
        except CellError as error:
            sentence = f"column {name!r} is {shown_type(kind)}: {error}"
            notes.say(cell.where, "bad-test-value", sentence)
