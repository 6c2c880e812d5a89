"""Rows that arrive after their time was processed: their sessions are built again."""

import pytest

from fakes.session_lake import an_event
from fakes.session_place import SessionPlace, problems

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
SESSIONS = ("session_identifier", "total_events", "start_tstamp", "session_start_date")


def delivered(spark, folder, *events, keys=""):
    """Give a package that has processed some events, as of the end of January."""
    web = SessionPlace(folder, spark, keys)
    web.add("e1 s1 01-10 10:00", "e2 s1 01-10 11:00", "e3 s2 01-30 10:00", *events)
    assert problems(web.at("01-31")) == []
    return web


def test_rows_of_last_week_are_counted_and_in_their_session(spark, tmp_path):
    web = delivered(spark, tmp_path)
    web.add(
        *("e4 s1 01-10 09:00", "e5 s1 01-10 10:30", "e6 s3 01-31 01:00", "e7 s3 01-31 02:00"),
        "e8 s2 01-30 12:00",
    )

    report = web.at("01-31 12:00")

    assert problems(report) == []
    assert web.passes()[0].events.late_loaded == 2
    assert web.stored("sessions", *SESSIONS) == [
        ("s1", 4, "01-10 09:00", "2021-01-10"),
        ("s2", 2, "01-30 10:00", "2021-01-30"),
        ("s3", 2, "01-31 01:00", "2021-01-31"),
    ]
    assert web.stored("page_views", "page_view_id") == [f"pe{n}" for n in range(1, 9)]
    assert web.stored("users", "sessions", "page_views") == [(3, 8)]
    (note,) = report.notes
    assert note.startswith(
        "sessions/web.yml:4:1: warning: events-behind-window: 2 rows of raw.events arrived late: "
        "before 2021-01-30 04:00:00; their sessions were built again"
    )
    assert web.at("01-31 12:00").plan.is_empty


def test_counted_rows_stay_out_and_a_failing_run_names_their_files(spark, tmp_path):
    web = delivered(spark, tmp_path, keys="late_loaded: fail\n")
    web.add("e4 s1 01-10 09:00", "e5 s9 01-10 10:30", "e6 s3 01-31 01:00")

    (failed, *_), before = problems(web.at("01-31 12:00")), web.commits_of("sessions")

    assert "late-loaded: 2 rows of raw.events before 2021-01-30 04:00:00 have arrived" in failed
    assert ".parquet" in failed
    assert web.commits_of("base_sessions_lifecycle_manifest") == 1
    web.package("late_loaded: count\n")
    assert problems(web.at("01-31 12:00")) == []
    assert web.commits_of("sessions") == before + 1
    assert web.passes()[0].events.late_loaded == 2
    assert [row[0] for row in web.stored("sessions", *SESSIONS)] == ["s1", "s2", "s3"]
    assert web.stored("sessions", "total_events") == [1, 1, 2]


def test_rows_beyond_the_horizon_and_before_the_start_belong_to_no_session(spark, tmp_path):
    web = delivered(spark, tmp_path, keys="session_lookback_days: 34\n")
    web.add("f1 s4 03-20 10:00")
    assert problems(web.at("03-21", catch_up=False)) == []
    while not web.at("03-21").plan.is_empty:
        pass
    web.add("o1 s1 01-10 10:30", "o2 s5 03-01 10:00", "o3 s6 2020-12-31 10:00")

    assert problems(web.at("03-21 01:00")) == []

    events = web.passes()[0].events
    assert (events.late_loaded, events.beyond_horizon) == (2, 1)
    assert [row[:2] for row in web.stored("sessions", *SESSIONS)] == [
        *(("s1", 2), ("s2", 1), ("s4", 1), ("s5", 1)),
    ]


