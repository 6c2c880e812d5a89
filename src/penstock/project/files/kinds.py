"""Kinds of values: how a value is read, what messages expect, and its editor schema."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Generic, TypeVar, cast

from penstock.project.files.values import Plain, did_you_mean, duration_of, text_of

T_co = TypeVar("T_co", covariant=True)
_SWITCHES = {"true": "true", "false": "false", "yes": "true", "no": "false", "1": "true"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _no_hint(_: object) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ValueKind(Generic[T_co]):
    """A kind of value."""

    expected: str
    """What it must be, in messages."""
    parse: Callable[[Any], T_co | None]
    """Parses a value, None if invalid; `take` of `sections.py` reads values with parts."""
    schema: Plain
    """Its JSON schema."""
    empty: T_co
    """The value if no valid one is given."""
    exact: tuple[type, ...] = (str,)
    """The types that exact sections accept; others also read values written as text."""
    hint: Callable[[Any], str] = _no_hint
    """Returns what exact sections want instead of a value."""
    words: tuple[str, ...] = ()
    """Its possible words, for hints at a similar one."""
    schema_later: Callable[[], Plain] | None = None
    """Its JSON schema, if it is only known later."""
    takes_null: bool = False
    """Whether null is a value, and not the same as absent."""


def _text(value: object) -> str | None:
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if is_text else None


def _text_hint(value: object) -> str:
    return "put it in quotes" if isinstance(value, bool | int | float) else "write a text"


def _flag_hint(value: Plain) -> str:
    word = _SWITCHES.get(text_of(value).lower())
    return f"write {word} without quotes" if word else "write true or false"


def word_hint(value: object, words: Sequence[str]) -> str:
    """Return a hint with the similar word, or all words."""
    near = did_you_mean(value, words) if isinstance(value, str) else ""
    return near or f"one of {', '.join(words)}"


def as_date(text: str) -> dt.date | None:
    """Parse a date as YAML writes it, 2024-03-01; None for anything else."""
    try:
        return dt.date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


TEXT: ValueKind[str] = ValueKind("a text", _text, {"type": "string"}, "", hint=_text_hint)
FLAG: ValueKind[bool | None] = ValueKind(
    "true or false",
    lambda value: {"true": True, "false": False}.get(str(value).lower()),
    {"type": "boolean"},
    None,
    (bool,),
    _flag_hint,
)
DATE: ValueKind[dt.date | None] = ValueKind(
    "a date such as 2024-03-01",
    lambda value: as_date(str(value)),
    {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
    None,
)
DURATION: ValueKind[dt.timedelta | None] = ValueKind(
    "a duration such as 90m, 36h or 2 days",
    lambda value: duration_of(str(value)),
    {"type": "string"},
    None,
)


def _positive(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    with suppress(InvalidOperation):
        number = Decimal(str(value).strip())
        return number if number.is_finite() and number > 0 else None
    return None


POSITIVE: ValueKind[Decimal | None] = ValueKind(
    "a number above 0", _positive, {"type": ["number", "string"]}, None, (int, float, str)
)


def whole(least: int | None = None, most: float = math.inf) -> ValueKind[int | None]:
    """Return the kind for whole numbers in a range."""

    def parse(value: object) -> int | None:
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if (least is None or value >= least) and value <= most else None

    def hint(value: object) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            return f"write {least} or more"
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            return f"write {value} without quotes"
        return "write a whole number"

    expected = "an integer" if least is None else f"an integer >= {least}"
    if most < math.inf:
        expected = f"an integer from {least} to {most}"
    schema: dict[str, Plain] = {"type": "integer"}
    schema |= {} if least is None else {"minimum": least}
    return ValueKind(expected, parse, schema, None, (int,), hint)


def word(words: Sequence[str]) -> ValueKind[str]:
    """Return the kind for one of several words, in any letter case."""
    folded = {each.lower(): each for each in words}
    return replace(exact_word(*words), parse=lambda value: folded.get(str(value).lower()))


def exact_word(*words: str) -> ValueKind[str]:
    """Return the kind for one of several words, case-sensitive."""
    names = tuple(map(str, words))
    return ValueKind(
        f"one of {', '.join(names)}" if len(names) > 1 else names[0],
        lambda value: value if isinstance(value, str) and value in names else None,
        {"enum": [*names]},
        "",
        hint=lambda value: word_hint(value, names),
        words=names,
    )


def or_null(kind: ValueKind[T_co]) -> ValueKind[T_co | None]:
    """Return a kind for which null is a value too."""
    schema = dict(kind.schema) if isinstance(kind.schema, Mapping) else {}
    if "enum" in schema:
        schema["enum"] = [*cast("Sequence[Plain]", schema["enum"]), None]
    else:
        schema["type"] = [cast("str", schema["type"]), "null"]
    return replace(cast("ValueKind[T_co | None]", kind), schema=schema, empty=None, takes_null=True)
