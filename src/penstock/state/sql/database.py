"""One database behind an SQLAlchemy engine: transactions, and its failures as messages."""

from __future__ import annotations

import datetime as dt
import json
import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

from sqlalchemy import Column, Connection, Engine, Table, func, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from penstock.core.errors import StateError, UsageError
from penstock.state.columns import UtcTime, Value, stored
from penstock.state.schema import REVISION, metadata, project, revisions
from penstock.state.sql.soundness import Cell, unsound

Translate = Callable[[SQLAlchemyError, str], StateError | None]

_READS: Mapping[str, Mapping[str, Any]] = {
    "postgresql": {
        "isolation_level": "REPEATABLE READ",
        "penstock_begin": "SET TRANSACTION READ ONLY",
    }
}
"""How read-only transactions begin: SQLite always gives them one state."""

_WRITES: Mapping[str, Mapping[str, Any]] = {
    "sqlite": {"penstock_begin": "BEGIN IMMEDIATE"},
    "postgresql": {"isolation_level": "READ COMMITTED"},  # sees what it has waited for
}

MOVING, MOVED = "moving", "moved"
"""Revisions of a database to which a move has not ended, and of one that was moved away."""
NOT_IN_USE = -1
"""The format of both: a process that had such a database open can write no more."""

_OPENING = 0x70656E73746F636B
"""The advisory lock for creating tables in PostgreSQL: "penstock" in ASCII."""

_SYMPTOMS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    SQLAlchemyError,
    TypeError,
    ValueError,
    zlib.error,
)
"""Exceptions of a damaged row, or of a bug: the rows show which it is."""
_UNREADABLE = (LookupError, TypeError, ValueError, zlib.error)
_AT_ONCE = 5_000 if sqlite3.sqlite_version_info >= (3, 32) else 500  # values of a condition


