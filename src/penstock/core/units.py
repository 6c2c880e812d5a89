"""Calendar units on the line of positions: microseconds since 1970 in UTC, as whole numbers.

Nothing here overflows: the calendar goes on in both directions.
"""

from __future__ import annotations

from penstock.core.calendar import DAY, HOUR, SECOND, civil, day_number

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
"""Units of one length, in microseconds."""

MONTHS = {"month": 1, "quarter": 3, "year": 12}
"""The other units, in months."""


def floored(position: int, unit: str) -> int:
    """Give the beginning of the unit that holds a position; weeks begin on Monday."""
    size = SIZES.get(unit)
    if size is not None:
        return position - (position - (_MONDAY if unit == "week" else 0)) % size
    year, month, _ = civil(position // DAY)
    count = year * 12 + month - 1
    return day_number(*_month(count - count % MONTHS[unit]), 1) * DAY


def ceiled(position: int, unit: str) -> int:
    """Give the position itself if a unit begins there, else the beginning of the next one."""
    start = floored(position, unit)
    return start if start == position else following(start, unit)


def following(start: int, unit: str) -> int:
    """Give the beginning of the unit after the one that begins at `start`."""
    size = SIZES.get(unit)
    return start + size if size is not None else moved(start, MONTHS[unit], 0)


def moved(position: int, months: int, micros: int) -> int:
    """Move by months, to the last day of a month that is too short, then by microseconds."""
    if not months:
        return position + micros
    day, time = divmod(position, DAY)
    year, month, date = civil(day)
    year, month = _month(year * 12 + month - 1 + months)
    date = min(date, _length(year, month))
    return day_number(year, month, date) * DAY + time + micros


def last_day(position: int) -> int:
    """Give the beginning of the last day of the month that holds a position."""
    return moved(floored(position, "month"), 1, -DAY)


def _month(count: int) -> tuple[int, int]:
    year, month = divmod(count, 12)
    return year, month + 1


def _length(year: int, month: int) -> int:
    following_month = _month(year * 12 + month)
    return day_number(*following_month, 1) - day_number(year, month, 1)
