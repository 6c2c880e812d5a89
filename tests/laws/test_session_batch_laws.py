"""Rows loaded in order make the same tables however they are cut into runs (spec §8)."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.session_rows import CARRIED, DAYS, EVENTS, NOW, START
from fakes.session_twin import SessionTwin
from penstock.core.sessions.options import BackfillOrder, SessionUser

pytestmark = pytest.mark.laws
KEYS = st.fixed_dictionaries(
    {
        "backfill_limit_days": st.integers(1, 12),
        "max_session_days": st.integers(1, 3),
        "lookback_window_hours": st.sampled_from([0, 6, 30]),
        "session_lookback_days": st.sampled_from([None, 100]),
        "app_ids": st.sampled_from([(), ("a", None)]),
        "backfill": st.sampled_from(BackfillOrder),
        "bot_pattern": st.sampled_from([None, "bot"]),
        "page_view_stitching": st.booleans(),
    }
)
RULES = st.sampled_from([rule for rule in SessionUser if rule is not SessionUser.FIRST_RUN])
MODULES = ("web_user_mapping", "web_page_views", "web_sessions", "web_users", "m5")
TIMES = st.integers(0, DAYS * 24).map(lambda hours: START + dt.timedelta(hours=hours))
CUT = st.tuples(
    TIMES,
    st.sets(st.sampled_from(MODULES), max_size=2),
    st.lists(st.sampled_from(MODULES), max_size=1).map(tuple),
    st.sets(st.sampled_from(MODULES), max_size=2),
)


def twin(folder=None, spark=None, **keys):
    return SessionTwin(spark, folder, {"skip_unchanged": True, "passthrough": CARRIED, **keys})


def load(web, events, now):
    """Load what has happened by then."""
    web.events = [event for event in events if event["collector_tstamp"] <= now]


def catch_up(web, now):
    count = 0
    while web.run(now):
        count += 1
        assert count < 300
    return count


def at_once(web, events):
    """Let one run read everything."""
    web.keys = {**web.keys, "backfill_limit_days": 10 * DAYS}
    web.package = web._package()
    load(web, events, NOW)
    web.run(NOW)
    return web


@given(
    EVENTS,
    st.lists(CUT, max_size=5).map(lambda cuts: sorted(cuts, key=lambda c: c[0])),
    KEYS,
    RULES,
    st.integers(0, 5),
)
def test_any_cutting_with_failures_and_a_model_that_comes_later_leaves_the_same_rows(
    events, cuts, keys, rule, came
):
    """Laws 1, 2 and 5; on Delta in spark/test_session_stories.py, where each run is compared."""
    web = twin(user_of_session=rule, **keys)
    for number, (now, fails, select, forgotten) in enumerate(cuts):
        web.tagged = ("m5",) if number >= came else ()
        load(web, events, now)
        web.run(now, tuple(fails), select)
        web.rows = {name: row for name, row in web.rows.items() if name not in forgotten}
        web.run(now)
        if not fails:
            catch_up(web, now)
    web.tagged = ("m5",)
    load(web, events, NOW)
    catch_up(web, NOW)
    once = twin(user_of_session=rule, **keys)
    once.tagged = ("m5",)
    at_once(once, events)

    assert web.state() == once.state()
    assert web.merged == once.merged


@given(EVENTS, st.randoms(use_true_random=False), KEYS, RULES)
def test_the_order_of_rows_decides_nothing_and_a_run_that_is_repeated_changes_nothing(
    events, shuffling, keys, rule
):
    """Laws 4 and 6."""
    web, other = (twin(user_of_session=rule, **keys) for _ in range(2))
    load(web, events, NOW)
    catch_up(web, NOW)
    shuffling.shuffle(events)
    load(other, events, NOW)
    catch_up(other, NOW)
    before = web.state()
    assert other.state() == before

    web.keys = {**web.keys, "skip_unchanged": False}
    web.package = web._package()
    web.run(NOW)
    assert web.state() == before


@given(st.lists(st.tuples(EVENTS, TIMES), max_size=6), KEYS, st.sampled_from(SessionUser))
def test_whatever_comes_when_events_are_counted_once_and_keys_are_there_once(batches, keys, rule):
    """The twin holds it after every pass; rows come in any order, ids are used again."""
    least = keys["backfill_limit_days"] + keys["max_session_days"] + 2  # ids come back beyond it
    keys["session_lookback_days"] = keys["session_lookback_days"] and least
    for compat in (None, "snowplow"):
        web = twin(user_of_session=rule, compat=compat, **keys)
        for events, now in batches:
            web.add(*events)
            web.run(now)
            web.run(NOW)
