"""Values of tests as SQL: a whole table is one SELECT."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal

from penstock.core.names import literal, quoted
from penstock.core.types import ArrayType, ColumnType, MapType, ScalarType, StructType, sql_type
from penstock.project.unit_tests.casting import Value

Column = tuple[str, ColumnType]


def select_of(columns: Sequence[Column], rows: Sequence[Sequence[Value]]) -> str:
    """Give a SELECT of these rows, with exactly these columns.

    >>> select_of([("id", ScalarType("bigint"))], [[1], [None]])
    "SELECT CAST(`c0` AS bigint) AS `id` FROM VALUES ('1'), (NULL) AS t(`c0`)"
    """
    if not rows:
        nothing = (f"CAST(NULL AS {sql_type(kind)}) AS {quoted(name)}" for name, kind in columns)
        return f"SELECT {', '.join(nothing)} WHERE false"
    places = [quoted(f"c{number}") for number in range(len(columns))]
    chosen = ", ".join(
        f"{_cast(place, kind)} AS {quoted(name)}"
        for place, (name, kind) in zip(places, columns, strict=True)
    )
    kinds = [kind for _, kind in columns]
    lines = (
        f"({', '.join(_cell(v, kind) for v, kind in zip(row, kinds, strict=True))})" for row in rows
    )
    return f"SELECT {chosen} FROM VALUES {', '.join(lines)} AS t({', '.join(places)})"


def _cast(place: str, kind: ColumnType) -> str:
    if kind == ScalarType("binary"):
        return f"unhex({place})"
    return f"CAST({place} AS {sql_type(kind)})"


def _cell(value: Value, kind: ColumnType) -> str:
    """Give a scalar as text that its column casts, anything else with its type."""
    if value is None:
        return "NULL"
    return (
        literal(text_of(value, kind)) if isinstance(kind, ScalarType) else literal_of(value, kind)
    )


def literal_of(value: Value, kind: ColumnType) -> str:
    """Give one value as SQL of exactly that type."""
    want = sql_type(kind)
    if value is None:
        return f"CAST(NULL AS {want})"
    match kind, value:
        case ArrayType(element), tuple():
            inner = ", ".join(literal_of(each, element) for each in value)
            return f"CAST(array({inner}) AS {want})"
        case StructType(fields), tuple():
            pairs = zip(fields, value, strict=True)
            inner = ", ".join(f"{literal(f.name)}, {literal_of(v, f.type)}" for f, v in pairs)
            return f"CAST(named_struct({inner}) AS {want})"
        case MapType(key, of), tuple():
            entries = (each for each in value if isinstance(each, tuple))
            inner = ", ".join(f"{literal_of(k, key)}, {literal_of(v, of)}" for k, v in entries)
            return f"CAST(map({inner}) AS {want})"
    return _cast(literal(text_of(value, kind)), kind)


def text_of(value: Value, kind: ColumnType) -> str:
    """Give a scalar as text that Spark casts back to the same value."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return _float(value)
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.hex().upper()
        case dt.datetime():
            zone = "Z" if kind == ScalarType("timestamp") else ""
            return value.isoformat(timespec="microseconds") + zone
        case dt.date():
            return value.isoformat()
    return str(value)


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
