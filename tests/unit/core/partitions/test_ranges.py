"""Ranges of whole numbers do what sets do."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.partitions.ranges import (
    count,
    difference,
    first_numbers,
    holds,
    intersection,
    merged,
    numbers,
    of_numbers,
    union,
)

RANGES = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), max_size=6).map(merged)


def as_set(ranges):
    return set(numbers(ranges))


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20))))
def test_merging_keeps_the_numbers_and_leaves_a_gap_between_ranges(pairs):
    ranges = merged(pairs)

    assert as_set(ranges) == {n for low, high in pairs for n in range(low, high + 1)}
    assert all(before[1] + 1 < after[0] for before, after in pairwise(ranges))
    assert all(low <= high for low, high in ranges)


@given(st.sets(st.integers(-20, 20)))
def test_single_numbers_become_the_ranges_that_hold_exactly_them(single):
    ranges = of_numbers(single)

    assert list(numbers(ranges)) == sorted(single)
    assert ranges == merged(ranges)


@given(RANGES, RANGES)
def test_union_intersection_and_difference_are_those_of_sets(first, second):
    one, other = as_set(first), as_set(second)

    assert union(first, second) == of_numbers(one | other)
    assert intersection(first, second) == of_numbers(one & other)
    assert difference(first, second) == of_numbers(one - other)


@given(RANGES, st.integers(-25, 25))
def test_counting_and_holding_are_those_of_sets(ranges, number):
    assert count(ranges) == len(as_set(ranges))
    assert holds(ranges, number) == (number in as_set(ranges))


@given(RANGES, st.integers(-2, 60))
def test_the_first_numbers_are_the_smallest(ranges, most):
    assert list(numbers(first_numbers(ranges, most))) == sorted(as_set(ranges))[: max(0, most)]


def test_a_million_numbers_cost_what_their_gaps_cost():
    wide = ((0, 10**15),)

    assert count(difference(wide, ((5, 5),))) == 10**15
    assert intersection(wide, ((10**15, 10**16),)) == ((10**15, 10**15),)
