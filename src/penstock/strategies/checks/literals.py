"""Values as texts: SQL literals in a column's type, and numbers for display."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from penstock.core.columns.types import is_text
from penstock.core.masking import SECRETS
from penstock.core.names import literal
from penstock.core.partitions import calendar
from penstock.core.partitions.partition import literal_at

INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
FLOATS = frozenset({"float", "double"})
TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
_DIGITS = 38
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def literal_of(text: str, kind: str) -> str:
    """Return a literal to compare a column of this Spark type with; times are UTC.

    A text that is not a value of the type is left to Spark, which reports it.

    >>> literal_of("0.1", "decimal(10,2)"), literal_of("1.5", "int"), literal_of("-3", "bigint")
    ('0.1BD', '1.5BD', '(-3)')
    >>> literal_of("2024-12-02", "date"), literal_of("2024-12-02", "timestamp")
    ("DATE '2024-12-02'", "TIMESTAMP '2024-12-02T00:00:00.000000Z'")
    """
    if found := _exact(text.strip(), kind):
        return found
    if is_text(kind):
        return literal(text)
    return f"CAST({literal(text)} AS {re.sub(' collate .*', '', kind)})"


def one_zero(value: str, kind: str) -> str:
    """Return a value without negative zero, which is printed and hashed differently."""
    return f"({value} + CAST(0 AS {kind}))" if kind in FLOATS else value


def is_value(text: str, kind: str) -> bool:
    """Return whether a text is certainly a value of this type: no column must be cast.

    >>> is_value("1.5", "int"), is_value("0.1", "decimal(10,2)"), is_value("x", "string")
    (False, True, True)
    """
    if _exact(text.strip(), kind) is None:
        return is_text(kind)
    if not is_exact(kind):
        return True
    # Spark widens integers, decimals not at all.
    before, _, after = f"{abs(Decimal(text)):f}".partition(".")
    whole, scale = decimal_of(kind)
    return len(before) <= whole and len(after.rstrip("0")) <= scale


def is_exact(kind: str) -> bool:
    """Return whether a type holds numbers without rounding."""
    return kind in INTEGERS or kind.startswith("decimal")


def decimal_of(kind: str) -> tuple[int, int]:
    """Return the digits of an exact numeric type before and after the decimal point.

    >>> decimal_of("decimal(10,2)"), decimal_of("int")
    ((8, 2), (20, 0))
    """
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]) - int(found[2]), int(found[2])) if found else (20, 0)


def _exact(text: str, kind: str) -> str | None:
    if kind in TIMES:
        place = calendar.instant(text)
        if place is None:
            return None
        if kind == "date" and place % calendar.DAY:
            kind = "timestamp_ntz"  # Spark then compares the day's midnight
        return literal_at(place, kind)
    if kind == "boolean":
        return text.lower() if text.lower() in ("true", "false") else None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if kind in FLOATS:  # the nearest number of the type; the negative zero is the other one
        return f"CAST('{'NaN' if number.is_nan() else number or 0}' AS {kind})"
    if not is_exact(kind) or not number.is_finite():
        return None
    written = f"{number:f}"
    if len(written.lstrip("-").replace(".", "")) > _DIGITS:
        return None
    written += "BD" if "." in written else ""
    return f"({written})" if number.is_signed() else written


MESSAGE, DETAILS, CELL = 500, 2_000, 80
"""The greatest lengths, in characters, of messages, details and cells of samples."""

_MOST_DIGITS = 6
_UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000}
_SECOND = 1_000_000


def amount(number: int, one: str) -> str:
    """Format a count with its noun.

    >>> amount(1, "row"), amount(0, "row")
    ('1 row', '0 rows')
    """
    return f"{number} {one if number == 1 else one + 's'}"


def percent(value: Fraction, bound: Fraction | None = None, digits: int = 2) -> str:
    """Format a percentage with enough digits, at most six, to distinguish it from the bound.

    >>> percent(Fraction(100, 3), Fraction("33.33")), percent(Fraction(15, 2))
    ('33.333', '7.50')
    """
    for more in range(digits, _MOST_DIGITS):
        shown = _half_up(value, more)
        if bound is None or _order(Fraction(shown), bound) == _order(value, bound):
            return f"{shown:.{more}f}"
    return f"{_half_up(value, _MOST_DIGITS):.{_MOST_DIGITS}f}"


def exactly(bound: Decimal, digits: int = 2) -> str:
    """Format a bound in full, with a minimum number of digits.

    >>> exactly(Decimal("5")), exactly(Decimal("33.335"))
    ('5.00', '33.335')
    """
    shown = plain(bound)
    return shown if len(shown.partition(".")[2]) >= digits else f"{bound:.{digits}f}"


def number(value: Fraction) -> str:
    """Format a mean: whole, or with at most two digits.

    >>> number(Fraction(5, 2)), number(Fraction(100)), number(Fraction(10, 3))
    ('2.5', '100', '3.33')
    """
    return f"{_half_up(value, 2):.2f}".rstrip("0").rstrip(".")


def plain(value: Decimal) -> str:
    """Format a number in full, without trailing zeros and without an exponent.

    >>> plain(Decimal("1E+3")), plain(Decimal("1234567890123456789012345678901.50"))
    ('1000', '1234567890123456789012345678901.5')
    """
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def age(micros: int, limit: int | None = None) -> str:
    """Format a duration in its two largest units, or in as many as distinguish it from a limit.

    >>> age(183_600_000_000), age(3_000_000_000), age(0)
    ('2d 3h', '50m', '0m')
    >>> age(7_230_000_000, 7_200_000_000)
    '2h 30s'
    """
    parts, rest = [], micros
    for name, size in _UNITS.items():
        count, rest = divmod(rest, size)
        parts.append(f"{count}{name}" if count else "")
    seconds = f"{rest // _SECOND}.{rest % _SECOND:06}".rstrip("0").rstrip(".")
    parts.append(f"{seconds}s" if rest else "")
    shown, sizes = parts, (*_UNITS.values(), 1)
    for end in (2, 3) if parts[0] else (3,):
        cut = micros - micros % sizes[end - 1]
        if limit is None or _order(cut, limit) == _order(micros, limit):
            shown = parts[:end]
            break
    return " ".join(each for each in shown if each) or "0m"


def micros_of(span: dt.timedelta) -> int:
    """Return a length of time in microseconds."""
    return span // dt.timedelta(microseconds=1)


def shortened(text: str, most: int) -> str:
    """Return a text with a maximum length; a shortened text ends with `…`.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    text = SECRETS.hide(text)  # what is left of a secret that was cut nobody would know
    return text if len(text) <= most else text[: most - 1] + "…"


def _order(first: Fraction | int, second: Fraction | int) -> int:
    return (first > second) - (first < second)


def _half_up(value: Fraction, digits: int) -> Decimal:
    """Round half away from zero, exactly for every value."""
    scaled = abs(value) * 10**digits
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Decimal(whole if value >= 0 else -whole).scaleb(-digits)
