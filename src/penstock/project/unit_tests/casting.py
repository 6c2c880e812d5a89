"""Types of a test's columns, and whether its cells are valid values of them; Spark casts."""

from __future__ import annotations

import base64
import datetime as dt
import math
import re
import struct
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TypeAlias

from penstock.core.columns import types
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project
from penstock.project.files.nodes import YamlNode
from penstock.project.files.values import documented_types, text_of
from penstock.project.unit_tests.definition import CellKind, GivenTable, kind_of

Scalar: TypeAlias = bool | int | float | Decimal | str | bytes | dt.date
Text: TypeAlias = "str | list[Text] | dict[str, Text] | None"
"""A value whose scalars are texts for Spark to cast, BINARY in base64."""
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
_SIZES = re.compile(r"\w+\((\d+)(?:,(\d+))?\)")
_FRACTION = re.compile(r"\.\d{6}(\d+)")
_WORDS = {"true": True, "false": False}
_YAML_WORDS = {**_WORDS, "yes": True, "on": True, "no": False, "off": False}


def known_types(project: Project, name: InputName) -> Mapping[str, types.ColumnType]:
    """Return the declared column types of a source, a model or a seed; empty for other tables."""
    if name.kind is InputKind.SOURCE:
        return documented_types(project.sources[name.name].columns)
    if name.kind is InputKind.EXTERNAL:
        return {}
    model = project.models.get(name.name)
    return model_types(model) if model else documented_types(project.seeds[name.name].columns)


def model_types(model: Model) -> Mapping[str, types.ColumnType]:
    """Return the declared types of a model's own table, including system columns.

    Columns of earlier versions are included; the newest version counts.
    """
    found = documented_types(model.columns)
    for version in sorted(model.versions, key=lambda each: each.number):
        for column in version.schema.columns:
            found[column.name] = types.parse_type(column.type)
    if model.history is not None:
        columns = model.history.columns
        time, flag = types.ScalarType("timestamp"), types.ScalarType("boolean")
        found |= dict.fromkeys((columns.valid_from, columns.valid_to), time)
        if columns.scd_id:
            found |= {columns.updated_at: time} | dict.fromkeys(
                (columns.scd_id, columns.is_deleted), types.ScalarType("string")
            )
        else:
            found |= dict.fromkeys((columns.is_current, columns.is_deleted), flag)
    return found


def untold_types(model: Model, table: GivenTable) -> Mapping[str, types.ColumnType]:
    """Return the types that an entity declares for slice columns without any value.

    Values in a slice may differ from them: a text may be in place of a number.
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
    """Return the type of a column: the declared one, otherwise that of its values."""
    return table.type_of(name) or inferred(table.column(name))


def inferred(cells: Iterable[YamlNode]) -> types.ColumnType | None:
    """Return the type of a column by its values; None if all of them are NULL.

    Values of two kinds are texts, unless one kind includes the other.
    """
    given = [cell for cell in cells if kind_of(cell) is not CellKind.NULL]
    kinds = frozenset(map(kind_of, given))
    if not kinds:
        return None
    if kinds == {CellKind.LIST}:
        element = inferred(item for cell in given for item in cell.items)
        return element and types.ArrayType(element)
    if kinds == {CellKind.MAPPING}:
        values: dict[str, list[YamlNode]] = {}
        for name, value in (entry for cell in given for entry in cell.members.items()):
            values.setdefault(name, []).append(value)
        inner = {name: inferred(each) for name, each in values.items()}
        fields = tuple(types.Field(name, kind) for name, kind in inner.items() if kind is not None)
        return types.StructType(fields) if len(fields) == len(inner) else None
    if len(kinds) == 1:
        return types.ScalarType(_TYPES[next(iter(kinds))])
    return types.ScalarType(_JOINED.get(kinds, "string"))


class CellError(ValueError):
    """A value that its column cannot hold; the message says why."""


def typed(cell: YamlNode, kind: types.ColumnType) -> Text:
    """Return a value as Spark casts it to its column's type; raises `CellError`."""
    written = kind_of(cell)
    if written is CellKind.NULL:
        return None
    match kind:
        case types.ArrayType(element):
            _need(cell, CellKind.LIST, "a list")
            return [typed(each, element) for each in cell.items]
        case types.StructType(fields):
            _need(cell, CellKind.MAPPING, "a mapping of its fields")
            known = {field.name.lower(): (f"f{n}", field.type) for n, field in enumerate(fields)}
            for name in cell.members:
                if name.lower() not in known:
                    raise CellError(f"{name!r} is not a field of {kind}")
            pairs = ((known[name.lower()], each) for name, each in cell.members.items())
            return {field: typed(each, inner) for (field, inner), each in pairs}
        case types.MapType(key, value):
            _need(cell, CellKind.MAPPING, "a mapping")
            return {
                str(typed(YamlNode(name, cell.where), key)): typed(each, value)
                for name, each in cell.members.items()
            }
        case types.ScalarType(name):
            if written in (CellKind.LIST, CellKind.MAPPING):
                raise CellError(f"a {written} is not {name.upper()}")
            found = scalar(text_of(cell.plain), name, written)
            return base64.b64encode(found).decode() if isinstance(found, bytes) else str(found)


