"""The quarantine, the sessions and the events of a run."""

from fakes.session_sql import a_run, with_events
from penstock.strategies.sessions.this_run import (
    carried_columns,
    event_candidates,
    event_counts,
    events_this_run,
    limits_view,
    quarantine_merge,
    sessions_this_run,
)
from penstock.strategies.sessions.window import touched_sessions


def test_the_view_of_limits_is_one_row():
    assert limits_view(a_run().limits, "run-7") == (
        "SELECT TIMESTAMP '2021-01-01T14:00:00.000000Z' AS lower_limit, "
        "TIMESTAMP '2021-01-03T00:00:00.000000Z' AS upper_limit, 4 AS state, 'run-7' AS run_id"
    )


def test_sessions_touch_the_window_with_both_ends():
    assert (
        "start_tstamp BETWEEN TIMESTAMP '2021-01-01T14:00:00.000000Z' - INTERVAL '3' DAY "
        "AND TIMESTAMP '2021-01-03T00:00:00.000000Z' "
        "AND end_tstamp >= TIMESTAMP '2021-01-01T14:00:00.000000Z'"
    ) in touched_sessions(a_run())
    assert sessions_this_run(a_run()).endswith(" FROM penstock_touched_sessions")


def test_nothing_is_read_before_the_earliest_start():
    assert "BETWEEN TIMESTAMP '2021-01-01T14:00:00.000000Z'" in event_candidates(a_run(), None)


def test_carried_columns_come_once_behind_the_ids():
    run = with_events(a_run(event_columns=("app_id", "*", "x", "APP_ID")), "x int")

    assert carried_columns(run).names[0] == "app_id"
    assert carried_columns(run).names.count("x") == 1
    assert events_this_run(a_run(event_columns=("app_id",))) == (
        "SELECT c.session_identifier, c.user_identifier, c.session_start_date, c.`app_id` "
        "FROM penstock_event_candidates c WHERE _ps_verdict = 'kept'"
    )


def test_every_class_of_history_is_counted_as_the_rows_pass():
    names = [name for name in event_counts() if name.startswith("history")]

    assert len(names) == 10


def test_a_session_that_is_gone_leaves_the_quarantine_and_others_are_counted_or_come_in():
    assert quarantine_merge("t", "c") == (
        "MERGE INTO t t USING c s ON t.session_identifier = s.session_identifier "
        "WHEN MATCHED AND s.gone THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.since = s.since, t.reason = s.reason, "
        "t.run_id = s.run_id, t.start_tstamp = s.start_tstamp, "
        "t.events_dropped = s.events_dropped, t.dropped_to = s.dropped_to "
        "WHEN NOT MATCHED AND NOT s.gone THEN INSERT (session_identifier, since, reason, run_id, "
        "start_tstamp, events_dropped, dropped_to) VALUES (s.session_identifier, s.since, "
        "s.reason, s.run_id, s.start_tstamp, s.events_dropped, s.dropped_to)"
    )