def put(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows; a row with an existing key replaces the old one."""
    if not rows:
        return
    # SQL has no word for it that both know; one of them is imported already
    statement = import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert(table)
    keys = [column.name for column in table.primary_key]
    values = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    statement = statement.on_conflict_do_update(index_elements=keys, set_=values)
    connection.execute(statement, [dict(row) for row in rows])


def moved_error(place: str, revision: str) -> StateError:
    """Return the error for a database that `state move` left, or did not finish."""
    if revision == MOVING:
        sentence = f"{place} is not in use: penstock state move did not end"
        return StateError("state-moved", sentence, hint="give the same penstock state move again")
    return StateError(
        "state-moved",
        f"{place} is not in use any more: its records were moved to another database",
        hint="correct `state` in penstock.yml; or penstock state move moves them back",
    )


def server_time(connection: Connection) -> dt.datetime | None:
    """Return the time of the database's server; None for a file."""
    if connection.dialect.name == "sqlite":
        return None
    return connection.scalar(select(func.clock_timestamp(type_=UtcTime())))


def batched(values: Sequence[str], size: int = _AT_ONCE) -> Iterator[Sequence[str]]:
    """Return values in parts that fit into a condition: databases limit the number."""
    for first in range(0, len(values), size):
        yield values[first : first + size]


class _Here(threading.local):
    connection: Connection | None = None


class Database:
    """Provides transactions, and converts their failures.

    `translate` returns the error for the database, `damaged` the error for its rows. Any other
    exception is a bug and is not converted.
    """

    def __init__(
        self, engine: Engine, translate: Translate, damaged: Callable[[str, str], StateError]
    ) -> None:
        self._engine = engine
        self._translate = translate
        self._damaged = damaged
        self._here = _Here()
        self._reads = dict(_READS.get(engine.dialect.name, {}))
        self._writes = dict(_WRITES.get(engine.dialect.name, {}))
        self.place = engine.url.render_as_string(hide_password=True)
        # A connection that an interrupt broke off is thrown away: how it went is no news.
        logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Make every `read` of this thread see the same state until the block ends.

        It is that of the first read. Changes by the block itself are visible only after it ends.
        """
        if self._here.connection is not None:
            yield
            return
        with self._worded(_SYMPTOMS), self._one_state() as connection:
            self._here.connection = connection
            try:
                yield
            finally:
                self._here.connection = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a read-only transaction, which sees one state of the database throughout."""
        with self._worded((*_SYMPTOMS, UsageError)):
            if self._here.connection is not None:
                yield self._here.connection
                return
            with self._begun(self._reads) as connection:
                yield connection

    @contextmanager
    def read_now(self) -> Iterator[Connection]:
        """Open a transaction that reads the current state, even inside `one_state`."""
        with self._worded(_SYMPTOMS), self._begun(self._reads) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that writes: one at a time, others wait.

        SQLite locks its file; elsewhere the project's row is the lock.
        """
        with self._worded((*_SYMPTOMS, UsageError)), self._begun(self._writes) as connection:
            lock = select(project.c.format_version).with_for_update()
            if connection.scalar(lock) == NOT_IN_USE:
                raise moved_error(self.place, MOVED)
            yield connection

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Open a writing transaction on a database that may not have its tables yet.

        One at a time; a transaction that waited sees what the previous one created.
        """
        with self._worded(_SYMPTOMS), self._begun(self._writes) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(select(func.pg_advisory_xact_lock(_OPENING)))
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def _one_state(self) -> AbstractContextManager[Connection]:
        return self._begun(self._reads)

    @contextmanager
    def _begun(self, options: Mapping[str, Any]) -> Iterator[Connection]:
        with (
            self._engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _worded(self, symptoms: tuple[type[Exception], ...]) -> Iterator[None]:
        try:
            yield
        except symptoms as error:
            worded = self._wording(error) or self._damage()
            if worded is None:
                raise
            raise worded from error

    def _wording(self, error: Exception) -> StateError | None:
        return self._translate(error, self.place) if isinstance(error, SQLAlchemyError) else None

    def _damage(self) -> StateError | None:
        """Read every row after a read error, and return which ones are damaged."""
        try:
            with self._begun(self._reads) as connection:
                found = damage_of(connection)
        except _SYMPTOMS as error:
            worded = self._wording(error)
            return worded or self._damaged(self.place, str(getattr(error, "orig", error)))
        return None if found is None else self._damaged(self.place, found)


def damage_of(connection: Connection) -> str | None:
    """Return the first problem of one of our databases; None if there is none.

    It reads every row, so call it only after an error. Raises `DBAPIError` if the database cannot
    be queried.
    """
    try:
        return next(_damages(connection), None)
    except _UNREADABLE as error:
        return f"a row cannot be read: {error}"


def write_cell(column: Column[object], value: object) -> Cell:
    """Return a value of a row in document form; raise `ValueError` for invalid JSON."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(column.type, Value) and column.type.as_json and isinstance(value, str):
        read: Cell = json.loads(value)
        return read
    return value  # type: ignore[return-value]  # text, numbers, and what a damaged cell holds


def lacking(connection: Connection) -> Iterator[str]:
    """Return missing tables and columns, and a different schema; read no row."""
    there = inspect(connection)
    gone = [name for name in (*metadata.tables, revisions.name) if not there.has_table(name)]
    yield from (f"table {name!r} is gone" for name in gone)
    for table in metadata.sorted_tables:
        if table.name not in gone:
            left = {column["name"] for column in there.get_columns(table.name)}
            lost = [column.name for column in table.c if column.name not in left]
            yield from (f"column {name!r} of {table.name!r} is gone" for name in lost)
    if revisions.name not in gone:
        found = connection.scalars(select(revisions.c.version_num)).all()
        if found != [REVISION]:
            said = ", ".join(map(str, found)) or "none"
            yield f"it says that its schema is {said}, not {REVISION}"


def _damages(connection: Connection) -> Iterator[str]:
    if connection.dialect.name == "sqlite":
        found = connection.scalars(text("PRAGMA integrity_check(1)")).all()
        yield from (str(said) for said in found if said != "ok")
    yield from lacking(connection)
    yield from unsound((table, rows_of(connection, table)) for table in metadata.sorted_tables)
    owners = connection.scalars(text("SELECT store_id FROM project")).all()
    if len(owners) != 1:
        yield f"it belongs to {len(owners)} projects"


def rows_of(
    connection: Connection, table: Table, at_once: int | None = None
) -> Iterator[dict[str, Cell]]:
    """Return the rows of a table in document form, in the order of their keys.

    With `at_once`, rows are read in parts of that size; then read all of them.
    """
    columns = map(stored, table.c)
    query = select(*columns).order_by(*table.primary_key.columns)
    options: dict[str, int] = {} if at_once is None else {"yield_per": at_once}
    with connection.execute(query, execution_options=options) as rows:
        for row in rows:
            yield {column.name: write_cell(column, row[n]) for n, column in enumerate(table.c)}
