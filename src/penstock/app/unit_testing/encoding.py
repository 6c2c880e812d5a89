"""Rows of tables as JSON texts that lose nothing, and back: one query, one column."""

from __future__ import annotations

import json
from collections.abc import Sequence

from penstock.app.unit_testing.literals import Column
from penstock.core.names import quoted
from penstock.core.types import ArrayType, ColumnType, MapType, ScalarType, StructType
from penstock.project.unit_tests.casting import CellError, Value, scalar

_KEEP_NULLS = "map('ignoreNullFields', 'false')"
Row = tuple[Value, ...]
Json = object  # what json gives; it does not leave this file


def row_query(columns: Sequence[Column], source: str) -> str:
    """Give a query of one text column: every row of a source as a JSON list.

    >>> row_query([("id", ScalarType("int"))], "t").partition(", map(")[0]
    "SELECT to_json(named_struct('c0', CAST(`id` AS STRING))"
    """
    parts = ", ".join(
        f"'c{number}', {_leaves(quoted(name), kind, 0)}"
        for number, (name, kind) in enumerate(columns)
    )
    if not parts:
        return f"SELECT '{{}}' FROM {source}"
    return f"SELECT to_json(named_struct({parts}), {_KEEP_NULLS}) FROM {source}"


def decoded(text: str, columns: Sequence[Column]) -> Row:
    """Give a row of `row_query` as values; a text that is no such value stays a text."""
    found = json.loads(text)
    return tuple(_value(found.get(f"c{number}"), kind) for number, (_, kind) in enumerate(columns))


def _leaves(value: str, kind: ColumnType, depth: int) -> str:
    """Give SQL that turns every leaf of a value into a text."""
    each = f"x{depth}"
    match kind:
        case ArrayType(element):
            return f"transform({value}, {each} -> {_leaves(each, element, depth + 1)})"
        case StructType(fields):
            parts = ", ".join(
                f"'f{number}', {_leaves(f'{value}.{quoted(field.name)}', field.type, depth)}"
                for number, field in enumerate(fields)
            )
            return f"IF({value} IS NULL, NULL, named_struct({parts}))"
        case MapType(key, of):
            entry = (
                f"named_struct('k', {_leaves(f'{each}.key', key, depth + 1)}, "
                f"'v', {_leaves(f'{each}.value', of, depth + 1)})"
            )
            return f"transform(map_entries({value}), {each} -> {entry})"
        case ScalarType("binary"):
            return f"hex({value})"
        case ScalarType("variant"):
            return f"to_json({value})"
    return f"CAST({value} AS STRING)"


def _value(found: Json, kind: ColumnType) -> Value:
    match kind, found:
        case _, None:
            return None
        case ArrayType(element), list():
            return tuple(_value(each, element) for each in found)
        case StructType(fields), dict():
            return tuple(_value(found.get(f"f{n}"), f.type) for n, f in enumerate(fields))
        case MapType(key, of), list():
            return tuple((_value(e.get("k"), key), _value(e.get("v"), of)) for e in found)
        case ScalarType(name), str():
            try:
                return scalar(found, name)
            except CellError:
                return found
    return str(found)
