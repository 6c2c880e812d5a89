"""The functions of templates and watermarks: their argument types, and their results."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from penstock.core.columns.typed import TypedValue

UNKNOWN = ""
"""The type of a name whose type only a slice has: it matches any type."""


class BadExpressionError(ValueError):
    """An invalid template; message and hint are those of its finding."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint


@dataclass(frozen=True, slots=True)
class TemplateFunction:
    """One overload of a function: its argument types, and its implementation."""

    takes: tuple[tuple[str, ...], ...]
    call: Callable[..., TypedValue]


def family(kind: str) -> str:
    """Return the word under which functions refer to a type."""
    if kind.startswith("DECIMAL"):
        return "DECIMAL"
    return "integer" if kind in {"TINYINT", "SMALLINT", "INT", "BIGINT"} else kind


def fits(kind: str, wanted: str) -> bool:
    """Return whether a value of one type is accepted as another."""
    return UNKNOWN in (kind, wanted) or family(kind) == family(wanted)


def check_range(value: TypedValue) -> TypedValue:
    """Return a number if its type can hold it."""
    number = value.key
    if isinstance(number, int | Decimal):
        least = TypedValue.least(value.type).key
        greatest = -least - isinstance(number, int)  # type: ignore[operator]
        if not least <= number <= greatest:  # type: ignore[operator]
            raise OverflowError
    return value


def _moved(sign: int, unit: str) -> Callable[[TypedValue, TypedValue], TypedValue]:
    def move(value: TypedValue, by: TypedValue) -> TypedValue:
        amount = sign * int(by.text)
        return value.minus(dt.timedelta(**{unit: -amount}))

    return move


def _months(sign: int) -> Callable[[TypedValue, TypedValue], TypedValue]:
    def move(value: TypedValue, by: TypedValue) -> TypedValue:
        moment = value.key
        if not isinstance(moment, dt.date):
            raise TypeError(value.type)
        year, month = divmod(moment.year * 12 + moment.month - 1 + sign * int(by.text), 12)
        if not dt.MINYEAR <= year <= dt.MAXYEAR:
            raise OverflowError
        day = min(moment.day, calendar.monthrange(year, month + 1)[1])
        moved = moment.replace(year=year, month=month + 1, day=day)
        return TypedValue.parse(value.type, moved.isoformat())

    return move


def _number(sign: int) -> Callable[[TypedValue, TypedValue], TypedValue]:
    return lambda value, by: value.minus(-sign * int(by.text))


def pattern_runs(text: str) -> list[str]:
    """Split a pattern into runs of one letter and separators; raise for an invalid one."""
    runs = [found[0] for found in re.finditer(r"([A-Za-z])\1*|.", text, re.DOTALL)]
    for run in runs:
        lengths = (1, 2, 4) if run[0] == "y" else (1, 2) if run[0] in "MdHms" else ()
        if run.isalnum() and len(run) not in lengths:
            sentence = f"{run!r} in the pattern {text!r} is nothing that format knows"
            raise BadExpressionError(sentence, "letters y M d H m s, and signs between them")
    return runs


def _format(value: TypedValue, pattern: TypedValue) -> TypedValue:
    moment = value.key
    if not isinstance(moment, dt.date):
        raise TypeError(value.type)
    time = moment if isinstance(moment, dt.datetime) else dt.datetime(*moment.timetuple()[:3])  # noqa: DTZ001
    parts = dict(zip("yMdHms", time.timetuple()[:6], strict=True))
    texts = []
    for run in pattern_runs(pattern.text):
        number = parts.get(run[0], 0) % (100 if run == "yy" else 10_000)
        texts.append(f"{number:0{len(run)}d}" if run.isalpha() else run)
    return TypedValue("STRING", "".join(texts))


_DAYS = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_WHOLE = ("integer",)
_TEXT = ("STRING",)
FUNCTIONS = {
    "minus_days": TemplateFunction((_DAYS, _WHOLE), _moved(-1, "days")),
    "plus_days": TemplateFunction((_DAYS, _WHOLE), _moved(1, "days")),
    "minus_months": TemplateFunction((_DAYS, _WHOLE), _months(-1)),
    "plus_months": TemplateFunction((_DAYS, _WHOLE), _months(1)),
    "minus_hours": TemplateFunction((_DAYS[1:], _WHOLE), _moved(-1, "hours")),
    "plus_hours": TemplateFunction((_DAYS[1:], _WHOLE), _moved(1, "hours")),
    "minus_minutes": TemplateFunction((_DAYS[1:], _WHOLE), _moved(-1, "minutes")),
    "plus_minutes": TemplateFunction((_DAYS[1:], _WHOLE), _moved(1, "minutes")),
    "minus": TemplateFunction((("integer", "DECIMAL"), _WHOLE), _number(-1)),
    "plus": TemplateFunction((("integer", "DECIMAL"), _WHOLE), _number(1)),
    "start_of_day": TemplateFunction((_DAYS,), lambda value: value.floor("day")),
    "start_of_month": TemplateFunction((_DAYS,), lambda value: value.floor("month")),
    "format": TemplateFunction((_DAYS[:2], ("STRING",)), _format),
    "lower": TemplateFunction(
        (("STRING",),), lambda value: TypedValue("STRING", value.text.lower())
    ),
    "upper": TemplateFunction(
        (("STRING",),), lambda value: TypedValue("STRING", value.text.upper())
    ),
}
