"""Bounds and values of checks: exact texts in the type of their column (spec/checks.md §4.1)."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal, InvalidOperation

from penstock.project.files.values import text_of

_INTEGERS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_FLOATS = {"float": (2 - 2**-24) * 2.0**127, "double": math.inf}
"""What is from here on too great for a number of each type, rounding included."""
_TEXTS = ("string", "char", "varchar")
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?\s*(Z|[+-]\d\d:?\d\d)?"
)
Scalar = str | int | float | bool
Place = Decimal | dt.date | dt.datetime | str
"""What bounds are compared by."""


def bound_text(value: Scalar, kind: str) -> str | None:
    """Give the text of a value of a column, None if its type cannot hold it exactly.

    `kind` is the column's Spark type, "" where it is not known. What YAML takes for a number or a
    truth value is no text: `007` has become 7 before anybody could ask.

    >>> bound_text(1.5, "bigint"), bound_text(5.0, "bigint"), bound_text(0.1, "decimal(3,1)")
    (None, '5', '0.1')
    >>> bound_text(7, "string"), bound_text("007", "string")
    (None, '007')
    """
    if kind in _INTEGERS:
        return _whole(value, kind)
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        return _fixed(value, int(decimal[1]), int(decimal[2]))
    if kind in _FLOATS:
        number = number_of(value)
        if number is None or abs(float(number)) >= _FLOATS[kind]:
            return None
        return format(number, "f")
    if is_text(kind):
        return value if isinstance(value, str) else None
    if kind == "date":
        return text_of(value) if _date(text_of(value)) else None
    if kind in ("timestamp", "timestamp_ntz"):
        found_time = _timestamp(text_of(value), with_zone=kind == "timestamp")
        return text_of(value) if found_time else None
    if kind == "boolean":
        word = text_of(value).lower()
        return word if word in ("true", "false") else None
    return plain_text(value)


def is_text(kind: str) -> bool:
    """Whether a Spark type is one of texts."""
    return kind.partition("(")[0] in _TEXTS


def plain_text(value: Scalar) -> str | None:
    """Give the text of a value whose column is not known, None for what is no finite number.

    >>> plain_text(1e20), plain_text(True)
    ('100000000000000000000', 'true')
    """
    if isinstance(value, float):
        number = number_of(value)
        return None if number is None else format(number, "f")
    return text_of(value)


def place_of(value: Scalar, kind: str) -> Place | None:
    """Give what a bound is compared by; None where that is not known.

    >>> place_of("2024-12-02", "date") < place_of("2024-12-10", "date")
    True
    """
    if kind in _INTEGERS or kind in _FLOATS or _DECIMAL.fullmatch(kind):
        return number_of(value)
    text = text_of(value)
    if kind == "date":
        return _date(text)
    if kind in ("timestamp", "timestamp_ntz"):
        return _timestamp(text, with_zone=kind == "timestamp")
    if kind:
        return text if is_text(kind) else None
    if isinstance(value, bool):
        return None
    return number_of(value) if isinstance(value, int | float) else _timestamp(text, with_zone=True)


def compared(low: Place, high: Place) -> int:
    """Give 1 if the first is above the second, 0 if they are equal, else -1.

    What cannot be compared counts as in order.

    >>> compared(Decimal(10), Decimal(5)), compared("a", "b"), compared("a", Decimal(1))
    (1, -1, -1)
    """
    match low, high:
        case Decimal(), Decimal():
            return (low > high) - (low < high)
        case str(), str():
            return (low > high) - (low < high)
        case dt.datetime(), dt.datetime():
            return (low > high) - (low < high)
        case dt.date(), dt.date():
            return (low > high) - (low < high)
    return -1


def number_of(value: Scalar) -> Decimal | None:
    """Give a finite number exactly as it is written.

    >>> number_of(33.33), number_of("abc")
    (Decimal('33.33'), None)
    """
    if isinstance(value, bool):
        return None
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _whole(value: Scalar, kind: str) -> str | None:
    number = number_of(value)
    if number is None or number.adjusted() > 20 or number != number.to_integral_value():  # noqa: PLR2004  wider than any
        return None
    found, limit = int(number), 2 ** _INTEGERS[kind]
    return str(found) if -limit <= found < limit else None


def _fixed(value: Scalar, precision: int, scale: int) -> str | None:
    number = number_of(value)
    if number is None:
        return None
    _, digits, exponent = number.as_tuple()  # not normalized: that rounds to 28 digits
    written = "".join(map(str, digits)).lstrip("0")
    kept = written.rstrip("0")
    places = max(0, -int(exponent) - (len(written) - len(kept))) if kept else 0
    whole = max(0, len(written) + int(exponent))
    return format(number, "f") if places <= scale and whole <= precision - scale else None


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _timestamp(text: str, *, with_zone: bool) -> dt.datetime | None:
    """Read a time; without an offset it is UTC."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None or (found[3] and not with_zone):
        return None
    try:
        found_time = dt.datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}{found[3] or 'Z'}")
    except ValueError:
        return None
    return found_time
