"""Ranges of whole numbers do what sets do."""

from itertools import pairwise

import pytest
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


@pytest.mark.parametrize(
    ("second", "both", "left"),
    [
        ((), (), ((5, 9), (20, 25))),
        (((1, 2),), (), ((5, 9), (20, 25))),
        (((1, 5),), ((5, 5),), ((6, 9), (20, 25))),
        (((7, 7),), ((7, 7),), ((5, 6), (8, 9), (20, 25))),
        (((6, 7), (9, 20)), ((6, 7), (9, 9), (20, 20)), ((5, 5), (8, 8), (21, 25))),
        (((5, 9),), ((5, 9),), ((20, 25),)),
        (((25, 30),), ((25, 25),), ((5, 9), (20, 24))),
        (((0, 99),), ((5, 9), (20, 25)), ()),
    ],
)
def test_numbers_are_in_both_or_left(second, both, left):
    first = ((5, 9), (20, 25))

    assert (intersection(first, second), intersection(second, first)) == (both, both)
    assert difference(first, second) == left


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0, ()), (1, ((5, 5),)), (5, ((5, 9),)), (6, ((5, 9), (20, 20))), (99, ((5, 9), (20, 25)))],
)
def test_of_several_ranges_the_smallest_numbers_are_taken(most, expected):
    assert first_numbers(((5, 9), (20, 25)), most) == expected


def test_a_number_is_held_at_both_ends_of_a_range():
    held = [number for number in range(4, 28) if holds(((5, 9), (20, 25)), number)]

    assert held == [5, 6, 7, 8, 9, 20, 21, 22, 23, 24, 25]
    assert not holds((), 0)


def test_ranges_that_touch_become_one_and_others_stay_apart():
    assert merged([(7, 9), (1, 2), (3, 3), (5, 5), (9, 8)]) == ((1, 3), (5, 5), (7, 9))
    assert merged([(1, 9), (2, 3)]) == ((1, 9),)
    assert (union(((1, 2),), ()), union((), ((1, 2),))) == (((1, 2),), ((1, 2),))
    assert union(((1, 2),), ((3, 4),)) == ((1, 4),)
