"""Rows of tables in templates: `run_query`, `statement`, `load_result`, columns of real tables.

Loading reads no table. A run evaluates the query at the versions that the step has pinned, and the
rows are kept in the state; the file is rendered again with them. Until then `execute` is false.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

from penstock.core.query import TemplateRows
from penstock.project.files.parsed import READS_CODE, TableRef
from penstock.project.files.render_context import RenderContext
from penstock.project.files.values import digest
from penstock.project.sql.context.rendering import AskedRows, Now
from penstock.project.sql.context.values import UnknownPartError

_TABLE = re.compile(r"`penstock:(\d+)`")
_THIS = "`penstock:this`"
_OURS = re.compile(r"(?:`|\A)penstock:|penstock__run_|\0\d+\0")
_INSTEAD = "write it as a join or subquery of the model, or list its values under vars:"


class RowsUnknownError(Exception):
    """The rows that a template reads are not known: no run has read them yet."""


class ExecuteFlag:
    """`execute`: whether the rows that the template reads are known."""

    __slots__ = ("_now",)

    def __init__(self, now: Now) -> None:
        self._now = now

    def __bool__(self) -> bool:
        """Return whether they are."""
        return self._now().executes

    def __str__(self) -> str:
        """Print as Python does."""
        return str(bool(self))

    def __eq__(self, other: object) -> bool:
        """Compare as a boolean."""
        return bool(self) == other

    def __hash__(self) -> int:
        """Return the hash of the boolean."""
        return hash(bool(self))


class NamedValues(Sequence[Any]):
    """Values by number and by name, as dbt's rows and columns have them; yields the values."""

    __slots__ = ("_names", "_values")

    def __init__(self, names: Sequence[object], values: Sequence[object]) -> None:
        self._names = tuple(names)
        self._values = tuple(values)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401  a value of a template
        """Return a value, or several for a slice."""
        if isinstance(key, str) and key not in self._names:
            raise KeyError(key)
        return self._values[self._names.index(key) if isinstance(key, str) else key]

    def __iter__(self) -> Iterator[Any]:
        """Yield the values."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return their number."""
        return len(self._values)

    def __str__(self) -> str:
        """Print the values."""
        return str(self._values)

    def keys(self) -> tuple[object, ...]:
        """Return the names."""
        return self._names

    def values(self) -> tuple[object, ...]:
        """Return the values."""
        return self._values

    def items(self) -> tuple[tuple[object, object], ...]:
        """Return names with values."""
        return tuple(zip(self._names, self._values, strict=True))

    def get(self, key: str, default: object = None) -> object:
        """Return a value, or the default."""
        return self[key] if key in self._names else default


class NamedColumn(NamedValues):
    """The values of a column. A row has no name of its own: it may have such a column."""

    __slots__ = ("name",)

    def __init__(self, name: str, values: Sequence[object]) -> None:
        super().__init__(range(len(values)), values)
        self.name = name

    def values_distinct(self) -> tuple[object, ...]:
        """Return each value once."""
        return tuple(dict.fromkeys(self._values))

    def values_without_nulls(self) -> tuple[object, ...]:
        """Return the values but NULL."""
        return tuple(each for each in self._values if each is not None)


class RowsTable(Sequence[NamedValues]):
    """The rows of a query, as dbt's templates know them."""

    __slots__ = ("column_names", "columns", "rows")

    def __init__(self, read: TemplateRows) -> None:
        names = tuple(name for name, _ in read.columns)
        readers = [_reader_of(kind) for _, kind in read.columns]
        rows = [
            [_value_of(each, text) for each, text in zip(readers, row, strict=True)]
            for row in read.rows
        ]
        self.column_names = names
        self.rows = tuple(NamedValues(names, row) for row in rows)
        by_column = [NamedColumn(name, [row[at] for row in rows]) for at, name in enumerate(names)]
        self.columns = NamedValues(names, by_column)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401  a value of a template
        """Return a row by its number."""
        return self.rows[key]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __str__(self) -> str:
        """Print the names of the columns."""
        return f"<rows of {', '.join(self.column_names)}>"

    def print_table(self, **_options: object) -> str:
        """Print nothing: rendering is repeated and cached."""
        return ""


