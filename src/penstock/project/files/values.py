"""Plain values of YAML and headers: texts, durations, types, and the nearest known word."""

from __future__ import annotations

import datetime as dt
import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TypeAlias

from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    Field,
    MapType,
    ScalarType,
    StructType,
)
from penstock.core.findings import some
from penstock.core.model import ColumnDoc

Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain] | None"
Path: TypeAlias = "tuple[str | int, ...]"
_SECONDS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
    **dict.fromkeys(("w", "week", "weeks"), 604800),
}
_FEW = 12
_ON = ("true", "yes", "on", "1", "t", "y")
_OFF = ("false", "no", "off", "0", "f", "n")
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_PARTS = re.compile(rf"(?:\s*{_PART.pattern}\s*)+")
_ISO = re.compile(
    r"P(?:(?P<w>\d+(?:\.\d+)?)W)?(?:(?P<d>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<h>\d+(?:\.\d+)?)H)?(?:(?P<m>\d+(?:\.\d+)?)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)


def text_of(value: Plain) -> str:
    """Return a scalar as users write it, `true` in lower case; null is the empty text."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts_of(value: Plain) -> tuple[str, ...]:
    """Return one text, or a list of texts, as a tuple; null is empty."""
    if isinstance(value, str):  # most are
        return (value,)
    if isinstance(value, Sequence):
        return tuple(text_of(item) for item in value)
    return () if value is None else (text_of(value),)


def mapping_of(value: Plain) -> Mapping[str, Plain]:
    """Return a mapping; anything else, already reported, counts as an empty one."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Plain) -> Sequence[Plain]:
    """Return a list; anything else, already reported, counts as an empty one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def pairs_of(value: Plain) -> dict[str, str]:
    """Return a mapping of texts, such as table properties or Spark settings."""
    return {key: text_of(item) for key, item in mapping_of(value).items()}


def digest(text: str) -> str:
    """Return the sha256 of a text in UTF-8, lower-case hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def switch_of(value: Plain) -> bool | None:
    """Return a boolean in the spelling of YAML, templates or variables; None for other values.

    >>> switch_of("Yes"), switch_of(0), switch_of("maybe")
    (True, False, None)
    """
    word = text_of(value).strip().lower()
    return True if word in _ON else False if word in _OFF else None


def number_of(value: Plain) -> int | None:
    """Return a whole number, from a number or text; None for other values."""
    with suppress(ValueError):
        return int(text_of(value))
    return None


def parse_duration(text: str) -> dt.timedelta:
    """Parse a duration such as `1h 30m` or `P1DT12H`; raise `ValueError`, also for months."""
    folded = text.strip().lower()
    iso, parts = _ISO.fullmatch(folded.upper()), []
    if iso:
        parts = [(amount, unit) for unit, amount in iso.groupdict().items() if amount]
    elif _PARTS.fullmatch(folded):
        parts = _PART.findall(folded)
    amounts = {_SECONDS.get(unit, 0): float(amount) for amount, unit in parts}
    if not all(amounts) or not amounts or len(amounts) < len(parts):
        raise ValueError(f"{text!r} is not a duration")
    try:
        return dt.timedelta(seconds=sum(unit * amount for unit, amount in amounts.items()))
    except OverflowError as error:
        raise ValueError("the duration is too long") from error


def duration_of(value: Plain) -> dt.timedelta | None:
    """Return a duration; None for an invalid one, already reported."""
    if isinstance(value, str):
        with suppress(ValueError):
            return parse_duration(value)
    return None


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return the known name most similar to `name`, or "" if none is similar.

    >>> nearest("taget", ["targets", "threads"])
    'targets'
    """
    folded = {candidate.lower(): candidate for candidate in sorted(candidates)}
    matches = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else ""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the hint, "" if no name is similar."""
    found = nearest(name, candidates)
    return f"did you mean {found!r}?" if found else ""


def near_or_known(name: str, candidates: Iterable[str]) -> str:
    """Return the hint for a key: the similar one, otherwise all of few, or the nearest of many.

    >>> near_or_known("tag", ["tags", "meta"]), near_or_known("x", ["tags", "meta"])
    ("did you mean 'tags'?", 'known here: meta, tags')
    >>> near_or_known("x", map(str, range(99)))
    'delete it; penstock schema prints the 99 keys that are known here'
    """
    names = sorted({*candidates})
    if len(names) <= _FEW:
        return did_you_mean(name, names) or f"known here: {', '.join(names) or 'none'}"
    many = f"delete it; penstock schema prints the {len(names)} keys that are known here"
    return did_you_mean(name, names) or many


def some_of(names: Iterable[str]) -> str:
    """List names in order for a message, at most eight, so that output stays bounded."""
    return some(sorted(names), 8)


_WORDS: Mapping[str, tuple[str, ...]] = {
    "tinyint": ("byte",),
    "smallint": ("short",),
    "int": ("integer",),
    "bigint": ("long", "int64"),
    "float": ("real",),
    "double": ("float64",),
    "boolean": ("bool",),
    "string": ("json",),
    "binary": ("bytes",),
    "date": (),
    "timestamp": ("timestamp_ltz",),
    "timestamp_ntz": ("datetime",),
    "variant": (),
}
SCALARS: Mapping[str, str] = {
    **{word: kind for kind, words in _WORDS.items() for word in (kind, *words)},
    "numeric": "decimal(38,9)",
    **dict.fromkeys(("decimal", "dec"), "decimal(10,0)"),
}
"""Spark's type names by users' words."""
_UNSUPPORTED: Mapping[str, str] = {
    "bignumeric": "write DECIMAL(38,s), or STRING if that is too small",
    "bigdecimal": "write DECIMAL(38,s), or STRING if that is too small",
    "time": "write STRING",
    "geography": "write STRING",
}
_DECIMAL = re.compile(r"(?:numeric|decimal|dec)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_SIZED = re.compile(r"(varchar|char)\s*\(\s*(\d+)\s*\)")
_COLLATED = re.compile(r"string\s+collate\s+(\w+)", re.IGNORECASE)
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s:<>,`]+))\s*(:|\s)\s*")
KNOWN = tuple(sorted({word.upper() for word in SCALARS} | {"ARRAY", "MAP", "STRUCT"}))


class UnknownTypeError(ValueError):
    """The text, or the part `word` of it, names no type."""

    def __init__(self, word: str, hint: str = "") -> None:
        super().__init__(word)
        self.word, self.hint = word, hint


class UnsupportedTypeError(UnknownTypeError):
    """Spark and Delta have no such type; `hint` names an alternative."""


@cache
def read_type(text: str) -> ColumnType:
    """Parse a type, or raise one of the two errors; `STRUCT` alone is a struct without fields."""
    trimmed = text.strip()
    lowered = trimmed.lower()
    for opening in ("array", "map", "struct", "record"):
        inside = re.fullmatch(rf"{opening}\s*<(.*)>", trimmed, re.IGNORECASE | re.DOTALL)
        if inside:
            return _nested(opening, inside[1], trimmed)
    if lowered in ("struct", "record"):
        return StructType()
    return ScalarType(_scalar(lowered, trimmed))


def documented_types(docs: Iterable[ColumnDoc]) -> dict[str, ColumnType]:
    """Return the types of described columns by name, as far as they are valid."""
    found = {}
    for doc in docs:
        with suppress(UnknownTypeError):
            if doc.type:
                found[doc.name] = read_type(doc.type)
    return found


def shown_type(kind: ColumnType) -> str:
    """Return a type for messages: scalars in capitals."""
    return kind.name.upper() if isinstance(kind, ScalarType) else str(kind)


def _nested(opening: str, inner: str, text: str) -> ColumnType:
    parts = _parts(inner, text)
    match opening, parts:
        case "array", [element]:
            return ArrayType(read_type(element))
        case "map", [key, value]:
            return MapType(read_type(key), read_type(value))
        case (("array" | "map"), _):
            raise UnknownTypeError(text)
    return StructType(tuple(_field(part) for part in parts))


def _field(text: str) -> Field:
    name = _NAME.match(text)
    if name is None:
        raise UnknownTypeError(text.strip())
    plain = name[2] if name[1] is None else name[1].replace("``", "`")
    return Field(plain, read_type(text[name.end() :]))


def _parts(text: str, whole: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if depth < 0:
            raise UnknownTypeError(whole)
        if sign == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    last = text[start:]
    return [*parts, last] if last.strip() or parts else []


def _scalar(lowered: str, written: str) -> str:
    word = re.split(r"[\s(]", lowered, maxsplit=1)[0]
    if word in _UNSUPPORTED:
        raise UnsupportedTypeError(written, _UNSUPPORTED[word])
    if lowered in SCALARS:
        return SCALARS[lowered]
    decimal, sized = _DECIMAL.fullmatch(lowered), _SIZED.fullmatch(lowered)
    if decimal:
        precision, scale = int(decimal[1]), int(decimal[2] or 0)
        if 1 <= precision <= 38 and scale <= precision:  # noqa: PLR2004  Spark's widest decimal
            return f"decimal({precision},{scale})"
    if sized and int(sized[2]) > 0:
        return f"{sized[1]}({int(sized[2])})"
    collated = _COLLATED.fullmatch(written)
    if collated:
        return f"string collate {collated[1]}"
    raise UnknownTypeError(written)


class NotedVariables(Mapping[str, str]):
    """The environment, with a note of each variable that was asked for, None if it is not set."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values_now = values
        self.reads: dict[str, str | None] = {}

    def __getitem__(self, name: str) -> str:
        """Return a value; raise `KeyError` for a variable that is not set."""
        found = self.reads[name] = self.values_now.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names, without a note."""
        return iter(self.values_now)

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.values_now)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as it is, without the notes: another process tells by its results."""
        return NotedVariables, (dict(self.values_now),)
