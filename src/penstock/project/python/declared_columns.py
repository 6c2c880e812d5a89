"""Columns that a decorator declares: DDL, a StructType, a dataclass or a class of pydantic."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Protocol, Union, get_args, get_origin, get_type_hints

from penstock.core.columns.schema import Column, Schema, schema_from_json
from penstock.core.columns.types import ArrayType, ColumnType, Field, MapType, ScalarType
from penstock.core.columns.types import StructType as Struct
from penstock.project.files.values import UnknownTypeError, read_type

FORMS = "DDL such as 'id BIGINT NOT NULL', a schema of PySpark, a dataclass or a pydantic model"
_IDENTIFIER = re.compile(r"\w*")
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s:<>,`()]+))\s*(?::|\s)\s*")
_COMMENT = re.compile(
    r"\s+COMMENT\s+('(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")\s*$", re.IGNORECASE
)
_REQUIRED = re.compile(r"\s+NOT\s+NULL\s*$", re.IGNORECASE)
_PLAIN: Mapping[type, str] = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    str: "string",
    bytes: "binary",
    Decimal: "decimal(38,18)",
    dt.datetime: "timestamp",
    dt.date: "date",
    dt.timedelta: "interval day to second",
}
_LISTS = (list, tuple, set, frozenset, Sequence)
_OPEN, _DEEPEST = {"'", '"', "`"}, 30


class _StructType(Protocol):
    """`pyspark.sql.types.StructType`, which this module does not import."""

    def jsonValue(self) -> dict[str, Any]: ...  # noqa: N802  as PySpark has it


DeclaredColumns = str | type | _StructType


class WrongSchemaError(ValueError):
    """Something declares no columns; the text says what is wrong with it."""


def is_declared(value: object) -> bool:
    """Return whether a value declares columns; a single word is the name of a schema.

    >>> [is_declared(each) for each in ("marts", "id INT", {"id": "The number."})]
    [False, True, False]
    """
    if isinstance(value, str):
        return not _IDENTIFIER.fullmatch(value)
    return isinstance(value, type) or hasattr(value, "jsonValue")


def declared_columns(value: Any) -> Schema:  # noqa: ANN401  any of the forms
    """Return the declared columns in order; raise `WrongSchemaError`.

    >>> declared_columns("id BIGINT NOT NULL COMMENT 'its number', amount DECIMAL(10, 2)").columns[
    ...     0
    ... ]
    Column(name='id', type='bigint', nullable=False, comment='its number')
    """
    if isinstance(value, str):
        found = tuple(map(_column_of_ddl, _split(value)))
    elif callable(getattr(value, "jsonValue", None)) and hasattr(value, "fields"):
        found = schema_from_json(json.dumps(value.jsonValue())).columns
    elif _fields_of(value) is not None:
        found = tuple(_columns_of_class(value))
    else:
        raise WrongSchemaError("it declares no columns")
    if not found:
        raise WrongSchemaError("it declares no columns")
    names = [each.name.lower() for each in found]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise WrongSchemaError(f"column {twice!r} is declared twice")
    return Schema(found)


def _split(text: str) -> Iterator[str]:
    """Split at commas outside of brackets and quotes."""
    depth, quote, part = 0, "", ""
    escaped = False
    for sign in text:
        if quote:
            quote = "" if sign == quote and not escaped else quote
            escaped = sign == "\\" and not escaped
        elif sign in _OPEN:
            quote = sign
        elif sign == "," and depth == 0:
            yield part
            part = ""
            continue
        depth += 0 if quote else (sign in "<(") - (sign in ">)")
        part += sign
    yield part


def _column_of_ddl(part: str) -> Column:
    comment = _COMMENT.search(part)
    words = comment[1][1:-1] if comment else ""
    words = re.sub(r"\\(.)", r"\1", words.replace("''", "'"))
    rest = part[: comment.start()] if comment else part
    required = _REQUIRED.search(rest)
    rest = rest[: required.start()] if required else rest
    name = _NAME.match(rest)
    if name is None:
        raise WrongSchemaError(f"{part.strip()[:60]!r} is not a name and a type")
    plain = name[2] if name[1] is None else name[1].replace("``", "`")
    return Column(plain, _type_text(rest[name.end() :], plain), required is None, words)


def _type_text(text: str, column: str) -> str:
    try:
        return str(read_type(text))
    except UnknownTypeError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise WrongSchemaError(f"column {column!r} has the unknown type {text!r}{hint}") from None


def _fields_of(kind: Any) -> dict[str, str] | None:  # noqa: ANN401  a class, perhaps
    """Return the fields of a class with their comments; None if it has none to declare."""
    if not isinstance(kind, type):
        return None
    known = getattr(kind, "model_fields", None)
    if isinstance(known, Mapping):  # of pydantic
        return {name: str(getattr(each, "description", None) or "") for name, each in known.items()}
    if dataclasses.is_dataclass(kind):
        return {f.name: str(f.metadata.get("comment", "")) for f in dataclasses.fields(kind)}
    return None


def _columns_of_class(kind: type, depth: int = 0) -> Iterator[Column]:
    try:
        hints = get_type_hints(kind, include_extras=True)
    except Exception as error:  # noqa: BLE001  whatever its annotations raise
        raise WrongSchemaError(f"annotations of {kind.__name__} cannot be read: {error}") from None
    for name, comment in (_fields_of(kind) or {}).items():
        field = getattr(kind, "model_fields", {}).get(name)
        inner, nullable, noted = _unwrapped(hints[name], tuple(getattr(field, "metadata", ())))
        label = f"{kind.__name__}.{name}"
        yield Column(name, str(_type_of(inner, noted, label, depth)), nullable, comment)


def _unwrapped(hint: Any, noted: tuple[Any, ...] = ()) -> tuple[Any, bool, tuple[Any, ...]]:  # noqa: ANN401
    """Return a type without `Annotated` and `| None`, whether it may be None, and its notes."""
    if get_origin(hint) is Annotated:
        return _unwrapped(hint.__origin__, (*noted, *hint.__metadata__))
    if get_origin(hint) in (Union, types.UnionType):
        others = [each for each in get_args(hint) if each is not type(None)]
        if len(others) == 1:
            inner, _, more = _unwrapped(others[0], noted)
            return inner, len(others) < len(get_args(hint)), more
    return hint, False, noted


def _type_of(hint: Any, noted: tuple[Any, ...], label: str, depth: int) -> ColumnType:  # noqa: ANN401
    written = next((each for each in noted if isinstance(each, str)), None)
    if written is not None:
        return read_type(_type_text(written, label))
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin is Literal and len({type(each) for each in inner}) == 1:
        return _type_of(type(inner[0]), (), label, depth)
    if origin in _LISTS and inner:
        return ArrayType(_inner(inner[0], label, depth))
    if isinstance(origin, type) and issubclass(origin, Mapping) and len(inner) == 2:  # noqa: PLR2004
        return MapType(*(_inner(each, label, depth) for each in inner))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _type_of(Literal[tuple(each.value for each in hint)], (), label, depth)
    if isinstance(hint, type) and _fields_of(hint) is not None and depth < _DEEPEST:
        columns = _columns_of_class(hint, depth + 1)
        return Struct(tuple(Field(each.name, read_type(each.type)) for each in columns))
    if hint is Decimal:
        return _decimal(noted)
    if hint in _PLAIN:
        return ScalarType(_PLAIN[hint])
    shown = getattr(hint, "__name__", None) or str(hint)
    sentence = f"{label} is {shown}, which no column can hold"
    raise WrongSchemaError(f"{sentence}; say its type: Annotated[{shown}, 'STRING']")


def _inner(hint: Any, label: str, depth: int) -> ColumnType:  # noqa: ANN401  a type
    found, _, noted = _unwrapped(hint)
    return _type_of(found, noted, label, depth)


def _decimal(noted: tuple[Any, ...]) -> ColumnType:
    """Return a DECIMAL, with the digits that pydantic's constraints say."""
    noted = (*noted, *(more for each in noted for more in getattr(each, "metadata", ())))
    digits = next((n for each in noted if (n := getattr(each, "max_digits", None))), 38)
    usual = 18 if digits == 38 else 0  # noqa: PLR2004  as Spark has it
    places = (n for each in noted if (n := getattr(each, "decimal_places", None)) is not None)
    return ScalarType(f"decimal({digits},{next(places, usual)})")
