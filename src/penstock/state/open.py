"""Open a state store: find the database, upgrade its schema, check its owner."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlalchemy import URL, Connection, insert, inspect, make_url, select, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from penstock.core.errors import DISTRIBUTION, EnvironmentMissingError, StateError, install_hint
from penstock.core.ports.ports import Clock, Fault, Store, inert
from penstock.core.project import LeaseSettings
from penstock.state.lease import Identity, IsGone, StoreContext, is_gone
from penstock.state.schema import FORMAT, REVISION, metadata, project, revisions
from penstock.state.sql import postgres, sqlite
from penstock.state.sql.archive import SqlArchive
from penstock.state.sql.checks import SqlChecks
from penstock.state.sql.database import MOVED, MOVING, Database, lacking, moved_error
from penstock.state.sql.journal import SqlRuns, StoreHooks, StoreJournal, StoreLeases
from penstock.state.sql.packages import SqlPackages
from penstock.state.sql.records import SqlNotes, SqlRecords
from penstock.state.sql.slices import SqlSlices
from penstock.state.sql.transaction import Transactions

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = ["Identity", "open_existing", "open_in", "open_store"]

UNRELEASED = ("0001", "0002", "0003", "0004")
SCRIPTS = Path(__file__).parent / "migrations"


_PINS = {
    "sqlite": "json_group_object(i.input, i.pinned_version)",
    "postgresql": "json_object_agg(i.input, i.pinned_version)",
}

_PARTITION_STATE_FULL = """
CREATE VIEW partition_state_full AS
SELECT
    m.name AS "model", p."partition", CAST(f.version AS INTEGER) AS version,
    CAST(NULLIF(f.revision, '') AS INTEGER) AS sql_revision, f.effective_from,
    f.sql_checksum, f.canonical_checksum, f.settings_checksum, f.layout_checksum,
    f.schema_checksum, f.yaml_checksum,
    (SELECT {pins} FROM step_inputs i WHERE i.step_seq = p.step_seq) AS upstream_states,
    p.executed_at, p.execution_time_ms, p.rows_written, p.bytes_written, p.status,
    p.step_seq, p.last_step_seq, p.commit_version, p.settled_version
FROM partition_state p
JOIN models m ON m.id = p.model_id
LEFT JOIN fingerprints f ON f.id = p.fingerprint_id
"""

_EXECUTION_HISTORY_FULL = """
CREATE VIEW execution_history_full AS
SELECT
    h.id, m.name AS "model", h."partition", CAST(f.version AS INTEGER) AS version,
    CAST(NULLIF(f.revision, '') AS INTEGER) AS sql_revision,
    f.sql_checksum, f.canonical_checksum, f.settings_checksum, f.layout_checksum,
    f.schema_checksum,
    h.executed_at, h.execution_time_ms, h.rows_written, h.bytes_written, h.status,
    h.error_code, h.error_message, h.triggered_by, h.executed_by, h.step_seq
