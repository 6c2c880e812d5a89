"""Words in an entity's SQL: those for the current time, and the items of projections."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

_WORDS = re.compile(
    r"(?P<skipped>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/)"
    r"|`(?P<quoted>(?:[^`]|``)*)`"
    r"|(?P<dot>\.\s*)?(?P<word>[A-Za-z_]\w*)(?:(?P<call>\s*\()(?P<empty>\s*\))?)?"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_BARE = frozenset({"current_timestamp", "current_date", "localtimestamp"})
"""Functions that SQL also accepts without parentheses."""


def at_time(expression: str, moment: dt.datetime) -> str:
    """Replace the current time in an expression by the processing time.

    >>> at_time("year(current_date())", dt.datetime(2024, 2, 29, 23, 30, tzinfo=dt.UTC))
    "year(DATE '2024-02-29')"
    """
    utc = moment.astimezone(dt.UTC)
    at = utc.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    values = {
        **dict.fromkeys(("current_timestamp", "now"), instant_literal(moment)),
        **dict.fromkeys(("current_date", "curdate"), f"DATE '{utc.date().isoformat()}'"),
        "localtimestamp": f"TIMESTAMP_NTZ '{at}'",
    }

    def replaced(match: re.Match[str]) -> str:
        word = _called_function(match)
        if word not in values or (match["call"] and not match["empty"]):
            return match[0]
        return values[word]

    return _WORDS.sub(replaced, expression)


def instant_literal(moment: dt.datetime) -> str:
    """Return a time as a literal with the same value in every session time zone."""
    return f"TIMESTAMP '{moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?")


def read_moment(text: str, zone: str) -> dt.datetime | None:
    """Parse a processing time; None if it is invalid. Without an offset it is local to the zone.

    A time that a zone skips moves forward by the gap, of two possible times the earlier counts.

    >>> read_moment("2025-03-30T02:30:00", "Europe/Amsterdam").isoformat()
    '2025-03-30T01:30:00+00:00'
    """
    try:
        found = dt.datetime.fromisoformat(text) if _TIME.fullmatch(text) else None
        if found is not None and found.tzinfo is None:
            from zoneinfo import ZoneInfo  # it is looked for on disk

            found = found.replace(tzinfo=ZoneInfo(zone))
        return found and found.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def _called_function(match: re.Match[str]) -> str:
    """Return the function that a word calls, "" if it is not a call."""
    word = (match["word"] or "").lower()
    return word if word and not match["dot"] and (match["call"] or word in _BARE) else ""


def split_alias(item: str) -> tuple[str, str]:
    """Return name and expression of an item of a projection; "" if only Spark knows the name.

    >>> split_alias("upper(name) AS `Name`"), split_alias("t.id"), split_alias("*")
    (('Name', 'upper(name) '), ('id', 't.id'), ('', '*'))
    """
    last, start = "", 0
    for found in _WORDS.finditer(item):
        if name := found["quoted"] or (found["word"] if not found["call"] else ""):
            last, start = name.replace("``", "`"), found.start()
        elif not (found[0].isspace() or found["skipped"]):
            last = ""
    alias = re.search(r"\s+as\s*$", item[:start], re.IGNORECASE)
    return last, item[: alias.start() + 1] if alias and last else item


def split_projection(projection: str) -> Iterator[str]:
    """Split a projection at the commas between its items.

    >>> [*split_projection("id, concat(a, ',') as b")]
    ['id', " concat(a, ',') as b"]
    """
    depth, start = 0, 0
    for found in _WORDS.finditer(projection):
        depth += (found["sign"] in {"(", "["}) + bool(found["call"])
        depth -= (found["sign"] in {")", "]"}) + bool(found["empty"] and found["call"])
        if found["sign"] == "," and depth == 0:
            yield projection[start : found.start()]
            start = found.end()
    yield projection[start:]
