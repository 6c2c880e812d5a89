"""Functions in the SQL of an entity that give another value on every run, found by their words."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterator

CHANCE = frozenset(
    {"rand", "randn", "random", "uuid", "shuffle", "monotonically_increasing_id"}
    | {"spark_partition_id", "input_file_name", "current_user"}
)
_WORDS = re.compile(
    r"(?P<skipped>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/)"
    r"|`(?P<quoted>(?:[^`]|``)*)`"
    r"|(?P<dot>\.\s*)?(?P<word>[A-Za-z_]\w*)(?:(?P<call>\s*\()(?P<empty>\s*\))?)?"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_TIMES = frozenset({"current_timestamp", "now", "current_date", "curdate", "localtimestamp"})
_BARE = _TIMES - {"now", "curdate"} | {"current_user"}
"""What SQL takes for a function without its parentheses, too."""


def at_moment(expression: str, moment: dt.datetime) -> str:
    """Put the processing time where an expression asks for the time of day.

    >>> at_moment("year(current_date())", dt.datetime(2024, 2, 29, 23, 30, tzinfo=dt.UTC))
    "year(DATE '2024-02-29')"
    """
    utc = moment.astimezone(dt.UTC)
    at = utc.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    values = {
        **dict.fromkeys(("current_timestamp", "now"), instant(moment)),
        **dict.fromkeys(("current_date", "curdate"), f"DATE '{utc.date().isoformat()}'"),
        "localtimestamp": f"TIMESTAMP_NTZ '{at}'",
    }

    def replaced(found: re.Match[str]) -> str:
        word = _function(found)
        if word not in values or (found["call"] and not found["empty"]):
            return found[0]
        return values[word]

    return _WORDS.sub(replaced, expression)


def instant(moment: dt.datetime) -> str:
    """Give a moment as a literal that means the same in every session zone."""
    return f"TIMESTAMP '{moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"


def is_volatile(expression: str, volatile: Collection[str] = ()) -> bool:
    """Whether an expression gives another value on every run; `volatile` are columns that do.

    >>> is_volatile("concat(a, uuid())"), is_volatile("'uuid()'"), is_volatile("A + 1", {"a"})
    (True, False, True)
    """
    found = [*_WORDS.finditer(expression)]
    if any(_function(each) in CHANCE | _TIMES for each in found):
        return True
    names = {(each["quoted"] or each["word"] or "").lower() for each in found}
    return not names.isdisjoint(volatile)


def _function(found: re.Match[str]) -> str:
    """Give the function that a word calls, "" where it calls none."""
    word = (found["word"] or "").lower()
    return word if word and not found["dot"] and (found["call"] or word in _BARE) else ""


def made_by(item: str) -> tuple[str, str]:
    """Give the name of an item of a projection, and its expression; "" where only Spark knows.

    >>> made_by("upper(name) AS `Name`"), made_by("t.id"), made_by("*")
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


def pieces_of(projection: str) -> Iterator[str]:
    """Cut a projection at the commas between its items.

    >>> [*pieces_of("id, concat(a, ',') as b")]
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
