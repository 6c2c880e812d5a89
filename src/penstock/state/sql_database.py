"""One database behind an SQLAlchemy engine: transactions, and failures put into words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from penstock.core.errors import StateError
from penstock.state.tables import project

Translate = Callable[[DBAPIError, str], StateError | None]
IMMEDIATE = {"penstock_begin": "BEGIN IMMEDIATE"}


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
