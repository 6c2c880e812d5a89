"""A table of a test with column types: as SQL that Spark casts, as rows of texts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from penstock.core.columns.schema import Schema
from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    Field,
    MapType,
    ScalarType,
    StructType,
    parse_type,
    sql_type,
)
from penstock.core.errors import QueryError, UsageError
from penstock.core.names import literal, quoted
from penstock.core.ports.engine import StepSession
from penstock.project.files.nodes import YamlNode
from penstock.project.files.values import shown_type
from penstock.project.unit_tests.casting import CellError, Column, inferred, typed
from penstock.project.unit_tests.definition import GivenTable

_KEEP_NULLS = "map('ignoreNullFields', 'false')"
_BINARY, _VARIANT = ScalarType("binary"), ScalarType("variant")
_QUERY_VIEW = "penstock_test_query"
Json = object  # what json gives; it does not leave this file
Types = Mapping[str, ColumnType]
Value: TypeAlias = "str | tuple[Value, ...] | None"
"""A value as Spark writes it; a struct is a tuple of its fields, a map a tuple of pairs."""
Row = tuple[Value, ...]


def texts_of(kind: ColumnType) -> ColumnType:
    """Return a type with text scalars, and fields named by position.

    >>> sql_type(texts_of(parse_type("array<struct<a:int,b:map<int,date>>>")))
    'ARRAY<STRUCT<`f0`: string, `f1`: MAP<string, string>>>'
    """
    match kind:
        case ArrayType(element):
            return ArrayType(texts_of(element))
        case MapType(_, of):
            return MapType(ScalarType("string"), texts_of(of))
        case StructType(fields):
            inner = (Field(f"f{n}", texts_of(each.type)) for n, each in enumerate(fields))
            return StructType(tuple(inner))
    return kind if kind in (_BINARY, _VARIANT) else ScalarType("string")


def _row(columns: Sequence[Column]) -> StructType:
    return StructType(tuple(Field(*column) for column in columns))


def row_query(columns: Sequence[Column], source: str) -> str:
    """Return a query of one text column: every row of a source as JSON."""
    if not columns:
        return f"SELECT '{{}}' FROM {source}"
    names = ", ".join(quoted(name) for name, _ in columns)
    cast = f"CAST(struct({names}) AS {sql_type(texts_of(_row(columns)))})"
    return f"SELECT to_json({cast}, {_KEEP_NULLS}) FROM {source}"


def _value(document: Json, kind: ColumnType) -> Value:
    match kind, document:
        case _, None:
            return None
        case ArrayType(element), list():
            return tuple(_value(each, element) for each in document)
        case StructType(fields), dict():
            return tuple(_value(document.get(f"f{n}"), each.type) for n, each in enumerate(fields))
        case MapType(_, of), dict():
            return tuple((str(key), _value(each, of)) for key, each in document.items())
    if kind == _BINARY:
        return base64.b64decode(str(document)).hex().upper()
    return json.dumps(document) if kind == _VARIANT else str(document)


@dataclass(frozen=True, slots=True)
class Typed:
    """A table whose columns have types, as a query of its rows."""

    columns: tuple[Column, ...]
    sql: str

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in order."""
        return tuple(name for name, _ in self.columns)

    def type_of(self, name: str) -> ColumnType | None:
        """Return the type of a column; letter case does not matter."""
        found = (kind for known, kind in self.columns if known.lower() == name.lower())
        return next(found, None)


def typed_table(session: StepSession, table: GivenTable, types: Types, add: bool = True) -> Typed:  # noqa: FBT001, FBT002  read as "columns to add"
    """Return a table with its columns; a declared type comes first, then `types`, then the values.

    With `add`, columns of `types` that no row or query names are added as NULL. Raises
    `bad-test-value` and `test-type-unknown`.
    """
    if table.query:
        return _of_query(session, table, types if add else {}, types)
    wanted = {name.lower(): name for name in table.names}
    for name in types if add else ():
        wanted.setdefault(name.lower(), name)
    folded = {name.lower(): kind for name, kind in types.items()}
    columns = []
    for key, name in wanted.items():
        kind = table.columns.get(name) or folded.get(key) or table.type_of(name)
        kind = kind or inferred(table.column(name))
        if kind is None:
            sentence = f"nothing says the type of column {name!r}"
            hint = f"give columns: {{{name}: TYPE}}"
            raise UsageError("test-type-unknown", sentence, where=table.where, hint=hint)
        columns.append((name, kind))
    return Typed(tuple(columns), _select(table, columns))


