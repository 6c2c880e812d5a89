"""Watermark values: a type and a canonical text, compared by type and never as text."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from functools import total_ordering

from penstock.core.errors import UsageError
from penstock.core.names import literal

_INTEGERS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
"""The number of bits of each type, without the sign."""

_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(-?\d+)\)")
_EXACT = Context(prec=80)  # Spark's decimals have 38 digits, Python's arithmetic 28
_EXAMPLES = {
    "DATE": "2024-03-01",
    "TIMESTAMP": "2024-03-01T12:00:00Z",
    "TIMESTAMP_NTZ": "2024-03-01T12:00:00",
}
_TEMPORAL = tuple(_EXAMPLES)

Sortable = int | bytes | Decimal | dt.date | dt.datetime


def is_watermark_type(spark_type: str) -> bool:
    """Return whether a column of this type can carry a watermark; STRING needs an option."""
    family = spark_type.upper()
    return family in (*_INTEGERS, *_TEMPORAL, "STRING") or bool(_DECIMAL.fullmatch(family))


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class TypedValue:
    """A value with its Spark type, printed as `TYPE text`.

    Integers and decimals of different width compare by value, strings by their UTF-8 bytes;
    values of different families do not compare and raise `TypeError`.

    >>> str(TypedValue.parse("TIMESTAMP", "2025-11-05 23:00:00"))
    'TIMESTAMP 2025-11-05T23:00:00.000000Z'
    >>> TypedValue.parse("INT", "9") < TypedValue.parse("BIGINT", "10")
    True
    """

    type: str
    text: str

    @classmethod
    def parse(cls, spark_type: str, text: str) -> TypedValue:
        """Parse a value into its canonical form; raise `bad-value` if it is invalid.

        A TIMESTAMP without an offset is UTC.
        """
        family = spark_type.upper().replace(" ", "")
        try:
            return cls(family, _canonical(family, text))
        except (ValueError, InvalidOperation) as error:
            hint = f"for example {_EXAMPLES.get(family, '42')}"
            raise UsageError("bad-value", f"{text!r} is not a {family}", hint=hint) from error

    @classmethod
    def least(cls, spark_type: str) -> TypedValue:
        """Return the least value of a type; for times the beginning of the year 1."""
        family = spark_type.upper().replace(" ", "")
        if family in _INTEGERS:
            return cls(family, str(-(2 ** _INTEGERS[family])))
        if family in _TEMPORAL:
            return cls.parse(family, "0001-01-01")
        if family == "STRING":
            return cls(family, "")
        return cls(family, f"{_greatest(family).copy_negate():f}")

    @property
    def key(self) -> Sortable:
        """A Python value that sorts as Spark sorts the column."""
        if self.type in _INTEGERS:
            return int(self.text)
        if self.type == "DATE":
            return dt.date.fromisoformat(self.text)
        if self.type.startswith("TIMESTAMP"):
            return dt.datetime.fromisoformat(self.text.removesuffix("Z"))
        return Decimal(self.text) if _DECIMAL.fullmatch(self.type) else self.text.encode()

    @property
    def is_temporal(self) -> bool:
        """Whether durations can be subtracted."""
        return self.type in _TEMPORAL

    @property
    def sql(self) -> str:
        """A typed literal with the same value in every session time zone."""
        if self.type == "STRING":
            return literal(self.text)
        if self.type in _TEMPORAL:
            return f"{self.type} '{self.text}'"
        return f"CAST('{self.text}' AS {self.type})"

    def floor(self, grain: str) -> TypedValue:
        """Return the beginning of the hour, day, week (Monday), month or year of a time.

        >>> str(TypedValue.parse("TIMESTAMP", "2024-03-01 12:30:00").floor("week"))
        'TIMESTAMP 2024-02-26T00:00:00.000000Z'
        """
        moment = self.key
        if not isinstance(moment, dt.date):
            raise TypeError(f"a {self.type} has no {grain}")
        day = dt.date(moment.year, moment.month, moment.day)
        match grain:
            case "hour" if isinstance(moment, dt.datetime):
                return TypedValue.parse(self.type, f"{day.isoformat()}T{moment.hour:02}:00:00")
            case "week":
                day -= dt.timedelta(days=day.weekday())
            case "month":
                day = day.replace(day=1)
            case "year":
                day = day.replace(month=1, day=1)
        return TypedValue.parse(self.type, day.isoformat())

    def takes(self, amount: dt.timedelta | int | Decimal) -> bool:
        """Return whether `minus` accepts an amount.

        >>> TypedValue("INT", "7").takes(2), TypedValue("INT", "7").takes(dt.timedelta(days=1))
        (True, False)
        """
        if self.is_temporal:
            return isinstance(amount, dt.timedelta | int)
        wide = int if self.type in _INTEGERS else int | Decimal
        return self.type != "STRING" and isinstance(amount, wide)

    def minus(self, amount: dt.timedelta | int | Decimal) -> TypedValue:
        """Subtract a duration or days (temporal), or a number (integer, decimal).

        >>> str(TypedValue("DATE", "2024-03-01").minus(dt.timedelta(days=1)))
        'DATE 2024-02-29'
        """
        if self.is_temporal and isinstance(amount, int):
            amount = dt.timedelta(days=amount)
        match self.key, amount:
            case (dt.datetime() | dt.date() as moment, dt.timedelta() as span):
                if self.type == "DATE" and span % dt.timedelta(days=1):
                    span += dt.timedelta(days=1)  # part of a day takes the whole day in
                return TypedValue.parse(self.type, (moment - span).isoformat())
            case (Decimal() as number, int() | Decimal() as step):
                return TypedValue.parse(self.type, f"{_EXACT.subtract(number, step):f}")
            case (int() as number, int() as step):
                return TypedValue.parse(self.type, str(number - step))
            case _:
                raise TypeError(f"cannot subtract {amount!r} from a {self.type}")

    def next(self) -> TypedValue:
        """Return the next value; for the greatest value of its type, the value itself."""
        try:
            match self.key:
                case dt.datetime():
                    return self.minus(-dt.timedelta(microseconds=1))
                case dt.date():
                    return self.minus(-dt.timedelta(days=1))
                case int() as number:
                    return self if number == 2 ** _INTEGERS[self.type] - 1 else self.minus(-1)
                case Decimal() as number:
                    return self._above(number)
                case bytes():
                    return TypedValue(self.type, self.text + "\0")
        except OverflowError:  # Python's times end with the year 9999
            return self

    def _above(self, number: Decimal) -> TypedValue:
        greatest = _greatest(self.type)
        unit = Decimal((0, (1,), int(greatest.as_tuple().exponent)))
        return (
            self if number == greatest else TypedValue(self.type, f"{_EXACT.add(number, unit):f}")
        )

    def __eq__(self, other: object) -> bool:
        """Compare by value within a family: INT 1 equals BIGINT 1."""
        return isinstance(other, TypedValue) and self.key == other.key

    def __hash__(self) -> int:
        """Return equal hashes for equal values."""
        return hash(self.key)

    def __lt__(self, other: TypedValue) -> bool:
        """Order by value; values of different families raise `TypeError`."""
        return self.key < other.key  # type: ignore[operator]  # families mix only by mistake

    def __str__(self) -> str:
        """Return the form for records."""
        return f"{self.type} {self.text}"


def read_typed(text: str) -> TypedValue:
    """Parse the result of `str` of a value.

    >>> read_typed("BIGINT 42").key
    42
    """
    spark_type, _, value = text.partition(" ")
    return TypedValue.parse(spark_type, value)


def _canonical(family: str, raw: str) -> str:
    if family == "STRING":
        return raw  # blanks at its ends sort, too
    text = raw.strip()
    if family in _INTEGERS:
        return str(int(text))
    if family == "DATE":
        return dt.datetime.fromisoformat(text).date().isoformat()
    if family in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return _instant(family, text)
    if scale := _DECIMAL.fullmatch(family):
        unit = Decimal(1).scaleb(-int(scale[2]))
        return f"{Decimal(text).quantize(unit, context=_EXACT):f}"
    raise ValueError(family)


def _greatest(family: str) -> Decimal:
    """Return the greatest number of a decimal type, without arithmetic, which would round it."""
    found = _DECIMAL.fullmatch(family)
    if found is None:
        raise ValueError(family)
    return Decimal((0, (9,) * int(found[1]), -int(found[2])))


def _instant(family: str, text: str) -> str:
    value = dt.datetime.fromisoformat(text)
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    zone = "Z" if family == "TIMESTAMP" else ""
    return value.isoformat(timespec="microseconds") + zone
