"""Masking: no password reaches a terminal, a log, a record or a finding."""

from __future__ import annotations

import re

MASK = "***"

_WORDS = (
    r"password|passwd|pwd|secret|token|credential|api[_.-]?key|account[_.-]?key|private[_.-]?key"
)
_KEY = re.compile(_WORDS, re.IGNORECASE)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@'\"]*):[^\s'\"]+@")
_PAIR = re.compile(
    rf"([\w.-]*(?:{_WORDS})[\w.-]*[\"']?\s*[=:]\s*)"
    r"(?!(?:\d+|null|true|false)\b)(?:(\")[^\"]*\"|(')[^']*'|[^\s,;&}\])\"']+)",
    re.IGNORECASE,
)


def is_secret_key(key: str) -> bool:
    """Whether the value under a key of this name is never shown.

    >>> is_secret_key("fs.s3a.secret.key"), is_secret_key("master")
    (True, False)
    """
    return _KEY.search(key) is not None


def mask(text: str) -> str:
    """Hide what looks like a password in a URL or after the name of a secret.

    >>> mask("postgresql://penstock:hunter2@db/penstock")
    'postgresql://penstock:***@db/penstock'
    >>> mask("connect failed: user=a password=hunter2 host=db")
    'connect failed: user=a password=*** host=db'
    """
    return _PAIR.sub(_hide, _URL.sub(rf"\1:{MASK}@", text))


def mask_value(key: str, value: str) -> str:
    """Give a setting's value as it may be shown: hidden whole when its key names a secret.

    >>> mask_value("password", "hunter2")
    '***'
    """
    return MASK if is_secret_key(key) else mask(value)


def _hide(found: re.Match[str]) -> str:
    quote = found[2] or found[3] or ""
    return f"{found[1]}{quote}{MASK}{quote}"
