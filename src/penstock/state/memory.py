"""The store in memory, for tests and for reading before a store exists: SQLite without a file."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import URL, Connection

from penstock.core.errors import StateError
from penstock.core.ports.ports import Clock, Fault, inert
from penstock.core.project import LeaseSettings
from penstock.state.lease import Identity, IsGone, StoreContext, is_gone
from penstock.state.open import SqlStore, make_tables, write_owner
from penstock.state.sql import sqlite
from penstock.state.sql.database import Database

NOBODY = Identity("memory", "memory", "memory")
_ENGINE = sqlite.connect(URL.create("sqlite"))  # one for all: it knows the statements by now


class MemoryStore(SqlStore):
    """A `Store` that keeps every promise except persistence; threads may share it."""

    def __init__(
        self,
        clock: Clock,
        lease: LeaseSettings,
        *,
        identity: Identity = NOBODY,
        fault: Fault = inert,
        is_gone: IsGone = is_gone,
    ) -> None:
        rows = _ENGINE.connect()
        weakref.finalize(self, rows.close)
        _copy(_empty(), rows)
        context = StoreContext(identity, clock, lease, fault, is_gone)
        database = _MemoryDatabase(rows)
        with database.alone() as connection:
            write_owner(connection, context)
        super().__init__(database, context, None)

    def close(self) -> None:
        """Keep the rows: they exist as long as the store does."""


class _MemoryDatabase(Database):
    """One connection that threads use in turn; `one_state` is a copy of its contents."""

    def __init__(self, rows: Connection) -> None:
        super().__init__(_ENGINE, sqlite.translate, sqlite.damaged)
        self._rows = rows
        self._turn = threading.RLock()

    @contextmanager
    def _begun(self, options: Mapping[str, Any]) -> Iterator[Connection]:
        del options
        with self._turn, self._rows.begin():
            yield self._rows

    @contextmanager
    def _one_state(self) -> Iterator[Connection]:
        with _ENGINE.connect() as copy:
            with self._turn:
                _copy(self._rows, copy)
            yield copy

    def _damage(self) -> StateError | None:
        """Return no damage: without a file there is none, so the error is a bug and is raised."""


@cache
def _empty() -> Connection:
    """Return a database with tables and no rows: copying one is faster than creating it."""
    rows = _ENGINE.connect()
    with rows.begin():
        make_tables(rows)
    return rows


def _copy(rows: Connection, to: Connection) -> None:
    driver: Any = rows.connection.driver_connection
    driver.backup(to.connection.driver_connection)
