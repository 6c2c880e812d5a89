"""Finding the row that cannot be read, once something could not."""

from __future__ import annotations

import datetime as dt
import json
import zlib
from collections.abc import Iterator

from sqlalchemy import Column, Connection, Table, inspect, select, text

from penstock.state.document import Cell
from penstock.state.schema import REVISION, metadata
from penstock.state.sql.soundness import Row, unsound

_UNREADABLE = (LookupError, TypeError, ValueError, zlib.error)


def damage_of(connection: Connection) -> str | None:
    """Say what is wrong with a database of ours, the first thing alone; None if all of it is well.

    Every row is read: ask only when something could not be. Raises `DBAPIError` if the database
    cannot be asked.
    """
    try:
        return next(_damages(connection), None)
    except _UNREADABLE as error:
        return f"a row cannot be read: {error}"


def write_cell(column: Column[object], value: object) -> Cell:
    """Give a value of a row as a document has it; raises `ValueError` for JSON that is none."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if column.info.get("json") and isinstance(value, str):
        read: Cell = json.loads(value)
        return read
    return value  # type: ignore[return-value]  # text, numbers, and what a damaged cell holds


def lacking(connection: Connection) -> Iterator[str]:
    """Say which tables and columns are gone, and whether the schema is another; no row is read."""
    there = inspect(connection)
    gone = [name for name in (*metadata.tables, "alembic_version") if not there.has_table(name)]
    yield from (f"table {name!r} is gone" for name in gone)
    for table in metadata.sorted_tables:
        if table.name not in gone:
            left = {column["name"] for column in there.get_columns(table.name)}
            lost = [column.name for column in table.c if column.name not in left]
            yield from (f"column {name!r} of {table.name!r} is gone" for name in lost)
    if "alembic_version" not in gone:
        found = connection.scalars(text("SELECT version_num FROM alembic_version")).all()
        if found != [REVISION]:
            said = ", ".join(map(str, found)) or "none"
            yield f"it says that its schema is {said}, not {REVISION}"


def _damages(connection: Connection) -> Iterator[str]:
    if connection.dialect.name == "sqlite":
        found = connection.scalars(text("PRAGMA integrity_check(1)")).all()
        yield from (str(said) for said in found if said != "ok")
    yield from lacking(connection)
    yield from unsound((table, _rows(connection, table)) for table in metadata.sorted_tables)
    owners = connection.scalars(text("SELECT store_id FROM project")).all()
    if len(owners) != 1:
        yield f"it belongs to {len(owners)} projects"


def _rows(connection: Connection, table: Table) -> Iterator[Row]:
    for row in connection.execute(select(table).order_by(*table.primary_key.columns)):
        yield {column.name: write_cell(column, row[n]) for n, column in enumerate(table.c)}
