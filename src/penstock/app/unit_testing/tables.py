"""A table of a test with the types of its columns: as SQL to write, as values to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from penstock.core.columns.schema import Schema
from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    MapType,
    ScalarType,
    StructType,
    parse_type,
    sql_type,
)
from penstock.core.errors import QueryError, UsageError
from penstock.core.findings import Location
from penstock.core.names import literal, quoted
from penstock.core.ports.engine import StepSession
from penstock.project.files.values import shown_type
from penstock.project.unit_tests import casting
from penstock.project.unit_tests.definition import Cell, CellKind, GivenTable

_KEEP_NULLS = "map('ignoreNullFields', 'false')"
Json = object  # what json gives; it does not leave this file
_QUERY_VIEW = "penstock_test_query"
Types = Mapping[str, ColumnType]


def select_of(columns: Sequence[casting.Column], rows: Sequence[Sequence[casting.Value]]) -> str:
    """Return a SELECT of these rows, with exactly these columns.

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
    lines = []
    for row in rows:
        cells = []
        for value, (_, kind) in zip(row, columns, strict=True):
            if value is not None and isinstance(kind, ScalarType):
                cells.append(literal(casting.text_of(value, kind)))  # its column casts it
            else:
                cells.append("NULL" if value is None else literal_of(value, kind))
        lines.append(f"({', '.join(cells)})")
    return f"SELECT {chosen} FROM VALUES {', '.join(lines)} AS t({', '.join(places)})"


def _cast(place: str, kind: ColumnType) -> str:
    if kind == ScalarType("binary"):
        return f"unhex({place})"
    return f"CAST({place} AS {sql_type(kind)})"


def literal_of(value: casting.Value, kind: ColumnType) -> str:
    """Return one value as SQL of exactly that type."""
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
    return _cast(literal(casting.text_of(value, kind)), kind)


def row_query(columns: Sequence[casting.Column], source: str) -> str:
    """Return a query of one text column: every row of a source as a JSON list.

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


def _leaves(value: str, kind: ColumnType, depth: int) -> str:
    """Return SQL that turns every leaf of a value into a text."""
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


def _value(found: Json, kind: ColumnType) -> casting.Value:
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
                return casting.scalar(found, name)
            except casting.CellError:
                return found
    return str(found)


@dataclass(frozen=True, slots=True)
class Typed:
    """A table whose columns have types. `rows` are None until a query's are read."""

    columns: tuple[casting.Column, ...]
    rows: tuple[casting.Row, ...] | None
    sql: str

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in order."""
        return tuple(name for name, _ in self.columns)

    def values(self, name: str) -> tuple[object, ...]:
        """Return the values of a column that are not NULL."""
        places = [at for at, known in enumerate(self.names) if known.lower() == name.lower()]
        found = (row[places[0]] for row in self.rows or () if places)
        return tuple(value for value in found if value is not None)

    def type_of(self, name: str) -> ColumnType | None:
        """Return the type of a column, in any case of letters."""
        found = (kind for known, kind in self.columns if known.lower() == name.lower())
        return next(found, None)


def typed_table(session: StepSession, table: GivenTable, types: Types, add: bool = True) -> Typed:  # noqa: FBT001, FBT002  read as "columns to add"
    """Return a table with its columns; a declared type comes first, then `types`, then the values.

    With `add` the columns of `types` that no row, or no query, names are there too, and NULL.
    Raises `bad-test-value` and `test-type-unknown`.
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
        kind = kind or casting.inferred(table.column(name))
        if kind is None:
            sentence = f"nothing says the type of column {name!r}"
            hint = f"give columns: {{{name}: TYPE}}"
            raise UsageError("test-type-unknown", sentence, where=table.where, hint=hint)
        columns.append((name, kind))
    rows = tuple(values_of(row, columns, table.where) for row in table.rows)
    return Typed(tuple(columns), rows, select_of(columns, rows))


def values_of(
    row: Mapping[str, Cell], columns: Sequence[casting.Column], where: Location
) -> casting.Row:
    """Return the values of one row in the order of columns; raises `bad-test-value`."""
    given = {name.lower(): cell for name, cell in row.items()}
    found = []
    for name, kind in columns:
        cell = given.get(name.lower(), Cell("", CellKind.NULL, where))
        try:
            found.append(casting.typed(cell, kind))
        except casting.CellError as error:
            sentence = f"column {name!r} is {shown_type(kind)}: {error}"
            raise UsageError("bad-test-value", sentence, where=cell.where) from error
    return tuple(found)


@contextmanager
def placed(table: GivenTable) -> Iterator[None]:
    """Let what Spark says of a test's own query name the place of that query."""
    try:
        yield
    except QueryError as error:
        raise UsageError("bad-test-value", error.sentence, where=table.where) from error


def _of_query(session: StepSession, table: GivenTable, added: Types, types: Types) -> Typed:
    """Let Spark give the rows, in these types; a value that would not be the same is refused."""
    with placed(table):
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
    return Typed((*columns, *more), None, sql)


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
    with placed(table):
        seen = session.look(f"SELECT {', '.join(found)} FROM ({table.query}\n)")
    for number, (name, _, to) in enumerate(cast):
        text = seen[f"c{number}"]
        if text is not None:
            shown = shown_type(to)
            sentence = f"column {name!r} is {shown}: {text!r} is no value of {shown}"
            hint = "cast it in the query"
            raise UsageError("bad-test-value", sentence, where=table.where, hint=hint)


def with_rows(session: StepSession, table: GivenTable, made: Typed) -> Typed:
    """Return a table whose rows are known here too: those of a query are read."""
    if made.rows is not None:
        return made
    with placed(table):
        return replace(made, rows=read_rows(session, made.columns, f"({made.sql})"))


def read_rows(
    session: StepSession, columns: Sequence[casting.Column], source: str
) -> tuple[casting.Row, ...]:
    """Read rows with one query; a text that is no value of its column stays a text."""
    rows = []
    for text in session.sample(row_query(columns, source)):
        found = json.loads(text)
        rows.append(tuple(_value(found.get(f"c{n}"), kind) for n, (_, kind) in enumerate(columns)))
    return tuple(rows)


def columns_of(schema: Schema) -> tuple[casting.Column, ...]:
    """Return the columns of a schema with their types."""
    return tuple((column.name, parse_type(column.type)) for column in schema.columns)
