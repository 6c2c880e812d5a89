"""One database behind an SQLAlchemy engine: transactions, and failures put into words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, Table, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from penstock.core.errors import StateError
from penstock.state.tables import project

Translate = Callable[[DBAPIError, str], StateError | None]
_AT_ONCE = 500
IMMEDIATE = {"penstock_begin": "BEGIN IMMEDIATE"}


Upsert = sqlite.Insert | postgresql.Insert


def upsert(connection: Connection, table: Table) -> Upsert:
    """Give an insert that can say what becomes of a row that is there; SQL has no word for it."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


def put(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows; one whose key is there takes the place of the old one."""
    if not rows:
        return
    statement = upsert(connection, table)
    keys = [column.name for column in table.primary_key]
    values = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    statement = statement.on_conflict_do_update(index_elements=keys, set_=values)
    connection.execute(statement, [dict(row) for row in rows])


def batched(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Give values in parts that a condition may name: databases limit how many."""
    for first in range(0, len(values), _AT_ONCE):
        yield values[first : first + _AT_ONCE]


class Database:
    """Hands out transactions. `translate` words a driver's error; None means it is a bug."""

    def __init__(self, engine: Engine, translate: Translate) -> None:
        self._engine = engine
        self._translate = translate
        self.place = engine.url.render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads; it sees one state of the database throughout."""
        with self._worded(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that writes: there is one at a time, others wait.

        SQLite locks its file; elsewhere the project's row is the lock.
        """
        with self.alone() as connection:
            connection.execute(select(project.c.store_id).with_for_update())
            yield connection

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Open a writing transaction on a database that may not have its tables yet."""
        with (
            self._worded(),
            self._engine.connect().execution_options(**IMMEDIATE) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextmanager
    def _worded(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            worded = self._translate(error, self.place)
            if worded is None:
                raise
            raise worded from error
