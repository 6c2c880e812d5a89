"""Bounds of ranges as expressions over the bounds of a partition (spec/drift.md §6.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import starmap
from types import NoneType
from typing import Any, assert_never, get_args, get_origin, get_type_hints

from penstock.core.partitions.calendar import DAY, HOUR, SECOND, civil, day_number

_MONDAY = 4 * DAY  # 1970-01-05

SIZES = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": HOUR,
    "day": DAY,
    "week": 7 * DAY,
}
"""Units of one length, in microseconds."""

MONTHS = {"month": 1, "quarter": 3, "year": 12}
"""The other units, in months."""


def floored(position: int, unit: str) -> int:
    """Give the beginning of the unit that holds a position; weeks begin on Monday."""
    size = SIZES.get(unit)
    if size is not None:
        return position - (position - (_MONDAY if unit == "week" else 0)) % size
    year, month, _ = civil(position // DAY)
    count = year * 12 + month - 1
    return day_number(*_month(count - count % MONTHS[unit]), 1) * DAY


def ceiled(position: int, unit: str) -> int:
    """Give the position itself if a unit begins there, else the beginning of the next one."""
    start = floored(position, unit)
    return start if start == position else following(start, unit)


def following(start: int, unit: str) -> int:
    """Give the beginning of the unit after the one that begins at `start`."""
    size = SIZES.get(unit)
    return start + size if size is not None else moved(start, MONTHS[unit], 0)


def moved(position: int, months: int, micros: int) -> int:
    """Move by months, to the last day of a month that is too short, then by microseconds."""
    if not months:
        return position + micros
    day, time = divmod(position, DAY)
    year, month, date = civil(day)
    year, month = _month(year * 12 + month - 1 + months)
    date = min(date, _length(year, month))
    return day_number(year, month, date) * DAY + time + micros


def last_day(position: int) -> int:
    """Give the beginning of the last day of the month that holds a position."""
    return moved(floored(position, "month"), 1, -DAY)


def _month(count: int) -> tuple[int, int]:
    year, month = divmod(count, 12)
    return year, month + 1


def _length(year: int, month: int) -> int:
    following_month = _month(year * 12 + month)
    return day_number(*following_month, 1) - day_number(year, month, 1)


@dataclass(frozen=True, slots=True)
class Lower:
    """The lower bound of the partition: `@partition_date`, `@start_date`."""


@dataclass(frozen=True, slots=True)
class Upper:
    """Its upper bound, exclusive: `@end_date`."""


@dataclass(frozen=True, slots=True)
class At:
    """A fixed position."""

    position: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A position moved by months, then by microseconds."""

    of: Bound
    months: int = 0
    micros: int = 0


@dataclass(frozen=True, slots=True)
class Floored:
    """The beginning of the calendar unit that holds a position; weeks begin on Monday."""

    of: Bound
    unit: str


@dataclass(frozen=True, slots=True)
class Ceiled:
    """The position itself if a unit begins there, else the beginning of the next one."""

    of: Bound
    unit: str


@dataclass(frozen=True, slots=True)
class LastDay:
    """The last day of the month that holds a position."""

    of: Bound


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest of several."""

    of: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Greatest:
    """The greatest of several."""

    of: tuple[Bound, ...]


Bound = Lower | Upper | At | Moved | Floored | Ceiled | LastDay | Least | Greatest

Evaluation = Callable[[int, int], int]
"""Gives a position for the lower and the upper bound of a partition."""


def evaluation(bound: Bound) -> Evaluation:
    """Compile a bound, so that a million partitions do not walk it.

    >>> evaluation(Moved(Lower(), micros=-6))(10, 20)
    4
    """
    match bound:
        case Lower():
            return lambda low, _: low
        case Upper():
            return lambda _, high: high
        case At(position):
            return lambda _low, _high: position
        case Moved(of, months, micros):
            return _moved(evaluation(of), months, micros)
        case Floored(of, unit):
            inner = evaluation(of)
            return lambda low, high: floored(inner(low, high), unit)
        case Ceiled(of, unit):
            inner = evaluation(of)
            return lambda low, high: ceiled(inner(low, high), unit)
        case LastDay(of):
            inner = evaluation(of)
            return lambda low, high: last_day(inner(low, high))
        case Least(several):
            parts = [evaluation(each) for each in several]
            return lambda low, high: min(part(low, high) for part in parts)
        case Greatest(several):
            parts = [evaluation(each) for each in several]
            return lambda low, high: max(part(low, high) for part in parts)
        case _ as never:
            assert_never(never)


def _moved(inner: Evaluation, months: int, micros: int) -> Evaluation:
    if not months:
        return lambda low, high: inner(low, high) + micros
    return lambda low, high: moved(inner(low, high), months, micros)


# Any: this is JSON of our own; what does not fit is refused by `read_bound`.
def document_of(part: Any) -> Any:  # noqa: ANN401  as above
    """Give the JSON form of a bound or mapping: its name, then its parts.

    >>> document_of(Moved(Lower(), micros=-6))
    ['moved', ['lower'], 0, -6]
    """
    if isinstance(part, tuple):
        return [document_of(each) for each in part]
    if not is_dataclass(part):
        return part
    parts = (getattr(part, each.name) for each in fields(part))
    return [type(part).__name__.lower(), *map(document_of, parts)]


@cache
def _forms(wanted: object) -> Mapping[str, tuple[Callable[..., Any], tuple[object, ...]]]:
    """Give what each name of a document stands for, and the types of its parts."""
    hints = {kind: tuple(get_type_hints(kind).values()) for kind in get_args(wanted)}
    return {kind.__name__.lower(): (kind, parts) for kind, parts in hints.items()}


def read_document(wanted: object, document: Any) -> Any:  # noqa: ANN401  as above
    """Read what `document_of` gave of a type; raises `ValueError` or `TypeError` for the rest."""
    inside = get_args(wanted)
    if get_origin(wanted) is tuple:
        kinds = inside[:1] * len(document) if inside[-1] is ... else inside
        return tuple(starmap(read_document, zip(kinds, document, strict=True)))
    match document:
        case None if NoneType in inside:
            return None
        case int() | str() if type(document) is wanted:
            return document
        case [str(name), *parts] if name in _forms(wanted):
            kind, kinds = _forms(wanted)[name]
            return kind(*starmap(read_document, zip(kinds, parts, strict=True)))
        case _:
            raise ValueError(f"this is no {wanted}")
