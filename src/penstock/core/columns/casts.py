"""Which types ANSI SQL can cast to which, without Spark (measured on Spark 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from penstock.core.columns.types import ArrayType, ColumnType, MapType, ScalarType, StructType

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TEXTS = ("string", "char", "varchar", "variant")
_DAYS = ("date", "timestamp", "timestamp_ntz")
_TARGETS = {
    "boolean": _NUMBERS,
    **dict.fromkeys(_NUMBERS, (*_NUMBERS, "boolean", "timestamp")),
    "binary": (),
    "date": _DAYS,
    "timestamp": (*_DAYS, *_NUMBERS),
    "timestamp_ntz": _DAYS,
}
"""Target types of a scalar beside itself and text; types that are not here cast to any type."""


class Misfit(StrEnum):
    """Why a value of one type does not fit another."""

    MISSING = "missing"
    EXTRA = "extra"
    UNCASTABLE = "uncastable"


@dataclass(frozen=True, slots=True)
class TypeDifference:
    """One part of a column that does not fit; a part has its path: `address.zip`.

    `have` and `want` are types, "" if the part is missing.
    """

    why: Misfit
    path: str
    have: str = ""
    want: str = ""


def castable(have: ColumnType, want: ColumnType) -> bool:
    """Return whether there is a cast; it may still fail for a value.

    Structs are compared by the names of their fields; a field in only one of them does not prevent
    the cast.

    >>> from penstock.core.columns.types import parse_type
    >>> castable(parse_type("string"), parse_type("bigint"))
    True
    >>> castable(parse_type("date"), parse_type("boolean"))
    False
    """
    return all(each.why is not Misfit.UNCASTABLE for each in differences(have, want, ""))


def differences(have: ColumnType, want: ColumnType, path: str) -> Iterator[TypeDifference]:
    """Return the parts of a type that cannot be cast to another, or that exist in only one.

    >>> from penstock.core.columns.types import parse_type
    >>> have, want = parse_type("struct<a:int,b:date>"), parse_type("struct<B:boolean>")
    >>> [(str(each.why), each.path) for each in differences(have, want, "s")]
    [('uncastable', 's.B'), ('extra', 's.a')]
    """
    match have, want:
        case ArrayType(one), ArrayType(other):
            yield from differences(one, other, f"{path}.element")
        case MapType(), MapType():
            yield from differences(have.key, want.key, f"{path}.key")
            yield from differences(have.value, want.value, f"{path}.value")
        case StructType(), StructType():
            yield from _of_structs(have, want, path)
        case _:
            if not _casts(have, want):
                yield TypeDifference(Misfit.UNCASTABLE, path, str(have), str(want))


def _of_structs(have: StructType, want: StructType, path: str) -> Iterator[TypeDifference]:
    for field in want.fields:
        known, place = have.find(field.name), f"{path}.{field.name}"
        if known is None:
            yield TypeDifference(Misfit.MISSING, place, want=str(field.type))
        else:
            yield from differences(known.type, field.type, place)
    for field in have.fields:
        if want.find(field.name) is None:
            yield TypeDifference(Misfit.EXTRA, f"{path}.{field.name}", have=str(field.type))


def _casts(have: ColumnType, want: ColumnType) -> bool:
    """Return whether one whole type casts to another; lists and structs to text do not count."""
    if not isinstance(have, ScalarType):
        return False
    of = _stem(have.name)
    if of in ("void", "variant"):
        return True
    if not isinstance(want, ScalarType):
        return False
    to = _stem(want.name)
    return of == to or to in _TEXTS or of not in _TARGETS or to in _TARGETS[of]


def _stem(name: str) -> str:
    """Return a scalar type's name without length, scale or collation."""
    return name.partition("(")[0].partition(" collate ")[0]
