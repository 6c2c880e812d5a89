"""Sessions by a timeout as SQL: which times of users are read, cut, and named."""

import datetime as dt
from dataclasses import replace

import pytest
import sqlglot

from fakes.session_sql import a_run
from fakes.session_world import at
from penstock.core.sessions.manifest import RebuildRequest
from penstock.core.sessions.options import LateRows, SessionTable
from penstock.strategies.sessions import this_run, users, window
from penstock.strategies.sessions.events import Reread, classify, user_events
from penstock.strategies.sessions.reread import spans_of
from penstock.strategies.sessions.timeouts import (
    asked_days,
    asked_stage,
    rebuilt_points,
    region_stage,
    session_stages,
    window_points,
)

KEYS = {
    "session_timeout": dt.timedelta(minutes=30),
    "late_loaded": LateRows.TAKE,
    "quarantine": False,
    "partition_column": "day",
}
SPANS = spans_of("2021-01-01,2021-01-02,2021-03-01")
RANGE = RebuildRequest(dt.date(2021, 1, 1), dt.date(2021, 1, 2))
NAMED = RebuildRequest(sessions=("s1",))


def stages(*, rebuilds, request=RANGE, spans=SPANS, **keys):
    """Give the stages of a pass by view, in their order."""
    run = a_run(**KEYS, **keys)
    found = (
        [asked_stage(run, request), rebuilt_points(run, request, SPANS)]
        if rebuilds
        else [window_points(run, at("01-01 20:00"))]
    )
    found.append(region_stage(run, rebuilds=rebuilds))
    found += session_stages(run, spans, rebuilds=rebuilds, maps=True)
    return {each.view: each.passing.sql for each in found}


@pytest.mark.parametrize("rebuilds", [True, False])
@pytest.mark.parametrize("request_", [RANGE, NAMED])
@pytest.mark.parametrize("spans", [SPANS, ()])
def test_every_statement_is_one_query(rebuilds, request_, spans):
    run = replace(a_run(**KEYS), reread=Reread(SPANS, rebuilds, maps=True))
    found = stages(rebuilds=rebuilds, request=request_, spans=spans)
    found |= {
        "groups": window.window_groups(run),
        "known": window.known_sessions(run),
        "changes": window.lifecycle_changes(run),
        "lifecycle": window.lifecycle_merge(run, "t", ["2021-01-01"]),
        "touched": window.touched_sessions(run),
        "sessions": this_run.sessions_this_run(run),
        "candidates": this_run.event_candidates(run, at("01-01")),
        "days": users.replaced_days(run),
    }
    for part in (SessionTable.PAGE_VIEWS, SessionTable.USERS, SessionTable.USER_MAPPING):
        rows = users.rows_of(run, part)
        found[part] = users.replacement(run, part, rows, ["2021-01-01"])

    for name, sql in found.items():
        assert len(sqlglot.parse(sql, dialect="spark")) == 1, name


def test_sessions_are_ranges_of_a_user_that_are_less_than_the_timeout_apart():
    found = stages(rebuilds=False)["penstock_user_regions"]

    assert "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) + INTERVAL '1800' SECOND" in found
    assert "last_tstamp > first_tstamp + INTERVAL '3' DAY AS is_long" in found


def test_events_are_read_again_only_where_a_session_may_be_too_long():
    some, none = stages(rebuilds=False), stages(rebuilds=False, spans=())

    assert "penstock_events" in some["penstock_found_sessions"]
    assert "penstock_events" not in none["penstock_found_sessions"]


def test_an_event_belongs_to_the_session_of_its_user_and_time():
    run = a_run(**KEYS)
    sql = classify(run, run.low, run.high)

    assert "r.user_identifier = e._ps_user AND e._ps_ts BETWEEN r.first_tstamp" in sql
    assert "WHEN _ps_user IS NULL THEN 'null_session'" in sql
    assert "domain_sessionid" not in sql
    assert "penstock_reread_sessions" not in user_events(run, run.low, run.high)


def test_what_was_joined_is_deleted_from_the_manifest_and_kept_as_past_ids():
    run = replace(a_run(**KEYS), reread=Reread(()))
    changes = window.lifecycle_changes(run)

    assert "true AS gone FROM penstock_base_sessions_lifecycle_manifest l LEFT SEMI JOIN" in changes
    assert "joined_ids), array(session_identifier)) AS past_session_identifiers" in changes
    assert "SELECT explode(past_session_identifiers), " in users.replaced_days(run)
    assert "past_session_identifiers" not in window.lifecycle_changes(a_run())


def test_a_rebuild_looks_at_the_days_of_its_range_and_of_the_sessions_in_it():
    assert asked_days(RANGE, "2020-12-31,2021-01-01") == "2020-12-31,2021-01-01,2021-01-02"
    assert asked_days(NAMED, "2021-01-05") == "2021-01-05"
    assert asked_days(NAMED, "") == ""
