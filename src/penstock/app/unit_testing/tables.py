"""A table of a test with the types of its columns: as SQL to write, as values to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.app.unit_testing.encoding import Row, decoded, row_query
from penstock.app.unit_testing.literals import Column, select_of
from penstock.core.engine_ports import StepSession
from penstock.core.errors import UsageError
from penstock.core.findings import Location
from penstock.core.names import quoted
from penstock.core.schema import Schema
from penstock.core.types import ColumnType, parse_type, sql_type
from penstock.core.unit_tests import Cell, CellKind, GivenTable
from penstock.project.trees.field_types import shown_type
from penstock.project.unit_tests.casting import CellError, typed
from penstock.project.unit_tests.inferred import inferred
from penstock.project.unit_tests.judging import column_of

_QUERY_VIEW = "penstock_test_query"
Types = Mapping[str, ColumnType]


@dataclass(frozen=True, slots=True)
class Typed:
    """A table whose columns have types. `rows` are None for one that only Spark can tell."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...] | None
    sql: str

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in order."""
        return tuple(name for name, _ in self.columns)

    def values(self, name: str) -> tuple[object, ...]:
        """Give the values of a column that are not NULL; none where only Spark can tell."""
        places = [at for at, known in enumerate(self.names) if known.lower() == name.lower()]
        found = (row[places[0]] for row in self.rows or () if places)
        return tuple(value for value in found if value is not None)

    def type_of(self, name: str) -> ColumnType | None:
        """Give the type of a column, in any case of letters."""
        found = (kind for known, kind in self.columns if known.lower() == name.lower())
        return next(found, None)


def typed_table(session: StepSession, table: GivenTable, types: Types, add: bool = True) -> Typed:  # noqa: FBT001, FBT002  read as "columns to add"
    """Give a table with its columns; a declared type comes first, then `types`, then the values.

    With `add` the columns of `types` that no row names are there too, and NULL. Raises
    `bad-test-value` and `test-type-unknown`.
    """
    if table.query:
        return _of_query(session, table, types)
    wanted = {name.lower(): name for name in table.names}
    for name in types if add else ():
        wanted.setdefault(name.lower(), name)
    folded = {name.lower(): kind for name, kind in types.items()}
    columns = []
    for key, name in wanted.items():
        kind = table.columns.get(name) or folded.get(key) or table.type_of(name)
        kind = kind or inferred(column_of(table, name))
        if kind is None:
            sentence = f"nothing says the type of column {name!r}"
            hint = f"give columns: {{{name}: TYPE}}"
            raise UsageError("test-type-unknown", sentence, where=table.where, hint=hint)
        columns.append((name, kind))
    rows = tuple(values_of(row, columns, table.where) for row in table.rows)
    return Typed(tuple(columns), rows, select_of(columns, rows))


def values_of(row: Mapping[str, Cell], columns: Sequence[Column], where: Location) -> Row:
    """Give the values of one row in the order of columns; raises `bad-test-value`."""
    given = {name.lower(): cell for name, cell in row.items()}
    null = Cell("", CellKind.NULL, where)
    found = []
    for name, kind in columns:
        cell = given.get(name.lower(), null)
        try:
            found.append(typed(cell, kind))
        except CellError as error:
            sentence = f"column {name!r} is {shown_type(kind)}: {error}"
            raise UsageError("bad-test-value", sentence, where=cell.where) from error
    return tuple(found)


def _of_query(session: StepSession, table: GivenTable, types: Types) -> Typed:
    """Let Spark give the rows; casts are ANSI's, which fail for a value that does not fit."""
    described = session.define(_QUERY_VIEW, table.query)
    folded = {name.lower(): kind for name, kind in types.items()}
    columns = []
    for column in described.columns:
        kind = table.columns.get(column.name) or folded.get(column.name.lower())
        kind = kind or table.type_of(column.name)
        columns.append((column.name, kind or parse_type(column.type)))
    chosen = ", ".join(f"CAST({quoted(n)} AS {sql_type(k)}) AS {quoted(n)}" for n, k in columns)
    return Typed(tuple(columns), None, f"SELECT {chosen} FROM ({table.query})")


def read_rows(session: StepSession, columns: Sequence[Column], source: str) -> tuple[Row, ...]:
    """Read rows with one query."""
    texts = session.sample(row_query(columns, source))
    return tuple(decoded(text, columns) for text in texts)


def columns_of(
    schema: Schema, chosen: Callable[[str], bool] = lambda _: True
) -> tuple[Column, ...]:
    """Give the columns of a schema with their types."""
    return tuple((c.name, parse_type(c.type)) for c in schema.columns if chosen(c.name))
