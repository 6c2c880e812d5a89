"""Sessions by a timeout, from events in any loading order, are those of the whole table.

The oracle reads the whole list of events, user by user; ids are compared by what they hold.
"""

import datetime as dt
import random
from collections import defaultdict
from itertools import groupby
from zlib import crc32

import pytest

from fakes.session_lake import an_event
from fakes.session_place import SessionPlace, problems
from fakes.session_world import at

pytestmark = [pytest.mark.laws, pytest.mark.spark]
TIMEOUT, CAP, DAYS = dt.timedelta(hours=9), dt.timedelta(days=1), 10
KEYS = """\
session_timeout: 9 hours
max_session_days: 1
session_lookback_days: null
page_view_stitching: true
passthrough:
  sessions:
    first: [{hit: {sql: event_id, when: crc32(event_id) % 3 = 0}}]
    last: [{hit: {sql: event_id, when: crc32(event_id) % 3 = 0}}]
  users: {first: [{hit: {when: hit is not null}}]}
"""
ENDS = ("01-03", "01-05", "01-07", "01-09", "01-12")


def stream(luck, user, loads):
    """Draw the events of a user, each with the load that brings it."""
    for number in range(luck.randint(3, 14)):
        hours = luck.randrange(DAYS * 24)
        time = at("01-01") + dt.timedelta(hours=hours, seconds=number)  # none at once
        name = f"{user}.{luck.randrange(9) if luck.random() < 0.3 else number + 10}"
        event = an_event(name, None, "01-01", domain_userid=user, page_view_id=f"p{name}")
        event |= dict.fromkeys(
            ("collector_tstamp", "derived_tstamp", "dvce_created_tstamp", "dvce_sent_tstamp"), time
        )
        event["user_id"] = luck.choice([None, None, f"x{user}", f"y{user}"])
        yield event, luck.randrange(loads)


def whole(events):
    """Cut the events of every user: by silence, and a day after the first one."""
    found = []
    key = (lambda each: each["domain_userid"]), (lambda each: each["collector_tstamp"])
    by_user = sorted(events, key=lambda each: (key[0](each), key[1](each)))
    for user, own in groupby(by_user, key=key[0]):
        kept = []
        for event in own:
            time = key[1](event)
            if not kept or time - key[1](kept[-1]) > TIMEOUT or time - key[1](kept[0]) > CAP:
                kept = []
                found.append((user, kept))
            kept.append(event)
    return found


def once(events):
    """Leave out what has the id of an earlier event of the session."""
    seen = {}
    for event in events:
        seen.setdefault(event["event_id"], event)
    return list(seen.values())


def micros(web, part, *names):
    """Give columns of a table as they are."""
    path = web.folder(part)
    return [tuple(row) for row in web.sql(f"SELECT {', '.join(names)} FROM delta.`{path}`")]


def utc(time):
    return time.replace(tzinfo=dt.UTC)


def hold(web, events):
    """Hold that every table has the sessions of the oracle, with one id each."""
    expected = whole(events)
    life = micros(
        web, "base_sessions_lifecycle_manifest", "user_identifier", "start_tstamp", "end_tstamp",
        "session_identifier",
    )  # fmt: skip
    assert sorted((user, utc(low), utc(high)) for user, low, high, _ in life) == sorted(
        (user, own[0]["collector_tstamp"], own[-1]["collector_tstamp"]) for user, own in expected
    )
    names = {(user, utc(low)): name for user, low, _, name in life}
    assert len({*names.values()}) == len(life)
    views, sessions, mapping = [], [], {}
    users, first = defaultdict(int), defaultdict(lambda: None)
    for user, own in expected:
        name = names[user, own[0]["collector_tstamp"]]
        kept = once(own)
        views += [(name, each["page_view_id"]) for each in kept]
        hits = [x["event_id"] for x in kept if crc32(x["event_id"].encode()) % 3 == 0] or [None]
        sessions.append((name, user, len(kept), hits[0], hits[-1]))
        users[user] += 1
        first[user] = first[user] or hits[0]
        known = [
            (each["collector_tstamp"], each["event_id"], each["user_id"])
            for each in kept
            if each["user_id"]
        ]
        mapping[user] = max([*known, *([mapping[user]] if mapping.get(user) else [])], default=None)
    assert sorted(micros(web, "page_views", "session_identifier", "page_view_id")) == sorted(views)
    columns = ("session_identifier", "user_identifier", "total_events", "hit", "last_hit")
    assert sorted(micros(web, "sessions", *columns)) == sorted(sessions)
    assert dict(micros(web, "users", "user_identifier", "sessions")) == users
    assert dict(micros(web, "users", "user_identifier", "first_hit")) == dict(first)
    stitched = {user: best[2] for user, best in mapping.items() if best}
    assert dict(micros(web, "user_mapping", "user_identifier", "user_id")) == stitched
    for part in ("sessions", "page_views"):
        for user, known in micros(web, part, "user_identifier", "stitched_user_id"):
            assert known == stitched.get(user, user)


def hold_ids(before, after):
    """Hold that a session keeps its id, and of several that became one the earliest its own."""
    for (user, low), (name, *_) in before.items():
        (inside,) = [
            (start, known)
            for (other, start), known in after.items()
            if other == user and start <= low <= known[1]
        ]
        start, (kept, high, past) = inside
        joined = [
            each
            for (other, time), each in before.items()
            if other == user and start <= time <= high
        ]
        assert kept == joined[0][0]
        assert name == kept or name in past


def lives(web):
    rows = micros(
        web, "base_sessions_lifecycle_manifest", "user_identifier", "start_tstamp",
        "session_identifier", "end_tstamp", "past_session_identifiers",
    )  # fmt: skip
    return {(user, low): tuple(rest) for user, low, *rest in sorted(rows)}


@pytest.mark.parametrize(
    ("streams", "loads", "seed"),
    [
        pytest.param(12, 2, 3),
        *(pytest.param(200, 5, seed, marks=pytest.mark.matrix) for seed in (1, 2)),
    ],
)
def test_sessions_in_any_loading_order_are_those_of_the_whole_table(
    spark, tmp_path, streams, loads, seed
):
    luck = random.Random(seed)  # noqa: S311  it draws tests
    drawn = [each for n in range(streams) for each in stream(luck, f"u{n}", loads)]
    web = SessionPlace(tmp_path, spark, KEYS)
    before = {}
    for load, now in enumerate(ENDS[-loads:]):
        web.add(*(event for event, number in drawn if number == load))
        select = "web_page_views" if load == 2 else "web"  # the others get its rows later
        assert problems(web.at(now, select)) == []
        after = lives(web)
        hold_ids(before, after)
        before = after
    assert [web.at(ENDS[-1]).plan.is_empty for _ in range(3)][-1]

    hold(web, [event for event, _ in drawn])
