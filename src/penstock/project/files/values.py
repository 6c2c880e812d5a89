"""Plain values of YAML and headers, durations, and the nearest known word."""

from __future__ import annotations

import datetime as dt
import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from penstock.core.findings import some

Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain] | None"
Path: TypeAlias = "tuple[str | int, ...]"
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
_SHOWN = 8


def text_of(value: Plain) -> str:
    """Give a scalar as users write it; null is the empty text.

    >>> text_of(True), text_of(None), text_of(4)
    ('true', '', '4')
    """
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts_of(value: Plain) -> tuple[str, ...]:
    """Give one text or a list of texts as a tuple.

    >>> texts_of("id"), texts_of(["a", "b"]), texts_of(None)
    (('id',), ('a', 'b'), ())
    """
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(text_of(item) for item in value)
    return (text_of(value),)


def mapping_of(value: Plain) -> Mapping[str, Plain]:
    """Give a mapping; anything else counts as an empty one, for it was reported already."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Plain) -> Sequence[Plain]:
    """Give a list; anything else counts as an empty one, for it was reported already."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def pairs_of(value: Plain) -> dict[str, str]:
    """Give a mapping of texts, such as table properties or Spark settings."""
    return {key: text_of(item) for key, item in mapping_of(value).items()}


def digest(text: str) -> str:
    """Give the sha256 of a text in UTF-8, lower-case hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_true(value: Plain) -> bool:
    """Whether a switch is on, as YAML, a template or an environment variable writes it."""
    return text_of(value).strip().lower() in ("true", "yes", "on", "1")


def number_of(value: Plain) -> int | None:
    """Give a whole number, written as one or as text; None for what is none."""
    with suppress(ValueError):
        return int(text_of(value))
    return None


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


def duration_of(value: Plain) -> dt.timedelta | None:
    """Give a duration; None for what is none, for it was reported already."""
    if isinstance(value, str):
        with suppress(ValueError):
            return parse_duration(value)
    return None


def _unit(word: str) -> str:
    if word in _SECONDS:
        return word
    return _LONG.get(word.removesuffix("s"), "")


def _total(amounts: dict[str, str]) -> dt.timedelta:
    try:
        return dt.timedelta(seconds=sum(float(n) * _SECONDS[u] for u, n in amounts.items()))
    except OverflowError as error:
        raise ValueError("the duration is too long") from error


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the known name that is most like `name`, or "" if none is near.

    >>> nearest("taget", ["targets", "threads"])
    'targets'
    """
    folded = {candidate.lower(): candidate for candidate in sorted(known)}
    found = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Word the hint, "" if nothing is near.

    >>> did_you_mean("user_clean", ["users_clean"])
    "did you mean 'users_clean'?"
    """
    found = nearest(name, known)
    return f"did you mean {found!r}?" if found else ""


def some_of(names: Iterable[str]) -> str:
    """List names for a sentence, at most eight, so that output stays bounded.

    >>> some_of(["b", "a"])
    'a, b'
    """
    return some(sorted(names), _SHOWN)
