"""Runs of a package, whatever the gaps, failures and models that come later."""

import datetime as dt
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.session_world import CORE, SessionWorld, at, options, package
from penstock.core.sessions.manifest import Limits, ManifestRow, RunState
from penstock.core.sessions.options import BackfillOrder
from penstock.plan.kinds.manifest import manifest_status, run_limits

pytestmark = pytest.mark.laws
START, NOW = at("01-01"), at("06-01")
HOURS = (NOW - START) // dt.timedelta(hours=1)
TIMES = st.integers(0, HOURS).map(lambda hours: START + dt.timedelta(hours=hours))
EVENTS = st.lists(TIMES, max_size=8).map(sorted)
LIMIT_DAYS, LOOKBACKS = st.integers(1, 40), st.integers(0, 48)
ORDERS = st.sampled_from(BackfillOrder)
FAILING = st.lists(st.sets(st.sampled_from(CORE)), max_size=6)


def bound(days):
    """Give how many runs catch up at most."""
    return 2 * ceil((NOW - START) / dt.timedelta(days=days)) + 2


def catch_up(told, now=NOW, most=400):
    for count in range(most):
        if not told.run(now):
            return count
    raise AssertionError("it does not end")


@given(EVENTS, LIMIT_DAYS, LOOKBACKS, ORDERS, FAILING)
def test_catching_up_ends_whatever_fails_and_no_event_is_missed(
    events, days, hours, order, failing
):
    told = SessionWorld(
        package(backfill_limit_days=days, lookback_window_hours=hours, backfill=order), events
    )
    for fails in failing:
        told.run(NOW, fails=fails)

    # a model that failed comes after the others, and both pass over gaps window by window
    assert catch_up(told) <= (len(CORE) + 1) * bound(days)
    assert told.caught_up or not events
    newest = max(events, default=None)
    assert {told.rows[name].last_success for name in CORE} == {newest}
    assert {frozenset(told.read[name]) for name in CORE} == {frozenset(events)}


@given(EVENTS, LIMIT_DAYS, st.integers(0, 10), ORDERS)
def test_a_model_that_comes_later_ends_where_the_others_are(events, days, before, order):
    told = SessionWorld(package(backfill_limit_days=days, backfill=order), events)
    for _ in range(before):
        told.run(NOW)
    told.tracked = (*CORE, "m5")

    assert catch_up(told) <= 2 * bound(days)
    assert {told.rows[name].last_success for name in told.tracked} == {max(events, default=None)}
    assert told.read["m5"] == set(events)


@given(EVENTS, LIMIT_DAYS)
def test_a_model_that_comes_to_a_package_in_sync_takes_the_runs_that_its_history_asks_for(
    events, days
):
    told = SessionWorld(package(backfill_limit_days=days), events)
    catch_up(told)
    told.tracked = (*CORE, "m5")

    assert catch_up(told) <= bound(days)


@given(st.lists(st.tuples(EVENTS, FAILING), min_size=1, max_size=4), LIMIT_DAYS, ORDERS)
def test_no_value_of_the_manifest_moves_back(batches, days, order):
    told = SessionWorld(package(backfill_limit_days=days, backfill=order))
    before = {}
    for batch, failing in batches:
        told.events += batch
        told.version += 1
        for fails in (*failing, ()):
            told.run(NOW, fails=fails)
            for name, row in told.rows.items():
                old = before.get(name, row)
                pairs = [(old.covered_to, row.covered_to), (old.position(), row.position())]
                assert all(was is None or was <= now for was, now in pairs)
            before = dict(told.rows)


ROWS = st.builds(
    ManifestRow,
    st.sampled_from("abcd"),
    st.none() | TIMES,
    st.none() | TIMES,
)


@given(st.lists(ROWS, unique_by=lambda row: row.model), LIMIT_DAYS, LOOKBACKS, TIMES)
def test_with_seed_limits_the_limits_are_those_of_the_seed(rows, days, hours, now):
    said = options(backfill_limit_days=days, lookback_window_hours=hours, strict_seed_limits=True)
    reach, lookback = dt.timedelta(days=days), dt.timedelta(hours=hours)
    last = [row.last_success for row in rows if row.model in "abc" and row.last_success]
    if not last:
        expected = Limits(RunState.FIRST_RUN, START, min(now, START + reach))
    elif len(last) < len("abc"):
        expected = Limits(RunState.NEW_MODEL, START, min(max(last), START + reach))
    elif min(last) < max(last):
        upper = min(max(last), min(last) + reach)
        expected = Limits(RunState.OUT_OF_SYNC, min(last) - lookback, upper)
    else:
        upper = min(now, max(last) + reach)
        expected = Limits(RunState.STANDARD, max(last) - lookback, upper)

    assert run_limits(manifest_status(rows, "abc", strict=True), said, now) == expected


@given(EVENTS, st.lists(TIMES, max_size=6), LIMIT_DAYS)
def test_any_cutting_into_runs_processes_the_same(events, cuts, days):
    """Rows are loaded in order: each is there when the first run whose window covers it starts."""
    told = SessionWorld(package(backfill_limit_days=days))
    for now in (*sorted(cuts), NOW):
        arrived = [event for event in events if event <= now]
        told.version += arrived != told.events
        told.events = arrived
        catch_up(told, now)

    assert {told.rows[name].last_success for name in CORE} == {max(events, default=None)}
    assert {frozenset(told.read[name]) for name in CORE} == {frozenset(events)}
