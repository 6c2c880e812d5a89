"""How single values read: sizes, durations, times, counts of rows."""

from __future__ import annotations

import datetime as dt

from penstock.core.step import RowCounts
from penstock.ui.text_table import count

_UNIT = 1000
_MINUTE = 60
_AGO = ((86400, "day"), (3600, "hour"), (_MINUTE, "minute"))
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(size_bytes: int) -> str:
    """Give a size in decimal units.

    >>> size(999), size(12_345), size(3_000_000_000)
    ('999 B', '12.3 kB', '3.0 GB')
    """
    value, unit = float(size_bytes), 0
    while value >= _UNIT and unit < len(_UNITS) - 1:
        value, unit = value / _UNIT, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size_bytes} B"


def seconds(number: float) -> str:
    """Give a duration.

    >>> seconds(2.14), seconds(75.2)
    ('2.1 s', '1 min 15 s')
    """
    if number < _MINUTE:
        return f"{number:.1f} s"
    minutes, rest = divmod(round(number), _MINUTE)
    return f"{minutes} min {rest} s"


def moment(at: dt.datetime | None) -> str:
    """Give a time to the second, UTC, as tables show it; "-" for none."""
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}" if at else "-"


def day(at: dt.datetime | None) -> str:
    """Give the day of a time, UTC; "-" for none."""
    return f"{at.astimezone(dt.UTC):%Y-%m-%d}" if at else "-"


def ago(then: dt.datetime, now: dt.datetime) -> str:
    """Say how long a time is past, in its greatest whole unit.

    >>> noon = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
    >>> ago(noon - dt.timedelta(hours=2, minutes=59), noon), ago(noon, noon)
    ('2 hours ago', 'just now')
    """
    past = (now - then).total_seconds()
    for length, word in _AGO:
        if past >= length:
            return f"{count(int(past // length), word)} ago"
    return "just now"


def row_counts(rows: RowCounts) -> str:
    """Say what a step wrote.

    >>> row_counts(RowCounts(inserted=3)), row_counts(RowCounts(inserted=1, updated=2, late=4))
    ('3 rows', '1 inserted, 2 updated, 4 late')
    """
    if not (rows.updated or rows.deleted):
        parts = [count(rows.inserted, "row")]
    else:
        named = (("inserted", rows.inserted), ("updated", rows.updated), ("deleted", rows.deleted))
        parts = [f"{number:,} {word}" for word, number in named if number]
    parts += [f"{rows.late:,} late"] if rows.late else []
    parts += [f"{rows.null_time:,} without a time"] if rows.null_time else []
    return ", ".join(parts)
