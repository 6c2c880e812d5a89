"""The oracle leaves what the same rules say as SQL over whole tables."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.session_rows import DAYS, EVENTS, NOW, START
from fakes.session_twin import SessionTwin
from fakes.sqlite_sessions import SqliteSessions, micros
from penstock.core.sessions.options import SessionUser

pytestmark = pytest.mark.laws
SEED = {"compat": "snowplow", "strict_seed_limits": True, "user_of_session": SessionUser.FIRST_RUN}
TIMES = st.lists(
    st.integers(0, DAYS * 24).map(lambda hours: START + dt.timedelta(hours=hours)),
    min_size=1,
    max_size=4,
).map(sorted)
COLUMNS = {
    "page_views": (
        "page_view_id session_identifier user_identifier user_id event_id page_url start_tstamp "
        "end_tstamp engaged_time_in_s absolute_time_in_s page_view_in_session_index "
        "page_views_in_session"
    ),
    "sessions": (
        "session_identifier user_identifier user_id start_tstamp end_tstamp page_views "
        "total_events engaged_time_in_s absolute_time_in_s is_engaged first_page_url "
        "last_page_url stitched_user_id"
    ),
    "users": (
        "user_identifier start_tstamp end_tstamp sessions page_views engaged_time_in_s "
        "first_session_identifier last_session_identifier first_page_url last_page_url"
    ),
    "user_mapping": "user_identifier user_id",
}
OPTIONS = st.builds(
    lambda length, lookback, app, bots: {
        "max_session_days": length,
        "lookback_window_hours": lookback,
        "backfill_limit_days": 9,
        "app_ids": (app,) if app else (),
        "bot_pattern": bots or None,
        "session_lookback_days": None,
    },
    st.integers(1, 3),
    st.sampled_from([0, 6, 30]),
    st.sampled_from(["", "a"]),
    st.sampled_from(["", "bot"]),
)
LIFE = "session_identifier user_identifier start_tstamp end_tstamp"


def told_apart(events):
    """Leave out events that only the hash of the whole row tells from an earlier one."""
    return list({(e["event_id"], e["collector_tstamp"]): e for e in events}.values())


def rows_of(rows, names):
    found = [tuple(micros(row[name]) for name in names.split()) for row in rows]
    return sorted(found, key=repr)


def are_same(web, other):
    assert other.rows("life") == rows_of(web.oracle.lifecycle, LIFE)
    assert other.rows("held") == sorted((each,) for each in web.oracle.quarantine)
    for module, names in COLUMNS.items():
        table = "mapping" if module == "user_mapping" else module
        assert other.rows(table) == rows_of(web.rows_of(module), names), module


def both(options, **more):
    """Give a package with some options, and the same rules as SQL over whole tables."""
    web = SessionTwin(None, None, {**options, **more})
    (app,), bots = options["app_ids"] or ("",), options["bot_pattern"] or ""
    is_compat = "compat" in more
    other = SqliteSessions(options["max_session_days"], app=app, bots=bots, compat=is_compat)
    return web, other


@settings(max_examples=300)
@given(EVENTS.map(told_apart), TIMES, OPTIONS)
def test_compat_passes_leave_what_upserts_in_plain_sql_leave(events, times, options):
    web, other = both(options, **SEED)
    for now in times:
        web.events = [event for event in events if event["collector_tstamp"] <= now]
        web.run(now)
        limits = web.passes[0].limits
        other.run(web.events, limits.lower_limit, limits.upper_limit)

        assert len(other.rows("kept")) == len(web.oracle.events_this_run)
        are_same(web, other)


@settings(max_examples=300)
@given(EVENTS.map(told_apart), TIMES, OPTIONS)
def test_runs_in_any_cutting_leave_what_one_recomputation_in_plain_sql_leaves(
    events, times, options
):
    web, other = both(options, skip_unchanged=True)
    for now in (*times, NOW):
        web.events = [event for event in events if event["collector_tstamp"] <= now]
        while web.run(now):
            pass
    other.run(events, START, NOW)

    are_same(web, other)
