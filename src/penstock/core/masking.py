"""Masking: no password reaches a terminal, a log, a record or a finding.

All written text goes through `mask`; rows of a user go through `SECRETS.hide`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
MASK = "***"
SECRET_VARIABLES = ("DBT_ENV_SECRET_", "PENSTOCK_SECRET_")
"""Prefixes of environment variables whose values are always hidden."""

_WORDS = (
    r"password|passwd|pwd|secret|token|credential|api[_.-]?key|account[_.-]?key|private[_.-]?key"
    r"|access[_.-]?key|connection[_.-]?string|s(?<![a-z]s)as(?![a-z])"
)
_KEY = re.compile(_WORDS, re.IGNORECASE)
_SMALL = re.compile(_WORDS)
"""For lower-case text: each word begins with one of these, so most positions are skipped fast."""
_SCHEME = r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]*://"
_URL = re.compile(
    # up to the last @: a password may hold one that nobody escaped, and a slash
    rf"({_SCHEME})[^\s:/@'\"]*:[^\s'\"]*@"
    # a user alone; what stands there in Azure's URIs is a container
    rf"|(?!(?:abfss?|wasbs?)://)({_SCHEME})[^\s:/?#@'\"]+@"
    r"|(\bjdbc:oracle:\w+:)[^\s@'\"]+@"
    r"|([?&;][\w-]*\bsig(?:nature)?=)[^\s&;'\"]+",
    re.IGNORECASE,
)
_PAIR = re.compile(  # begins with the word itself: looking for what stands before it takes n² steps
    rf"((?:{_WORDS})[\w.-]*[\"']?\s*[=:]\s*)"
    r"(?!(?:\d+|null|true|false)\b)(?:(\")[^\"]*\"|(')[^']*'|[^\s,;&}\])\"']+)",
    re.IGNORECASE,
)
REDACTED = rf"(?i){_WORDS}"
"""The same words for other tools; the syntax also works in Java."""
_SHORT, _LONG = 4, 8
_CLASS = re.compile(r"[a-z]+(\.\w+)*\.[A-Z]\w*")


class SecretValues:
    """Values that are always hidden, in any text, until the process ends."""

    def __init__(self) -> None:
        """Start without values."""
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, values: Iterable[str]) -> None:
        """Hide these values from now on, also as escaped in JSON, SQL and URLs, and line by line.

        A short value is hidden only as a whole word, a value without letters or digits never.
        """
        found = {form for value in values for form in _forms(value)} - self._known
        if found:
            self._known |= found
            longest = sorted(self._known, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(_one, longest)), re.IGNORECASE)

    @property
    def forms(self) -> frozenset[str]:
        """All of them in every written form, for another process of ours."""
        return frozenset(self._known)

    def add_environment(self, environ: Mapping[str, str]) -> None:
        """Hide the values of variables with secret-looking names."""
        self.add(value for name, value in environ.items() if name.startswith(SECRET_VARIABLES))

    def add_settings(self, settings: Mapping[str, str]) -> None:
        """Hide values of settings with secret-looking names, except short words and classes."""
        found = {value for name, value in settings.items() if is_secret_key(name)}
        self.add(each for each in found if len(each) >= _LONG and not _CLASS.fullmatch(each))

    def hide(self, text: str) -> str:
        """Return a text without these values.

        >>> secrets = SecretValues()
        >>> secrets.add(["it's me"])
        >>> secrets.hide("select 'it''s me', 'and you'")
        "select '***', 'and you'"
        """
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def _forms(value: str) -> Iterator[str]:
    plain = value.strip()
    lines = [line.strip() for line in plain.splitlines()] if "\n" in plain else []
    for each in (plain, *(line for line in lines if len(line) >= _SHORT)):
        in_path, in_query = _percent(each, "/"), _percent(each, " ").replace(" ", "+")
        written = (each, _plain(each), _percent(each), in_path, in_query)
        slashed = each.replace("\\", "\\\\")
        quoted = (each.replace("'", "''"), slashed, slashed.replace("'", "\\'"), repr(each)[1:-1])
        escaped = (json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1])
        yield from (form for form in (*written, *quoted, *escaped) if re.search(r"\w", form))


def _percent(text: str, more: str = "") -> str:
    """Return a text as escaped in URIs."""
    kept = f"{more}_.-~"
    signs = ((chr(each), each) for each in text.encode())
    return "".join(
        sign if sign in kept or (sign.isascii() and sign.isalnum()) else f"%{number:02X}"
        for sign, number in signs
    )


def _plain(text: str) -> str:
    """Return the unescaped text of a URI part."""
    found = re.sub(rb"%([0-9A-Fa-f]{2})", lambda it: bytes.fromhex(it[1].decode()), text.encode())
    return found.decode("utf-8", "replace")


def _one(value: str) -> str:
    text = re.escape(value)
    return rf"(?<!\w){text}(?!\w)" if len(value) < _SHORT else text


SECRETS = SecretValues()


def is_secret_key(key: str) -> bool:
    """Return whether values under this key are hidden."""
    # asked of every text of a document, and ten times as fast where no case has to be ignored
    found = _SMALL.search(key.lower()) if key.isascii() else _KEY.search(key)
    return found is not None


def mask(text: str) -> str:
    """Hide secret values, credentials in URIs, and text after the name of a secret.

    >>> mask("postgresql://penstock:hunter2@db/penstock")
    'postgresql://***@db/penstock'
    """
    return without_credentials(SECRETS.hide(text))


def mask_uris(text: str) -> str:
    """Hide secret values and credentials in URIs, for texts without key-value pairs."""
    return _without_uris(SECRETS.hide(text))


def _without_uris(text: str) -> str:
    # Most texts hold none; the pattern takes longer the longer a word is.
    return _URL.sub(_hidden, text) if "://" in text or ":oracle:" in text else text


def without_credentials(text: str) -> str:
    """Hide what looks secret, independent of the environment, so that checksums are stable."""
    text = _without_uris(text)
    if not is_secret_key(text):
        return text
    # a value in quotes keeps them: one of the groups 2 and 3, the other one is empty
    return _PAIR.sub(rf"\1\2\3{MASK}\2\3", text)


def _hidden(match: re.Match[str]) -> str:
    kept = next(filter(None, match.groups()), "")
    return f"{kept}{MASK}{'' if kept.endswith('=') else '@'}"


def without_secrets(text: str, secrets: Collection[str]) -> str:
    """Hide values anywhere in a text, also as escaped in JSON.

    >>> without_secrets("from /in/hunter2/x", {"hunter2", ""})
    'from /in/***/x'
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        for each in (json.dumps(secret, ensure_ascii=False)[1:-1], secret):
            text = text.replace(each, MASK)
    return text


def mask_value(key: str, value: str) -> str:
    """Return a setting's value for display: completely hidden if its key names a secret."""
    return MASK if is_secret_key(key) else mask(value)


def masked(document: Json, key: str = "") -> Json:
    """Hide secrets in every text of a document; completely under a secret-looking key."""
    match document:
        case str():
            return mask_value(key, document)
        case Mapping():
            return {SECRETS.hide(name): masked(value, name) for name, value in document.items()}
        case Sequence():
            return [masked(value, key) for value in document]
        case _:
            return document
