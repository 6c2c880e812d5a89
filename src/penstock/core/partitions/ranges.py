"""Sets of partitions as ranges of whole numbers: the cost depends on the number of gaps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

Range = tuple[int, int]
Ranges = tuple[Range, ...]
"""Closed ranges, ascending, separated by at least one number."""
WHOLE: Ranges = ((0, 0),)
"""The partition `*`: the only one of a table without partitions."""


def merged(ranges: Iterable[Range]) -> Ranges:
    """Merge closed ranges into the form of `Ranges`, without empty ones.

    >>> merged([(5, 6), (1, 2), (3, 3), (9, 8)])
    ((1, 3), (5, 6))
    """
    result: list[Range] = []
    for low, high in sorted(each for each in ranges if each[0] <= each[1]):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], high))
        else:
            result.append((low, high))
    return tuple(result)


def of_numbers(numbers: Iterable[int]) -> Ranges:
    """Return the ranges of single numbers."""
    return merged((number, number) for number in numbers)


def union(first: Ranges, second: Ranges) -> Ranges:
    """Return the numbers in either."""
    return merged((*first, *second)) if first and second else first or second


def intersection(first: Ranges, second: Ranges) -> Ranges:
    """Return the numbers in both."""
    result: list[Range] = []
    left = right = 0
    while left < len(first) and right < len(second):
        low = max(first[left][0], second[right][0])
        high = min(first[left][1], second[right][1])
        if low <= high:
            result.append((low, high))
        if first[left][1] < second[right][1]:
            left += 1
        else:
            right += 1
    return tuple(result)


def difference(first: Ranges, second: Ranges) -> Ranges:
    """Return the numbers of the first that are not in the second."""
    result: list[Range] = []
    for low, high in first:
        at = low
        for taken_low, taken_high in second[max(0, bisect_right(second, (low,)) - 1) :]:
            if taken_low > high:
                break
            if taken_high < at:
                continue
            if taken_low > at:
                result.append((at, taken_low - 1))
            at = taken_high + 1
        if at <= high:
            result.append((at, high))
    return tuple(result)


def count(ranges: Ranges) -> int:
    """Count the numbers."""
    return sum(high - low + 1 for low, high in ranges)


def holds(ranges: Ranges, number: int) -> bool:
    """Return whether a number is in one of the ranges."""
    at = bisect_right(ranges, (number, float("inf"))) - 1
    return at >= 0 and ranges[at][0] <= number <= ranges[at][1]


def numbers(ranges: Ranges) -> Iterator[int]:
    """Yield every number, ascending."""
    for low, high in ranges:
        yield from range(low, high + 1)


def first_numbers(ranges: Ranges, most: int) -> Ranges:
    """Return the `most` smallest numbers."""
    result: list[Range] = []
    for low, high in ranges:
        if most <= 0:
            break
        result.append((low, min(high, low + most - 1)))
        most -= high - low + 1
    return tuple(result)
