"""The text that the row hash is made of, written down once more in plain Python."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Mapping
from decimal import Decimal

from penstock.core.columns.types import ArrayType, MapType, ScalarType, StructType, parse_type

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)


def hash_of(row: Mapping[str, object], types: Mapping[str, str]) -> str:
    """Hash a row whose columns have these types."""
    parts = []
    for name in sorted(row, key=str.lower):
        if row[name] is not None:
            lead = f"{len(name)}:{name.lower()}"
            parts.append(lead + text_of(row[name], parse_type(types[name])))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def text_of(value, kind) -> str:
    """Give the encoding of one value inside a column."""
    if value is None:
        return "N"
    match kind:
        case ArrayType(element):
            return f"A{len(value)}:" + "".join(text_of(each, element) for each in value)
        case StructType(fields):
            told = [(f, v) for f, v in zip(fields, value, strict=True) if v is not None]
            told.sort(key=lambda pair: pair[0].name.lower())
            parts = [f"{len(f.name)}:{f.name.lower()}{text_of(v, f.type)}" for f, v in told]
            return f"R{len(parts)}:" + "".join(parts)
        case MapType():
            entries = [(text_of(k, kind.key), text_of(v, kind.value)) for k, v in value.items()]
            return f"M{len(entries)}:" + "".join(k + v for k, v in sorted(entries))
        case ScalarType(name):
            return scalar_text(value, name.partition("(")[0])


def scalar_text(value, name) -> str:
    match name:
        case "boolean":
            return f"B{int(value)}"
        case "tinyint" | "smallint" | "int" | "bigint" | "decimal":
            return sized("D", plain(Decimal(value)))
        case "float" | "double":
            return sized("F", shortest(value))
        case "string":
            return sized("S", value)
        case "binary":
            return sized("X", value.hex().upper())
        case "date":
            return f"d{(value - EPOCH.date()).days};"
        case "timestamp":
            return f"t{(value - EPOCH) // MICROSECOND};"
        case "timestamp_ntz":
            return f"n{(value - EPOCH.replace(tzinfo=None)) // MICROSECOND};"


def sized(letter: str, text: str) -> str:
    return f"{letter}{len(text)}:{text}"


def plain(number: Decimal) -> str:
    """No exponent, no trailing zeros, no minus before zero."""
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def shortest(number: float) -> str:
    """The fewest digits that read back as the number, with Java's exponent."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0.0"
    if 1e-3 <= abs(number) < 1e7:
        return repr(float(number))
    sign, digits, exponent = Decimal(repr(float(number))).normalize().as_tuple()
    places = "".join(map(str, digits))
    power = exponent + len(places) - 1
    return f"{'-' if sign else ''}{places[0]}.{places[1:] or '0'}E{power}"
