"""The store over SQLAlchemy Core: one set of statements for every database."""

from __future__ import annotations

import contextlib
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

from penstock.core.errors import StateError
from penstock.core.ports import Archive, Journal, Records
from penstock.state import sqlite
from penstock.state.parts import Parts
from penstock.state.sql_archive import SqlArchive
from penstock.state.sql_damage import lacking
from penstock.state.sql_database import Database
from penstock.state.sql_journal import SqlJournal
from penstock.state.sql_records import SqlRecords


class SqlStore:
    """The state store of one target; `file` is an SQLite database's, None for servers."""

    def __init__(self, database: Database, parts: Parts, file: Path | None) -> None:
        self._database = database
        self._file = file
        self._journal = SqlJournal(database, parts, self._keep_copy)
        self._records = SqlRecords(database)
        self._archive = SqlArchive(database, parts)

    @property
    def journal(self) -> Journal:
        """What is written while steps run."""
        return self._journal

    @property
    def records(self) -> Records:
        """What is read to decide."""
        return self._records

    @property
    def archive(self) -> Archive:
        """Everything, at once."""
        return self._archive

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
