"""Sessions of events without a session id: the events of a user without a long silence."""

import pytest

from fakes.session_lake import an_event
from fakes.session_place import MERGED, SessionPlace, problems
from penstock.app.commands.rebuild import sessions_rebuild
from penstock.app.read_requests import RebuildSessionsRequest

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
KEYS = "session_timeout: 30 minutes\n"
TAGGED = """\
select event_id, session_identifier, collector_tstamp as at
from {{ ref('web_base_events_this_run') }}
"""
LIFE = ("user_identifier", "start_tstamp", "end_tstamp")


def click(time, user="a", **more):
    """Give an event that has no session."""
    return an_event(f"{user}{time}", None, time, domain_userid=user, **more)


def place(spark, folder, *events, keys=KEYS):
    """Give a package after its first run, with a model that replaces rows of its sessions."""
    web = SessionPlace(folder, spark, keys)
    web.model("m5", TAGGED, **MERGED, replace_by="session_identifier")
    web.add(*events)
    assert problems(web.at("01-02", "web m5")) == []
    return web


def life(web):
    return web.stored("base_sessions_lifecycle_manifest", *LIFE)


def ids(web, part="base_sessions_lifecycle_manifest"):
    """Give the id of each session, by its start."""
    return dict(web.stored(part, "start_tstamp", "session_identifier"))


def test_a_late_event_joins_two_sessions_and_the_id_of_the_other_is_kept(spark, tmp_path):
    clicks = [click(f"01-01 {time}") for time in ("10:00", "10:20", "11:00")]
    web = place(spark, tmp_path, *clicks, click("01-01 23:50", "b"))
    assert life(web) == [
        ("a", "01-01 10:00", "01-01 10:20"),
        ("a", "01-01 11:00", "01-01 11:00"),
        ("b", "01-01 23:50", "01-01 23:50"),
    ]
    first, joined = (ids(web)[f"01-01 {time}"] for time in ("10:00", "11:00"))
    web.add(click("01-01 10:45"), click("01-02 00:15", "b"))

    assert problems(web.at("01-03", "web m5")) == []

    assert life(web) == [
        ("a", "01-01 10:00", "01-01 11:00"),
        ("b", "01-01 23:50", "01-02 00:15"),
    ]
    known = web.stored(
        "base_sessions_lifecycle_manifest",
        "start_tstamp",
        "session_identifier",
        "past_session_identifiers",
    )
    assert known[0] == ("01-01 10:00", first, [joined])
    assert web.stored("sessions", "session_identifier", "total_events")[0:] == sorted(
        [(first, 4), (ids(web)["01-01 23:50"], 2)]
    )
    assert {*web.stored("page_views", "session_identifier")} == {first, ids(web)["01-01 23:50"]}
    assert web.stored("users", "user_identifier", "sessions", "page_views") == [
        ("a", 1, 4),
        ("b", 1, 2),
    ]
    found = web.sql(f"SELECT session_identifier FROM delta.`{tmp_path}/warehouse/m/m5`")
    assert {row[0] for row in found} == {first, ids(web)["01-01 23:50"]}
    assert web.at("01-03", "web m5").plan.is_empty


def test_a_session_is_cut_at_its_cap_and_cut_elsewhere_when_it_begins_earlier(spark, tmp_path):
    keys = "session_timeout: 8 hours\nmax_session_days: 1\n"
    times = ("01-01 08:00", "01-01 16:00", "01-02 00:00", "01-02 08:00", "01-02 16:00")
    web = place(spark, tmp_path, *map(click, times), keys=keys)
    assert problems(web.at("01-04", "web m5")) == []
    assert life(web) == [("a", times[0], times[3]), ("a", times[4], times[4])]
    first, second = ids(web)[times[0]], ids(web)[times[4]]
    web.add(click("01-01 04:00"), click("01-02 20:00"))

    assert problems(web.at("01-04 12:00", "web m5")) == []

    assert life(web) == [
        ("a", "01-01 04:00", "01-02"),
        ("a", "01-02 08:00", "01-02 20:00"),
    ]
    assert ids(web) == {"01-01 04:00": first, "01-02 08:00": second}
    assert web.stored("sessions", "session_identifier", "total_events") == sorted(
        [(first, 4), (second, 3)]
    )


def test_events_that_are_gone_part_a_session_when_it_is_rebuilt(spark, tmp_path):
    times = ("01-01 10:00", "01-01 10:20", "01-01 10:40", "01-01 23:00")
    web = place(spark, tmp_path, *map(click, times), click("01-01 10:00", "b"))
    first = ids(web, "sessions")
    gone = "event_id = 'a01-01 10:20' OR domain_userid = 'b'"
    web.sql(f"DELETE FROM delta.`{web.landing_events}` WHERE {gone}")
    services = web.services()
    request = RebuildSessionsRequest(
        str(web.root), "web", spark=spark, from_="2021-01-01", to="2021-01-01"
    )
    report = sessions_rebuild(services, request)
    services.close()

    assert problems(report) == []
    assert life(web) == [("a", time, time) for time in (times[0], times[2], times[3])]
    assert len({*ids(web).values()}) == 3
    assert ids(web)[times[3]] == first[times[3]]
    assert web.stored("page_views", "user_identifier") == ["a", "a", "a"]
    assert web.stored("users", "user_identifier", "sessions") == [("a", 3)]


def test_sessions_with_ids_are_not_mixed_with_those_of_a_timeout(spark, tmp_path):
    web = SessionPlace(tmp_path, spark)
    web.add("e1 s1 01-01 10:00")
    assert problems(web.at("01-02")) == []
    web.package(KEYS + "allow_refresh: true\n")
    web.add("e2 s1 01-02 10:00")

    assert "session_timeout finds other ones" in problems(web.at("01-03"))[0]
    assert problems(web.at("01-03", full_refresh=True)) == []
    assert [row[1:] for row in life(web)] == [
        ("01-01 10:00", "01-01 10:00"),
        ("01-02 10:00", "01-02 10:00"),
    ]
