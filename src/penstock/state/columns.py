"""Column types that read the same from every database."""

from __future__ import annotations

import datetime as dt
import zlib
from typing import TYPE_CHECKING

from sqlalchemy import DateTime, LargeBinary
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect


class Moment(TypeDecorator[dt.datetime]):
    """A time in UTC with microseconds; always aware, and its order in the database is time's."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """Turn the time to UTC; a naive one raises `ValueError`."""
        del dialect
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(dt.UTC)

    def process_result_value(
        self, value: dt.datetime | None, dialect: Dialect
    ) -> dt.datetime | None:
        """Say that the time is UTC where the database does not."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


class PackedText(TypeDecorator[str]):
    """A text that is stored compressed."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Compress the UTF-8 bytes."""
        del dialect
        return None if value is None else zlib.compress(value.encode())

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        """Read what was compressed."""
        del dialect
        return None if value is None else zlib.decompress(value).decode()
