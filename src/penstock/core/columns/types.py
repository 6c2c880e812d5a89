"""Types of columns as small trees, read from and printed to Spark's short spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from penstock.core.names import quoted

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_UNCLEAR = re.compile(r"[`:,<>]")


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A type without parts, as Spark spells it: `int`, `decimal(10,2)`, `string collate X`."""

    name: str

    def __str__(self) -> str:
        """Return the short spelling."""
        return self.name


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A list of elements of one type."""

    element: ColumnType

    def __str__(self) -> str:
        """Return the short spelling."""
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """Entries with distinct keys, without order."""

    key: ColumnType
    value: ColumnType

    def __str__(self) -> str:
        """Return the short spelling."""
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct. Names compare case-insensitively."""

    name: str
    type: ColumnType

    def __str__(self) -> str:
        """Return the short spelling; the name is quoted only if it would be ambiguous."""
        unclear = not self.name or _UNCLEAR.search(self.name)
        return f"{quoted(self.name) if unclear else self.name}:{self.type}"


@dataclass(frozen=True, slots=True)
class StructType:
    """Named fields in order."""

    fields: tuple[Field, ...] = ()

    def find(self, name: str) -> Field | None:
        """Return the field with that name, in any letter case, or None."""
        folded = name.lower()
        return next((each for each in self.fields if each.name.lower() == folded), None)

    def __str__(self) -> str:
        """Return the short spelling."""
        return f"struct<{','.join(map(str, self.fields))}>"


ColumnType = ScalarType | ArrayType | MapType | StructType


@cache
def parse_type(text: str) -> ColumnType:
    """Parse Spark's short spelling of a type; `str` returns it again.

    A field's name ends at its first colon, or is quoted with backticks. Raises ValueError for a
    text that is not a type.

    >>> parse_type("map<string,array<int>>").value
    ArrayType(element=ScalarType(name='int'))
    """
    found, end = _read(text, 0)
    if end != len(text):
        raise _unreadable(text)
    return found


def _read(text: str, at: int) -> tuple[ColumnType, int]:
    for opening, read in (("array<", _array), ("map<", _map), ("struct<", _struct)):
        if text.startswith(opening, at):
            found, at = read(text, at + len(opening))
            return found, _past(text, at, ">")
    return _scalar(text, at)


def _array(text: str, at: int) -> tuple[ColumnType, int]:
    element, at = _read(text, at)
    return ArrayType(element), at


def _map(text: str, at: int) -> tuple[ColumnType, int]:
    key, at = _read(text, at)
    value, at = _read(text, _past(text, at, ","))
    return MapType(key, value), at


def _struct(text: str, at: int) -> tuple[ColumnType, int]:
    fields: list[Field] = []
    while not text.startswith(">", at):
        name, at = _name(text, _past(text, at, ",") if fields else at)
        kind, at = _read(text, at)
        fields.append(Field(name, kind))
    return StructType(tuple(fields)), at


def _name(text: str, at: int) -> tuple[str, int]:
    name = re.compile(r"`((?:[^`]|``)*)`:|([^:]*):").match(text, at)
    if name is None:
        raise _unreadable(text)
    plain = name[2] if name[1] is None else name[1].replace("``", "`")
    return plain, name.end()


def _scalar(text: str, at: int) -> tuple[ColumnType, int]:
    found = re.compile(r"[^(),<>]+(\([^()]*\))?").match(text, at)
    if found is None:
        raise _unreadable(text)
    return ScalarType(found[0]), found.end()


def _past(text: str, at: int, end: str) -> int:
    if not text.startswith(end, at):
        raise _unreadable(text)
    return at + len(end)


def _unreadable(text: str) -> ValueError:
    return ValueError(f"{text!r} is not a type in Spark's short spelling")


def sql_type(kind: ColumnType) -> str:
    """Return a type in SQL syntax, with every field's name quoted."""
    match kind:
        case ScalarType(name):
            return name
        case ArrayType(element):
            return f"ARRAY<{sql_type(element)}>"
        case MapType(key, value):
            return f"MAP<{sql_type(key)}, {sql_type(value)}>"
        case StructType(fields):
            inner = ", ".join(f"{quoted(each.name)}: {sql_type(each.type)}" for each in fields)
            return f"STRUCT<{inner}>"


def scalars(kind: ColumnType) -> tuple[str, ...]:
    """Return the names of the scalar types in a type, in order, with repetitions.

    >>> scalars(parse_type("map<string,struct<a:int,b:string>>"))
    ('string', 'int', 'string')
    """
    return tuple(each.name for each in _nodes(kind) if isinstance(each, ScalarType))


def has_map(kind: ColumnType) -> bool:
    """Return whether a type is or contains a MAP."""
    return any(isinstance(each, MapType) for each in _nodes(kind))


def _nodes(kind: ColumnType) -> Iterator[ColumnType]:
    """Yield a type, then its parts."""
    yield kind
    match kind:
        case ArrayType(element):
            yield from _nodes(element)
        case MapType(key, value):
            yield from (*_nodes(key), *_nodes(value))
        case StructType(fields):
            for each in fields:
                yield from _nodes(each.type)


def merged(first: ColumnType, second: ColumnType, *, grow: bool = True) -> ColumnType | None:
    """Return the type that holds all values of both, or None.

    Names and order are those of `first`; fields that only `second` has come after them, or are left
    out without `grow`.
    """
    match first, second:
        case ArrayType(one), ArrayType(other):
            element = merged(one, other, grow=grow)
            return element and ArrayType(element)
        case MapType(), MapType():
            key = merged(first.key, second.key, grow=grow)
            value = merged(first.value, second.value, grow=grow)
            return MapType(key, value) if key and value else None
        case StructType(), StructType():
            return _merged_struct(first, second, grow=grow)
        case ScalarType(one_name), ScalarType(other_name):
            if one_name == other_name or widens(other_name, one_name):
                return first
            return second if widens(one_name, other_name) else None
        case _:
            return None


def _merged_struct(first: StructType, second: StructType, *, grow: bool) -> StructType | None:
    fields = []
    for mine in first.fields:
        other = second.find(mine.name)
        both = merged(mine.type, other.type, grow=grow) if other else mine.type
        if both is None:
            return None
        fields.append(Field(mine.name, both))
    new = (each for each in second.fields if first.find(each.name) is None)
    return StructType((*fields, *new) if grow else tuple(fields))


def widens(narrow: str, wide: str) -> bool:
    """Return whether every value of one scalar type is a value of the other, wider one."""
    if narrow == wide:
        return False
    if narrow in _INTEGERS and wide in _INTEGERS:
        return _INTEGERS.index(narrow) < _INTEGERS.index(wide)
    if wide == "double":
        return narrow in (*_INTEGERS[:3], "float")
    to = _DECIMAL.fullmatch(wide)
    if to is None:
        return False
    whole = int(to[1]) - int(to[2])
    if narrow in _DIGITS:
        return whole >= max(_DIGITS[narrow], 10)
    of = _DECIMAL.fullmatch(narrow)
    return of is not None and whole >= int(of[1]) - int(of[2]) and int(to[2]) >= int(of[2])


def is_text(kind: str) -> bool:
    """Return whether a Spark type, in lower case, is a text type of any length and collation."""
    return kind.startswith(("string", "char", "varchar"))