def _need(cell: YamlNode, kind: CellKind, words: str) -> None:
    if kind_of(cell) is not kind:
        text = "" if cell.members or cell.items else text_of(cell.plain)
        raise CellError(f"{text!r} is not {words}")


def scalar(text: str, name: str, kind: CellKind = CellKind.TEXT) -> Scalar:
    """Parse a text as a scalar type in Spark's short spelling; raise `CellError`."""
    try:
        return _scalar(text, name, kind)
    except CellError:
        raise
    except (ValueError, KeyError, ArithmeticError) as error:
        raise CellError(f"{text!r} is not a value of {name.upper()}") from error


def _scalar(text: str, name: str, kind: CellKind) -> Scalar:
    """Raise some `ValueError` or `KeyError` for a text that is not such a value."""
    match name.partition("(")[0].partition(" collate ")[0]:
        case "string":
            return text
        case "varchar" | "char" | "decimal":
            return _sized(text, name)
        case "boolean":
            return (_YAML_WORDS if kind is CellKind.BOOLEAN else _WORDS)[text.strip().lower()]
        case "tinyint" | "smallint" | "int" | "bigint":
            return _whole(text, 1 << (_BITS[name] - 1))
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


def _sized(text: str, name: str) -> str | Decimal:
    sizes = _SIZES.fullmatch(name)
    most, places = (int(sizes[1]), int(sizes[2] or 0)) if sizes else (10, 0)
    if name.startswith("decimal"):
        return _decimal(text, most - places, places)
    if sizes and len(text) > most:
        raise ValueError
    return text


def _whole(text: str, bound: int) -> int:
    number = int(_decimal(text, 19, 0))
    if not -bound <= number < bound:
        raise ValueError
    return number


def _decimal(text: str, most: int, places: int) -> Decimal:
    """Parse a number with a maximum number of digits before and after its point."""
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError
    first, count = number.adjusted(), len("".join(map(str, number.as_tuple().digits)).rstrip("0"))
    if count and (first >= most or count - 1 - first > places):
        raise ValueError
    return number


def _float(text: str, name: str, kind: CellKind) -> float:
    word = re.sub(r"\.(?=[in])", "", text.strip().lower())  # YAML writes .inf and .nan
    number = float(word)
    if name == "float" and math.isfinite(number):  # beyond the greatest there is none
        number = struct.unpack("f", struct.pack("f", number))[0]
    if math.isinf(number) and "inf" not in word:
        raise ValueError
    if kind is CellKind.INTEGER and int(number) != int(text):
        raise CellError(f"{text} is rounded to {number!r} as {name.upper()}")
    return number


def _timestamp(text: str, name: str) -> dt.datetime:
    trimmed = re.sub(r"\s+(?=(?:Z|[-+]\d{2}(?::?\d{2})?)$)", "", text.strip())
    stamp = dt.datetime.fromisoformat(trimmed)
    fraction = _FRACTION.search(trimmed)
    if fraction and fraction[1].strip("0"):
        raise CellError(f"{text!r} is finer than a microsecond")
    if stamp.tzinfo is not None and name == "timestamp_ntz":
        raise CellError(f"{text!r} has a zone, and {name.upper()} has none")
    utc = stamp.astimezone(dt.UTC) if stamp.tzinfo else stamp.replace(tzinfo=dt.UTC)
    return utc if name == "timestamp" else stamp
