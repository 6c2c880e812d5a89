"""Move a store to another database.

The rows are copied while the old database is locked. Until it is marked as moved, the new one is
refused, and afterwards the old one is, so at no time can two databases be in use. A move that was
killed is completed by the same command.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import URL, Connection, insert, inspect, select, text, update

from penstock.core.errors import LeaseHeldError, StateError, UsageError
from penstock.state.lease import StoreContext
from penstock.state.open import (
    create_file,
    make_tables,
    open_database,
    open_existing,
    read_revision,
    read_url,
    require_owner,
)
from penstock.state.schema import FORMAT, REVISION, metadata, project, revisions
from penstock.state.sql import sqlite
from penstock.state.sql.archive import read_row
from penstock.state.sql.database import (
    MOVED,
    MOVING,
    NOT_IN_USE,
    Database,
    moved_error,
    rows_of,
)
from penstock.state.sql.transaction import Transaction

_AT_ONCE = 1_000
_VIEWS = ("partition_state_full", "execution_history_full")


@dataclass(frozen=True, slots=True)
class StateContents:
    """The rows of each table of a store, and a digest of them all, in any database."""

    rows: Mapping[str, int]
    digest: str


@dataclass(frozen=True, slots=True)
class MovedState:
    """A move that has ended: both databases without credentials, and what each of them holds."""

    source: str
    target: str
    before: StateContents
    after: StateContents


def move_store(source: str, target: str, context: StoreContext) -> MovedState:
    """Move the store of one URL to another; return what both hold.

    Raises `lease-held` while a run may write, `state-not-empty` if the target has records,
    `no-state` if the source has none, and `state-moved` if it was moved elsewhere. Nothing has
    changed then.
    """
    origin, goal = read_url(source), read_url(target)
    if _place(origin) == _place(goal):
        sentence = f"{_place_text(origin)} is both FROM and TO"
        raise UsageError("same-state", sentence, hint="name another database as TO")
    with closing(open_database(origin)) as old:
        is_marked = _require_source(source, old, context)
        if not is_marked:
            _copy_all(old, goal, context)
            context.fault("after-move")
        before, after = _finish(old, goal)
    file = sqlite.file_of(goal) if sqlite.is_sqlite(goal) else None
    if file is not None:
        with suppress(sqlite3.Error, OSError):  # the older copy is of another time
            sqlite.keep_copy(file, sqlite.good_copy(file))
    return MovedState(_place_text(origin), _place_text(goal), before, after)


def _require_source(source: str, old: Database, context: StoreContext) -> bool:
    """Return whether the source was marked as moved already; migrate it first if needed."""
    if sqlite.is_sqlite(read_url(source)) and not sqlite.file_of(read_url(source)).exists():
        raise _no_state(old.place)
    with old.read() as connection:
        if read_revision(connection) == MOVED:
            require_owner(old.place, _owner(connection), context.identity)
            return True
    store = open_existing(source, context)
    if store is None:
        raise _no_state(old.place)
    store.close()
    return False


def _copy_all(old: Database, goal: URL, context: StoreContext) -> None:
    """Copy all rows, and mark the old database as moved in the transaction that locked it."""
    with old.write() as rows:
        _require_free(Transaction(rows, context), context)
        file = sqlite.file_of(goal) if sqlite.is_sqlite(goal) else None
        if file is not None:
            sqlite.require_no_journal(file)
        if file is not None and not file.exists():
            create_file(file, lambda fresh: _fill(rows, fresh, context))
        else:
            _fill(rows, goal, context)
        _require_copied(goal, rows)
        context.fault("during-move")
        _set_use(rows, NOT_IN_USE, MOVED)


def _fill(rows: Connection, goal: URL, context: StoreContext) -> None:
    """Copy all rows in one transaction; the new database is not in use yet."""
    with closing(open_database(goal)) as new, new.alone() as connection:
        _require_replaceable(connection, rows, new.place, context)
        _empty(connection)
        make_tables(connection)
        for table in metadata.sorted_tables:
            found = rows_of(rows, table, _AT_ONCE)
            while part := [read_row(table, row) for row in islice(found, _AT_ONCE)]:
                connection.execute(insert(table), part)
        if _contents(connection) != _contents(rows):
            raise _differs(new.place)
        _set_use(connection, NOT_IN_USE, MOVING)


def _require_copied(goal: URL, rows: Connection) -> None:
    """Raise `state-not-empty` if another process created the new database first."""
    with closing(open_database(goal)) as new, new.read() as connection:
        if read_revision(connection) != MOVING or _store_id(connection) != _store_id(rows):
            raise _not_empty(new.place)


def _finish(old: Database, goal: URL) -> tuple[StateContents, StateContents]:
    """Put the new database into use; both are compared once more."""
    if sqlite.is_sqlite(goal) and not sqlite.file_of(goal).exists():
        raise moved_error(old.place, MOVED)
    with closing(open_database(goal)) as new, old.alone() as rows, new.alone() as connection:
        if read_revision(connection) != MOVING or _store_id(connection) != _store_id(rows):
            raise moved_error(old.place, MOVED)  # to another database
        before, after = _contents(rows), _contents(connection)
        if before == after:
            _set_use(connection, FORMAT, REVISION)
            return before, after
        _set_use(rows, FORMAT, REVISION)  # in use again
    raise _differs(_place_text(goal))


def _require_free(tables: Transaction, context: StoreContext) -> None:
    """Raise `lease-held` if a run may still write."""
    for lease in tables.leases.all_held():
        if lease.expires > tables.now and not context.is_gone(lease):
            raise LeaseHeldError(lease, hint="wait until that run has ended")


def _require_replaceable(
    connection: Connection, rows: Connection, place: str, context: StoreContext
) -> None:
    """Raise `state-not-empty` unless there are no records, or a move of the same store left them.

    A store without runs and steps has no records either.
    """
    there = set(inspect(connection).get_table_names()) & set(metadata.tables)
    revision = read_revision(connection)
    if not there and not revision:
        return
    if "project" in there:
        require_owner(place, _owner(connection), context.identity)
    is_ours = revision in (MOVED, MOVING) and _store_id(connection) == _store_id(rows)
    if is_ours:
        return
    if revision == REVISION and not any(
        connection.execute(select(table).limit(1)).first()
        for table in metadata.sorted_tables
        if table is not project
    ):
        return
    raise _not_empty(place)


def _empty(connection: Connection) -> None:
    """Drop the tables of a store, which may be of an older schema."""
    for view in _VIEWS:
        connection.execute(text(f"DROP VIEW IF EXISTS {view}"))
    metadata.drop_all(connection)
    revisions.drop(connection, checkfirst=True)


def _set_use(connection: Connection, format_version: int, revision: str) -> None:
    connection.execute(update(project).values(format_version=format_version))
    connection.execute(update(revisions).values(version_num=revision))


def _contents(connection: Connection) -> StateContents:
    """Count and digest all rows; their order does not matter."""
    counts, whole = {}, hashlib.sha256()
    for table in metadata.sorted_tables:
        number, mixed = 0, 0
        for row in rows_of(connection, table, _AT_ONCE):
            cells = {**row, "format_version": FORMAT} if table is project else row
            line = json.dumps(cells, sort_keys=True, ensure_ascii=False).encode()
            number, mixed = number + 1, mixed ^ int.from_bytes(hashlib.sha256(line).digest())
        counts[table.name] = number
        whole.update(f"{table.name} {number} {mixed:064x}\n".encode())
    return StateContents(counts, whole.hexdigest()[:16])


def _store_id(connection: Connection) -> str:
    return str(connection.scalar(select(project.c.store_id)))


def _owner(connection: Connection) -> tuple[str, str] | None:
    row = connection.execute(select(project.c.name, project.c.target)).first()
    return None if row is None else (row.name, row.target)


def _place(url: URL) -> tuple[object, ...]:
    """Return what two URLs of one database have in common."""
    if sqlite.is_sqlite(url):
        return (sqlite.file_of(url).resolve(),)
    host = url.query.get("host") or url.host or "localhost"
    return url.get_backend_name(), host, url.port or url.query.get("port") or 5432, url.database


def _not_empty(place: str) -> StateError:
    return StateError(
        "state-not-empty",
        f"{place} holds tables of its own",
        hint="name an empty database; penstock state import replaces the records of one in use",
    )


def _differs(place: str) -> StateError:
    return StateError(
        "state-move-differs",
        f"{place} does not hold what was written into it",
        hint="the old database stays in use; look who else writes the new one, and its encoding",
    )


def _place_text(url: URL) -> str:
    return url.render_as_string(hide_password=True)


def _no_state(place: str) -> StateError:
    return StateError("no-state", f"{place} has no state", hint="name the database that is in use")
