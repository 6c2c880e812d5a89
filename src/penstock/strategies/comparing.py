"""Comparing and converting values exactly: NULL equals NULL, maps are sets, at any depth."""

from __future__ import annotations

from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    MapType,
    ScalarType,
    StructType,
    has_map,
    merged,
    parse_type,
    sql_type,
)
from penstock.core.names import literal, quoted


def same(left: str, right: str, left_type: str, right_type: str | None) -> str:
    """Give SQL that is true where two expressions are equal and false where they are not.

    Without `right_type` the right side has no such column: it counts as NULL. Numbers are
    compared in the wider type; a field that only one side has is NULL on the other. Raises
    ValueError where no type holds both.

    >>> same("s.`a`", "t.`a`", "int", "int")
    's.`a` <=> t.`a`'
    """
    if right_type is None:
        return f"{left} IS NULL"
    both = parse_type(merged_type(left_type, right_type))
    one = _shaped(left, parse_type(left_type), both, flat=True)
    other = _shaped(right, parse_type(right_type), both, flat=True)
    return f"{one} <=> {other}"


def merged_type(first: str, second: str, *, grow: bool = True) -> str:
    """Give the type that holds both; ValueError if there is none.

    Fields that only `second` has stand last, or are left out without `grow`.

    >>> merged_type("struct<a:int>", "struct<a:bigint,b:date>")
    'struct<a:bigint,b:date>'
    """
    both = merged(parse_type(first), parse_type(second), grow=grow)
    if both is None:
        raise ValueError(f"no type holds both {first} and {second}")
    return str(both)


def converted(expression: str, have: str, want: str) -> str:
    """Give SQL that turns a value of one type into a type that holds it.

    Numbers are cast up, fields that are missing become NULL, fields that `want` lacks are left
    out; a NULL stays NULL, at any depth. Raises ValueError where values could be lost.

    >>> converted("s.`a`", "array<int>", "array<bigint>")
    'CAST(s.`a` AS ARRAY<bigint>)'
    """
    of, to = parse_type(have), parse_type(want)
    if merged(to, of, grow=False) != to:
        raise ValueError(f"{want} does not hold every {have}")
    return _shaped(expression, of, to, flat=False)


def cast(value: str, have: ColumnType, want: ColumnType) -> str:
    """Give SQL that turns `value`, a name or a path, into another type; NULL stays NULL.

    A CAST of structs goes by place and would swap two fields without a word, so structs whose
    fields stand otherwise are built anew; a field that the value lacks becomes NULL.

    >>> cast("`n`", parse_type("int"), parse_type("bigint"))
    'CAST(`n` AS bigint)'
    >>> cast("`s`", parse_type("struct<b:int,a:int>"), parse_type("struct<a:int,b:bigint>"))
    "CASE WHEN `s` IS NOT NULL THEN named_struct('a', `s`.`a`, 'b', CAST(`s`.`b` AS bigint)) END"
    """
    return _shaped(value, have, want, flat=False)


def null(kind: ColumnType) -> str:
    """Give NULL of a type."""
    return f"CAST(NULL AS {sql_type(kind)})"


def _shaped(value: str, have: ColumnType, want: ColumnType, *, flat: bool, depth: int = 1) -> str:
    """Give a value in another type; `flat` puts sorted entries in the place of every map.

    Spark compares no maps. `depth` numbers the variables of lambdas.
    """
    stays = not (flat and has_map(want))
    if stays and have == want:
        return value
    if stays and _casts(have, want):
        return f"CAST({value} AS {sql_type(want)})"
    each = f"x{depth}"
    match have, want:
        case ArrayType(of), ArrayType(to):
            item = _shaped(each, of, to, flat=flat, depth=depth + 1)
            return f"transform({value}, {each} -> {item})"
        case MapType(), MapType():
            return (_entries if flat else _map)(value, have, want, depth)
        case StructType(), StructType():
            named = []
            for field in want.fields:
                if (given := have.find(field.name)) is None:
                    part = _shaped(null(field.type), field.type, field.type, flat=flat)
                else:
                    path = f"{value}.{quoted(given.name)}"
                    part = _shaped(path, given.type, field.type, flat=flat, depth=depth)
                named.append(f"{literal(field.name)}, {part}")
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(named)}) END"
        case _:
            return f"CAST({value} AS {sql_type(want)})"


def _entries(value: str, have: MapType, want: MapType, depth: int) -> str:
    each = f"x{depth}"
    key = _shaped(f"{each}.key", have.key, want.key, flat=True, depth=depth + 1)
    inner = _shaped(f"{each}.value", have.value, want.value, flat=True, depth=depth + 1)
    if (key, inner) == (f"{each}.key", f"{each}.value"):
        return f"sort_array(map_entries({value}))"
    return f"sort_array(transform(map_entries({value}), {each} -> struct({key}, {inner})))"


def _map(value: str, have: MapType, want: MapType, depth: int) -> str:
    key = _shaped(f"k{depth}", have.key, want.key, flat=False, depth=depth + 1)
    inner = _shaped(f"v{depth}", have.value, want.value, flat=False, depth=depth + 1)
    if have.key != want.key:
        value = f"transform_keys({value}, (k{depth}, v{depth}) -> {key})"
    if have.value != want.value:
        value = f"transform_values({value}, (k{depth}, v{depth}) -> {inner})"
    return value


def _casts(have: ColumnType, want: ColumnType) -> bool:
    """Whether a CAST does it: the parts are the same, in the same order."""
    match have, want:
        case ScalarType(), ScalarType():
            return True
        case ArrayType(of), ArrayType(to):
            return _casts(of, to)
        case MapType(), MapType():
            return _casts(have.key, want.key) and _casts(have.value, want.value)
        case StructType(), StructType():
            names = [[each.name.lower() for each in kind.fields] for kind in (have, want)]
            pairs = zip(have.fields, want.fields, strict=False)
            return names[0] == names[1] and all(_casts(of.type, to.type) for of, to in pairs)
        case _:
            return False
