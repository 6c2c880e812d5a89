"""A few rows of a Delta table read without Spark, deletion vectors taken into account."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.core.errors import TableError
from penstock.core.names import quoted
from penstock.core.ports.sessions import FewRows
from penstock.engine.log.folder import open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

_VIEW = "kept"


class DeltaRows:
    """The `KeptRows` over Delta tables, through the query engine of `deltalake`."""

    def newest(self, uri: str, columns: Sequence[str], by: str, limit: int) -> FewRows:
        """See `KeptRows.newest`."""
        table = open_table(uri)
        if table is None:
            return FewRows((), 0)
        named = ", ".join(map(_name, columns))
        order = f"ORDER BY {_name(by)} DESC, {_name(columns[0])}"
        rows = _ask(uri, table, f"SELECT {named} FROM {_VIEW} {order} LIMIT {limit}")
        total = _ask(uri, table, f"SELECT count(*) FROM {_VIEW}")
        return FewRows(rows, int(total[0][0]))

    def present(self, uri: str, column: str, values: Sequence[str]) -> frozenset[str]:
        """See `KeptRows.present`."""
        table = open_table(uri)
        if table is None or not values:
            return frozenset()
        listed = ", ".join("'" + each.replace("'", "''") + "'" for each in values)
        name = _name(column)
        rows = _ask(uri, table, f"SELECT {name} FROM {_VIEW} WHERE {name} IN ({listed})")
        return frozenset(str(row[0]) for row in rows)


def _name(column: str) -> str:
    return '"' + quoted(column)[1:-1].replace('"', '""') + '"'


def _ask(uri: str, table: DeltaTable, query: str) -> tuple[tuple[Any, ...], ...]:
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError

    try:
        found = QueryBuilder().register(_VIEW, table).execute(query).read_all()
    except DeltaError as error:
        raise TableError("target-unreadable", f"{uri} cannot be read: {error}") from error
    columns = [found.column(number).to_pylist() for number in range(found.num_columns)]
    return tuple(tuple(map(_utc, row)) for row in zip(*columns, strict=True))


def _utc(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) else value
