"""Days and times as whole numbers, in UTC and in any year: without the limits of `datetime`."""

from __future__ import annotations

import datetime as dt
import re

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
"""In microseconds; times count microseconds since 1970-01-01T00:00 UTC."""

_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]{1,9}))?"
    r" ?(?:(Z)|([+-])([0-9]{2}):?([0-9]{2}))?)?"
)


class NoSuchDayError(ValueError):
    """A part of a date is out of bounds; the text names the part, the bounds and the value."""


def day_number(year: int, month: int = 1, day: int = 1) -> int:
    """Return the number of days from 1970-01-01 to a Gregorian date.

    >>> day_number(1970, 1, 2), day_number(10000)
    (1, 2932897)
    """
    year -= month <= 2  # noqa: PLR2004  # years begin in March: the leap day comes last
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - 719_468


def civil(day: int) -> tuple[int, int, int]:
    """Return year, month and day of a day's number.

    >>> civil(-1)
    (1969, 12, 31)
    """
    era, day_of_era = divmod(day + 719_468, 146_097)  # 400 years from a first of March on
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    first = (153 * month + 2) // 5
    return (400 * era + year + month // 10, (month + 2) % 12 + 1, day_of_year - first + 1)


def day_within(year: int, month: int = 1, day: int = 1) -> int:
    """Return the same as `day_number`; raise `NoSuchDayError` outside the years 1 to 9999."""
    require("year", year, 1, 9999)
    require("month", month, 1, 12)
    length = day_number(year, month + 1) if month < 12 else day_number(year + 1)  # noqa: PLR2004  # December
    require("day", day, 1, length - day_number(year, month))
    return day_number(year, month, day)


def require(part: str, value: int, least: int, most: int) -> None:
    """Raise `NoSuchDayError` for a part of a date that is out of bounds."""
    if not least <= value <= most:
        raise NoSuchDayError(f"{part} must be {least} to {most}, got {value}")


def written_day(day: int) -> str:
    """Format a day's number as `2024-12-02`; years after 9999 have the sign that Spark needs."""
    year, month, of_month = civil(day)
    sign = "-" if year < 0 else "+" if year > 9999 else ""  # noqa: PLR2004  # four digits
    return f"{sign}{abs(year):04}-{month:02}-{of_month:02}"


def written_time(instant: int, *, digits: int = 6) -> str:
    """Format the time of day: `10:00:00.000000`, or without the fraction for 0 digits."""
    seconds, micros = divmod(instant % DAY, SECOND)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}.{micros:06}" if digits else clock


def instant(text: str) -> int | None:
    """Parse `2024-12-03 10:00:00.5`, ISO with `T`, `Z` or an offset, or a date; None if invalid.

    Text without an offset is UTC. Digits after the sixth are cut off.

    >>> instant("1970-01-01T01:00:00.5+01:00")
    500000
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    day, clock, fraction, _, sign, hours, minutes = match.groups()
    try:
        whole = dt.datetime.fromisoformat(f"{day} {clock or '00:00'}")
    except ValueError:  # the 30th of February
        return None
    since = whole - dt.datetime(1970, 1, 1)  # noqa: DTZ001  # both are UTC
    offset = (int(hours) * 60 + int(minutes)) * 60 * SECOND if sign else 0
    return (
        since // dt.timedelta(microseconds=1)
        + int((fraction or "").ljust(6, "0")[:6])
        - (-offset if sign == "-" else offset)
    )
