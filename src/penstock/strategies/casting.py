"""SQL that gives a value another type: fields of structs by name, never by place."""

from __future__ import annotations

from penstock.core.names import literal, quoted
from penstock.core.types import ArrayType, ColumnType, MapType, StructType, sql_type


def cast(value: str, have: ColumnType, want: ColumnType, depth: int = 0) -> str:
    """Give SQL that turns `value`, a name or a path, into another type; NULL stays NULL.

    A CAST of structs goes by place and would swap two fields without a word, so structs whose
    fields stand otherwise are built anew; a field that the value lacks becomes NULL.

    >>> from penstock.core.types import parse_type
    >>> cast("`n`", parse_type("int"), parse_type("bigint"))
    'CAST(`n` AS bigint)'
    >>> cast("`s`", parse_type("struct<b:int,a:int>"), parse_type("struct<a:int,b:bigint>"))
    "IF(`s` IS NULL, NULL, named_struct('a', `s`.`a`, 'b', CAST(`s`.`b` AS bigint)))"
    """
    if have == want:
        return value
    if _stand_alike(have, want):
        return f"CAST({value} AS {sql_type(want)})"
    each, other = f"v{depth}", f"k{depth}"
    match have, want:
        case ArrayType(), ArrayType():
            inner = cast(each, have.element, want.element, depth + 1)
            return f"transform({value}, {each} -> {inner})"
        case MapType(), MapType():
            key = cast(other, have.key, want.key, depth + 1)
            inner = cast(each, have.value, want.value, depth + 1)
            with_values = f"transform_values({value}, ({other}, {each}) -> {inner})"
            if key == other:
                return with_values
            return f"transform_keys({with_values}, ({other}, {each}) -> {key})"
        case StructType(), StructType():
            return _struct(value, have, want, depth)
        case _:
            return f"CAST({value} AS {sql_type(want)})"


def _struct(value: str, have: StructType, want: StructType, depth: int) -> str:
    parts = []
    for field in want.fields:
        known = have.find(field.name)
        inner = (
            null(field.type)
            if known is None
            else cast(f"{value}.{quoted(known.name)}", known.type, field.type, depth)
        )
        parts.append(f"{literal(field.name)}, {inner}")
    return f"IF({value} IS NULL, NULL, named_struct({', '.join(parts)}))"


def null(kind: ColumnType) -> str:
    """Give NULL of a type."""
    return f"CAST(NULL AS {sql_type(kind)})"


def _stand_alike(have: ColumnType, want: ColumnType) -> bool:
    """Whether all fields of structs have the same places in both."""
    match have, want:
        case ArrayType(one), ArrayType(other):
            return _stand_alike(one, other)
        case MapType(), MapType():
            return _stand_alike(have.key, want.key) and _stand_alike(have.value, want.value)
        case StructType(), StructType():
            names = [[field.name.lower() for field in kind.fields] for kind in (have, want)]
            pairs = zip(have.fields, want.fields, strict=False)
            return names[0] == names[1] and all(_stand_alike(a.type, b.type) for a, b in pairs)
        case _:
            return True
