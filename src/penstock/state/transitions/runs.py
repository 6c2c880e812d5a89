"""Runs: neighbouring partitions with the same value, so that the cost depends on differences."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

from penstock.core.partitions.ranges import Range, Ranges, difference, merged

V = TypeVar("V")
T = TypeVar("T")
Runs = tuple[tuple[int, int, V], ...]
"""Closed ranges with their value, ascending; adjacent ranges have different values."""


def ranges_of(runs: Iterable[tuple[int, int, object]]) -> Ranges:
    """Return the numbers that have a value."""
    return merged((low, high) for low, high, _ in runs)


def spread(ranges: Ranges, value: V) -> Runs[V]:
    """Return the same value for all numbers."""
    return tuple((low, high, value) for low, high in ranges)


def cut(runs: Runs[V], ranges: Ranges) -> Runs[V]:
    """Return the values of some numbers.

    >>> cut(((1, 5, "a"), (6, 9, "b")), ((4, 6), (9, 12)))
    ((4, 5, 'a'), (6, 6, 'b'), (9, 9, 'b'))
    """
    result, first = [], 0
    for low, high, value in runs:
        while first < len(ranges) and ranges[first][1] < low:
            first += 1
        place = first
        while place < len(ranges) and ranges[place][0] <= high:
            result.append((max(low, ranges[place][0]), min(high, ranges[place][1]), value))
            place += 1
    return tuple(result)


def fill(runs: Runs[V], ranges: Ranges) -> tuple[tuple[int, int, V | None], ...]:
    """Return the values of some numbers, None for numbers without one."""
    known = cut(runs, ranges)
    gaps = [(low, high, None) for low, high in difference(ranges, ranges_of(known))]
    return tuple(sorted((*known, *gaps), key=_low))


def join_runs(runs: Iterable[tuple[int, int, V]]) -> Runs[V]:
    """Merge neighbours with the same value; no number may occur twice."""
    result: list[tuple[int, int, V]] = []
    for low, high, value in sorted(runs, key=_low):
        if result and low == result[-1][1] + 1 and result[-1][2] == value:
            result[-1] = (result[-1][0], high, value)
        else:
            result.append((low, high, value))
    return tuple(result)


def alter(runs: Runs[V], ranges: Ranges, change: Callable[[V | None], V | None]) -> Runs[V]:
    """Change the values of some numbers; None means no value, before and after.

    >>> alter(((1, 2, 7),), ((2, 3),), lambda known: (known or 0) + 1)
    ((1, 1, 7), (2, 2, 8), (3, 3, 1))
    """
    inside = ((low, high, change(value)) for low, high, value in fill(runs, ranges))
    reach: Ranges = ((runs[0][0], runs[-1][1]),) if runs else ()
    outside = cut(runs, difference(reach, ranges))
    return join_runs(
        (*outside, *((low, high, each) for low, high, each in inside if each is not None))
    )


def overlay(runs: Runs[V], over: Runs[T], change: Callable[[V | None, T], V]) -> Runs[V]:
    """Change values where there is another run over them."""
    result: list[tuple[int, int, V]] = []
    for low, high, known, new in compare_runs(runs, over):
        if new is not None:
            result.append((low, high, change(known, new)))
        elif known is not None:
            result.append((low, high, known))
    return join_runs(result)


def newest(pieces: Iterable[tuple[int, Range, V]]) -> Runs[V]:
    """Return, for overlapping runs, the one with the greatest rank; of equal ranks the last one.

    >>> newest([(1, (1, 9), "old"), (2, (3, 4), "new")])
    ((1, 2, 'old'), (3, 4, 'new'), (5, 9, 'old'))
    """
    waiting = sorted(
        ((bounds, (-rank, -order), value) for order, (rank, bounds, value) in enumerate(pieces)),
        key=lambda piece: piece[:2],
    )
    ends = sorted({end for (low, high), _, _ in waiting for end in (low, high + 1)})
    result: list[tuple[int, int, V]] = []
    live: list[tuple[tuple[int, int], int, V]] = []
    place = 0
    for start, stop in pairwise(ends):
        while place < len(waiting) and waiting[place][0][0] <= start:
            (_, high), rank_and_order, value = waiting[place]
            heapq.heappush(live, (rank_and_order, high, value))
            place += 1
        while live and live[0][1] < start:
            heapq.heappop(live)
        if live:
            result.append((start, stop - 1, live[0][2]))
    return join_runs(result)


def compare_runs(old: Runs[V], new: Runs[T]) -> Iterator[tuple[int, int, V | None, T | None]]:
    """Yield the old and the new value, run by run.

    >>> list(compare_runs(((1, 2, "a"),), ((2, 3, "b"),)))
    [(1, 1, 'a', None), (2, 2, 'a', 'b'), (3, 3, None, 'b')]
    """
    ends = sorted({end for low, high, _ in (*old, *new) for end in (low, high + 1)})
    before, after = 0, 0
    for start, stop in pairwise(ends):
        while before < len(old) and old[before][1] < start:
            before += 1
        while after < len(new) and new[after][1] < start:
            after += 1
        was = old[before][2] if before < len(old) and old[before][0] <= start else None
        is_now = new[after][2] if after < len(new) and new[after][0] <= start else None
        if was is not None or is_now is not None:
            yield start, stop - 1, was, is_now


def _low(run: tuple[int, int, object]) -> int:
    return run[0]
