"""What a package tells of its sessions and users: conversions, a funnel, channels, persons."""

import pytest

from fakes.session_lake import SCHEMA, an_event
from fakes.session_place import SessionPlace, problems
from penstock.core.columns.schema import Column, Schema

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
MORE = Schema((*SCHEMA.columns, Column("amount", "int"), Column("mkt", "string")))
KEYS = """\
conversions:
  - {name: buy, when: "event_name = 'buy' -- paid", value: amount}
  - {name: ask, when: "event_name = 'ask' or page_url rlike '/a{3}$'"}
funnel:
  - {step: home, when: "page_url = '/home'"}
  - {step: basket, when: "page_url = '/basket'"}
  - {step: buy, when: "event_name = 'buy'"}
channels:
  - {channel: Mail, when: "mkt = 'mail'"}
  - {channel: Direct, when: "mkt is null"}
users_by: stitched
passthrough:
  page_views: [{place: {sql: mkt, when: "mkt = 'mail'"}}]
  sessions:
    first:
      - {bought: {sql: amount -- in EUR, when: "event_name = 'buy' -- paid"}}
      - {home: {sql: page_url, when: "page_url = '/home'"}}
    last: [{bought: {sql: amount, when: "event_name = 'buy'"}}]
    agg: {paid: sum(amount)}
  users:
    first: [{bought: {when: cv_buy_converted}}]
    last: [{last_bought: {when: cv_buy_converted}}]
    agg: {longest: max(absolute_time_in_s), paid: sum(paid)}
"""
FEW = """\
select session_identifier, count(*) as events
from {{ ref('web_base_events_this_run') }} group by session_identifier having count(*) < 4
"""
CONVERSIONS = ("cv_buy_volume", "cv_buy_converted", "cv_buy_first_conversion", "cv_buy_total")
FUNNEL = ("funnel_step", "funnel_home_tstamp", "funnel_basket_tstamp", "funnel_buy_tstamp")
USERS = ("user_identifier", "user_identifiers", "sessions", "longest", "paid")


def view(name, session, time, url, **more):
    return an_event(name, session, time, page_url=url, page_view_id=f"p{name}", **more)


def buy(name, session, time, amount, **more):
    more = {"event_name": "buy", "page_view_id": None, "amount": amount} | more
    return an_event(name, session, time, **more)


def test_sessions_and_persons_have_their_goals_step_by_step_and_channel(spark, tmp_path):
    web = SessionPlace(tmp_path, spark, KEYS, schema=MORE)
    settings = {"materialized": "merge", "unique_key": "session_identifier"}
    web.model("few", FEW, **settings, tags=["web_incremental"], replace_by="session_identifier")
    phone = {"domain_userid": "a1", "user_id": "Ann"}
    laptop = {"domain_userid": "a2", "user_id": "Ann"}
    other = {"domain_userid": "b"}
    web.add(
        view("h1", "s1", "01-01 10:00", "/home", mkt="mail", **phone),
        view("b1", "s1", "01-01 10:05", "/basket", **phone),
        buy("y1", "s1", "01-01 10:10", 30, **phone),
        buy("y2", "s1", "01-01 10:20", 12, **phone),
        view("h2", "s2", "01-01 12:00", "/home", **laptop),
        buy("y3", "s2", "01-01 12:05", 5, **laptop),
        view("b3", "s3", "01-01 13:00", "/basket", mkt="banner", **other),
        view("h3", "s3", "01-01 13:05", "/home", **other),
        view("b4", "s3", "01-01 13:10", "/basket", **other),
    )

    assert problems(web.at("01-02", "web few")) == []

    name = "session_identifier"
    assert web.stored("sessions", name, *CONVERSIONS) == [
        ("s1", 2, True, "01-01 10:10", 42),
        ("s2", 1, True, "01-01 12:05", 5),
        ("s3", 0, False, None, 0),
    ]
    assert web.stored("sessions", name, *FUNNEL, "channel") == [
        ("s1", "buy", "01-01 10:00", "01-01 10:05", "01-01 10:10", "Mail"),
        ("s2", "home", "01-01 12:00", None, None, "Direct"),
        ("s3", "basket", "01-01 13:05", "01-01 13:10", None, "Unassigned"),
    ]
    assert web.stored("sessions", name, "cv_ask_volume", "cv_ask_converted")[0] == ("s1", 0, False)
    assert web.stored("sessions", name, "bought", "last_bought", "home") == [
        ("s1", 30, 12, "/home"),
        ("s2", 5, 5, "/home"),
        ("s3", None, None, "/home"),
    ]
    assert web.stored("page_views", "page_view_id", "place")[:3] == [
        ("pb1", None),
        ("pb3", None),
        ("pb4", None),
    ]
    assert ("ph1", "mail") in web.stored("page_views", "page_view_id", "place")
    assert web.stored("users", "user_identifier", "first_bought", "last_bought") == [
        ("Ann", 30, 5),
        ("b", None, None),
    ]
    assert web.stored("users", *USERS, "first_channel", "last_channel") == [
        ("Ann", ["a1", "a2"], 2, 1200, 47, "Mail", "Direct"),
        ("b", ["b"], 1, 600, None, "Unassigned", "Unassigned"),
    ]
    assert web.stored("users", "user_identifier", *CONVERSIONS) == [
        ("Ann", 3, True, "01-01 10:10", 47),
        ("b", 0, False, None, 0),
    ]
    assert web.rows("few") == [("s2", 2), ("s3", 3)]

    web.add(
        view("h4", "s3", "01-01 13:15", "/home", **other),
        view("h5", "s4", "01-02 09:00", "/home", mkt="mail", user_id="Ann", **other),
    )
    assert problems(web.at("01-03", "web few")) == []

    assert web.stored("users", *USERS, "first_channel", "last_channel") == [
        ("Ann", ["a1", "a2", "b"], 4, 1200, 47, "Mail", "Mail"),
    ]
    assert web.stored("users", "first_bought", "last_bought") == [(30, 5)]
    assert web.rows("few") == [("s2", 2), ("s4", 1)]
    web.package(KEYS.replace("users_by: stitched\n", ""))
    web.add(view("h6", "s5", "01-03 09:00", "/home", **other))
    (refused,) = [each for each in problems(web.at("01-04")) if "web_users" in each]
    assert "options-changed: web_users has other users than users_by: visitor says" in refused
