"""Mappings: which range of an input one partition reads, by its bounds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import assert_never

from penstock.core.partitions.calendar import DAY, HOUR, SECOND, civil, day_number
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid, Span
from penstock.core.partitions.ranges import Ranges, merged, numbers, of_numbers

_MONDAY = 4 * DAY  # 1970-01-05

SIZES = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": HOUR,
    "day": DAY,
    "week": 7 * DAY,
}
"""Units of fixed length, in microseconds."""

MONTHS = {"month": 1, "quarter": 3, "year": 12}
"""The other units, in months."""


def floored(position: int, unit: str) -> int:
    """Return the beginning of the unit that contains a position; weeks begin on Monday."""
    size = SIZES.get(unit)
    if size is not None:
        return position - (position - (_MONDAY if unit == "week" else 0)) % size
    year, month, _ = civil(position // DAY)
    count = year * 12 + month - 1
    return day_number(*_month(count - count % MONTHS[unit]), 1) * DAY


def ceiled(position: int, unit: str) -> int:
    """Return the position itself if a unit begins there, otherwise the next beginning."""
    start = floored(position, unit)
    return start if start == position else following(start, unit)


def following(start: int, unit: str) -> int:
    """Return the beginning of the unit after the one that begins at `start`."""
    size = SIZES.get(unit)
    return start + size if size is not None else moved(start, MONTHS[unit], 0)


def moved(position: int, months: int, micros: int) -> int:
    """Move by months, limited to the last day of the month, then by microseconds."""
    if not months:
        return position + micros
    day, time = divmod(position, DAY)
    year, month, date = civil(day)
    year, month = _month(year * 12 + month - 1 + months)
    date = min(date, day_number(*_month(year * 12 + month), 1) - day_number(year, month, 1))
    return day_number(year, month, date) * DAY + time + micros


def last_day(position: int) -> int:
    """Return the beginning of the last day of the month of a position."""
    return moved(floored(position, "month"), 1, -DAY)


def _month(count: int) -> tuple[int, int]:
    year, month = divmod(count, 12)
    return year, month + 1


@dataclass(frozen=True, slots=True)
class Lower:
    """The lower bound of the partition: `@partition_date`, `@start_date`."""


@dataclass(frozen=True, slots=True)
class Upper:
    """Its upper bound, exclusive: `@end_date`."""


@dataclass(frozen=True, slots=True)
class At:
    """A fixed position."""

    position: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A position moved by months, then by microseconds."""

    of: Bound
    months: int = 0
    micros: int = 0


@dataclass(frozen=True, slots=True)
class Floored:
    """The beginning of the calendar unit of a position; weeks begin on Monday."""

    of: Bound
    unit: str


@dataclass(frozen=True, slots=True)
class Ceiled:
    """The position itself if a unit begins there, otherwise the beginning of the next unit."""

    of: Bound
    unit: str


@dataclass(frozen=True, slots=True)
class LastDay:
    """The last day of the month of a position."""

    of: Bound


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest of several."""

    of: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Greatest:
    """The greatest of several."""

    of: tuple[Bound, ...]


Bound = Lower | Upper | At | Moved | Floored | Ceiled | LastDay | Least | Greatest

Evaluation = Callable[[int, int], int]
"""Returns a position for the lower and the upper bound of a partition."""


def evaluation(bound: Bound) -> Evaluation:
    """Compile a bound, so that it is fast for a million partitions.

    >>> evaluation(Moved(Lower(), micros=-6))(10, 20)
    4
    """
    match bound:
        case Lower():
            return lambda low, _: low
        case Upper():
            return lambda _, high: high
        case At(position):
            return lambda _low, _high: position
        case Moved(of, months, micros):
            return _moved(evaluation(of), months, micros)
        case Floored(of, unit):
            inner = evaluation(of)
            return lambda low, high: floored(inner(low, high), unit)
        case Ceiled(of, unit):
            inner = evaluation(of)
            return lambda low, high: ceiled(inner(low, high), unit)
        case LastDay(of):
            inner = evaluation(of)
            return lambda low, high: last_day(inner(low, high))
        case Least(several):
            parts = [evaluation(each) for each in several]
            return lambda low, high: min(part(low, high) for part in parts)
        case Greatest(several):
            parts = [evaluation(each) for each in several]
            return lambda low, high: max(part(low, high) for part in parts)
        case _ as never:
            assert_never(never)


def _moved(inner: Evaluation, months: int, micros: int) -> Evaluation:
    if not months:
        return lambda low, high: inner(low, high) + micros
    return lambda low, high: moved(inner(low, high), months, micros)


@dataclass(frozen=True, slots=True)
class Everything:
    """The whole input."""


@dataclass(frozen=True, slots=True)
class Same:
    """The bounds of the partition itself."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The whole calendar units that overlap the partition."""

    unit: str


@dataclass(frozen=True, slots=True)
class Trailing:
    """The last partitions of the input up to the one that contains the partition's end."""

    count: int


@dataclass(frozen=True, slots=True)
class ByGrain:
    """The input's partitions that overlap the partition."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A range computed from SQL: the union of ranges, each with bounds, None for an open end.

    `column` is the column of the input that the bounds apply to.
    """

    column: str
    ranges: tuple[tuple[Bound | None, Bound | None], ...]


RangeMapping = Everything | Same | Calendar | Trailing | ByGrain | Computed

Reading = Callable[[Span], tuple[Span, ...]]
"""Returns what a partition reads for its bounds."""

_WHOLE: Span = (FIRST, LAST)


def spans(mapping: RangeMapping, span: Span, grid: Grid) -> tuple[Span, ...]:
    """Return what a partition reads of an input, as positions; () if it reads nothing.

    `span` are the partition's bounds, `grid` is that of the input (`*` for one without partitions).
    The spans are ascending and disjoint. For an input `*`, only `Computed` returns less than
    everything.
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
    """Return the downstream candidates whose spans overlap a changed one.

    `changed` are positions of the input, ascending and disjoint.
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
    """Sort half-open spans and merge adjacent ones.

    >>> joined([(5, 6), (1, 3), (3, 4)])
    ((1, 4), (5, 6))
    """
    return tuple((low, high + 1) for low, high in merged((low, high - 1) for low, high in spans))


def _calendar(unit: str) -> Reading:
    return lambda span: ((floored(span[0], unit), ceiled(span[1], unit)),)


def _trailing(count: int, grid: Grid) -> Reading:
    def reading(span: Span) -> tuple[Span, ...]:
        last = grid.at(span[1] - 1)
        return ((grid.lower(last - count + 1), grid.upper(last)),)

    return reading


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
