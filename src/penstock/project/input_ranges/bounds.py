"""Combine bounds and simplify them: fixed parts are computed, redundant floors removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from penstock.core.partitions.calendar import DAY
from penstock.core.partitions.mapping import (
    MONTHS,
    SIZES,
    At,
    Bound,
    Ceiled,
    Floored,
    Greatest,
    LastDay,
    Least,
    Lower,
    Moved,
    Upper,
    ceiled,
    floored,
    last_day,
    moved,
)
from penstock.core.partitions.partition import Grain, Grid

_BEGINS = {"year": ("quarter", "month"), "quarter": ("month",)}
"""Units longer than a day that begin wherever one of a unit begins."""


def move(bound: Bound, months: int = 0, micros: int = 0) -> Bound:
    """Move a bound."""
    if isinstance(bound, At):
        return At(moved(bound.position, months, micros))
    if isinstance(bound, Moved) and not months:
        return move(bound.of, bound.months, bound.micros + micros)
    return Moved(bound, months, micros) if months or micros else bound


def floor(bound: Bound, unit: str, grid: Grid) -> Bound:
    """Floor a bound; `grid` is that of its partition."""
    if isinstance(bound, At):
        return At(floored(bound.position, unit))
    return bound if _begins(bound, unit, grid) else Floored(bound, unit)


def ceil(bound: Bound, unit: str, grid: Grid) -> Bound:
    """Ceil a bound."""
    if isinstance(bound, At):
        return At(ceiled(bound.position, unit))
    return bound if _begins(bound, unit, grid) else Ceiled(bound, unit)


def end_of_month(bound: Bound) -> Bound:
    """Return the last day of the month of a bound."""
    return At(last_day(bound.position)) if isinstance(bound, At) else LastDay(bound)


def least(bounds: Iterable[Bound]) -> Bound | None:
    """Return the smallest, None of none."""
    return _of_several(bounds, Least, min)


def greatest(bounds: Iterable[Bound]) -> Bound | None:
    """Return the greatest, None of none."""
    return _of_several(bounds, Greatest, max)


def leaves(bound: Bound | None) -> Iterator[Lower | Upper | At]:
    """Yield the parts of a bound: the partition's own bounds, and fixed positions."""
    match bound:
        case Moved(of) | Floored(of) | Ceiled(of) | LastDay(of):
            yield from leaves(of)
        case Least(several) | Greatest(several):
            for each in several:
                yield from leaves(each)
        case Lower() | Upper() | At():
            yield bound
        case None:
            pass


def _of_several(
    bounds: Iterable[Bound], kind: type[Least | Greatest], pick: Callable[[list[int]], int]
) -> Bound | None:
    flat: dict[Bound, None] = {}
    for bound in bounds:
        flat |= dict.fromkeys(bound.of if isinstance(bound, kind) else (bound,))
    fixed = [each.position for each in flat if isinstance(each, At)]
    rest = tuple(each for each in flat if not isinstance(each, At))
    parts = (*rest, At(pick(fixed))) if fixed else rest
    return kind(parts) if len(parts) > 1 else next(iter(parts), None)


def _begins(bound: Bound, unit: str, grid: Grid) -> bool:
    """Return whether a unit begins at a bound of every partition."""
    match bound:
        case Lower() | Upper():
            return grid.grain is not Grain.RANGE and _is_within(unit, grid.grain.value.lower())
        case Floored(_, other) | Ceiled(_, other):
            return _is_within(unit, other)
        case Moved(of, months, micros):
            if not _begins(of, unit, grid):
                return False
            if unit in MONTHS:
                return not micros and not months % MONTHS[unit]
            return not micros % SIZES[unit] and not (months and unit == "week")
        case LastDay():
            return SIZES.get(unit, 2 * DAY) <= DAY
        case Least(several) | Greatest(several):
            return all(_begins(each, unit, grid) for each in several)
        case _:
            return False


def _is_within(unit: str, other: str) -> bool:
    """Return whether a unit begins wherever one of the other begins."""
    if unit == other or unit in _BEGINS.get(other, ()):
        return True
    size = SIZES.get(unit)
    return size is not None and size <= min(DAY, SIZES.get(other, DAY))
