"""The row hash: one function, for history tables that store it and for sources that bring it.

It is the SHA-256 of a text that no two different rows share. Session time zone, ANSI mode, order
of columns, scale of decimals, width of integers and order of map entries do not change it. The
text is described in docs/history.md; changing it makes every stored hash differ once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    parts = [_coded(value, parse_type(c.type), _lead(c.name), 1) for c, value in ordered]
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
            return _letter(one.name) == _letter(other.name)
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
    start = literal(f"{lead}{_letter(name)}")
    match _letter(name):
        case "B":
            return f"concat({start}, CAST({value} AS INT))"
        case "D":
            decimal = _DECIMAL.fullmatch(name)
            places = int(decimal[1]) if decimal else 0
            # CAST writes small decimals with an exponent, outside ANSI mode.
            plain = f"format_number({value}, '0.{'#' * places}')"
            text = plain if places else f"CAST({value} AS STRING)"
        case "F":
            # As the JVM prints it; adding zero turns -0.0 into 0.0. Java before 19 prints some
            # doubles, mostly whole ones above 1e16, with a digit more than needed.
            text = f"CAST(0D + {value} AS STRING)"
        case "S":
            text = value
        case "X":
            text = f"hex({value})"
        case "d":
            return f"concat({start}, unix_date({value}), ';')"
        case "t":
            return f"concat({start}, unix_micros({value}), ';')"
        case "n":
            # Through an interval: a cast to TIMESTAMP would ask the session's zone.
            seconds = f"CAST(CAST({value} - {_EPOCH} AS INTERVAL SECOND) AS DECIMAL(19,6))"
            return f"concat({start}, CAST(1000000 * {seconds} AS BIGINT), ';')"
        case _:
            raise ValueError(f"a value of type {name} has no row hash")
    return f"concat({start}, length({text}), ':', {text})"


def _letter(name: str) -> str:
    return _LETTERS.get(name.partition("(")[0], "")


_LETTERS = {
    "boolean": "B",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "decimal"), "D"),
    **dict.fromkeys(("float", "double"), "F"),
    **dict.fromkeys(("string", "varchar", "char"), "S"),
    "binary": "X",
    "date": "d",
    "timestamp": "t",
    "timestamp_ntz": "n",
}
