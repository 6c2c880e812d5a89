"""Words in the SQL of an entity: those that ask for the time, and the items of projections."""

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
"""What SQL takes for a function without its parentheses, too."""


def at_time(expression: str, moment: dt.datetime) -> str:
    """Put the processing time where an expression asks for the time of day.

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
    """Return a moment as a literal that means the same in every session zone."""
    return f"TIMESTAMP '{moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?")


def read_moment(text: str, zone: str) -> dt.datetime | None:
    """Read a processing time; None for what is none. Without an offset it is one of the zone.

    A time that a zone leaves out moves forward by what it leaves out, of two it is the earlier.

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
    """Return the function that a word calls, "" where it calls none."""
    word = (match["word"] or "").lower()
    return word if word and not match["dot"] and (match["call"] or word in _BARE) else ""


def split_alias(item: str) -> tuple[str, str]:
    """Return the name of an item of a projection, and its expression; "" where only Spark knows.

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
    """Cut a projection at the commas between its items.

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
