"""Plain values: what YAML documents and config headers consist of once they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain] | None"
Path: TypeAlias = "tuple[str | int, ...]"


def text_of(value: Plain) -> str:
    """Give a scalar as users write it; null is the empty text.

    >>> text_of(True), text_of(None), text_of(4)
    ('true', '', '4')
    """
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts_of(value: Plain) -> tuple[str, ...]:
    """Give one text or a list of texts as a tuple.

    >>> texts_of("id"), texts_of(["a", "b"]), texts_of(None)
    (('id',), ('a', 'b'), ())
    """
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(text_of(item) for item in value)
    return (text_of(value),)


def mapping_of(value: Plain) -> Mapping[str, Plain]:
    """Give a mapping; anything else counts as an empty one, for it was reported already."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Plain) -> Sequence[Plain]:
    """Give a list; anything else counts as an empty one, for it was reported already."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def pairs_of(value: Plain) -> dict[str, str]:
    """Give a mapping of texts, such as table properties or Spark settings."""
    return {key: text_of(item) for key, item in mapping_of(value).items()}


def is_true(value: Plain) -> bool:
    """Whether a switch is on, as YAML, a template or an environment variable writes it."""
    return text_of(value).strip().lower() in ("true", "yes", "on", "1")
