"""Types of a test's columns, and its values as values of them: exactly, or not at all (§9.2)."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Iterable, Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import TypeAlias

from penstock.core.columns import types
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project
from penstock.project.files.values import documented_types
from penstock.project.unit_tests.definition import Cell, CellKind, GivenTable

Value: TypeAlias = (
    "bool | int | float | Decimal | str | bytes | dt.date | dt.datetime | tuple[Value, ...] | None"
)
"""A timestamp is UTC without a zone; a struct is the tuple of its fields, a map one of pairs."""
Row = tuple[Value, ...]
Column = tuple[str, types.ColumnType]

_TYPES = {
    CellKind.BOOLEAN: "boolean",
    CellKind.INTEGER: "bigint",
    CellKind.NUMBER: "double",
    CellKind.DATE: "date",
    CellKind.TIMESTAMP: "timestamp",
    CellKind.TEXT: "string",
}
_JOINED = {
    frozenset({CellKind.INTEGER, CellKind.NUMBER}): "double",
    frozenset({CellKind.DATE, CellKind.TIMESTAMP}): "timestamp",
}
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_SIZED = re.compile(r"(?:varchar|char)\((\d+)\)")
_EXACT = Context(prec=400)
_LONGEST = 350
_FRACTION = re.compile(r"\.(\d+)")
_FLOATS = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
_WORDS = {"true": True, "false": False}
_YAML_WORDS = {**_WORDS, "yes": True, "on": True, "no": False, "off": False}


def known_types(project: Project, name: InputName) -> Mapping[str, types.ColumnType]:
    """Return the declared types of a source, a model or a seed by column; none of other tables."""
    if name.kind is InputKind.SOURCE:
        return documented_types(project.sources[name.name].columns)
    if name.kind is InputKind.EXTERNAL:
        return {}
    model = project.models.get(name.name)
    return model_types(model) if model else documented_types(project.seeds[name.name].columns)


def model_types(model: Model) -> Mapping[str, types.ColumnType]:
    """Return the declared types of a model's own table, system columns with them.

    Columns that no version declares any more stay known; the newest version counts.
    """
    found = documented_types(model.columns)
    for version in sorted(model.versions, key=lambda each: each.number):
        for column in version.schema.columns:
            found[column.name] = types.parse_type(column.type)
    if model.history is not None:
        columns = model.history.columns
        time, flag = types.ScalarType("timestamp"), types.ScalarType("boolean")
        found |= dict.fromkeys((columns.valid_from, columns.valid_to), time)
        found |= dict.fromkeys((columns.is_current, columns.is_deleted), flag)
    return found


def untold_types(model: Model, table: GivenTable) -> Mapping[str, types.ColumnType]:
    """Return the types that an entity declares for columns of a slice without any value.

    What is delivered need not have them: a text may stand where a number belongs.
    """
    declared = {each.name: each.type for each in model.entity.columns} if model.entity else {}
    named = {name.lower() for name in table.names}
    return {
        name: types.parse_type(kind)
        for name, kind in declared.items()
        if name and kind and not table.query
        if (not named or name.lower() in named) and not inferred(table.column(name))
    }


def type_in(table: GivenTable, name: str) -> types.ColumnType | None:
    """Return the type of a column: the declared one, else that of its values."""
    return table.type_of(name) or inferred(table.column(name))


def inferred(cells: Iterable[Cell]) -> types.ColumnType | None:
    """Return the type of a column by its values; None where all of them are NULL.

    Values of two kinds are texts, unless one kind holds the other.
    """
    given = [cell for cell in cells if cell.kind is not CellKind.NULL]
    kinds = frozenset(cell.kind for cell in given)
    if not kinds:
        return None
    if kinds == {CellKind.LIST}:
        element = inferred(item for cell in given for item in cell.items)
        return element and types.ArrayType(element)
    if kinds == {CellKind.MAPPING}:
        values: dict[str, list[Cell]] = {}
        for name, value in (entry for cell in given for entry in cell.members.items()):
            values.setdefault(name, []).append(value)
        inner = {name: inferred(each) for name, each in values.items()}
        fields = tuple(types.Field(name, kind) for name, kind in inner.items() if kind is not None)
        return types.StructType(fields) if len(fields) == len(inner) else None
    if len(kinds) == 1:
        return types.ScalarType(_TYPES[next(iter(kinds))])
    return types.ScalarType(_JOINED.get(kinds, "string"))


class CellError(ValueError):
    """A value that its column cannot hold; the text says why."""


def typed(cell: Cell, kind: types.ColumnType) -> Value:
    """Return a value as its column holds it; raises `CellError`, whose text is for the user."""
    if cell.kind is CellKind.NULL:
        return None
    match kind:
        case types.ArrayType(element):
            _need(cell, CellKind.LIST, "a list")
            return tuple(typed(each, element) for each in cell.items)
        case types.StructType(fields):
            _need(cell, CellKind.MAPPING, "a mapping of its fields")
            given = {name.lower(): value for name, value in cell.members.items()}
            known = {field.name.lower() for field in fields}
            for name in cell.members:
                if name.lower() not in known:
                    raise CellError(f"{name!r} is no field of {kind}")
            found = ((given.get(field.name.lower()), field.type) for field in fields)
            return tuple(None if value is None else typed(value, inner) for value, inner in found)
        case types.MapType(key, value):
            _need(cell, CellKind.MAPPING, "a mapping")
            return tuple(
                (typed(Cell(name, CellKind.TEXT, each.where), key), typed(each, value))
                for name, each in cell.members.items()
            )
        case types.ScalarType(name):
            if cell.kind in (CellKind.LIST, CellKind.MAPPING):
                raise CellError(f"a {cell.kind} is not {name.upper()}")
            return scalar(cell.text, name, cell.kind)


def _need(cell: Cell, kind: CellKind, words: str) -> None:
    if cell.kind is not kind:
        raise CellError(f"{cell.text!r} is not {words}")


def scalar(text: str, name: str, kind: CellKind = CellKind.TEXT) -> Value:
    """Read a text as a value of a scalar type in Spark's short spelling; raises `CellError`."""
    try:
        return _scalar(text, name, kind)
    except CellError:
        raise
    except (ValueError, KeyError, InvalidOperation, OverflowError) as error:
        raise CellError(f"{text!r} is no value of {name.upper()}") from error


