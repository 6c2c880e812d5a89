"""Grains: how a model's rows are partitioned, and the arithmetic of partition keys."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.errors import UsageError
from penstock.core.findings import some
from penstock.core.partitions import calendar
from penstock.core.partitions.ranges import Range, Ranges, intersection, merged

FIRST, LAST = -(2**62), 2**62
"""Positions before and after every value."""

Span = tuple[int, int]
"""Positions from the first up to, but excluding, the second."""


class Grain(StrEnum):
    """The kind of partition of a model; `*` is the whole table."""

    HOUR = "HOUR"
    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"
    YEAR = "YEAR"
    RANGE = "RANGE"
    WHOLE = "*"


_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_FORMS: Mapping[Grain, tuple[str, str]] = {
    Grain.HOUR: (_DATE + "[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2}))?)?", "YYYY-MM-DDTHH"),
    Grain.DAY: (_DATE, "YYYY-MM-DD"),
    Grain.WEEK: (_DATE + "|([0-9]{4})-W([0-9]{2})", "YYYY-MM-DD"),
    Grain.MONTH: ("([0-9]{4})-([0-9]{1,2})", "YYYY-MM"),
    Grain.YEAR: ("([0-9]{1,9})", "YYYY"),
    Grain.RANGE: ("(-?[0-9]{1,40})", "an integer"),
    Grain.WHOLE: (r"\*", "*"),
}
"""The accepted pattern, and the form that messages suggest."""

_EVEN: Mapping[Grain, tuple[int, int]] = {
    Grain.HOUR: (calendar.HOUR, 0),
    Grain.DAY: (calendar.DAY, 0),
    Grain.WEEK: (7 * calendar.DAY, 4 * calendar.DAY),  # from Monday, 1970-01-05
}
"""Length and first position of the grains with partitions of equal length."""

_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Grid:
    """The partitions of a model as whole numbers, neighbours differing by 1.

    `start`, `end` and `interval` are those of RANGE. A position is a value of the partition field
    as a number: microseconds since 1970 in UTC, or the integer itself for RANGE. Arithmetic also
    works outside `domain`; only keys that are parsed must be inside.
    """

    grain: Grain = Grain.WHOLE
    start: int = 0
    end: int = 0
    interval: int = 0
    is_whole: bool = field(init=False, repr=False, compare=False)
    _even: tuple[int, int] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute whether it is `*`, and whether all partitions have the same length."""
        object.__setattr__(self, "is_whole", self.grain is Grain.WHOLE)
        object.__setattr__(self, "_even", _EVEN.get(self.grain))

    @property
    def domain(self) -> Range:
        """The first and the last possible partition: the years 1 to 9999 for time."""
        if self.grain is Grain.WHOLE:
            return 0, 0
        if self.grain is Grain.RANGE:
            return 0, (self.end - self.start - 1) // self.interval
        first, end = calendar.day_number(1), calendar.day_number(10_000)
        return self.at(first * calendar.DAY), self.at(end * calendar.DAY - 1)

    @property
    def last_number(self) -> int:
        """The last partition; raises `ValueError` for time, which has none."""
        if self.grain not in (Grain.RANGE, Grain.WHOLE):
            raise ValueError(f"{self.grain} has no last partition")
        return self.domain[1]

    def parse(self, text: str) -> int:
        """Parse a key; raise `UsageError` `invalid-partition`."""
        form, expected = _FORMS[self.grain]
        match = re.fullmatch(form, text)
        if match is None:
            raise self._refusal(text)
        parts = tuple(int(part) for part in match.groups() if part)
        try:
            match self.grain:
                case Grain.WHOLE:
                    return 0
                case Grain.RANGE:
                    return self._starting_at(text, *parts)
                case Grain.HOUR:
                    return _hour(*parts)
                case Grain.WEEK:
                    return self._week(text, *parts)
                case Grain.DAY | Grain.MONTH | Grain.YEAR:
                    return self.at(calendar.day_within(*parts) * calendar.DAY)
        except calendar.NoSuchDayError as error:
            raise self._refusal(text, f"{error}. Expected {expected}.") from None

    def bound(self, text: str, *, last: bool) -> int:
        """Parse `--from` or (`last`) `--to`: a key, or a date that the partition overlaps.

        For HOUR a date means its first or last hour, for RANGE an integer means the partition that
        contains it. For `*` any valid bound gives 0. Raises the same errors as `parse`.
        """
        if self.grain is Grain.WHOLE:
            if any(re.fullmatch(form, text) for form, _ in _FORMS.values()):
                return 0
            raise self._refusal(text)
        if self.grain is Grain.RANGE:
            if not re.fullmatch(_FORMS[Grain.RANGE][0], text):
                raise self._refusal(text)
            return self._holding(text, int(text))
        date = re.fullmatch(_DATE, text)
        if date is None:
            return self.parse(text)
        try:
            day = calendar.day_within(*(int(part) for part in date.groups()))
        except calendar.NoSuchDayError as error:
            raise self._refusal(text, f"{error}. Expected {_FORMS[self.grain][1]}.") from None
        return self.at((day + last) * calendar.DAY - last)

    def key(self, number: int) -> str:
        """Return the key of a partition."""
        if self.grain is Grain.WHOLE:
            return "*"
        lower = self.lower(number)
        if self.grain is Grain.RANGE:
            return str(lower)
        day, rest = divmod(lower, calendar.DAY)
        date = calendar.written_day(day)
        match self.grain:
            case Grain.HOUR:
                return f"{date}T{rest // calendar.HOUR:02}"
            case Grain.DAY | Grain.WEEK:
                return date
            case Grain.MONTH:
                return date[:-3]
            case Grain.YEAR:
                return date[:-6]

    def lower(self, number: int) -> int:
        """Return the first position of a partition."""
        if self._even is not None:  # asked for again and again
            return self._even[1] + number * self._even[0]
        match self.grain:
            case Grain.WHOLE:
                return FIRST
            case Grain.RANGE:
                return self.start + number * self.interval
            case Grain.MONTH:
                return calendar.day_number(number // 12, number % 12 + 1) * calendar.DAY
            case _:
                return calendar.day_number(number) * calendar.DAY

    def upper(self, number: int) -> int:
        """Return the position after its last one."""
        if self.is_whole:
            return LAST
        upper = self.lower(number + 1)
        return min(upper, self.end) if self.grain is Grain.RANGE else upper

    def span(self, number: int) -> Span:
        """Return its positions."""
        return self.lower(number), self.upper(number)

    def at(self, position: int) -> int:
        """Return the partition that contains a position."""
        if self._even is not None:
            return (position - self._even[1]) // self._even[0]
        match self.grain:
            case Grain.WHOLE:
                return 0
            case Grain.RANGE:
                return (position - self.start) // self.interval
            case _:
                year, month, _ = calendar.civil(position // calendar.DAY)
                return year if self.grain is Grain.YEAR else 12 * year + month - 1

    def holding(self, first: dt.date, last: dt.date) -> Range:
        """Return the partitions that overlap the days from `first` to `last`, both inclusive.

        Raises `ValueError` for RANGE. If the last day is before the first, the range is empty.
        """
        if self.grain is Grain.RANGE:
            raise ValueError("RANGE partitions hold no days")
        low, high = (
            calendar.day_number(each.year, each.month, each.day) * calendar.DAY
            for each in (first, last)
        )
        number = self.at(low)
        return (number, self.at(high + calendar.DAY - 1)) if low <= high else (number, number - 1)

    def date(self, number: int) -> dt.date:
        """Return the UTC date of its lower bound; raises `ValueError` for RANGE and `*`."""
        if self.grain in (Grain.RANGE, Grain.WHOLE):
            raise ValueError(f"{self.grain} partitions have no date")
        return dt.date(*calendar.civil(self.lower(number) // calendar.DAY))

    def _refusal(self, text: str, why: str = "") -> UsageError:
        """Return the error; `why` ends with the accepted form."""
        article = "an" if self.grain is Grain.HOUR else "a"
        rest = f": {why}" if why else f". Expected {_FORMS[self.grain][1]}."
        sentence = f"{text!r} is not {article} {self.grain} partition{rest}"
        return UsageError("invalid-partition", sentence)

    def _holding(self, text: str, value: int) -> int:
        """Return the RANGE partition that contains an integer."""
        if not self.start <= value < self.end:
            raise self._refusal(text, f"the range is {self.start} to {self.end}, end excluded.")
        return self.at(value)

    def _starting_at(self, text: str, value: int) -> int:
        """Return the RANGE partition that starts at an integer."""
        number = self._holding(text, value)
        if self.lower(number) != value:
            first = self.lower(number)
            raise self._refusal(text, f"it lies inside the one that starts at {first}.")
        return number

    def _week(self, text: str, *parts: int) -> int:
        """Return the week of a Monday, or of a year and an ISO week number."""
        if len(parts) == 2:  # noqa: PLR2004  # year and week
            year, week = parts
            fourth = calendar.day_within(year, 1, 4)  # always in the first week
            first = self.at(fourth * calendar.DAY)
            following = self.at(calendar.day_number(year + 1, 1, 4) * calendar.DAY)
            calendar.require("week", week, 1, following - first)
            return first + week - 1
        day = calendar.day_within(*parts)
        number = self.at(day * calendar.DAY)
        if self.lower(number) != day * calendar.DAY:
            name = _WEEKDAYS[dt.date(*parts).weekday()]
            raise self._refusal(text, f"it is a {name}. Did you mean {self.key(number)}?")
        return number


def overlapping(grid: Grid, spans: tuple[Span, ...]) -> Ranges:
    """Return the possible partitions that overlap any of the spans."""
    first, last = grid.domain
    least, most = grid.lower(first), grid.upper(last)
    cut = ((max(low, least), min(high, most)) for low, high in spans)
    found = merged((grid.at(low), grid.at(high - 1)) for low, high in cut if low < high)
    return intersection(found, ((first, last),))


def write_grid(grid: Grid) -> str:
    """Format a grid as one word: `DAY`, `RANGE(0,300,100)`, `*`."""
    if grid.grain is Grain.RANGE:
        return f"RANGE({grid.start},{grid.end},{grid.interval})"
    return grid.grain.value


def read_grid(text: str) -> Grid:
    """Parse the result of `write_grid`; raise `ValueError` for anything else."""
    match = re.fullmatch(r"RANGE\((-?[0-9]+),(-?[0-9]+),([0-9]+)\)", text)
    if match is None:
        return Grid(Grain(text))
    start, end, interval = (int(part) for part in match.groups())
    return Grid(Grain.RANGE, start, end, interval)


def write_ranges(grid: Grid, ranges: Ranges) -> tuple[str, ...]:
    """Format partitions as keys and ranges of keys: `2024-01-01..2024-01-31`."""
    return tuple(
        grid.key(low) if low == high else f"{grid.key(low)}..{grid.key(high)}"
        for low, high in ranges
    )


def key_pairs(grid: Grid, ranges: Ranges) -> tuple[tuple[str, str], ...]:
    """Return ranges of partitions as their first and last keys."""
    return tuple((grid.key(low), grid.key(high)) for low, high in ranges)


def shown_ranges(grid: Grid, ranges: Ranges, most: int = 5) -> str:
    """Format partitions for display, "" for a whole table.

    >>> shown_ranges(Grid(Grain.YEAR), ((2001, 2003), (2007, 2007), (2009, 2009)), most=2)
    '2001 to 2003, 2007 and 1 more'
    """
    if grid.grain is Grain.WHOLE:
        return ""
    keys = (low if low == high else f"{low} to {high}" for low, high in key_pairs(grid, ranges))
    return some([*keys], most)


def read_ranges(grid: Grid, texts: tuple[str, ...]) -> Ranges:
    """Parse the result of `write_ranges`."""
    pairs = (text.partition("..") for text in texts)
    return merged((grid.parse(low), grid.parse(high or low)) for low, _, high in pairs)


def has_positions(kind: str, grain: Grain) -> bool:
    """Return whether values of a Spark type have positions for a grain.

    Integers are not times for time grains, and times are not integers for RANGE.

    >>> has_positions("bigint", Grain.DAY), has_positions("bigint", Grain.RANGE)
    (False, True)
    """
    return grain is Grain.WHOLE or (kind in _INTEGERS) == (grain is Grain.RANGE)


def position(text: str, kind: str) -> int | None:
    """Return the position of a value from Delta's log; None if it cannot be parsed.

    `kind` is the column's Spark type. Timestamps without an offset are UTC.

    >>> position("1970-01-02", "date"), position("-7", "int"), position("x", "string")
    (86400000000, -7, None)
    """
    if kind in _INTEGERS:
        return int(text) if re.fullmatch("-?[0-9]{1,19}", text) else None
    if kind in {"date", "timestamp", "timestamp_ntz"}:
        return calendar.instant(text)
    return None


def literal_at(place: int, kind: str) -> str:
    """Return SQL for a position as a value of a Spark type: `DATE '2024-12-02'`.

    For a position inside a day, a DATE is the next day: `<` and `>=` then select the same rows as
    with the exact time. Raises `ValueError` for types that no partition field has.

    >>> literal_at(0, "timestamp"), literal_at(-100, "int")
    ("TIMESTAMP '1970-01-01T00:00:00.000000Z'", '(-100)')
    """
    if kind in _INTEGERS:
        return str(place) if place >= 0 else f"({place})"
    day = calendar.written_day(place // calendar.DAY)
    match kind:
        case "date":
            return f"DATE '{calendar.written_day(-(-place // calendar.DAY))}'"
        case "timestamp":
            return f"TIMESTAMP '{day}T{calendar.written_time(place)}Z'"
        case "timestamp_ntz":
            digits = 6 if place % calendar.SECOND else 0
            return f"TIMESTAMP_NTZ '{day} {calendar.written_time(place, digits=digits)}'"
        case _:
            raise ValueError(f"{kind} is not a type of a partition field")


def _hour(year: int, month: int, day: int, hour: int, *past: int) -> int:
    """Return the hours since 1970 at the start of an hour; `past` are its minutes and seconds."""
    days = calendar.day_within(year, month, day)
    calendar.require("hour", hour, 0, 23)
    for part, value in zip(("minutes", "seconds"), past, strict=False):
        if value:
            raise calendar.NoSuchDayError(f"{part} must be 00")
    return 24 * days + hour