def _select(table: GivenTable, columns: Sequence[Column]) -> str:
    """Return a SELECT of a table's rows, which Spark casts; raise `bad-test-value`."""
    rows = []
    for row in table.rows:
        given = {name.lower(): cell for name, cell in row.items()}
        texts = {}
        for number, (name, kind) in enumerate(columns):
            cell = given.get(name.lower(), YamlNode(None, table.where))
            try:
                texts[f"f{number}"] = typed(cell, kind)
            except CellError as error:
                sentence = f"column {name!r} is {shown_type(kind)}: {error}"
                raise UsageError("bad-test-value", sentence, where=cell.where) from error
        rows.append(texts)
    wanted = ArrayType(_row(columns))
    read = f"from_json({literal(json.dumps(rows))}, {literal(sql_type(texts_of(wanted)))})"
    return f"SELECT inline(CAST({read} AS {sql_type(wanted)}))"


@contextmanager
def errors_at(table: GivenTable) -> Iterator[None]:
    """Make Spark's errors about a test's own query name the place of that query."""
    try:
        yield
    except QueryError as error:
        raise UsageError("bad-test-value", error.sentence, where=table.where) from error


def _of_query(session: StepSession, table: GivenTable, added: Types, types: Types) -> Typed:
    """Return the rows as Spark casts them to these types; raise if a value would change."""
    with errors_at(table):
        described = columns_of(session.define(_QUERY_VIEW, table.query))
    known = {name.lower(): kind for name, kind in (*types.items(), *table.columns.items())}
    columns = [(n, known.get(n.lower()) or table.type_of(n) or kind) for n, kind in described]
    changed = [(n, kind, to) for (n, kind), (_, to) in zip(described, columns, strict=True)]
    _refuse_inexact(session, table, [each for each in changed if each[1] != each[2]])
    there = {name.lower() for name, _ in columns}
    more = [(name, kind) for name, kind in added.items() if name.lower() not in there]
    chosen = [f"CAST({quoted(n)} AS {sql_type(k)}) AS {quoted(n)}" for n, k in columns]
    chosen += [f"CAST(NULL AS {sql_type(k)}) AS {quoted(n)}" for n, k in more]
    sql = f"SELECT {', '.join(chosen)} FROM ({table.query}\n)"
    return Typed((*columns, *more), sql)


def _refuse_inexact(
    session: StepSession, table: GivenTable, changed: Sequence[tuple[str, ColumnType, ColumnType]]
) -> None:
    cast = [each for each in changed if "void" not in str(each[1])]  # NULL fits everywhere
    if not cast:
        return
    found = []
    for n, (name, kind, to) in enumerate(cast):
        value = quoted(name)
        back = f"CAST(try_cast({value} AS {sql_type(to)}) AS {sql_type(kind)})"
        if any(word in str(kind) for word in ("map<", "variant")):  # these do not compare
            back, value = f"to_json(struct({back} AS v))", f"to_json(struct({value} AS v))"
        differs = f"NOT ({back} <=> {value})"
        found.append(f"max(IF({differs}, CAST({quoted(name)} AS STRING), NULL)) AS c{n}")
    with errors_at(table):
        seen = session.row(f"SELECT {', '.join(found)} FROM ({table.query}\n)")
    for number, (name, _, to) in enumerate(cast):
        text = seen[f"c{number}"]
        if text is not None:
            shown = shown_type(to)
            sentence = f"column {name!r} is {shown}: {text!r} is not a value of {shown}"
            hint = "cast it in the query"
            raise UsageError("bad-test-value", sentence, where=table.where, hint=hint)


def read_rows(session: StepSession, columns: Sequence[Column], source: str) -> tuple[Row, ...]:
    """Read rows with one query."""
    row = _row(columns)
    found = session.sample(row_query(columns, source))
    return tuple(_value(json.loads(text), row) for text in found)  # type: ignore[misc]  # a struct


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """Return the columns of a schema with their types."""
    return tuple((column.name, parse_type(column.type)) for column in schema.columns)
