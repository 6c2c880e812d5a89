"""Types of columns where nothing but the values tells (spec/checks.md §9.2)."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.types import ArrayType, ColumnType, Field, ScalarType, StructType
from penstock.core.unit_tests import Cell, CellKind

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
