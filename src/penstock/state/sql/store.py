"""The store of one target over a database."""

from __future__ import annotations

import contextlib
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

from penstock.core.errors import StateError
from penstock.state.journal import StoreContext, StoreJournal, StoreLeases
from penstock.state.sql import sqlite
from penstock.state.sql.archive import SqlArchive
from penstock.state.sql.check_records import SqlChecks
from penstock.state.sql.damage import lacking
from penstock.state.sql.database import Database
from penstock.state.sql.notes import SqlNotes
from penstock.state.sql.records import SqlRecords
from penstock.state.sql.transaction import SqlTransactions


class SqlStore:
    """The state store of one target; `file` is an SQLite database's, None for servers."""

    def __init__(self, database: Database, context: StoreContext, file: Path | None) -> None:
        transactions = SqlTransactions(database, context.identity.penstock, context.clock.new_id)
        self._database = database
        self._file = file
        self.journal = StoreJournal(transactions, context, self._keep_copy)
        self.leases = StoreLeases(transactions, context)
        self.records = SqlRecords(database)
        self.checks = SqlChecks(database)
        self.notes = SqlNotes(database)
        self.archive = SqlArchive(database, transactions, context)

    def one_state(self) -> AbstractContextManager[None]:
        """Let all that this thread reads until the block ends be of one state of the store."""
        return self._database.one_state()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def _keep_copy(self) -> None:
        """Keep the last good copy; a copy that fails costs no run, the older one stays.

        So it does where tables or columns are gone: what is kept must be good for `restore`.
        """
        if self._file is None:
            return
        with contextlib.suppress(sqlite3.Error, OSError, StateError):
            with self._database.read() as connection:
                is_whole = next(lacking(connection), None) is None
            if is_whole:
                sqlite.keep_copy(self._file, sqlite.good_copy(self._file))
