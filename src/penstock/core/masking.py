"""Masking: no password reaches a terminal, a log, a record or a finding."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
MASK = "***"

_WORDS = (
    r"password|passwd|pwd|secret|token|credential|api[_.-]?key|account[_.-]?key|private[_.-]?key"
    r"|access[_.-]?key|connection[_.-]?string|s(?<![a-z]s)as(?![a-z])"
)
_KEY = re.compile(_WORDS, re.IGNORECASE)
_SMALL = re.compile(_WORDS)
"""For texts in small letters: as each word begins with one, most places are passed by at once."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@'\"]*):[^\s'\"]+@")
_PAIR = re.compile(
    rf"([\w.-]*(?:{_WORDS})[\w.-]*[\"']?\s*[=:]\s*)"
    r"(?!(?:\d+|null|true|false)\b)(?:(\")[^\"]*\"|(')[^']*'|[^\s,;&}\])\"']+)",
    re.IGNORECASE,
)


def is_secret_key(key: str) -> bool:
    """Whether the value under a key of this name is never shown."""
    # asked of every text of a document, and ten times as fast where no case has to be ignored
    found = _SMALL.search(key.lower()) if key.isascii() else _KEY.search(key)
    return found is not None


def mask(text: str) -> str:
    """Hide what looks like a password in a URL or after the name of a secret.

    >>> mask("postgresql://penstock:hunter2@db/penstock")
    'postgresql://penstock:***@db/penstock'
    """
    # Most texts hold neither; the patterns take longer the longer a word is.
    if "://" in text:
        text = _URL.sub(rf"\1:{MASK}@", text)
    if not is_secret_key(text):
        return text
    # a value in quotes keeps them: one of the groups 2 and 3, the other one is empty
    return _PAIR.sub(rf"\1\2\3{MASK}\2\3", text)


def without_secrets(text: str, secrets: Collection[str]) -> str:
    """Hide some values wherever they stand in a text, also as JSON writes them.

    >>> without_secrets("from /in/hunter2/x", {"hunter2", ""})
    'from /in/***/x'
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        for each in (json.dumps(secret, ensure_ascii=False)[1:-1], secret):
            text = text.replace(each, MASK)
    return text


def mask_value(key: str, value: str) -> str:
    """Give a setting's value as it may be shown: hidden whole when its key names a secret."""
    return MASK if is_secret_key(key) else mask(value)


def masked(document: Json, key: str = "") -> Json:
    """Hide secrets in every text of a document, whole ones under the key of a secret."""
    match document:
        case str():
            return mask_value(key, document)
        case Mapping():
            return {name: masked(value, name) for name, value in document.items()}
        case Sequence():
            return [masked(value, key) for value in document]
        case _:
            return document
