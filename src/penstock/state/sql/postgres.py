"""PostgreSQL: its engine, and its errors as messages."""

from __future__ import annotations

import re

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from penstock.core.errors import StateAwayError, StateError
from penstock.core.masking import mask

_LOST = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""Detects a server that disappeared within a minute; a URL may set other values."""

_OUTSIDE = (
    "08",  # the connection
    "25",  # a read-only transaction: a standby, a failover
    "40",  # deadlocks and serialization
    "42501",  # no permission
    "53",  # no disk, no memory, no connections
    "55P03",  # a lock that was not given
    "57",  # shut down, cancelled, starting up
    "58",  # the server's own system
)
"""Prefixes of SQLSTATE codes for problems of a server; none is a mistake of ours."""

_DAMAGED = ("XX001", "XX002")
_NO_PERMISSION = "42501"
_FOR_GOOD = re.compile(
    "FATAL:.*(authentication|certificate|pg_hba|permission|permitted|does not exist|no such|"
    "not currently accepting)"
)
"""Permanent reasons why a server, or its proxy, refuses a connection; others are temporary."""


def connect(url: URL) -> Engine:
    """Create an engine that detects a lost server."""
    known = {name: value for name, value in _LOST.items() if name not in url.query}
    arguments = known if url.get_driver_name().startswith("psycopg") else {}
    engine = create_engine(url, pool_pre_ping=True, connect_args=arguments)
    event.listen(engine, "begin", _begin)
    return engine


def translate(error: SQLAlchemyError, place: str) -> StateError | None:
    """Return the error for a problem of the server or the connection; None for a bug of ours."""
    if isinstance(error, PoolTimeoutError):
        return _unreachable(place, "every connection of this process is in use")
    if not isinstance(error, DBAPIError):
        return None
    state = str(getattr(error.orig, "sqlstate", None) or "")
    reason = mask(str(error.orig)).strip().splitlines()
    first = reason[0] if reason else "no reason given"
    if state.startswith(_DAMAGED):
        return damaged(place, first)
    outside = isinstance(error, OperationalError | InterfaceError) or state.startswith(_OUTSIDE)
    if not outside and not error.connection_invalidated:
        return None
    lasts = state == _NO_PERMISSION or _FOR_GOOD.search(first) is not None
    return _unreachable(place, first, lasts=lasts)


def damaged(place: str, reason: str) -> StateError:
    """Return the error for a database without the contents of a store."""
    return StateError(
        "state-damaged",
        f"{place} is damaged: {mask(reason)}"[:1000],
        hint="restore the database by its own means, or give the target an empty one and run "
        "penstock state rebuild",
    )


def _begin(connection: Connection) -> None:
    """Set the mode of this transaction only.

    The driver's own setting would stay with the connection: the next transaction would write to a
    server in read-only mode.
    """
    begin = connection.get_execution_options().get("penstock_begin")
    if begin:
        connection.exec_driver_sql(begin)


def _unreachable(place: str, reason: str, *, lasts: bool = False) -> StateError:
    kind = StateError if lasts else StateAwayError
    return kind(
        "state-unreachable",
        f"{place} cannot be reached: {reason}"[:1000],
        hint="check the target's `state` in penstock.yml, and the database",
    )
