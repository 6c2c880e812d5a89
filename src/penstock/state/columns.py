"""The columns of the state store: their types, and functions that create common ones."""

from __future__ import annotations

import datetime as dt
import json
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import BigInteger, Column, ColumnElement, DateTime, LargeBinary, Text, type_coerce
from sqlalchemy.types import TypeDecorator

from penstock.core.codec import DocumentForm
from penstock.core.masking import SECRETS, mask
from penstock.core.partitions.partition import Grid
from penstock.core.steps.token import CODEC

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine


class UtcTime(TypeDecorator[dt.datetime]):
    """A time in UTC with microseconds and an offset; its order in the database is chronological."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self, value: dt.datetime | None, _dialect: Dialect
    ) -> dt.datetime | None:
        """Convert the time to UTC; raise `ValueError` for one without an offset."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value and value.astimezone(dt.UTC)

    def process_result_value(
        self, value: dt.datetime | None, _dialect: Dialect
    ) -> dt.datetime | None:
        """Add UTC if the database returns no offset."""
        if value is not None and value.tzinfo is None:
            return value.replace(tzinfo=dt.UTC)
        return value and value.astimezone(dt.UTC)


class MaskedText(TypeDecorator[str]):
    """A text for display only, stored without secrets."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """Hide secrets."""
        return None if value is None else mask(value)


class Document(NamedTuple):
    """The stored form of a `Value`."""

    cell: Any


class Value(TypeDecorator[Any]):
    """A value as text: a word or a JSON document; `is_masked` if it may contain cells of rows."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: Any, *, as_json: bool = False, is_masked: bool = False) -> None:  # noqa: ANN401  a type expression
        """Store values of a type."""
        super().__init__()
        self.kind, self.as_json, self.is_masked = kind, as_json, is_masked

    @cached_property
    def form(self) -> DocumentForm:
        """How the values are written."""
        return CODEC.of(self.kind)

    def coerce_compared_value(self, op: object, value: object) -> TypeEngine[Any]:
        """Compare the stored form with text."""
        return Text() if type(value) is str else super().coerce_compared_value(op, value)  # type: ignore[arg-type]  # an operator

    def process_bind_param(self, value: object, _dialect: Dialect) -> str | None:
        """Write the value; known secrets are hidden only in its texts."""
        if value is None:
            return None
        document = value.cell if isinstance(value, Document) else self.form.write(value)
        if not self.as_json:
            return str(document)
        return as_json(_without_values(document) if self.is_masked else document)

    def process_result_value(self, value: str | None, _dialect: Dialect) -> object:
        """Read the stored form."""
        return (
            None if value is None else self.form.read(json.loads(value) if self.as_json else value)
        )


def stored(column: Column[Any]) -> ColumnElement[Any]:
    """Return a column in its stored form, without conversion."""
    return type_coerce(column, Text()) if isinstance(column.type, Value) else column


def as_json(document: object) -> str:
    """Return a document as one line."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _without_values(document: object) -> object:
    match document:
        case str():
            return SECRETS.hide(document)
        case dict():
            return {SECRETS.hide(key): _without_values(value) for key, value in document.items()}
        case list():
            return [_without_values(value) for value in document]
        case _:
            return document


class PackedText(TypeDecorator[str]):
    """A text that is stored compressed, without known secrets."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> bytes | None:
        """Compress the UTF-8 bytes."""
        return None if value is None else zlib.compress(SECRETS.hide(value).encode())

    def process_result_value(self, value: bytes | None, _dialect: Dialect) -> str | None:
        """Decompress the text."""
        return None if value is None else zlib.decompress(value).decode()


def needed(*names: str) -> list[Column[str]]:
    """Return columns for required texts."""
    return [Column(name, Text, nullable=False) for name in names]


def texts(*names: str, kind: type[Text | MaskedText] = Text) -> list[Column[str]]:
    """Return columns for texts that may be empty."""
    return [Column(name, kind, nullable=False, default="", server_default="") for name in names]


def masked(*names: str) -> list[Column[str]]:
    """Return columns for required texts for display."""
    return [Column(name, MaskedText, nullable=False) for name in names]


def counts(*names: str) -> list[Column[int]]:
    """Return columns for counts."""
    return [
        Column(name, BigInteger, nullable=False, default=0, server_default="0") for name in names
    ]


def known_counts(*names: str) -> list[Column[int]]:
    """Return columns for counts that are NULL if unknown."""
    return [Column(name, BigInteger, default=0, server_default="0") for name in names]


def grid() -> Column[Grid]:
    """Return the column of a grid; a whole table is `*`."""
    return Column("grid", Value(Grid), nullable=False, default=Grid(), server_default="*")


def words(**kinds: Any) -> list[Column[Any]]:  # noqa: ANN401  type expressions
    """Return columns for required words, by their types."""
    return [Column(name, Value(kind), nullable=False) for name, kind in kinds.items()]


def document(name: str, kind: Any, *, needed: bool = False, masked: bool = False) -> Column[Any]:  # noqa: ANN401  a type expression
    """Return the column for a document of a type."""
    return Column(name, Value(kind, as_json=True, is_masked=masked), nullable=not needed)


def key(name: str) -> Column[int]:
    """Return the column of a number that penstock assigns and that identifies a row."""
    return Column(name, BigInteger, primary_key=True, autoincrement=False)
