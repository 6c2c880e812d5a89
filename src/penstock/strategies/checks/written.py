"""How measures are written for people: percentages, ages, counts of rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

MESSAGE, DETAILS, CELL = 500, 2_000, 80
"""How many characters messages, details and cells of samples have at most."""

_MOST_DIGITS = 6
_UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000}
_SECOND = 1_000_000


def counted(number: int, one: str) -> str:
    """Write a count with its noun.

    >>> counted(1, "row"), counted(0, "row")
    ('1 row', '0 rows')
    """
    return f"{number} {one if number == 1 else one + 's'}"


def percent(value: Fraction, bound: Fraction | None = None, digits: int = 2) -> str:
    """Write a percentage with as many digits more as tell it from the bound, at most six.

    >>> percent(Fraction(100, 3), Fraction("33.33")), percent(Fraction(15, 2))
    ('33.333', '7.50')
    """
    for more in range(digits, _MOST_DIGITS):
        shown = _rounded(value, more)
        if bound is None or _order(Fraction(shown), bound) == _order(value, bound):
            return f"{shown:.{more}f}"
    return f"{_rounded(value, _MOST_DIGITS):.{_MOST_DIGITS}f}"


def exactly(bound: Decimal, digits: int = 2) -> str:
    """Write a bound in full, with at least so many digits.

    >>> exactly(Decimal("5")), exactly(Decimal("33.335"))
    ('5.00', '33.335')
    """
    plain = f"{bound.normalize():f}"
    have = len(plain.partition(".")[2])
    return plain if have >= digits else f"{bound:.{digits}f}"


def number(value: Fraction) -> str:
    """Write a mean: whole, or with two digits at most.

    >>> number(Fraction(5, 2)), number(Fraction(100)), number(Fraction(10, 3))
    ('2.5', '100', '3.33')
    """
    return f"{_rounded(value, 2):.2f}".rstrip("0").rstrip(".")


def plain(value: Decimal) -> str:
    """Write a number as a person would: without zeros at its end and without exponent."""
    return f"{value.normalize():f}"


def age(micros: int, limit: int | None = None) -> str:
    """Write a length of time in its two largest units, or in all that tell it from a limit.

    >>> age(183_600_000_000), age(3_000_000_000), age(0)
    ('2d 3h', '50m', '0m')
    >>> age(7_230_000_000, 7_200_000_000)
    '2h 30s'
    """
    parts = _parts(micros)
    large = next((place for place, (size, _) in enumerate(parts) if size), len(_UNITS) - 1)
    for end in range(min(large + 2, len(_UNITS)), len(parts)):
        shown = [text for size, text in parts[:end] if size]
        shown_micros = micros - micros % _sizes()[end - 1]
        if limit is None or _order(shown_micros, limit) == _order(micros, limit):
            return " ".join(shown) or "0m"
    return " ".join(text for size, text in parts if size) or "0m"


def micros_of(span: dt.timedelta) -> int:
    """Give a length of time in microseconds."""
    return span // dt.timedelta(microseconds=1)


def shortened(text: str, most: int) -> str:
    """Give a text of at most so many characters; what is cut ends with `…`.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def _parts(micros: int) -> list[tuple[int, str]]:
    found, rest = [], micros
    for name, size in _UNITS.items():
        count, rest = divmod(rest, size)
        found.append((count, f"{count}{name}"))
    seconds, fraction = divmod(rest, _SECOND)
    found.append((seconds, f"{seconds}s"))
    if fraction:
        found[-1] = (rest, f"{seconds}.{fraction:06}".rstrip("0") + "s")
    return found


def _sizes() -> tuple[int, ...]:
    return (*_UNITS.values(), 1)


def _order(first: Fraction | int, second: Fraction | int) -> int:
    return (first > second) - (first < second)


def _rounded(value: Fraction, digits: int) -> Decimal:
    """Round half away from zero; exact, whatever the value."""
    scaled = abs(value) * 10**digits
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Decimal(whole if value >= 0 else -whole).scaleb(-digits)