def test_a_late_start_moves_the_cap_and_frees_nobody_from_quarantine(spark, tmp_path):
    long = ("l1 sL 01-20 10:00", "l2 sL 01-22 10:00", "l3 sL 01-24 10:00")
    web = delivered(spark, tmp_path, *long)
    assert web.stored("base_quarantined_sessions", "session_identifier") == ["sL"]
    web.add("l0 sL 01-18 10:00")

    assert problems(web.at("01-31 12:00")) == []

    assert web.stored("sessions", *SESSIONS)[-1] == ("sL", 2, "01-18 10:00", "2021-01-18")
    life = ("session_identifier", "start_tstamp", "end_tstamp", "past_start_dates")
    assert web.stored("base_sessions_lifecycle_manifest", *life)[-1][:3] == (
        *("sL", "01-18 10:00", "01-21 10:00"),
    )
    assert web.stored("base_quarantined_sessions", "session_identifier") == ["sL"]


def test_a_late_event_of_another_user_takes_the_session_and_the_known_name_away(spark, tmp_path):
    known = an_event("k1", "sK", "01-12 10:00", domain_userid="a", user_id="Ann")
    other = an_event("k2", "sA", "01-14 10:00", domain_userid="a")
    web = delivered(spark, tmp_path, known, other)
    assert web.stored("user_mapping", "user_identifier", "user_id") == [("a", "Ann")]
    web.add(an_event("k0", "sK", "01-12 09:00", domain_userid="b"))

    assert problems(web.at("01-31 12:00")) == []

    assert web.stored("user_mapping", "user_identifier", "user_id") == [("b", "Ann")]
    rows = web.stored("sessions", "session_identifier", "user_identifier", "stitched_user_id")
    assert [row for row in rows if row[0] in ("sA", "sK")] == [("sA", "a", "a"), ("sK", "b", "Ann")]
    assert web.stored("users", "user_identifier", "sessions") == [("a", 1), ("b", 1), ("u", 2)]


def test_models_that_were_left_out_or_failed_get_the_late_rows_later(spark, tmp_path):
    web = delivered(spark, tmp_path)
    web.add("e4 s1 01-10 09:00", "e6 s3 01-31 01:00")
    assert problems(web.at("01-31 12:00", "web_page_views")) == []

    for _ in range(4):
        assert problems(web.at("01-31 12:00")) == []

    assert web.stored("sessions", *SESSIONS)[0] == ("s1", 3, "01-10 09:00", "2021-01-10")
    assert web.stored("users", "sessions", "page_views") == [(3, 5)]
    web.take_back("sessions")
    for _ in range(3):
        assert problems(web.at("01-31 12:00")) == []
    assert web.stored("sessions", *SESSIONS)[0] == ("s1", 3, "01-10 09:00", "2021-01-10")


def test_late_rows_below_a_view_are_found_in_the_tables_that_it_reads(spark, tmp_path):
    web = SessionPlace(tmp_path, spark)
    text = "select *, 1 as extra from {{ source('raw', 'events') }} where app_id = 'a'"
    web.model("clean", text, materialized="view")
    web.write(
        "sessions/web.yml",
        (tmp_path / "sessions/web.yml").read_text().replace("raw.events", "clean"),
    )
    web.add("e1 s1 01-10 10:00", "e3 s2 01-30 10:00")
    assert problems(web.at("01-31", "web clean")) == []
    web.add("e4 s1 01-10 09:00", an_event("x", "s1", "01-10 08:00", app_id="z"))

    assert problems(web.at("01-31 12:00")) == []

    assert web.passes()[0].events.late_loaded == 1
    assert web.stored("sessions", *SESSIONS)[0] == ("s1", 2, "01-10 09:00", "2021-01-10")


def test_commits_that_rewrite_are_named_and_appends_beside_them_are_taken(spark, tmp_path):
    web = delivered(spark, tmp_path)
    web.add("e4 s1 01-10 09:00")
    web.sql(f"DELETE FROM delta.`{web.landing_events}` WHERE event_id = 'e2'")

    report = web.at("01-31 12:00")

    assert problems(report) == []
    assert web.stored("sessions", *SESSIONS)[0] == ("s1", 2, "01-10 09:00", "2021-01-10")
    codes = [each.split(": ")[2] for each in report.notes]
    assert codes == ["events-behind-window", "events-rewritten"]