def _value_of(reader: Callable[[str], object], text: str | None) -> object:
    """Return a value; its text if Python has no such value, as for the year 0 or 10000."""
    try:
        return None if text is None else reader(text)
    except (ValueError, ArithmeticError):
        return text


def _reader_of(kind: str) -> Callable[[str], object]:
    """Return what makes a value of a type from its text."""
    base = kind.lower().partition("(")[0]
    readers: dict[str, Callable[[str], object]] = {
        **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int),
        **dict.fromkeys(("float", "double"), float),
        "decimal": Decimal,
        "boolean": lambda text: text == "true",
        "date": dt.date.fromisoformat,
        "timestamp": dt.datetime.fromisoformat,
        "timestamp_ntz": dt.datetime.fromisoformat,
    }
    return readers.get(base, str)


def _name_of(table: TableRef) -> str:
    """Return the name of a table in keys: its number is another one in another rendering."""
    return f"{table.kind} {table.names}"


class StatementResult:
    """What `load_result` returns."""

    __slots__ = ("data", "response", "table")

    def __init__(self, table: RowsTable) -> None:
        self.table = table
        self.data = [list(row) for row in table]
        self.response = "OK"


class RowsFunctions:
    """`run_query`, `statement`, `load_result`, and `execute`."""

    def __init__(self, now: Now, context: RenderContext) -> None:
        self._now = now
        self._context = context

    def functions(self) -> dict[str, object]:
        """Return what templates call, by name."""
        return {
            "execute": ExecuteFlag(self._now),
            "run_query": self.run_query,
            "statement": self.statement,
            "load_result": self.load_result,
        }

    def run_query(self, sql: object) -> RowsTable | None:
        """Return the rows of a query; None while they are unknown."""
        found = self.rows_of(str(sql))
        return None if found is None else RowsTable(found)

    def statement(self, name: object = None, *, caller: Any = None, **_options: object) -> str:  # noqa: ANN401  the block
        """Read the rows of the query in a block, for `load_result`."""
        found = self.run_query(caller() if caller is not None else "")
        if found is not None:
            self._now().results[str(name)] = StatementResult(found)
        return ""

    def load_result(self, name: object) -> object:
        """Return the result of a statement; None while it is unknown."""
        return self._now().results.get(str(name))

    def rows_of(self, sql: str) -> TemplateRows | None:
        """Return the rows of a query; raise `RowsUnknownError` if no run has read them yet."""
        now, context = self._now(), self._context
        if not now.may_read:
            sentence = "only templates of models read rows"
            raise UnknownPartError(sentence, _INSTEAD, READS_CODE)
        if _THIS in sql:
            sentence = "a template that reads its own table would be another after each run"
            hint = "compare in the query: where x > (select max(x) from {{ this }})"
            raise UnknownPartError(sentence, hint, READS_CODE)
        if not now.executes:
            return None
        if context.tables is None:
            now.reads.add(context.read("rows"))
            raise RowsUnknownError
        key = digest(_TABLE.sub(lambda found: _name_of(now.calls[int(found[1])]), sql))
        now.queries[key] = AskedRows(sql, now.current_line, tuple(now.calls))
        now.reads.add(context.read("rows", f"{now.path}\n{key}"))
        if key not in context.rows:
            raise RowsUnknownError
        _refuse_own_words(context.rows[key])
        return context.rows[key]


def _refuse_own_words(read: TemplateRows) -> None:
    """Refuse rows that a text would take for its own marks."""
    names = (name for name, _ in read.columns)
    for text in chain(names, *read.rows):
        if text and (found := _OURS.search(text)):
            sentence = f"a row that the template reads holds {found[0]!r}, which has a meaning here"
            raise UnknownPartError(sentence, "leave such rows out in its query", READS_CODE)
