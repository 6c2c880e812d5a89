"""Values of any type as SQL: compared, converted, and hashed with their row.

Comparisons are exact: NULL equals NULL, maps are sets, at any depth.

The row hash is one function, for history tables that store it and for sources that provide it: the
SHA-256 of a text that is different for different rows. Session time zone, ANSI mode, order of
columns, scale of decimals, width of integers and order of map entries do not change it. The text is
described in docs/history.md; changing it makes every stored hash differ once.
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
    has_map,
    merged,
    parse_type,
    sql_type,
)
from penstock.core.names import literal, quoted

_DECIMAL = re.compile(r"decimal\(\d+,(\d+)\)")
_MOST_PLAIN = 6
_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def equals(left: str, right: str, left_type: str, right_type: str | None) -> str:
    """Return SQL that is true if two expressions are equal and false if they are not.

    If `right_type` is None, the right side has no such column and counts as NULL, like a field that
    only one side has. Numbers are compared in the wider type; raises ValueError if no type holds
    both.
    """
    if right_type is None:
        return f"{left} IS NULL"
    both = parse_type(merged_type(left_type, right_type))
    one = _reshape(left, parse_type(left_type), both, flat=True)
    return f"{one} <=> {_reshape(right, parse_type(right_type), both, flat=True)}"


def merged_type(first: str, second: str, *, grow: bool = True) -> str:
    """Return the type that holds both, or raise ValueError; `grow` adds the fields of `second`."""
    both = merged(parse_type(first), parse_type(second), grow=grow)
    if both is None:
        raise ValueError(f"no type holds both {first} and {second}")
    return str(both)


def convert(expression: str, have: str, want: str) -> str:
    """Return SQL that converts a value to a type that holds it.

    Missing fields become NULL, fields that `want` lacks are left out; NULL stays NULL, at any
    depth. Raises ValueError if values could be lost.
    """
    of, to = parse_type(have), parse_type(want)
    if merged(to, of, grow=False) != to:
        raise ValueError(f"{want} does not hold every {have}")
    return _reshape(expression, of, to, flat=False)


def cast(value: str, have: ColumnType, want: ColumnType) -> str:
    """Return SQL that converts `value`, a name or a path, to another type; NULL stays NULL.

    A CAST of structs goes by position and would silently swap two fields, so structs with another
    order of fields are built field by field; a missing field becomes NULL.

    >>> cast("`s`", parse_type("struct<b:int,a:int>"), parse_type("struct<a:int,b:bigint>"))
    "CASE WHEN `s` IS NOT NULL THEN named_struct('a', `s`.`a`, 'b', CAST(`s`.`b` AS bigint)) END"
    """
    return _reshape(value, have, want, flat=False)


def null(kind: ColumnType) -> str:
    """Return a NULL of a type."""
    return f"CAST(NULL AS {sql_type(kind)})"


def _reshape(value: str, have: ColumnType, want: ColumnType, *, flat: bool, depth: int = 1) -> str:
    """Return a value in another type; `flat` converts maps, which do not compare, to entries."""
    stays = not (flat and has_map(want))
    if stays and have == want:
        return value
    if stays and _can_cast(have, want):
        return f"CAST({value} AS {sql_type(want)})"
    each = f"x{depth}"
    match have, want:
        case ArrayType(of), ArrayType(to):
            item = _reshape(each, of, to, flat=flat, depth=depth + 1)
            return f"transform({value}, {each} -> {item})"
        case MapType(), MapType():
            return (_sorted_entries if flat else _cast_map)(value, have, want, depth)
        case StructType(), StructType():
            named = []
            for field in want.fields:
                if (given := have.find(field.name)) is None:
                    part = _reshape(null(field.type), field.type, field.type, flat=flat)
                else:
                    path = f"{value}.{quoted(given.name)}"
                    part = _reshape(path, given.type, field.type, flat=flat, depth=depth)
                named.append(f"{literal(field.name)}, {part}")
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(named)}) END"
        case _:
            return f"CAST({value} AS {sql_type(want)})"


def _sorted_entries(value: str, have: MapType, want: MapType, depth: int) -> str:
    each = f"x{depth}"
    key = _reshape(f"{each}.key", have.key, want.key, flat=True, depth=depth + 1)
    inner = _reshape(f"{each}.value", have.value, want.value, flat=True, depth=depth + 1)
    if (key, inner) == (f"{each}.key", f"{each}.value"):
        return f"sort_array(map_entries({value}))"
    return f"sort_array(transform(map_entries({value}), {each} -> struct({key}, {inner})))"


def _cast_map(value: str, have: MapType, want: MapType, depth: int) -> str:
    key = _reshape(f"k{depth}", have.key, want.key, flat=False, depth=depth + 1)
    inner = _reshape(f"v{depth}", have.value, want.value, flat=False, depth=depth + 1)
    if have.key != want.key:
        value = f"transform_keys({value}, (k{depth}, v{depth}) -> {key})"
    if have.value != want.value:
        value = f"transform_values({value}, (k{depth}, v{depth}) -> {inner})"
    return value


def _can_cast(have: ColumnType, want: ColumnType) -> bool:
    """Return whether a CAST is enough: the parts are the same, in the same order."""
    match have, want:
        case ScalarType(), ScalarType():
            return True
        case ArrayType(of), ArrayType(to):
            return _can_cast(of, to)
        case MapType(), MapType():
            return _can_cast(have.key, want.key) and _can_cast(have.value, want.value)
        case StructType(), StructType():
            names = [[each.name.lower() for each in kind.fields] for kind in (have, want)]
            pairs = zip(have.fields, want.fields, strict=False)
            return names[0] == names[1] and all(_can_cast(of.type, to.type) for of, to in pairs)
        case _:
            return False


def row_hash(columns: Sequence[Column], prefix: str = "") -> str:
    """Return SQL for the hash of a row: 64 lower-case hex digits, never NULL.

    NULL columns are left out. Raises ValueError for a type without an encoding.

    >>> row_hash([Column("id", "date")], "s.")
    "sha2(concat_ws('', concat('2:idd', unix_date(s.`id`), ';')), 256)"
    """
    return hash_of_values([(column, f"{prefix}{quoted(column.name)}") for column in columns])


def hash_of_values(values: Sequence[tuple[Column, str]]) -> str:
    """Return the same for SQL values in place of columns, each in the type of its column."""
    return f"sha2({row_text(values)}, 256)"


def row_text(values: Sequence[tuple[Column, str]]) -> str:
    """Return SQL for the text of a row, the input of its hash."""
    ordered = sorted(values, key=lambda pair: pair[0].name.lower())
    parts = [_encode(value, parse_type(c.type), _lead_of(c.name), 1) for c, value in ordered]
    texts = ", ".join(("''", *parts))
    return f"concat_ws({texts})"


def hashes_alike(one: ColumnType, other: ColumnType) -> bool:
    """Return whether equal values of two types have the same text; extra fields are ignored."""
    match one, other:
        case ScalarType(), ScalarType():
            return _type_letter(one.name) == _type_letter(other.name)
        case ArrayType(), ArrayType():
            return hashes_alike(one.element, other.element)
        case MapType(), MapType():
            return hashes_alike(one.key, other.key) and hashes_alike(one.value, other.value)
        case StructType(), StructType():
            pairs = ((field, other.find(field.name)) for field in one.fields)
            return all(
                found is None or hashes_alike(field.type, found.type) for field, found in pairs
            )
        case _:
            return False


def _lead_of(name: str) -> str:
    folded = name.lower()
    return f"{len(folded)}:{folded}"


def _encode(value: str, kind: ColumnType, lead: str, depth: int) -> str:
    """Return SQL for the text of a value after `lead`; NULL if the value is NULL."""
    match kind:
        case ScalarType(name):
            return _encode_scalar(value, name, lead)
        case ArrayType(element):
            each = f"x{depth}"
            items = f"transform({value}, {each} -> {_encode(each, element, '', depth + 1)})"
            text = f"array_join({items}, '', 'N')"
            return f"concat({literal(lead + 'A')}, size({value}), ':', {text})"
        case MapType():
            each = f"x{depth}"
            key = _encode(f"{each}.key", kind.key, "", depth + 1)
            inner = f"coalesce({_encode(f'{each}.value', kind.value, '', depth + 1)}, 'N')"
            coded = f"transform(map_entries({value}), {each} -> concat({key}, {inner}))"
            # Sorting whole entries sorts by key: no encoded key begins with another.
            text = f"array_join(sort_array({coded}), '')"
            return f"concat({literal(lead + 'M')}, size({value}), ':', {text})"
        case StructType(fields):
            return _encode_struct(value, fields, lead, depth)


def _encode_struct(value: str, fields: Sequence[Field], lead: str, depth: int) -> str:
    """Return SQL for a struct as for a row: fields by name, without NULLs (docs/decisions/0007)."""
    ordered = sorted(fields, key=lambda field: field.name.lower())
    names = [f"{value}.{quoted(field.name)}" for field in ordered]
    pairs = zip(names, ordered, strict=True)
    coded = [_encode(name, field.type, _lead_of(field.name), depth) for name, field in pairs]
    count = " + ".join(f"CAST({name} IS NOT NULL AS INT)" for name in names) or "0"
    texts = [literal(f"{lead}R"), count, "':'", *(f"coalesce({each}, '')" for each in coded)]
    return f"CASE WHEN {value} IS NOT NULL THEN concat({', '.join(texts)}) END"


def _encode_scalar(value: str, name: str, lead: str) -> str:
    start = literal(f"{lead}{_type_letter(name)}")
    match _type_letter(name):
        case "B":
            return f"concat({start}, CAST({value} AS INT))"
        case "D":
            text = _plain_number(value, name)
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
    # Of ASCII bytes are counted, which is quicker; so it is to look a small number's text up.
    size = f"length({text})" if text == value else f"octet_length({text})"
    size = f"coalesce(get({_SMALL}, {size}), CAST({size} AS STRING))"
    return f"concat({start}, {size}, ':', {text})"


_SMALL = f"split('{' '.join(map(str, range(32)))}', ' ')"


def _plain_number(value: str, name: str) -> str:
    """Return SQL for a number without an exponent and trailing zeros."""
    decimal = _DECIMAL.fullmatch(name)
    places = int(decimal[1]) if decimal else 0
    if places > _MOST_PLAIN:  # CAST writes small ones with an exponent, outside ANSI mode
        return f"format_number({value}, '0.{'#' * places}')"
    text = f"CAST({value} AS STRING)"
    return f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM {text}))" if places else text


def _type_letter(name: str) -> str:
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
