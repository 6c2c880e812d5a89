"""Random events of every class, in the order in which they happened."""

import datetime as dt

from hypothesis import strategies as st

from fakes.session_lake import CLOCKS, SCHEMA
from fakes.session_world import at
from penstock.core.sessions.options import CarriedColumn, Passthrough

START, DAYS = at("01-01"), 20
NOW = START + dt.timedelta(days=DAYS)
BUYS = CarriedColumn("buys", "count_if(event_name = 'buy')")
CARRIED = Passthrough(
    sessions_first=(CarriedColumn("x", "useragent"),),
    sessions_last=(CarriedColumn("url", "page_url"),),
    sessions_agg=(BUYS,),
)
_PLACES = st.tuples(
    st.integers(0, DAYS - 1), st.sampled_from([0, 9, 23]), st.integers(0, 3), st.integers(0, 5)
)
_LATE = {0: None, 1: dt.timedelta(days=3), 2: dt.timedelta(days=3, microseconds=1)}


def an_event(place, name, session, users, what, luck):
    """Give one event; `luck` makes some of them late, or without a clock."""
    day, hour, minute, second = place
    ts = START + dt.timedelta(days=day, hours=hour, minutes=20 * minute, seconds=11 * second)
    event_name, page, app, agent = what
    created = ts - dt.timedelta(seconds=luck % 3)
    sent = created + _LATE[luck] if _LATE.get(luck) else ts
    return {
        **dict.fromkeys(SCHEMA.names),
        **dict.fromkeys(CLOCKS, ts),
        "event_id": name,
        "domain_sessionid": session,
        "collector_tstamp": ts,
        "derived_tstamp": None if luck == 5 else ts - dt.timedelta(seconds=luck),
        "dvce_created_tstamp": None if luck == 3 else created,
        "dvce_sent_tstamp": None if luck == 4 else sent,
        "etl_tstamp": None if luck == 6 else ts + dt.timedelta(seconds=luck),
        "domain_userid": users[0],
        "user_id": users[1],
        "app_id": app,
        "event_name": event_name,
        "page_view_id": page,
        "page_url": f"/{second}",
        "useragent": agent,
    }


A_EVENT = st.builds(
    an_event,
    _PLACES,
    st.sampled_from(["e1", "e2", "e3", "e4", "e5", "e6", "e7", None]),
    st.sampled_from(["s1", "s1", "s2", "s2", "s3", "", None]),
    st.tuples(st.sampled_from([None, "a", "b", "b"]), st.sampled_from([None, None, "x", "y"])),
    st.tuples(
        st.sampled_from(["page_view", "page_view", "page_ping", "page_ping", "buy", None]),
        st.sampled_from(["p1", "p1", "p2", None]),
        st.sampled_from(["a", "a", "b", None]),
        st.sampled_from(["Mozilla", "GoogleBot", None]),
    ),
    st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
)
EVENTS = st.lists(A_EVENT, max_size=25)
