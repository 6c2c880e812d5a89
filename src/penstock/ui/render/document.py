"""JSON documents: what `--json` prints, with secrets hidden and times as ISO 8601 with Z."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from penstock.core.masking import mask, mask_value

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def printed(document: Json, *, hide: bool = True) -> str:
    """Give the document as text, indented, without a line end.

    Without `hide` texts stay as they are, as rows that a user asked for must.

    >>> print(printed({"url": "postgresql://me:hunter2@db/x"}))
    {
      "url": "postgresql://me:***@db/x"
    }
    """
    return json.dumps(masked(document) if hide else document, indent=2, ensure_ascii=False)


def printed_line(document: Json) -> str:
    """Give the document as one line, as logs have it."""
    return json.dumps(masked(document), ensure_ascii=False)


def masked(document: Json, key: str = "") -> Json:
    """Hide secrets in every text of a document."""
    match document:
        case str():
            return mask_value(key, document) if key else mask(document)
        case Mapping():
            return {name: masked(value, name) for name, value in document.items()}
        case Sequence():
            return [masked(value, key) for value in document]
        case _:
            return document


def instant(at: dt.datetime | None) -> str | None:
    """Give a time as documents have it.

    >>> instant(dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC))
    '2024-03-01T12:00:00Z'
    """
    return at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z") if at else None
