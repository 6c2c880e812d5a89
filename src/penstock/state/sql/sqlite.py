"""SQLite: its pragmas, atomic creation, copies and their restoration, errors."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import sqlite3
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from penstock.core.errors import StateAwayError, StateError

if TYPE_CHECKING:
    from sqlalchemy.pool import ConnectionPoolEntry

BUSY_SECONDS = 60
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_OUTSIDE = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)


def is_sqlite(url: URL) -> bool:
    """Return whether the URL is for an SQLite database."""
    return url.get_backend_name() == "sqlite"


def file_of(url: URL) -> Path:
    """Return the file; raise `state-unreachable` if the URL has none."""
    if not url.database or url.database == ":memory:":
        raise StateError(
            "state-unreachable",
            f"{url} names no file",
            hint="write it as sqlite:////absolute/path/state.db",
        )
    return Path(url.database)


def connect(url: URL) -> Engine:
    """Create an engine whose writing transactions lock the file at once.

    The driver's own transactions are off, so that BEGIN is ours: a transaction that first reads and
    later writes would fail instead of waiting. It waits for a lock for `BUSY_SECONDS`, or the URL's
    `timeout`.
    """
    wait = {} if "timeout" in url.query else {"timeout": BUSY_SECONDS}
    if url.database:
        engine = create_engine(url, connect_args=wait, pool_size=5, max_overflow=-1)
    else:  # in memory every connection is a database of its own
        shared = {"check_same_thread": False}
        engine = create_engine(url, connect_args=shared, poolclass=NullPool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def create(file: Path, fill: Callable[[URL], None]) -> None:
    """Create the database in a sibling file and rename it; a faster process wins.

    No process ever sees a database without its tables, even if this one is killed.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".new-state-") as folder:
        fresh = Path(folder) / file.name
        _make_private(fresh)  # its -wal and -shm are as it is
        fill(URL.create("sqlite", database=str(fresh)))
        with contextlib.suppress(FileExistsError):
            _link(fresh, file)


def keep_copy(file: Path, copy: Path) -> None:
    """Replace the copy by a checked one; `sqlite3.Error` or `OSError` leaves the older one."""
    part = copy.with_name(f"{copy.name}.{os.getpid()}")
    read_only = f"{file.resolve().as_uri()}?mode=ro"
    try:
        _make_private(part)
        with (
            contextlib.closing(sqlite3.connect(read_only, uri=True)) as source,
            contextlib.closing(sqlite3.connect(part)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
            _require_sound(target)
        part.replace(copy)
    finally:
        part.unlink(missing_ok=True)


def _make_private(file: Path) -> None:
    """Create an empty file that only its owner may read."""
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))


def good_copy(file: Path) -> Path:
    """Return the path of the last good copy."""
    return file.with_name(f"{file.name}.good")


def _companions(file: Path) -> tuple[Path, ...]:
    """Return the companion files in which SQLite keeps parts of the database."""
    return tuple(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))


def require_no_journal(file: Path) -> None:
    """Refuse to make a database where the journal of another one lies; `state-journal-left`.

    SQLite would treat it as the new database's own and write old pages into it. Every process
    checks this before it creates the file, so an older journal belongs to no running process.
    """
    journal = _companions(file)[0]
    is_left = journal.exists() and journal.stat().st_size > 0
    if is_left and not (file.exists() and file.stat().st_size > 0):
        raise StateError(
            "state-journal-left",
            f"{file} is gone, and its journal {journal} is left: it holds what was written last",
            hint=f"put the file back; or move {journal.name} away as well, and penstock state "
            "rebuild reads the state back from the tables",
        )


def _link(file: Path, name: Path) -> None:
    """Link a second name to a file, or rename it if hard links are not supported.

    Raises `FileExistsError` if the name is taken.
    """
    try:
        os.link(file, name)
    except FileExistsError:
        raise
    except OSError:
        if name.exists():
            raise FileExistsError(name) from None
        file.rename(name)


def restore(url: str, at: dt.datetime) -> Path:
    """Move the database aside, restore the last good copy, return the path of the damaged file.

    The copy contains everything up to the end of the last run that had steps, and is kept. The old
    file and its log are named `…damaged-<at>`. Raises `state-no-copy` if there is no readable copy,
    and `state-unreachable` if the database is not an SQLite file or the disk is full, without
    changes.
    """
    place = make_url(url)
    if not is_sqlite(place):
        raise StateError(
            "state-unreachable",
            f"{place.render_as_string(hide_password=True)} is not an SQLite file",
            hint="restore it with the means of its database",
        )
    file = file_of(place)
    good = good_copy(file)
    if not good.exists():
        raise _no_copy(f"no good copy of {file} was ever kept")
    fresh = file.with_name(f"{file.name}.restored")
    try:
        _make_private(fresh)
        shutil.copyfile(good, fresh)
        with contextlib.closing(sqlite3.connect(fresh)) as database, database:
            _require_sound(database)
            columns = {row[1] for row in database.execute("PRAGMA table_info(project)")}
            if "epoch" in columns:  # steps since the copy are forgotten, their numbers free again
                database.execute("UPDATE project SET epoch = ?", (str(uuid.uuid4()),))
        return _swapped(file, fresh, at)
    except sqlite3.DatabaseError as error:
        raise _no_copy(f"the copy {good} cannot be read either: {error}") from error
    except OSError as error:
        raise _unusable(str(file), error.strerror or str(error)) from error
    finally:
        fresh.unlink(missing_ok=True)


def _swapped(file: Path, fresh: Path, at: dt.datetime) -> Path:
    stamp = at.astimezone(dt.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = file.with_name(f"{file.name}.damaged-{stamp}")
    for part in _companions(file):
        if part.exists():
            part.rename(aside.with_name(aside.name + part.name.removeprefix(file.name)))
    if file.exists():
        _link(file, aside)  # a name is never without a file: `open` would make an empty one
    fresh.replace(file)
    return aside


def _no_copy(reason: str) -> StateError:
    return StateError(
        "state-no-copy",
        reason,
        hint="move the file, and its -wal and -shm, away and run penstock state rebuild",
    )


def translate(error: SQLAlchemyError, place: str) -> StateError | None:
    """Return the error for a problem of the file; None for a bug of ours."""
    if not isinstance(error, DBAPIError):
        return None
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        return damaged(place, str(error.orig))
    if code in _BUSY:
        return StateAwayError(
            "state-unreachable",
            f"{place} is locked by another process",
            hint="find it with `fuser` on the file, and try again when it is done",
        )
    if code in _OUTSIDE:
        return _unusable(place, str(error.orig), passes=code == sqlite3.SQLITE_FULL)
    return None


def damaged(place: str, reason: str) -> StateError:
    """Return the error for a file without the contents of a store."""
    return StateError(
        "state-damaged",
        f"{place} is damaged: {reason}"[:1000],
        hint="penstock state restore puts the last good copy in place and keeps this file",
    )


def _unusable(place: str, reason: str, *, passes: bool = False) -> StateError:
    """Return the error for an unsuitable file system."""
    kind = StateAwayError if passes else StateError
    return kind(
        "state-unreachable",
        f"{place} cannot be used: {reason}"[:1000],
        hint="check the folder's permissions and free space",
    )


def _prepare(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
    del entry
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys=ON").close()
    connection.execute("PRAGMA journal_mode=WAL").close()


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    connection.exec_driver_sql(options.get("penstock_begin", "BEGIN"))


def _require_sound(database: sqlite3.Connection) -> None:
    found = database.execute("PRAGMA quick_check(1)").fetchone()
    if found != ("ok",):
        raise sqlite3.DatabaseError(found[0])
