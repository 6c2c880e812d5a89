"""Delta tables read and written without Spark, for what stands around the run that a test is about.

A statement of Spark on a table of two rows takes as long as fifty of these. Sources have the
deletion vectors that tables of penstock's Spark have, and what a run wrote is read by a second
implementation of the protocol.
"""

from __future__ import annotations

import ast
import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, Schema, write_deltalake
from deltalake.exceptions import DeltaError

Row = dict[str, object]

_TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(10,2)": pa.decimal128(10, 2),
    "array<string>": pa.list_(pa.string()),
}
_TYPED = re.compile(r"\b(?:DATE|TIMESTAMP) ?'", re.IGNORECASE)
_WORDS = {"null": None, "true": True, "false": False}


def create(uri: str, columns: str, *, feed: bool = False) -> None:
    """Create an empty table: `id INT, at TIMESTAMP`; with a `feed` it keeps its changes."""
    parts = (column.rsplit(" ", 1) for column in columns.split(", "))
    schema = pa.schema([pa.field(name, _TYPES[kind.lower()]) for name, kind in parts])
    properties = {"delta.enableDeletionVectors": "true"}
    properties |= {"delta.enableChangeDataFeed": "true"} if feed else {}
    DeltaTable.create(uri, Schema.from_arrow(schema), configuration=properties)


def append(uri: str, values: str) -> None:
    """Append rows as VALUES writes them: `(1, '2024-01-01'), (2, NULL)`."""
    _write(uri, values, "append")


def overwrite(uri: str, values: str) -> None:
    """Replace all rows."""
    _write(uri, values, "overwrite")


def rows(uri: str, version: int | None = None) -> list[Row] | None:
    """Give the rows as Spark would collect them, instants in UTC without a zone; in any order.

    None where this reader does not know the table: what Spark alone reads, and nested values.
    """
    try:
        table = DeltaTable(uri, version=version)
        found = QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
    except DeltaError:
        return None
    arrow = pa.table(found)
    if any(pa.types.is_nested(kind) for kind in arrow.schema.types):
        return None
    names = [field.name for field in table.schema().fields]
    return [{name: _plain(row[name]) for name in names} for row in arrow.to_pylist()]


def in_order(found: Sequence[Row], columns: int = 2) -> list[tuple[object, ...]]:
    """Give rows as tuples, ordered by their first columns, NULL first as Spark has it."""
    tuples = [tuple(row.values()) for row in found]
    return sorted(tuples, key=lambda row: [_first(value) for value in row[:columns]])


def _first(value: object) -> tuple[bool, object]:
    return value is not None, 0 if value is None else value


def _plain(value: object) -> object:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value


def _write(uri: str, values: str, mode: str) -> None:
    schema = pa.schema(DeltaTable(uri).schema().to_arrow())
    untyped = _TYPED.sub("'", values)
    read = ast.parse(f"[{untyped}]", mode="eval").body
    assert isinstance(read, ast.List)
    lines = [_value(each) for each in read.elts]
    arrays = [
        pa.array([_timed(line[place], field.type) for line in lines], field.type)
        for place, field in enumerate(schema)
    ]
    write_deltalake(uri, pa.table(arrays, schema=schema), mode=mode)


def _value(node: ast.expr) -> object:
    match node:
        case ast.Tuple(elts=parts) | ast.Call(func=ast.Name(id="array"), args=parts):
            return [_value(part) for part in parts]
        case ast.Name(id=word):
            return _WORDS[word.lower()]
        case _:
            return ast.literal_eval(node)


def _timed(value: object, kind: pa.DataType) -> object:
    if pa.types.is_decimal(kind):
        return Decimal(str(value))
    if not isinstance(value, str):
        return value
    if pa.types.is_timestamp(kind):
        at = dt.datetime.fromisoformat(value)
        return at if at.tzinfo or kind.tz is None else at.replace(tzinfo=dt.UTC)
    return dt.date.fromisoformat(value) if pa.types.is_date(kind) else value
