"""Mappings: which range of an input one partition reads (spec/drift.md §6)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import assert_never

from penstock.core.partitions.bounds import (
    At,
    Bound,
    Evaluation,
    ceiled,
    evaluation,
    floored,
)
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid, Span
from penstock.core.partitions.ranges import Ranges, merged, numbers, of_numbers


@dataclass(frozen=True, slots=True)
class Everything:
    """All of the input."""


@dataclass(frozen=True, slots=True)
class Same:
    """The bounds of the partition itself."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The whole calendar units that overlap the partition."""

    unit: str


@dataclass(frozen=True, slots=True)
class Trailing:
    """The last partitions of the input that end with the one that holds the partition's end."""

    count: int


@dataclass(frozen=True, slots=True)
class ByGrain:
    """The input's partitions that overlap the partition."""


@dataclass(frozen=True, slots=True)
class Computed:
    """What the SQL says: the union of ranges, each with bounds that are None where it is open.

    `column` is the column of the input that the bounds are about.
    """

    column: str
    ranges: tuple[tuple[Bound | None, Bound | None], ...]


RangeMapping = Everything | Same | Calendar | Trailing | ByGrain | Computed

Reading = Callable[[Span], tuple[Span, ...]]
"""Gives what a partition reads for the bounds of the partition."""

_WHOLE: Span = (FIRST, LAST)


def spans(mapping: RangeMapping, span: Span, grid: Grid) -> tuple[Span, ...]:
    """Give what a partition reads of an input, as positions; () if it reads nothing.

    `span` are the partition's bounds, `grid` the input's (`*` for one without partitions). The
    spans rise and are apart. Only `Computed` says less than everything of an input that is `*`.
    """
    return reading(mapping, grid)(span)


def reading(mapping: RangeMapping, grid: Grid) -> Reading:
    """Compile `spans` for one mapping, for many partitions."""
    match mapping:
        case Computed(_, ranges):
            found = _computed(ranges)
        case Everything():
            return lambda _: (_WHOLE,)
        case _ if grid.grain is Grain.WHOLE:
            return lambda _: (_WHOLE,)
        case Same():
            return lambda span: (span,)
        case Calendar(unit):
            found = _calendar(unit)
        case Trailing(count):
            found = _trailing(count, grid)
        case ByGrain():
            found = _by_grain(grid)
        case _ as never:
            assert_never(never)
    return lambda span: (_WHOLE,) if span == _WHOLE else found(span)


def downstream(
    mapping: RangeMapping,
    grid_below: Grid,
    candidates: Ranges,
    changed: tuple[Span, ...],
    grid_input: Grid,
) -> Ranges:
    """Give the candidates among the partitions below whose spans overlap any changed one.

    `changed` are positions of the input, rising and apart.
    """
    if not changed or not candidates:
        return ()
    if isinstance(mapping, Everything):
        return candidates
    read = reading(mapping, grid_input)
    starts = [low for low, _ in changed]
    lower, upper = grid_below.lower, grid_below.upper

    def is_hit(number: int) -> bool:
        for low, high in read((lower(number), upper(number))):
            at = bisect_right(starts, high - 1) - 1
            if at >= 0 and changed[at][1] > low:
                return True
        return False

    return of_numbers(number for number in numbers(candidates) if is_hit(number))


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Bring half-open spans into order, those that meet into one.

    >>> joined([(5, 6), (1, 3), (3, 4)])
    ((1, 4), (5, 6))
    """
    return tuple((low, high + 1) for low, high in merged((low, high - 1) for low, high in spans))


def _calendar(unit: str) -> Reading:
    return lambda span: ((floored(span[0], unit), ceiled(span[1], unit)),)


def _trailing(count: int, grid: Grid) -> Reading:
    def found(span: Span) -> tuple[Span, ...]:
        last = grid.at(span[1] - 1)
        return ((grid.lower(last - count + 1), grid.upper(last)),)

    return found


def _by_grain(grid: Grid) -> Reading:
    return lambda span: ((grid.lower(grid.at(span[0])), grid.upper(grid.at(span[1] - 1))),)


def _computed(ranges: tuple[tuple[Bound | None, Bound | None], ...]) -> Reading:
    parts: list[tuple[Evaluation, Evaluation]] = [
        (evaluation(low or At(FIRST)), evaluation(high or At(LAST))) for low, high in ranges
    ]
    if len(parts) == 1:
        first, last = parts[0]

        def single(span: Span) -> tuple[Span, ...]:
            low, high = first(*span), last(*span)
            return ((low, high),) if low < high else ()

        return single

    return lambda span: joined((low(*span), high(*span)) for low, high in parts)
