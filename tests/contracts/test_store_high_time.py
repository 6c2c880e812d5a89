"""What every state store promises of high times: the greatest run timestamp in a table."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import BROKEN, ELSEWHERE, HERE, OTHER, intent, succeed, wrote
from penstock.core.names import TableName
from penstock.core.ports.ports import RebuiltStep
from penstock.core.steps.step import StepKind


def day(number):
    return dt.datetime(2024, 3, number, tzinfo=dt.UTC)


def on(number, step, model="orders", holder=HERE, **changes):
    """Give a step of a run whose run timestamp is a day of March."""
    return replace(intent(step, model, holder), run_timestamp=day(number), **changes)


def high(store, model="orders"):
    return store.records.models()[model].high_time


@pytest.mark.parametrize("kind", [StepKind.BUILD, StepKind.SEED])
def test_a_high_time_is_the_greatest_run_timestamp_of_what_wrote_the_table(store, kind):
    succeed(store, on(2, "step-1", kind=kind))
    succeed(store, on(5, "step-2", kind=kind))
    succeed(store, on(3, "step-3", kind=kind))

    assert high(store) == day(5)


def test_a_step_that_commits_nothing_leaves_the_high_time(store):
    succeed(store, on(2, "step-1"))
    succeed(store, on(5, "step-2"), version=None)
    succeed(store, on(1, "step-3", lowers_watermarks=True), version=None)

    assert high(store) == day(2)


def test_a_table_that_nothing_wrote_has_no_high_time(store):
    succeed(store, on(2, "step-1", kind=StepKind.ALTER))
    succeed(store, on(3, "step-2", "view"), version=None)

    assert (high(store), high(store, "view")) == (None, None)


def test_a_change_of_properties_or_a_failure_leaves_the_high_time(store):
    succeed(store, on(2, "step-1"))
    succeed(store, on(5, "step-2", kind=StepKind.ALTER))
    store.journal.begin(on(6, "step-3"), {}, HERE, None)
    store.journal.fail("step-3", BROKEN)
    store.journal.reject(on(7, "step-4"), BROKEN, HERE)

    assert high(store) == day(2)


def test_a_full_refresh_sets_the_high_time_anew(store):
    succeed(store, on(5, "step-1", lowers_watermarks=True))
    succeed(store, on(2, "step-2", lowers_watermarks=True))
    after_refresh = high(store)
    succeed(store, on(3, "step-3"))

    assert (after_refresh, high(store)) == (day(2), day(3))


@pytest.mark.parametrize(("late", "expected"), [(2, 4), (9, 9)])
def test_a_step_that_ends_after_a_newer_one_only_raises_the_high_time(store, late, expected):
    slow = on(late, "slow", lowers_watermarks=True)
    store.journal.begin(slow, {}, HERE, None)
    store.leases.unlock("mart.orders")
    succeed(store, on(4, "quick", holder=OTHER), version=1, holder=OTHER)
    store.journal.finish("slow", wrote(0), recovered=True)

    assert high(store) == day(expected)


def test_a_commit_that_is_found_after_a_newer_failure_counts(store):
    store.journal.begin(on(2, "slow"), {}, HERE, None)
    store.journal.reject(on(4, "step-2", holder=ELSEWHERE), BROKEN, ELSEWHERE)
    store.journal.finish("slow", wrote(0))

    assert high(store) == day(2)


def test_a_high_time_is_that_of_the_table_which_the_model_writes_now(store):
    succeed(store, on(5, "step-1"))
    succeed(store, on(2, "step-2", table=TableName("core", "orders"), lowers_watermarks=True))
    moved = high(store)
    succeed(store, on(3, "step-3", "renamed", table=TableName("mart", "orders")))

    assert (moved, high(store), high(store, "renamed")) == (day(2), day(2), day(5))


def test_a_run_keeps_the_same_high_times_in_memory_as_the_store(store):
    steps = [
        (on(5, "a", lowers_watermarks=True), 0),
        (on(6, "b"), None),
        (on(7, "c", kind=StepKind.ALTER), 1),
        (on(2, "d", lowers_watermarks=True), 2),
        (on(4, "e"), 3),
        (on(3, "f"), 4),
    ]
    pictures = []
    for step, version in steps:
        succeed(store, step, version)
        pictures.append(store.records.models("orders")["orders"].high_time)
        assert pictures[-1] == high(store)

    assert pictures == [day(5), day(5), day(5), day(2), day(4), day(4)]


def test_high_times_survive_export_and_import(opened, store):
    succeed(store, on(5, "step-1", lowers_watermarks=True))
    succeed(store, on(2, "step-2", lowers_watermarks=True))
    fresh = opened(name="fresh")
    fresh.archive.load(store.archive.export())
    loaded = high(fresh)
    succeed(fresh, on(3, "step-3"))

    assert (loaded, high(fresh)) == (day(2), day(3))


def test_high_times_are_rebuilt_from_the_steps_of_the_logs(opened, store, world):
    steps = [on(5, "a"), on(2, "b", lowers_watermarks=True), on(4, "c"), on(3, "d")]
    rebuilt = []
    for version, step in enumerate(steps):
        begun = store.journal.begin(step, {}, HERE, None)
        ended = world.pass_(1)
        store.journal.finish(step.step, wrote(version))
        rebuilt.append(RebuiltStep(replace(step, step_seq=begun.step_seq), wrote(version), ended))
    fresh = opened(name="fresh")
    fresh.archive.rebuild(rebuilt)

    assert (high(store), high(fresh)) == (day(4), day(4))
