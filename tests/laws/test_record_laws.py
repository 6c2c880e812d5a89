"""Runs are maps of numbers, and the record that a run goes on with is that of the store."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.store_cases import BROKEN, HERE, LEASE
from fakes.clock import FixedClock
from laws.test_stores_read_back import OUTCOME, WHOLE_INTENT, placed
from penstock.core.partitions.ranges import numbers, of_numbers
from penstock.core.steps.step import StepKind
from penstock.state.memory import MemoryStore
from penstock.state.transitions.runs import (
    alter,
    compare_runs,
    cut,
    fill,
    join_runs,
    newest,
    overlay,
    ranges_of,
)

pytestmark = pytest.mark.laws

NUMBER, VALUE = st.integers(0, 12), st.sampled_from("abc")
MAP = st.dictionaries(NUMBER, VALUE)
ORDS = st.sets(NUMBER).map(of_numbers)
PIECES = st.lists(st.tuples(st.integers(0, 3), st.tuples(NUMBER, st.integers(0, 4)), VALUE))
STEPS = st.lists(
    st.tuples(
        st.builds(
            lambda intent, kind: replace(intent, kind=kind, partitions=("*",), model="orders"),
            WHOLE_INTENT,
            st.sampled_from([kind for kind in StepKind if kind is not StepKind.ROLLBACK]),
        ),
        OUTCOME,
    ),
    max_size=5,
)


def runs_of(known):
    return join_runs((number, number, value) for number, value in known.items())


def each(runs):
    """Give what runs say of every number, None included where they say it."""
    return {number: value for low, high, value in runs for number in range(low, high + 1)}


@given(known=MAP, ords=ORDS)
def test_runs_are_a_map_of_numbers(known, ords):
    runs, named = runs_of(known), set(numbers(ords))

    assert each(runs) == known
    assert set(numbers(ranges_of(runs))) == set(known)
    assert each(cut(runs, ords)) == {n: v for n, v in known.items() if n in named}
    assert each(fill(runs, ords)) == {n: known.get(n) for n in named}


@given(known=MAP, ords=ORDS, to=st.none() | VALUE)
def test_changing_runs_changes_what_is_named_and_nothing_else(known, ords, to):
    def after(value):
        return to if value != "a" else value

    expected = known | {n: after(known.get(n)) for n in numbers(ords)}
    found = alter(runs_of(known), ords, after)

    assert each(found) == {n: value for n, value in expected.items() if value is not None}
    assert found == runs_of(each(found))


@given(known=MAP, over=MAP)
def test_what_lies_over_runs_is_compared_number_by_number(known, over):
    found = compare_runs(runs_of(known), runs_of(over))
    told = {n: (was, is_now) for low, high, was, is_now in found for n in range(low, high + 1)}

    assert told == {n: (known.get(n), over.get(n)) for n in known | over}
    laid = overlay(runs_of(known), runs_of(over), lambda was, new: f"{was}{new}")
    assert each(laid) == known | {n: f"{known.get(n)}{new}" for n, new in over.items()}


@given(pieces=PIECES)
def test_the_newest_of_runs_that_overlap_counts(pieces):
    pieces = [(rank, (low, low + more), value) for rank, (low, more), value in pieces]
    expected = {}
    for _, (low, high), value in sorted(pieces, key=lambda piece: piece[0]):
        expected |= dict.fromkeys(range(low, high + 1), value)

    assert each(newest(pieces)) == expected


@given(steps=STEPS, other=WHOLE_INTENT)
def test_the_record_that_a_run_goes_on_with_is_that_of_the_store(steps, other):
    store = MemoryStore(FixedClock(), LEASE)
    store.journal.reject(placed(replace(other, model="other"), "of-another", HERE), BROKEN, HERE)
    for number, (given_step, outcome) in enumerate(steps):
        step = placed(given_step, f"step-{number}", HERE)
        store.journal.begin(step, {}, HERE, None)
        store.journal.finish(step.step, outcome)

        assert store.records.models("orders") == {"orders": store.records.models()["orders"]}
