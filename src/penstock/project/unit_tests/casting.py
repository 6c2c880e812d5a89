"""Values of tests as values of a type: exactly, or not at all (spec/checks.md §9.2)."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from decimal import Context, Decimal, InvalidOperation
from typing import TypeAlias

from penstock.core.columns.types import ArrayType, ColumnType, MapType, ScalarType, StructType
from penstock.project.unit_tests.definition import Cell, CellKind

Value: TypeAlias = (
    "bool | int | float | Decimal | str | bytes | dt.date | dt.datetime | tuple[Value, ...] | None"
)
"""A timestamp is UTC without a zone; a struct is the tuple of its fields, a map one of pairs."""

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_SIZED = re.compile(r"(?:varchar|char)\((\d+)\)")
_EXACT = Context(prec=400)
_LONGEST = 350
_FRACTION = re.compile(r"\.(\d+)")
_FLOATS = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


class CellError(ValueError):
    """A value that its column cannot hold; the text says why."""


def typed(cell: Cell, kind: ColumnType) -> Value:
    """Give a value as its column holds it; raises `CellError`, whose text is for the user.

    >>> from penstock.core.findings import Location
    >>> typed(Cell("1.50", CellKind.NUMBER, Location("t.yml")), ScalarType("decimal(4,2)"))
    Decimal('1.50')
    """
    if cell.kind is CellKind.NULL:
        return None
    match kind:
        case ArrayType(element):
            _need(cell, CellKind.LIST, "a list")
            return tuple(typed(each, element) for each in cell.items)
        case StructType(fields):
            _need(cell, CellKind.MAPPING, "a mapping of its fields")
            given = {name.lower(): value for name, value in cell.entries}
            known = {field.name.lower() for field in fields}
            for name, _ in cell.entries:
                if name.lower() not in known:
                    raise CellError(f"{name!r} is no field of {kind}")
            found = ((given.get(field.name.lower()), field.type) for field in fields)
            return tuple(None if value is None else typed(value, inner) for value, inner in found)
        case MapType(key, value):
            _need(cell, CellKind.MAPPING, "a mapping")
            return tuple(
                (typed(Cell(name, CellKind.TEXT, each.where), key), typed(each, value))
                for name, each in cell.entries
            )
        case ScalarType(name):
            if cell.kind in (CellKind.LIST, CellKind.MAPPING):
                raise CellError(f"a {cell.kind} is not {_shown(name)}")
            return scalar(cell.text, name, cell.kind)


def scalar(text: str, name: str, kind: CellKind = CellKind.TEXT) -> Value:
    """Read a text as a value of a scalar type in Spark's short spelling; raises `CellError`."""
    stem = name.partition("(")[0].partition(" collate ")[0]
    try:
        return _scalar(text, name, stem, kind)
    except (ValueError, InvalidOperation, OverflowError) as error:
        if isinstance(error, CellError):
            raise
        raise _misfit(text, name) from error


def _scalar(text: str, name: str, stem: str, kind: CellKind) -> Value:
    match stem:
        case "string" | "varchar" | "char":
            return _text(text, name)
        case "boolean":
            return _boolean(text, name, kind)
        case "tinyint" | "smallint" | "int" | "bigint":
            return _integer(text, name)
        case "decimal":
            return _decimal(text, name)
        case "double" | "float":
            return _float(text, name, kind)
        case "date":
            return _date(text, name)
        case "timestamp" | "timestamp_ntz":
            return _timestamp(text, name)
        case "binary":
            return bytes.fromhex(text)
    raise CellError(f"{_shown(name)} cannot be given as rows; give the table as sql")


def _text(text: str, name: str) -> str:
    sized = _SIZED.fullmatch(name)
    if sized and len(text) > int(sized[1]):
        raise _misfit(text, name)
    return text


def _boolean(text: str, name: str, kind: CellKind) -> bool:
    folded = text.strip().lower()
    yes, no = ({"true"}, {"false"})
    if kind is CellKind.BOOLEAN:  # YAML has more words for it
        yes, no = {"true", "yes", "on"}, {"false", "no", "off"}
    if folded in yes:
        return True
    if folded in no:
        return False
    raise _misfit(text, name)


def _integer(text: str, name: str) -> int:
    number = _number(text, name)
    bound = 1 << (_BITS[name] - 1)
    if number != number.to_integral_value(context=_EXACT) or not -bound <= number < bound:
        raise _misfit(text, name)
    return int(number)


def _decimal(text: str, name: str) -> Decimal:
    sizes = _DECIMAL.fullmatch(name)
    precision, scale = (int(sizes[1]), int(sizes[2])) if sizes else (10, 0)
    number = _number(text, name)
    fitted = number.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    whole = fitted.scaleb(scale, _EXACT).copy_abs()  # abs() would round to 28 digits
    if fitted != number or whole >= Decimal(1).scaleb(precision):
        raise _misfit(text, name)
    return fitted


def _number(text: str, name: str) -> Decimal:
    """Read a finite number that is not so long that its arithmetic would never end."""
    number = Decimal(text.strip().replace("_", ""))
    if not number.is_finite() or len(text) > _LONGEST or abs(number.adjusted()) > _LONGEST:
        raise _misfit(text, name)
    return number


def _float(text: str, name: str, kind: CellKind) -> float:
    folded = text.strip().lower().replace("infinity", "inf").removeprefix("+")
    word = folded.replace(".", "") if folded.lstrip("-").startswith(".") else folded
    if word in _FLOATS:
        return _FLOATS[word]
    number = float(text)
    if name == "float":
        number = as_single(number)
    if math.isinf(number) or math.isnan(number):
        raise _misfit(text, name)
    if kind is CellKind.INTEGER and int(number) != int(text):
        raise CellError(f"{text} is rounded to {number!r} as {_shown(name)}")
    return number


def as_single(number: float) -> float:
    """Give the FLOAT next to a number; raises `OverflowError` beyond the greatest."""
    single: float = struct.unpack("f", struct.pack("f", number))[0]
    return single


def _date(text: str, name: str) -> dt.date:
    stamp = dt.datetime.fromisoformat(text.strip())
    if stamp.tzinfo is not None or stamp.time() != dt.time():
        raise _misfit(text, name)
    return stamp.date()


def _timestamp(text: str, name: str) -> dt.datetime:
    trimmed = re.sub(r"\s+(?=(?:Z|[-+]\d{2}(?::?\d{2})?)$)", "", text.strip())
    stamp = dt.datetime.fromisoformat(trimmed)
    fraction = _FRACTION.search(trimmed)
    if fraction and fraction[1][6:].strip("0"):
        raise CellError(f"{text!r} is finer than a microsecond")
    if stamp.tzinfo is not None:
        if name == "timestamp_ntz":
            raise CellError(f"{text!r} has a zone, and {_shown(name)} has none")
        stamp = stamp.astimezone(dt.UTC).replace(tzinfo=None)
    return stamp


def _need(cell: Cell, kind: CellKind, words: str) -> None:
    if cell.kind is not kind:
        raise CellError(f"{cell.text!r} is not {words}")


def _misfit(text: str, name: str) -> CellError:
    return CellError(f"{text!r} is no value of {_shown(name)}")


def _shown(name: str) -> str:
    return name.upper()
