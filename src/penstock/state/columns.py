"""The columns of the state store: their types, and makers of those that many tables have."""

from __future__ import annotations

import datetime as dt
import json
import zlib
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Column, DateTime, LargeBinary, Text
from sqlalchemy.types import TypeDecorator

from penstock.core.masking import SECRETS, mask

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect


class UtcTime(TypeDecorator[dt.datetime]):
    """A time in UTC with microseconds; always aware, and its order in the database is time's."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self, value: dt.datetime | None, _dialect: Dialect
    ) -> dt.datetime | None:
        """Turn the time to UTC; a naive one raises `ValueError`."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value and value.astimezone(dt.UTC)

    def process_result_value(
        self, value: dt.datetime | None, _dialect: Dialect
    ) -> dt.datetime | None:
        """Say that the time is UTC where the database does not."""
        if value is not None and value.tzinfo is None:
            return value.replace(tzinfo=dt.UTC)
        return value and value.astimezone(dt.UTC)


class MaskedText(TypeDecorator[str]):
    """A text for people: nothing reads it but to show it, so it is stored without secrets."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """Hide what is secret."""
        return None if value is None else mask(value)


class MaskedJson(TypeDecorator[str]):
    """A document that may hold cells of rows; stored without values that are known as secret."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """Hide them in its texts: what stands around these stays JSON."""
        if value is None or SECRETS.hide(value) == value:
            return value
        return json.dumps(_without_values(json.loads(value)), ensure_ascii=False)


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
    """A text that is stored compressed, and without values that are known as secret."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> bytes | None:
        """Compress the UTF-8 bytes."""
        return None if value is None else zlib.compress(SECRETS.hide(value).encode())

    def process_result_value(self, value: bytes | None, _dialect: Dialect) -> str | None:
        """Read what was compressed."""
        return None if value is None else zlib.decompress(value).decode()


def needed(*names: str) -> list[Column[str]]:
    """Make texts that every row has."""
    return [Column(name, Text, nullable=False) for name in names]


def texts(*names: str, kind: type[Text | MaskedText] = Text) -> list[Column[str]]:
    """Make texts that may be empty."""
    return [Column(name, kind, nullable=False, default="", server_default="") for name in names]


def masked(*names: str) -> list[Column[str]]:
    """Make texts for people that every row has."""
    return [Column(name, MaskedText, nullable=False) for name in names]


def counts(*names: str) -> list[Column[int]]:
    """Make counts."""
    return [
        Column(name, BigInteger, nullable=False, default=0, server_default="0") for name in names
    ]


def known_counts(*names: str) -> list[Column[int]]:
    """Make counts that are NULL where nobody knows them."""
    return [Column(name, BigInteger, default=0, server_default="0") for name in names]


def grid(name: str) -> Column[str]:
    """Make the column of a grid; a whole table is `*`."""
    return Column(name, Text, nullable=False, default="*", server_default="*")


def key(name: str) -> Column[int]:
    """Make a number that penstock gives, and that identifies a row."""
    return Column(name, BigInteger, primary_key=True, autoincrement=False)
