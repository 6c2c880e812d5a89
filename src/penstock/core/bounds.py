"""Bounds of ranges as expressions over the bounds of a partition (spec/drift.md §6.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from penstock.core.units import ceiled, floored, last_day, moved


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
def write_bound(bound: Bound) -> list[Any]:
    """Give a JSON form that `read_bound` reads back equal.

    >>> write_bound(Moved(Lower(), micros=-6))
    ['moved', ['lower'], 0, -6]
    """
    match bound:
        case Lower():
            return ["lower"]
        case Upper():
            return ["upper"]
        case At(position):
            return ["at", position]
        case Moved(of, months, micros):
            return ["moved", write_bound(of), months, micros]
        case Floored(of, unit):
            return ["floored", write_bound(of), unit]
        case Ceiled(of, unit):
            return ["ceiled", write_bound(of), unit]
        case LastDay(of):
            return ["last_day", write_bound(of)]
        case Least(several):
            return ["least", [write_bound(each) for each in several]]
        case Greatest(several):
            return ["greatest", [write_bound(each) for each in several]]
        case _ as never:
            assert_never(never)


def read_bound(document: Sequence[Any]) -> Bound:
    """Read what `write_bound` gave; raises `ValueError` or `TypeError` for anything else."""
    match document:
        case ["lower"]:
            return Lower()
        case ["upper"]:
            return Upper()
        case ["at", int(position)]:
            return At(position)
        case ["moved", of, int(months), int(micros)]:
            return Moved(read_bound(of), months, micros)
        case ["floored", of, str(unit)]:
            return Floored(read_bound(of), unit)
        case ["ceiled", of, str(unit)]:
            return Ceiled(read_bound(of), unit)
        case ["last_day", of]:
            return LastDay(read_bound(of))
        case ["least", several]:
            return Least(tuple(read_bound(each) for each in several))
        case ["greatest", several]:
            return Greatest(tuple(read_bound(each) for each in several))
        case _:
            raise ValueError("this is no bound")
