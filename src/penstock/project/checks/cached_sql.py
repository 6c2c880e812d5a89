"""What the SQL of checks says by itself, kept in the parse cache by its text.

Thousands of checks share few parsers' seconds: a text that an earlier load understood costs one
look-up and starts no parser. What depends on other files is decided afterwards, on every load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from penstock.core.findings import Severity
from penstock.project.cache import Entry, ParseCache
from penstock.project.parsed import place_key
from penstock.project.problems import Problem

T = TypeVar("T")
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError)


# Any: results are the JSON of our own cache, as in `parsed.py`; what does not fit is thrown away.
def remembered(
    cache: ParseCache | None,
    key: Sequence[str],
    read: Callable[[Sequence[Any]], T],
) -> T | None:
    """Give what an earlier load, or this one, kept of a text; None if nothing fits."""
    if cache is None:
        return None
    name = _name(key)
    entry = cache.current.get(name) or cache.find(name, "")
    if entry is None:
        return None
    try:
        value = read(entry.result)
    except _DAMAGE:
        return None
    cache.keep(name, entry)
    return value


def remember(cache: ParseCache | None, key: Sequence[str], result: Sequence[Any]) -> None:
    """Keep what was understood of a text; the text is a part of the key."""
    if cache is not None:
        cache.keep(_name(key), Entry("", (), result))


def write_problems(problems: Sequence[Problem]) -> list[list[str | int]]:
    """Give a JSON form that `read_problems` reads back equal."""
    return [[p.code, p.sentence, p.hint, str(p.severity), p.line_offset] for p in problems]


def read_problems(entries: Sequence[Sequence[Any]]) -> tuple[Problem, ...]:
    """Read what `write_problems` gave; raises `ValueError` or `TypeError` on damage."""
    return tuple(
        Problem(code, sentence, hint, Severity(severity), line)
        for code, sentence, hint, severity, line in entries
    )


def _name(key: Sequence[str]) -> str:
    return place_key(("", "check", *key))
