"""Durations as users write them: `90m`, `36h`, `2 days`, ISO-8601."""

from __future__ import annotations

import datetime as dt
import re

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONG = {
    "millisecond": "ms",
    "sec": "s",
    "second": "s",
    "min": "m",
    "minute": "m",
    "hour": "h",
    "hr": "h",
    "day": "d",
    "week": "w",
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_PARTS = re.compile(rf"(?:\s*{_PART.pattern}\s*)+")
_ISO = re.compile(
    r"P(?:(?P<w>\d+(?:\.\d+)?)W)?(?:(?P<d>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<h>\d+(?:\.\d+)?)H)?(?:(?P<m>\d+(?:\.\d+)?)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)


def parse_duration(text: str) -> dt.timedelta:
    """Read a duration; raise `ValueError` for anything else, months and years included.

    >>> parse_duration("1h 30m")
    datetime.timedelta(seconds=5400)
    >>> parse_duration("P1DT12H")
    datetime.timedelta(days=1, seconds=43200)
    """
    trimmed = text.strip()
    found = _ISO.fullmatch(trimmed.upper())
    if found and any(found.groupdict().values()):
        return _total({unit: amount for unit, amount in found.groupdict().items() if amount})
    if not _PARTS.fullmatch(trimmed.lower()):
        raise ValueError(f"{text!r} is not a duration")
    amounts: dict[str, str] = {}
    for amount, word in _PART.findall(trimmed.lower()):
        unit = _unit(word)
        if not unit or unit in amounts:
            raise ValueError(f"{text!r} is not a duration")
        amounts[unit] = amount
    return _total(amounts)


def _unit(word: str) -> str:
    if word in _SECONDS:
        return word
    return _LONG.get(word.removesuffix("s"), "")


def _total(amounts: dict[str, str]) -> dt.timedelta:
    try:
        return dt.timedelta(seconds=sum(float(n) * _SECONDS[u] for u, n in amounts.items()))
    except OverflowError as error:
        raise ValueError("the duration is too long") from error
