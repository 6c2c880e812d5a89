"""The row hash: one function, for history tables that store it and for sources that bring it.

It is the SHA-256 of a text that no two different rows share. Session time zone, ANSI mode, order
of columns, scale of decimals, width of integers and order of map entries do not change it. The
text is described in docs/history.md; changing it makes every stored hash differ once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from penstock.core.columns.schema import Column
from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    Field,
    MapType,
    ScalarType,
    StructType,
    parse_type,
)
from penstock.core.names import literal, quoted

_DECIMAL = re.compile(r"decimal\(\d+,(\d+)\)")
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def row_hash(columns: Sequence[Column], prefix: str = "") -> str:
    """Give SQL for the hash of a row: 64 lower-case hex digits, never NULL.

    Columns that are NULL are left out of it. Raises ValueError for a type that has no encoding.

    >>> row_hash([Column("id", "string")], "s.")
    "sha2(concat_ws('', concat('2:idS', length(s.`id`), ':', s.`id`)), 256)"
    """
    return hash_of_values([(column, f"{prefix}{quoted(column.name)}") for column in columns])


def hash_of_values(values: Sequence[tuple[Column, str]]) -> str:
    """Give the same for SQL values that stand for columns, each in the type of its column."""
    ordered = sorted(values, key=lambda pair: pair[0].name.lower())
    parts = [
        _coded(value, parse_type(column.type), _lead(column.name), 1) for column, value in ordered
    ]
    texts = ", ".join(("''", *parts))
    return f"sha2(concat_ws({texts}), 256)"


def hashes_alike(one: str, other: str) -> bool:
    """Whether equal values of two types have the same text; of numbers and structs many have.

    A field that only one type has is NULL in the other, and left out.

    >>> hashes_alike("int", "bigint"), hashes_alike("int", "double")
    (True, False)
    """
    return _alike(parse_type(one), parse_type(other))


def _alike(one: ColumnType, other: ColumnType) -> bool:
    match one, other:
        case ScalarType(), ScalarType():
            return _coder(one.name) is _coder(other.name)
        case ArrayType(), ArrayType():
            return _alike(one.element, other.element)
        case MapType(), MapType():
            return _alike(one.key, other.key) and _alike(one.value, other.value)
        case StructType(), StructType():
            pairs = ((field, other.find(field.name)) for field in one.fields)
            return all(found is None or _alike(field.type, found.type) for field, found in pairs)
        case _:
            return False


def _lead(name: str) -> str:
    folded = name.lower()
    return f"{len(folded)}:{folded}"


def _coded(value: str, kind: ColumnType, lead: str, depth: int) -> str:
    """Give SQL for the text of a value after `lead`; it is NULL where the value is."""
    match kind:
        case ScalarType(name):
            return _scalar(value, name, lead)
        case ArrayType(element):
            each = f"x{depth}"
            items = f"transform({value}, {each} -> {_coded(each, element, '', depth + 1)})"
            text = f"array_join({items}, '', 'N')"
            return f"concat({literal(lead + 'A')}, size({value}), ':', {text})"
        case MapType():
            text = f"array_join(sort_array({_entries(value, kind, depth)}), '')"
            return f"concat({literal(lead + 'M')}, size({value}), ':', {text})"
        case StructType(fields):
            return _struct(value, fields, lead, depth)


def _struct(value: str, fields: Sequence[Field], lead: str, depth: int) -> str:
    """Encode a struct as a row is: fields by name, without those that are NULL.

    So a field that comes later, or stands elsewhere, changes no hash (docs/decisions/0007).
    """
    ordered = sorted(fields, key=lambda field: field.name.lower())
    names = [f"{value}.{quoted(field.name)}" for field in ordered]
    pairs = zip(names, ordered, strict=True)
    coded = [_coded(name, field.type, _lead(field.name), depth) for name, field in pairs]
    count = " + ".join(f"CAST({name} IS NOT NULL AS INT)" for name in names) or "0"
    texts = [literal(f"{lead}R"), count, "':'", *(f"coalesce({each}, '')" for each in coded)]
    return f"CASE WHEN {value} IS NOT NULL THEN concat({', '.join(texts)}) END"


def _entries(value: str, kind: MapType, depth: int) -> str:
    """Sorting whole entries sorts by key: no encoded key begins with another."""
    each = f"x{depth}"
    key = _coded(f"{each}.key", kind.key, "", depth + 1)
    inner = _coded(f"{each}.value", kind.value, "", depth + 1)
    return f"transform(map_entries({value}), {each} -> concat({key}, coalesce({inner}, 'N')))"


def _scalar(value: str, name: str, lead: str) -> str:
    coded = _coder(name)
    if coded is None:
        raise ValueError(f"a value of type {name} has no row hash")
    return coded(value, name, lead)


def _coder(name: str) -> Callable[[str, str, str], str] | None:
    return _SCALARS.get(name.partition("(")[0])


def _boolean(value: str, _: str, lead: str) -> str:
    return f"concat({literal(lead + 'B')}, CAST({value} AS INT))"


def _number(value: str, name: str, lead: str) -> str:
    """Print a number plainly; CAST writes small decimals with an exponent, outside ANSI mode."""
    decimal = _DECIMAL.fullmatch(name)
    if decimal is None or decimal[1] == "0":
        return _sized(f"CAST({value} AS STRING)", lead + "D")
    return _sized(f"format_number({value}, '0.{'#' * int(decimal[1])}')", lead + "D")


def _float(value: str, _: str, lead: str) -> str:
    """Print a number as the JVM does; adding zero turns -0.0 into 0.0.

    Java before 19 prints some doubles, mostly whole ones above 1e16, with a digit more than needed.
    """
    return _sized(f"CAST(0D + {value} AS STRING)", lead + "F")


def _string(value: str, _: str, lead: str) -> str:
    return _sized(value, lead + "S")


def _binary(value: str, _: str, lead: str) -> str:
    return _sized(f"hex({value})", lead + "X")


def _sized(text: str, lead: str) -> str:
    return f"concat({literal(lead)}, length({text}), ':', {text})"


def _date(value: str, _: str, lead: str) -> str:
    return f"concat({literal(lead + 'd')}, unix_date({value}), ';')"


def _timestamp(value: str, _: str, lead: str) -> str:
    return f"concat({literal(lead + 't')}, unix_micros({value}), ';')"


def _wall_clock(value: str, _: str, lead: str) -> str:
    """Count microseconds through an interval: a cast to TIMESTAMP would ask the session's zone."""
    seconds = f"CAST(CAST({value} - {_EPOCH} AS INTERVAL SECOND) AS DECIMAL(19,6))"
    return f"concat({literal(lead + 'n')}, CAST(1000000 * {seconds} AS BIGINT), ';')"


_SCALARS: dict[str, Callable[[str, str, str], str]] = {
    "boolean": _boolean,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "decimal"), _number),
    **dict.fromkeys(("float", "double"), _float),
    **dict.fromkeys(("string", "varchar", "char"), _string),
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _wall_clock,
}
