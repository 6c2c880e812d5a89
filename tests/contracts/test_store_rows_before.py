"""Rows that earlier successes wrote, as every state store tells them."""

from dataclasses import replace

import pytest

from contracts.store_cases import (
    BROKEN,
    DAY,
    HERE,
    check,
    days,
    failed_gate,
    intent,
    recover,
    succeed,
    wrote,
)
from penstock.core.check_results import RowsBefore
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.step import PartitionRows, StepKind


def build(store, step, version=1, **rows):
    """Build days of 1970, named `d1`, with rows."""
    told = tuple(PartitionRows(int(name[1:]), n, n) for name, n in rows.items())
    ranges = [(each.ord, each.ord) for each in told]
    store.journal.begin(days(step, "orders", *ranges), {}, HERE, None)
    store.journal.finish(step, replace(wrote(version), partitions=told))


def before(store, *ranges, last=0, step_seq=99):
    return dict(store.checks.rows_before("orders", ranges, last, step_seq).by_partition)


@pytest.fixture
def built(store):
    build(store, "step-1", d1=10, d2=20, d4=40, d6=60)
    build(store, "step-2", d4=44, d5=50)
    return store


@pytest.mark.parametrize(
    ("asked", "last", "expected"),
    [
        ([(4, 4)], 0, {4: 44}),
        ([(3, 3)], 0, {}),
        ([(4, 4)], 1, {2: 20, 4: 44}),
        ([(4, 4)], 9, {1: 10, 2: 20, 4: 44}),
        ([(3, 3)], 1, {2: 20}),
        ([(2, 2), (6, 6)], 0, {2: 20, 4: 44, 5: 50, 6: 60}),
        ([(5, 9)], 2, {2: 20, 4: 44, 5: 50, 6: 60}),
        ([], 9, {}),
    ],
)
def test_the_last_success_of_each_partition_counts_and_those_below(built, asked, last, expected):
    assert before(built, *asked, last=last) == expected


def test_only_steps_before_the_step_count(built):
    assert before(built, (4, 5), step_seq=2) == {4: 40}
    assert before(built, (4, 5), step_seq=1) == {}


def test_a_running_step_asks_about_what_was_before_it(built):
    begun = built.journal.begin(days("step-3", "orders", (4, 4)), {}, HERE, None)

    assert before(built, (4, 4), step_seq=begun.step_seq) == {4: 44}


def test_failures_and_flags_do_not_count(store):
    build(store, "step-1", d1=10, d2=20)
    check(store, days("step-2", "orders", (1, 1)), failed_gate("1970-01-02"))
    store.journal.begin(days("step-3", "orders", (2, 2)), {}, HERE, None)
    store.journal.fail("step-3", BROKEN)
    recover(store, days("step-4", "orders", (2, 2), on_failure="flag"))
    assert before(store, (1, 2)) == {1: 10, 2: 3}

    store.journal.settle_checks("step-4", failed_gate("1970-01-03"))
    store.journal.close_flags(store.checks.flags(), "why", "ann")
    assert before(store, (1, 2)) == {1: 10, 2: 20}


def test_executions_without_rows_do_not_count_where_rows_are_asked_for(store):
    for number, rows in ((1, 4), (2, 5), (3, 0), (4, 0)):
        step = intent(f"step-{number}")
        store.journal.begin(step, {}, HERE, None)
        store.journal.finish(step.step, wrote(number, rows=rows))

    def recent(**asked):
        return store.checks.rows_before("orders", ((0, 0),), 2, 9, **asked).recent

    assert recent() == (0, 0)
    assert recent(with_rows=True) == (5, 4)


def test_what_was_rolled_back_does_not_count(built):
    rolled = days("step-3", "orders", (4, 5), kind=StepKind.ROLLBACK, restores=2)
    succeed(built, rolled, version=3)

    assert before(built, (4, 5)) == {4: 40}


def test_rows_that_nobody_knows_do_not_count(store):
    build(store, "step-1", d1=10)
    succeed(store, days("step-2", "orders", (1, 2)), version=2)

    assert before(store, (1, 2)) == {1: 10}


def test_partitions_of_another_grid_do_not_count(built):
    month = Grid(Grain.MONTH)
    step = replace(days("step-3", "orders"), grid=month, partitions=("1970-01",))
    built.journal.begin(step, {}, HERE, None)
    built.journal.finish("step-3", wrote(3))
    number = month.parse("1970-01")

    assert before(built, (number, number)) == {number: 3}
    assert before(built, (4, 4), step_seq=2) == {4: 40}
    assert DAY.key(4) == "1970-01-05"


@pytest.mark.parametrize(("last", "expected"), [(0, (3,)), (1, (3,)), (2, (3, 2)), (9, (3, 2, 1))])
def test_a_table_has_its_newest_successes(store, last, expected):
    for number in (1, 2, 3):
        step = intent(f"step-{number}")
        store.journal.begin(step, {}, HERE, None)
        store.journal.finish(step.step, wrote(number, rows=number))
    succeed(store, replace(intent("alter"), kind=StepKind.ALTER), version=4)
    check(store, intent("flagged"), failed_gate("*"))

    found = store.checks.rows_before("orders", ((0, 0),), last, 9)
    assert found == RowsBefore(recent=expected)
    assert store.checks.rows_before("orders", ((0, 0),), last, 1) == RowsBefore()
    assert store.checks.rows_before("never", ((0, 0),), last, 1) == RowsBefore()