FROM execution_history h
JOIN models m ON m.id = h.model_id
JOIN fingerprints f ON f.id = h.fingerprint_id
"""


def open_store(
    url: str,
    *,
    identity: Identity,
    clock: Clock,
    lease: LeaseSettings,
    fault: Fault = inert,
    is_gone: IsGone = is_gone,
) -> Store:
    """Return the store for an SQLAlchemy URL; create or migrate it first if needed.

    Creates an SQLite file and its folder. Raises `StateError` with `state-unreachable`,
    `state-damaged`, `state-too-new`, `state-moved` or `state-of-another-project`, and
    `EnvironmentMissingError` if the database's driver is not installed.
    """
    return open_in(url, StoreContext(identity, clock, lease, fault, is_gone))


def open_in(url: str, context: StoreContext) -> Store:
    """Return the store for a URL, like `open_store`."""
    place = read_url(url)
    file = sqlite.file_of(place) if sqlite.is_sqlite(place) else None
    if file is not None:
        _ensure_file(file, context)
    return _store_of(open_database(place), context, file)


def open_existing(url: str, context: StoreContext) -> Store | None:
    """Return the store like `open_store`, or None if there is none; create nothing."""
    place = read_url(url)
    file = sqlite.file_of(place) if sqlite.is_sqlite(place) else None
    if file is not None and not (file.exists() and file.stat().st_size > 0):
        return None
    database = open_database(place)
    with _closed_by_errors(database):
        status = _read_status(database)
    if not status[0]:
        database.close()
        return None
    return _store_of(database, context, file, status)


_Status = tuple[str, tuple[str, str] | None]
"""The revision of a database, "" if it is empty, and its owner if the revision is ours."""


def _read_status(database: Database) -> _Status:
    with database.read() as connection:
        revision = read_revision(connection)
        if revision != REVISION:
            return revision, None
        owner = connection.execute(select(project.c.name, project.c.target)).one()
        return revision, (owner.name, owner.target)


@contextmanager
def _closed_by_errors(database: Database) -> Iterator[None]:
    try:
        yield
    except BaseException:
        database.close()
        raise


def _store_of(
    database: Database, context: StoreContext, file: Path | None, status: _Status | None = None
) -> SqlStore:
    """Return the store of a database; migrate it first if needed."""
    with _closed_by_errors(database):
        revision, owner = status or _read_status(database)
        if revision != REVISION:
            _migrate(database, file, context)
            _, owner = _read_status(database)
        require_owner(database.place, owner, context.identity)
    return SqlStore(database, context, file)


def read_url(url: str) -> URL:
    """Return the URL of a database; raise `state-unreachable` if it is not one."""
    try:
        return make_url(_escaped(url))
    except ArgumentError as error:
        raise _bad_url() from error


def _escaped(url: str) -> str:
    """Escape unescaped characters of a password: part of it would be taken for the host.

    >>> _escaped("postgresql+psycopg://ann:hun@te/r2@db:5432/x")
    'postgresql+psycopg://ann:hun%40te%2Fr2@db:5432/x'
    """
    scheme, slashes, rest = url.partition("://")
    before, question, query = rest.partition("?")
    user, sign, host = before.rpartition("@")
    name, colon, password = user.partition(":")
    if "/" in name or re.match(r"\d+/", password):  # no password: a path, or a port
        return url
    escaped = quote(password, safe="%!$&()*+,;=~")
    return f"{scheme}{slashes}{name}{colon}{escaped}{sign}{host}{question}{query}"


def _bad_url() -> StateError:
    return StateError(
        "state-unreachable",
        "the state's URL cannot be read",
        hint="write `sqlite`, or a URL such as postgresql+psycopg://user@host/database",
    )


def open_database(place: URL) -> Database:
    """Return the database of a URL, without a connection yet."""
    if sqlite.is_sqlite(place):
        return Database(sqlite.connect(place), sqlite.translate, sqlite.damaged)
    try:
        engine = postgres.connect(place)
    except NoSuchModuleError as error:
        raise _bad_url() from error
    except ModuleNotFoundError as error:
        raise EnvironmentMissingError(
            "driver-missing",
            f"the database driver {error.name} is not installed",
            hint=install_hint("postgres"),
        ) from error
    return Database(engine, postgres.translate, postgres.damaged)


def _ensure_file(file: Path, context: StoreContext) -> None:
    def fill(fresh: URL) -> None:
        with closing(open_database(fresh)) as database:
            _migrate(database, None, context)

    sqlite.require_no_journal(file)
    if not file.exists():
        create_file(file, fill)


def create_file(file: Path, fill: Callable[[URL], None]) -> None:
    """Create a database, with what `fill` writes into it; raise `state-unreachable`."""
    try:
        sqlite.create(file, fill)
    except OSError as error:
        raise StateError(
            "state-unreachable",
            f"{file} cannot be created: {error.strerror}",
            hint="check the folder's permissions and free space",
        ) from error


def read_revision(connection: Connection) -> str:
    """Return the revision of a database's schema; "" if it has none."""
    if not inspect(connection).has_table(revisions.name):
        return ""
    found = connection.scalar(select(revisions.c.version_num))
    if not found:
        raise LookupError("alembic_version says nothing")  # who made the table wrote a version
    return str(found)


