"""What people do to the tables of a package, and to the columns that its modules take over."""

import shutil
from contextlib import closing

import pytest

from fakes.session_place import problems
from penstock.app.commands.sessions import sessions_forget

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
CARRIED = """\
passthrough:
  sessions: {first: [{x: event_name}], agg: {views: "count_if(event_name = 'page_view')"}}
  users: {last: [views]}
"""
CORE = ("page_views", "sessions", "user_mapping", "users")


def drifted(web):
    """Name the models that are not current."""
    return [name for name, states in web.states().items() if states]


def test_a_row_that_somebody_wrote_goes_when_its_session_comes_again(place):
    web = place()
    views = f"delta.`{web.folder('page_views')}`"
    copied = f"SELECT * EXCEPT (page_view_id), 'zz' AS page_view_id FROM {views}"
    web.sql(f"INSERT INTO {views} BY NAME {copied} WHERE event_id <> 'e2'")
    assert drifted(web) == ["web_page_views"]
    web.add("e4 s2 01-03 05:00")

    assert problems(web.at("01-04", "web m5")) == []

    rows = [("s1", "pe1"), ("s1", "zz"), ("s2", "pe2"), ("s2", "pe3"), ("s2", "pe4")]
    assert web.stored("page_views", "session_identifier", "page_view_id") == rows
    with closing(web.services()) as services:
        sessions_forget(services, "web", ["web_page_views"], truncate=True)
    for _ in range(2):
        assert problems(web.at("01-04", "web m5")) == []
    assert web.stored("page_views", "session_identifier", "page_view_id") == rows[:1] + rows[2:]
    assert drifted(web) == []
    assert web.at("01-04", "web m5").plan.is_empty


def test_a_column_that_goes_away_is_null_in_rows_that_are_made_since(place):
    web = place()
    (width,) = {len(row) for row in web.stored("sessions", "*")}
    columns = ("sessions", "session_identifier", "x", "views")
    web.package(CARRIED)
    web.add("e4 s2 01-03 05:00", "e5 s5 01-04 05:00")
    assert problems(web.at("01-05", "web m5")) == []
    made = [("s1", None, None), ("s2", "page_view", 3), ("s5", "page_view", 1)]
    assert (web.stored(*columns), web.stored("users", "last_views")) == (made, [1])

    web.package("")
    web.add("e6 s6 01-05 05:00")
    assert problems(web.at("01-06", "web m5")) == []
    empty = [("s5", None, None), ("s6", None, None)]
    assert (web.stored(*columns), web.stored("users", "last_views")) == (made[:2] + empty, [None])

    with closing(web.services()) as services:
        sessions_forget(services, "web", ["web_sessions"], truncate=True)
    assert problems(web.at("01-06", "web m5")) == []
    assert [len(row) for row in web.stored("sessions", "*")] == [width] * 4


def test_a_table_that_is_gone_keeps_its_place_in_the_manifest_until_it_is_forgotten(place):
    web = place()
    before = web.manifest()
    shutil.rmtree(web.folder("sessions"))
    web.add("e4 s2 01-03 05:00")

    codes = {each.name: each.error.code for each in web.at("01-04", "web m5").results if each.error}

    assert codes == {"web_sessions": "session-table-missing"}
    behind = {name: before[name] for name in ("sessions", "users")}
    ahead = dict.fromkeys(("page_views", "user_mapping", "m5"), ("01-03 05:00", "01-04", None))
    assert web.manifest() == {**ahead, **behind}
    with closing(web.services()) as services:
        sessions_forget(services, "web", ["web_sessions"])
    for _ in range(2):
        assert problems(web.at("01-04", "web m5")) == []
    assert web.stored("sessions", "session_identifier", "total_events") == [("s1", 1), ("s2", 3)]
    assert web.stored("users", "sessions", "page_views") == [(2, 4)]
    assert {*web.manifest().values()} == {("01-03 05:00", "01-04", None)}
