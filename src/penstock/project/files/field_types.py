"""Types as users write them: Spark's DDL in any letter case, and BigQuery's words (§1.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache

from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    Field,
    MapType,
    ScalarType,
    StructType,
)
from penstock.core.model import ColumnDoc

SCALARS: Mapping[str, str] = {
    "tinyint": "tinyint",
    "byte": "tinyint",
    "smallint": "smallint",
    "short": "smallint",
    "int": "int",
    "integer": "int",
    "bigint": "bigint",
    "long": "bigint",
    "int64": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "float64": "double",
    "boolean": "boolean",
    "bool": "boolean",
    "string": "string",
    "json": "string",
    "binary": "binary",
    "bytes": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "datetime": "timestamp_ntz",
    "variant": "variant",
    "numeric": "decimal(38,9)",
    "decimal": "decimal(10,0)",
    "dec": "decimal(10,0)",
}
"""Spark's names of types by the words that users write."""
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

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class UnsupportedTypeError(ValueError):
    """Spark and Delta have no such type; `hint` says what to write."""

    def __init__(self, word: str, hint: str) -> None:
        super().__init__(word)
        self.word = word
        self.hint = hint


@cache
def read_type(text: str) -> ColumnType:
    """Read a type; `STRUCT` and `RECORD` alone are a struct without fields.

    Raises `UnknownTypeError` or `UnsupportedTypeError`.

    >>> str(read_type("ARRAY<STRUCT<a: INT64, b NUMERIC(10, 2)>>"))
    'array<struct<a:bigint,b:decimal(10,2)>>'
    """
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
    """Give the types of described columns by name; a finding has said of the others, or nobody."""
    found = {}
    for doc in docs:
        with suppress(UnknownTypeError, UnsupportedTypeError):
            if doc.type:
                found[doc.name] = read_type(doc.type)
    return found


def shown_type(kind: ColumnType) -> str:
    """Give a type for a sentence: scalars in capitals.

    >>> shown_type(read_type("int64"))
    'BIGINT'
    """
    return kind.name.upper() if isinstance(kind, ScalarType) else str(kind)


def _nested(opening: str, inside: str, text: str) -> ColumnType:
    parts = _parts(inside, text)
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
    """Cut at commas that stand in no brackets."""
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