def _scalar(text: str, name: str, kind: CellKind) -> Value:  # noqa: C901  one case per type
    """Raise some `ValueError` or `KeyError` for a text that is no such value."""
    match name.partition("(")[0].partition(" collate ")[0]:
        case "string" | "varchar" | "char":
            sized = _SIZED.fullmatch(name)
            if sized and len(text) > int(sized[1]):
                raise ValueError
            return text
        case "boolean":
            words = _YAML_WORDS if kind is CellKind.BOOLEAN else _WORDS
            return words[text.strip().lower()]
        case "tinyint" | "smallint" | "int" | "bigint":
            number, bound = _number(text), 1 << (_BITS[name] - 1)
            if number != number.to_integral_value(context=_EXACT) or not -bound <= number < bound:
                raise ValueError
            return int(number)
        case "decimal":
            return _decimal(text, name)
        case "double" | "float":
            return _float(text, name, kind)
        case "date":
            stamp = dt.datetime.fromisoformat(text.strip())
            if stamp.tzinfo is not None or stamp.time() != dt.time():
                raise ValueError
            return stamp.date()
        case "timestamp" | "timestamp_ntz":
            return _timestamp(text, name)
        case "binary":
            return bytes.fromhex(text)
    raise CellError(f"{name.upper()} cannot be given as rows; give the table as sql")


def _number(text: str) -> Decimal:
    """Read a finite number that is not so long that its arithmetic would never end."""
    number = Decimal(text.strip().replace("_", ""))
    if not number.is_finite() or len(text) > _LONGEST or abs(number.adjusted()) > _LONGEST:
        raise ValueError
    return number


def _decimal(text: str, name: str) -> Decimal:
    sizes = _DECIMAL.fullmatch(name)
    precision, scale = (int(sizes[1]), int(sizes[2])) if sizes else (10, 0)
    number = _number(text)
    fitted = number.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    whole = fitted.scaleb(scale, _EXACT).copy_abs()  # abs() would round to 28 digits
    if fitted != number or whole >= Decimal(1).scaleb(precision):
        raise ValueError
    return fitted


def _float(text: str, name: str, kind: CellKind) -> float:
    folded = text.strip().lower().replace("infinity", "inf").removeprefix("+")
    word = folded.replace(".", "") if folded.lstrip("-").startswith(".") else folded
    if word in _FLOATS:
        return _FLOATS[word]
    number = float(text)
    if name == "float":  # the one next to it; beyond the greatest there is none
        number = struct.unpack("f", struct.pack("f", number))[0]
    if math.isinf(number) or math.isnan(number):
        raise ValueError
    if kind is CellKind.INTEGER and int(number) != int(text):
        raise CellError(f"{text} is rounded to {number!r} as {name.upper()}")
    return number


def _timestamp(text: str, name: str) -> dt.datetime:
    trimmed = re.sub(r"\s+(?=(?:Z|[-+]\d{2}(?::?\d{2})?)$)", "", text.strip())
    stamp = dt.datetime.fromisoformat(trimmed)
    fraction = _FRACTION.search(trimmed)
    if fraction and fraction[1][6:].strip("0"):
        raise CellError(f"{text!r} is finer than a microsecond")
    if stamp.tzinfo is not None:
        if name == "timestamp_ntz":
            raise CellError(f"{text!r} has a zone, and {name.upper()} has none")
        stamp = stamp.astimezone(dt.UTC).replace(tzinfo=None)
    return stamp


def text_of(value: Value, kind: types.ColumnType) -> str:
    """Return a scalar as text that Spark casts back to the same value."""
    match value:
        case bool():
            return str(value).lower()
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float():
            return "NaN" if math.isnan(value) else repr(value)
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.hex().upper()
        case dt.datetime():
            zone = "Z" if kind == types.ScalarType("timestamp") else ""
            return value.isoformat(timespec="microseconds") + zone
        case dt.date():
            return value.isoformat()
    return str(value)
