"""Old sessions are built again from all their events, by their days or by name."""

import pytest

from fakes.session_lake import an_event
from fakes.session_place import MERGED, SessionPlace, problems
from penstock.app.commands.rebuild import sessions_rebuild
from penstock.app.read_requests import RebuildSessionsRequest
from penstock.core.errors import UsageError

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
SESSIONS = ("session_identifier", "total_events", "start_tstamp")
TAGGED = """\
select event_id, session_identifier, user_identifier, collector_tstamp as at
from {{ ref('web_base_events_this_run') }}
"""
TABLES = ("base_sessions_lifecycle_manifest", "page_views", "sessions", "users", "user_mapping")


def place(spark, folder):
    """Give a package of two visitors, who have known names."""
    web = SessionPlace(folder, spark)
    by = {"replace_by": "session_identifier"}
    web.model("m5", TAGGED, **(MERGED | by))
    ann = {"domain_userid": "a", "user_id": "Ann"}
    bob = {"domain_userid": "b", "user_id": "Bob"}
    web.add(
        an_event("a1", "sA", "01-10 10:00", **ann),
        an_event("a2", "sA", "01-10 11:00", **ann),
        an_event("b1", "sB", "01-10 10:00", **bob),
        an_event("b2", "sB", "01-11 10:00", **bob),
        an_event("b3", "sC", "01-20 10:00", **bob),
    )
    assert problems(web.at("01-31", "web m5")) == []
    return web


def rebuild(web, **asked):
    services = web.services()
    try:
        request = RebuildSessionsRequest(str(web.root), "web", spark=web.spark, **asked)
        return sessions_rebuild(services, request)
    finally:
        services.close()


def delete(web, condition):
    web.sql(f"DELETE FROM delta.`{web.landing_events}` WHERE {condition}")


def test_a_visitor_whose_events_are_gone_vanishes_from_every_table(spark, tmp_path):
    web = place(spark, tmp_path)
    manifest = web.manifest()
    delete(web, "domain_userid = 'a'")

    report = rebuild(web, from_="2021-01-10", to="2021-01-11")

    assert problems(report) == []
    for part in TABLES:
        assert {*web.stored(part, "user_identifier")} == {"b"}, part
    found = web.sql(f"SELECT event_id FROM delta.`{tmp_path}/warehouse/m/m5` ORDER BY 1")
    assert [row[0] for row in found] == ["b1", "b2", "b3"]
    assert web.stored("sessions", *SESSIONS) == [("sB", 2, "01-10 10:00"), ("sC", 1, "01-20 10:00")]
    assert web.manifest() == manifest
    last = web.passes()[0]
    assert (last.kind, str(last.status), last.events.history.kept) == ("rebuild", "SUCCESS", 2)
    assert problems(web.at("02-01", "web m5")) == []
    assert web.stored("sessions", *SESSIONS) == [("sB", 2, "01-10 10:00"), ("sC", 1, "01-20 10:00")]


def test_corrected_events_move_sessions_users_and_names(spark, tmp_path):
    web = place(spark, tmp_path)
    delete(web, "event_id in ('b1', 'a2')")
    web.sql(f"UPDATE delta.`{web.landing_events}` SET user_id = 'Bo' WHERE event_id = 'b3'")

    assert problems(rebuild(web, session=["sB", "sC", "sA"])) == []

    assert web.stored("sessions", *SESSIONS) == [
        *(("sA", 1, "01-10 10:00"), ("sB", 1, "01-11 10:00"), ("sC", 1, "01-20 10:00")),
    ]
    assert web.stored("user_mapping", "user_identifier", "user_id") == [("a", "Ann"), ("b", "Bo")]
    assert web.stored("sessions", "stitched_user_id") == ["Ann", "Bo", "Bo"]
    assert web.stored("users", "user_identifier", "sessions", "page_views") == [
        *(("a", 1, 1), ("b", 2, 2)),
    ]
    assert web.stored("page_views", "page_view_id") == ["pa1", "pb2", "pb3"]


def test_what_cannot_be_rebuilt_is_refused_with_nothing_written(spark, tmp_path):
    web = place(spark, tmp_path)
    before = web.commits_of("sessions")
    bad = {
        "unknown-session": {"session": ["sA", "nope"]},
        "bad-usage": {"from_": "2021-01-10"},
        "bad-value": {"from_": "2021-01-10", "to": "soon"},
    }
    for code, asked in bad.items():
        with pytest.raises(UsageError) as caught:
            rebuild(web, **asked)
        assert caught.value.code == code, caught.value.render()
    assert (web.commits_of("sessions"), len(web.passes())) == (before, 1)
