"""The groups of a window, and the statement that takes them into the manifest."""

import pytest

from fakes.session_sql import RELEASED, a_run
from penstock.core.sessions.options import SessionUser
from penstock.strategies.sessions.window import (
    MOST_DATES,
    in_dates,
    is_near,
    known_sessions,
    lifecycle_changes,
    lifecycle_merge,
    touched_sessions,
    window_groups,
)


def test_the_manifest_is_read_inside_the_horizon_alone():
    low, high = "TIMESTAMP '2021-01-01T14:00:00.000000Z'", "TIMESTAMP '2021-01-03T00:00:00.000000Z'"

    found = is_near(a_run(session_lookback_days=40))

    assert f"start_tstamp <= {high} + INTERVAL '3' DAY" in found
    assert f"start_tstamp >= {low} - INTERVAL '40' DAY AND start_date >= DATE({low}" in found
    assert f"{low} -" not in is_near(a_run(session_lookback_days=None))


def test_released_sessions_are_read_from_their_start_and_counted_in_the_window_alone():
    sql = window_groups(a_run(RELEASED))

    assert "CAST((domain_sessionid) AS STRING) = 's1'" in sql
    assert "count_if(_ps_ts BETWEEN TIMESTAMP '2021-01-01T14:00:00.000000Z'" in sql
    assert "NOT IN ('s1')" in known_sessions(a_run(RELEASED))


def test_released_sessions_are_found_beyond_the_horizon_too():
    assert "start_date IN (DATE '2020-12-01')" in is_near(a_run(RELEASED))
    assert "QUALIFY" in touched_sessions(a_run(RELEASED))
    is_open = "OR session_identifier IN ('s1'))) OR is_again AS is_taken"
    assert [is_open in known_sessions(a_run(each)) for each in (RELEASED, ())] == [True, False]


def test_rows_are_looked_for_under_the_dates_where_they_lie():
    assert "t.start_date IN (DATE '2021-01-01')" in lifecycle_merge(a_run(), "t", ["2021-01-01"])
    assert "AND false WHEN MATCHED" in lifecycle_merge(a_run(), "t", [])
    many = [f"2021-01-{n:04}" for n in range(MOST_DATES + 1)]
    assert in_dates("d", many[1:]).startswith("d IN (DATE '2021-01-0001', ")
    assert in_dates("d", many) == "d BETWEEN DATE '2021-01-0000' AND DATE '2021-01-0400'"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            SessionUser.FIRST_RUN,
            (
                "CASE WHEN old_user IS NOT NULL THEN named_struct('user', old_user, 'ts', "
                "user_tstamp, 'event', user_event_id) ELSE candidate END AS winner"
            ),
        ),
        (
            SessionUser.EARLIEST_EVENT,
            (
                "least(CASE WHEN user_tstamp <= cap THEN named_struct('ts', user_tstamp, 'event', "
                "coalesce(user_event_id, ''), 'user', old_user) END, "
                "CASE WHEN candidate.ts <= cap THEN candidate END) AS winner"
            ),
        ),
    ],
)
def test_the_first_run_or_the_earliest_event_names_the_user(rule, expected):
    assert expected in lifecycle_changes(a_run(user_of_session=rule))


def test_the_latest_event_names_the_user_where_that_is_the_rule():
    assert "greatest(CASE WHEN" in lifecycle_changes(
        a_run(user_of_session=SessionUser.LATEST_EVENT)
    )


@pytest.mark.parametrize(
    ("rule", "best", "has_time", "is_capped"),
    [
        (SessionUser.FIRST_RUN, "max", False, False),
        (SessionUser.EARLIEST_EVENT, "min", True, False),
        (SessionUser.LATEST_EVENT, "max", True, True),
        (SessionUser.MAX, "max", True, True),
    ],
)
def test_the_event_that_names_the_user_is_one_of_those_that_pass(rule, best, has_time, is_capped):
    sql = window_groups(a_run(user_of_session=rule))

    assert "_ps_class = 'pass') AS passing" in sql
    assert "_ps_class = 'late') AS late" in sql
    assert f"{best}(named_struct('" in sql
    assert ("'ts', CAST(NULL AS TIMESTAMP)" not in sql) is has_time
    assert ("AND _ps_ts <= _ps_cap)" in sql, "AS _ps_cap" in sql) == (is_capped, is_capped)