def _migrate(database: Database, file: Path | None, context: StoreContext) -> None:
    """Migrate under the database's lock; a file is copied first."""
    with database.alone() as connection:
        old = read_revision(connection)
        if old == REVISION:
            return
        if not old:
            make_tables(connection)
            write_owner(connection, context)
            return
        _require_known(old, database.place)
        _keep_old(file, old)
        from alembic import command

        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def make_tables(connection: Connection) -> None:
    """Create the current tables and the views for people."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(text(_PARTITION_STATE_FULL.format(pins=_PINS[connection.dialect.name])))
    connection.execute(text(_EXECUTION_HISTORY_FULL))
    revisions.create(connection, checkfirst=False)
    connection.execute(insert(revisions).values(version_num=REVISION))


def write_owner(connection: Connection, context: StoreContext) -> None:
    """Write the owner into a database without rows."""
    identity = context.identity
    owner = {
        "store_id": context.clock.new_id(),
        "format_version": FORMAT,
        "name": identity.project,
        "target": identity.target,
        "penstock": identity.penstock,
        "epoch": context.clock.new_id(),
    }
    connection.execute(insert(project).values(owner))


def _keep_old(file: Path | None, revision: str) -> None:
    if file is None:
        return
    try:
        sqlite.keep_copy(file, file.with_name(f"{file.name}.{revision}.bak"))
    except (sqlite3.Error, OSError) as error:
        raise StateError(
            "state-unreachable",
            f"{file} cannot be copied, so it is not migrated: {error}",
            hint="check the folder's free space; penstock state restore repairs a damaged file",
        ) from error


def require_owner(place: str, owner: tuple[str, str] | None, identity: Identity) -> None:
    """Raise `state-of-another-project` unless the owner of a database is the given target."""
    if owner is not None and owner != (identity.project, identity.target):
        raise StateError(
            "state-of-another-project",
            f"{place} belongs to target {owner[1]!r} of project {owner[0]!r}, "
            f"not to target {identity.target!r} of project {identity.project!r}",
            hint="give each target of each project a state of its own",
        )


def _require_known(revision: str, place: str) -> None:
    """Raise `state-too-new` for a revision that is unknown here.

    Raises `state-too-old` for one that was dropped before the first release, and `state-moved` for
    a database that was moved, or to which a move did not end.
    """
    if revision in (MOVED, MOVING):
        raise moved_error(place, revision)
    if revision in UNRELEASED:
        raise StateError(
            "state-too-old",
            f"{place} was written before penstock's first release (schema {revision})",
            hint="move it away and run penstock state rebuild",
        )
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    try:
        ScriptDirectory.from_config(_config()).get_revision(revision)
    except CommandError as error:
        raise StateError(
            "state-too-new",
            f"{place} was written by a newer penstock (schema {revision})",
            hint=f"upgrade penstock: pip install --upgrade {DISTRIBUTION}",
        ) from error


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return config


class SqlStore:
    """The state store of one target; `file` is an SQLite database's, None for servers."""

    def __init__(self, database: Database, context: StoreContext, file: Path | None) -> None:
        transactions = Transactions(database, context)
        self._database = database
        self._file = file
        self.journal = StoreJournal(transactions, self._keep_copy)
        self.leases = StoreLeases(transactions)
        self.records = SqlRecords(database)
        self.runs = SqlRuns(database)
        self.hooks = StoreHooks(database, transactions)
        self.slices = SqlSlices(database)
        self.checks = SqlChecks(database)
        self.notes = SqlNotes(database)
        self.sessions = SqlPackages(database, transactions)
        self.archive = SqlArchive(database, transactions)

    def one_state(self) -> AbstractContextManager[None]:
        """Make all reads of this thread see one state of the store until the block ends."""
        return self._database.one_state()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _keep_copy(self) -> None:
        """Keep the last good copy; if that fails, the run continues and the older copy stays.

        The same applies if tables or columns are missing: the copy must be usable by `restore`.
        """
        if self._file is None:
            return
        with suppress(sqlite3.Error, OSError, StateError):
            with self._database.read() as connection:
                is_whole = next(lacking(connection), None) is None
            if is_whole:
                sqlite.keep_copy(self._file, sqlite.good_copy(self._file))
