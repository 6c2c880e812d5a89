"""Which errors of a PostgreSQL server pass by themselves, and which do not."""

import pytest
from sqlalchemy.exc import OperationalError

from penstock.core.errors import StateAwayError, StateError
from penstock.state.sql.postgres import translate

TO = 'connection failed: connection to server at "db", port 5432 failed: '


def translated(message, state=None):
    cause = Exception(message)
    cause.sqlstate = state
    return translate(OperationalError("SELECT 1", {}, cause), "postgresql://db/x")


@pytest.mark.parametrize(
    "message",
    [
        TO + "Connection refused\n\tIs the server running on that host?",
        TO + "FATAL:  the database system is starting up",
        TO + "FATAL:  the database system is not yet accepting connections",
        TO + "FATAL:  sorry, too many clients already",
        TO + "FATAL:  das Datenbanksystem fährt hoch",
        TO + "FATAL:  pgbouncer cannot connect to server",
        TO + "FATAL:  query_wait_timeout",
        TO + "FATAL:  server login has been failing, try again later (server_login_retry)",
        "server closed the connection unexpectedly",
    ],
)
def test_a_server_or_its_proxy_that_is_away_is_waited_for(message):
    assert type(translated(message)) is StateAwayError


@pytest.mark.parametrize(
    "message",
    [
        TO + 'FATAL:  password authentication failed for user "ann"',
        TO + 'FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "ann", no encryption',
        TO + 'FATAL:  database "nowhere" does not exist',
        TO + 'FATAL:  role "ann" does not exist',
        TO + 'FATAL:  role "ann" is not permitted to log in',
        TO + 'FATAL:  database "x" is not currently accepting connections',
        TO + 'FATAL:  permission denied for database "x"',
        TO + "FATAL:  connection requires a valid client certificate",
        TO + "FATAL:  no such user: ann",
    ],
)
def test_a_server_that_refuses_for_good_is_not_waited_for(message):
    assert type(translated(message)) is StateError


def test_a_missing_right_is_not_waited_for():
    assert type(translated("permission denied for table runs", "42501")) is StateError
