"""Bounds and values that users write, as SQL that compares exactly in a column's type."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from penstock.core.names import literal
from penstock.core.partitions import calendar
from penstock.core.partitions.partition import literal_at

INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
FLOATS = frozenset({"float", "double"})
TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
_TEXTS = ("string", "char", "varchar")
_DIGITS = 38
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_BOOLEANS = ("true", "false")


def literal_of(text: str, kind: str) -> str:
    """Give a literal that a column of this Spark type is compared with; times are UTC.

    What is no value of the type is left to Spark, which will say so.

    >>> literal_of("0.1", "decimal(10,2)"), literal_of("1.5", "int"), literal_of("-3", "bigint")
    ('0.1BD', '1.5BD', '(-3)')
    >>> literal_of("2024-12-02", "date"), literal_of("2024-12-02", "timestamp")
    ("DATE '2024-12-02'", "TIMESTAMP '2024-12-02T00:00:00.000000Z'")
    """
    return _exact(text.strip(), kind) or _spelled(text, kind)


def one_zero(value: str, kind: str) -> str:
    """Give a value without the negative zero, which is printed and hashed as another one."""
    return f"({value} + CAST(0 AS {kind}))" if kind in FLOATS else value


def is_value(text: str, kind: str) -> bool:
    """Whether a text is surely a value of this type: comparing with it casts no column.

    >>> is_value("1.5", "int"), is_value("0.1", "decimal(10,2)"), is_value("x", "string")
    (False, True, True)
    """
    if is_exact(kind):
        return _number(text.strip()) is not None and _holds(kind, Decimal(text))
    return _exact(text.strip(), kind) is not None or is_text(kind)


def is_text(kind: str) -> bool:
    """Whether a type is one of texts, of any length and collation."""
    return kind.startswith(_TEXTS)


def is_exact(kind: str) -> bool:
    """Whether a type is one of numbers without rounding."""
    return kind in INTEGERS or kind.startswith("decimal")


def decimal_of(kind: str) -> tuple[int, int]:
    """Give how many digits a type of exact numbers has before and after its point.

    >>> decimal_of("decimal(10,2)"), decimal_of("int")
    ((8, 2), (20, 0))
    """
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]) - int(found[2]), int(found[2])) if found else (20, 0)


def _exact(text: str, kind: str) -> str | None:
    if is_exact(kind):
        return _number(text)
    if kind in FLOATS:
        return _rounded(text, kind)
    if kind in TIMES:
        return _time(text, kind)
    if kind == "boolean" and text.lower() in _BOOLEANS:
        return text.lower()
    return None


def _number(text: str) -> str | None:
    """Give a number that loses nothing: Spark widens both sides."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    plain = f"{number:f}"
    if len(plain.lstrip("-").replace(".", "")) > _DIGITS:
        return None
    if "." in plain:
        plain += "BD"
    return f"({plain})" if plain.startswith("-") else plain


def _holds(kind: str, number: Decimal) -> bool:
    """Whether a type has the number's digits; Spark then widens integers, decimals not at all."""
    before, _, after = f"{abs(number):f}".partition(".")
    whole, scale = decimal_of(kind)
    return len(before) <= whole and len(after.rstrip("0")) <= scale


def _rounded(text: str, kind: str) -> str | None:
    """Give the nearest number of the type; the negative zero is the other one."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if number.is_nan():
        return f"CAST('NaN' AS {kind})"
    if number.is_infinite():
        return f"CAST('{'-' if number < 0 else ''}Infinity' AS {kind})"
    return f"CAST('{number or 0}' AS {kind})"


def _time(text: str, kind: str) -> str | None:
    place = calendar.instant(text)
    if place is None:
        return None
    if kind == "date" and place % calendar.DAY:
        kind = "timestamp_ntz"  # Spark then compares the day's midnight
    return literal_at(place, kind)


def _spelled(text: str, kind: str) -> str:
    if is_text(kind):
        return literal(text)
    return f"CAST({literal(text)} AS {re.sub(' collate .*', '', kind)})"
