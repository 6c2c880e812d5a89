"""What SQL says in positions: constants of a partition, and columns under truncations.

`date_sub(@partition_date, 6)` is a constant, `CAST(DATE_TRUNC('WEEK', date) AS DATE)` a term of the
column `date` (spec/drift.md §6.3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlglot import exp

from penstock.core.partitions.bounds import MONTHS, SIZES, At, Bound, Lower, Upper
from penstock.core.partitions.calendar import DAY, instant
from penstock.core.partitions.partition import Grain, Grid
from penstock.project.input_ranges.bounds import ceil, end_of_month, floor, move, move_unit

PARAMETERS: Mapping[str, Bound] = {
    "partition_date": Lower(),
    "start_date": Lower(),
    "end_date": Upper(),
}
_TOKEN = "penstock:param:"  # noqa: S105  no password: the beginning of a parameter's token

_TIMES = {
    exp.DType.TIMESTAMP,
    exp.DType.TIMESTAMPTZ,
    exp.DType.TIMESTAMPLTZ,
    exp.DType.TIMESTAMPNTZ,
    exp.DType.DATETIME,
}
_NUMBERS = {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT}
_TRUNCATIONS = {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"}
_PART = re.compile(r"\s*([+-]?\d+)\s+([a-z]+?)s?(?=\s|$)\s*", re.IGNORECASE)
Limit = tuple[Bound | None, Bound | None]


class Kind(StrEnum):
    """What a value is; a text becomes what it is compared with."""

    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is known once the partition is."""

    bound: Bound
    kind: Kind
    text: str = ""


@dataclass(frozen=True, slots=True)
class TermStep:
    """One thing done to a column: floored to a unit, or moved by microseconds or integers."""

    unit: str = ""
    shift: int = 0


@dataclass(frozen=True, slots=True)
class ColumnTerm:
    """A column and what is done to it, from the inside out; `kind` None is not known."""

    relation: str
    column: str
    steps: tuple[TermStep, ...] = ()
    kind: Kind | None = None
    column_kind: Kind | None = None

    def first(self, bound: Bound, grid: Grid) -> Bound:
        """Give the least value of the column for which the term is not less than a bound."""
        for step in reversed(self.steps):
            moved_bound = move(bound, micros=-step.shift)
            bound = ceil(bound, step.unit, grid) if step.unit else moved_bound
        return bound

    def beyond(self, bound: Bound, grid: Grid, tick: int) -> Bound:
        """Give the least value of the column for which the term is greater than a bound.

        `tick` is the distance between values of a column that is not truncated.
        """
        steps = list(self.steps)
        while steps and not steps[-1].unit:
            bound = move(bound, micros=-steps.pop().shift)
        if not steps:
            return move(bound, micros=tick)
        bound = move_unit(floor(bound, steps[-1].unit, grid), steps[-1].unit)
        return replace(self, steps=tuple(steps)).first(bound, grid)

    def over(self, low: Bound | None, high: Bound | None, grid: Grid) -> Limit:
        """Give the range of the term for a range of the column."""
        for step in self.steps:
            if step.unit:
                low = low and floor(low, step.unit, grid)
                high = high and ceil(high, step.unit, grid)
            else:
                low = low and move(low, micros=step.shift)
                high = high and move(high, micros=step.shift)
        return low, high


def parameter_of(node: exp.Expr) -> str:
    """Give the name of the parameter that a node is, "" for any other node."""
    if isinstance(node, exp.Parameter):
        return str(node.name)
    if isinstance(node, exp.Column) and node.name.startswith(_TOKEN):
        return node.name.removeprefix(_TOKEN)
    return ""


def fold(node: exp.Expr | None, grid: Grid) -> Constant | None:
    """Give the value of an expression for a partition of `grid`, None if it has no fixed one."""
    if node is None:
        return None
    name = parameter_of(node)
    if name:
        kinds = {Grain.RANGE: Kind.NUMBER, Grain.HOUR: Kind.TIME}
        bound = PARAMETERS.get(name)
        return Constant(bound, kinds.get(grid.grain, Kind.DATE)) if bound else None
    if isinstance(node, exp.Literal) and node.is_string:
        return Constant(At(0), Kind.TEXT, node.name)
    number = integer(node)
    if number is not None:
        return Constant(At(number), Kind.NUMBER)
    if isinstance(node, exp.Add | exp.Sub):
        return _added(node, grid)
    inner = fold(node.this, grid) if isinstance(node.this, exp.Expr) else None
    return inner and _applied(node, inner, grid)


def term(node: exp.Expr | None, kind_of: Callable[[exp.Column], Kind | None]) -> ColumnTerm | None:
    """Read a column under truncations and shifts; None for any other expression."""
    if isinstance(node, exp.Column):
        kind = kind_of(node)
        steps = (TermStep("day"),) if kind is Kind.DATE else ()
        return ColumnTerm(node.table, node.name.lower(), steps, kind, kind)
    if isinstance(node, exp.Add | exp.Sub):
        return _shifted(node, kind_of)
    inner = term(node.this, kind_of) if node and isinstance(node.this, exp.Expr) else None
    if node is None or inner is None:
        return None
    match node:
        case exp.Paren():
            return inner
        case exp.Cast():
            return _cast_term(node, inner)
        case exp.TsOrDsToDate() if not node.args.get("format"):
            return _step(inner, TermStep("day"), Kind.DATE)
        case exp.TsOrDsAdd():
            days = integer(node.expression)
            floored_term = _step(inner, TermStep("day"), Kind.DATE)
            shift = days is not None and TermStep(shift=days * DAY)
            return _step(floored_term, shift, Kind.DATE) if floored_term and shift else None
        case exp.TimestampTrunc() | exp.DateTrunc():
            unit = _truncation(node)
            kind = Kind.DATE if isinstance(node, exp.DateTrunc) else Kind.TIME
            return _step(inner, TermStep(unit), kind) if unit else None
        case _:
            return None


def compared(value: Constant, kind: Kind | None) -> Bound | None:
    """Give the position that a term of a kind is compared with, None where they do not fit.

    A text that is a DATE is the day that it begins with, whatever offset it ends with.
    """
    if value.kind is not Kind.TEXT:
        is_number = value.kind is Kind.NUMBER
        return value.bound if kind is None or is_number == (kind is Kind.NUMBER) else None
    if kind is Kind.NUMBER:
        return At(int(value.text)) if re.fullmatch(r"[+-]?\d{1,19}", value.text) else None
    place, day = instant(value.text), instant(value.text[:10])
    if place is None or (kind is None and place != day):
        return None
    return At(day) if kind is Kind.DATE and day is not None else At(place)


def integer(node: exp.Expr | None) -> int | None:
    """Give the value of an integer literal, with its sign."""
    match node:
        case exp.Literal() if not node.is_string and re.fullmatch(r"\d+", node.name):
            return int(node.name)
        case exp.Neg() | exp.Paren():
            number = integer(node.this)
            return number if number is None or isinstance(node, exp.Paren) else -number
        case exp.Mul():  # DATE_SUB is read as DATE_ADD of the number times -1
            factors = integer(node.this), integer(node.expression)
            return None if None in factors else (factors[0] or 0) * (factors[1] or 0)
        case _:
            return None


def _applied(node: exp.Expr, inner: Constant, grid: Grid) -> Constant | None:
    match node:
        case exp.Paren():
            return inner
        case exp.Cast():
            return _cast(inner, node.to.this, grid)
        case exp.TsOrDsToDate() if not node.args.get("format"):
            return _dated(inner, grid)
        case exp.TsOrDsAdd():
            return _moved_date(inner, 0, integer(node.expression), grid)
        case exp.AddMonths():
            return _moved_date(inner, integer(node.expression), 0, grid)
        case exp.LastDay() if not node.args.get("unit"):
            date = _dated(inner, grid)
            return date and Constant(end_of_month(date.bound), Kind.DATE)
        case exp.TimestampTrunc() | exp.DateTrunc():
            unit = _truncation(node)
            is_date = isinstance(node, exp.DateTrunc)
            place = _dated(inner, grid) if is_date else _timed(inner)
            kind = Kind.DATE if is_date else Kind.TIME
            return Constant(floor(place.bound, unit, grid), kind) if place and unit else None
        case _:
            return None


def _cast(inner: Constant, to: object, grid: Grid) -> Constant | None:
    if to is exp.DType.DATE:
        return _dated(inner, grid)
    if to in _TIMES:
        return _timed(inner)
    return inner if to in _NUMBERS and inner.kind is Kind.NUMBER else None


def _dated(value: Constant, grid: Grid) -> Constant | None:
    bound = compared(value, Kind.DATE)
    return Constant(floor(bound, "day", grid), Kind.DATE) if bound else None


def _timed(value: Constant) -> Constant | None:
    bound = compared(value, Kind.TIME)
    return Constant(bound, Kind.TIME) if bound else None


def _moved_date(
    value: Constant, months: int | None, days: int | None, grid: Grid
) -> Constant | None:
    date = _dated(value, grid)
    if date is None or months is None or days is None:
        return None
    return Constant(move(date.bound, months, days * DAY), Kind.DATE)


def _added(node: exp.Add | exp.Sub, grid: Grid) -> Constant | None:
    sign = -1 if isinstance(node, exp.Sub) else 1
    left = fold(node.this, grid)
    if left is None:
        return None
    number = integer(node.expression)
    if number is not None:
        if left.kind is Kind.NUMBER:
            return Constant(move(left.bound, micros=sign * number), Kind.NUMBER)
        return _moved_date(left, 0, sign * number, grid) if left.kind is Kind.DATE else None
    length = _interval(node.expression)
    if length is None or left.kind not in (Kind.DATE, Kind.TIME):
        return None
    months, micros = sign * length[0], sign * length[1]
    kind = Kind.TIME if micros % DAY else left.kind
    return Constant(move(left.bound, months, micros), kind)


def _shifted(
    node: exp.Add | exp.Sub, kind_of: Callable[[exp.Column], Kind | None]
) -> ColumnTerm | None:
    sign = -1 if isinstance(node, exp.Sub) else 1
    inner = term(node.this, kind_of)
    if inner is None:
        return None
    number = integer(node.expression)
    if number is not None:
        sizes = {Kind.NUMBER: 1, Kind.DATE: DAY}
        size = sizes.get(inner.kind) if inner.kind else None
        return (size and _step(inner, TermStep(shift=sign * number * size), inner.kind)) or None
    length = _interval(node.expression)
    if length is None or length[0] or inner.kind in (None, Kind.NUMBER):
        return None
    kind = Kind.TIME if length[1] % DAY else inner.kind
    return _step(inner, TermStep(shift=sign * length[1]), kind)


def _cast_term(node: exp.Cast, inner: ColumnTerm) -> ColumnTerm | None:
    to = node.to.this
    if to is exp.DType.DATE:
        return _step(inner, TermStep("day"), Kind.DATE)
    if to in _TIMES and inner.kind is not None:  # an unknown one may count seconds
        return _step(inner, TermStep(), Kind.TIME)
    is_wide = to is exp.DType.BIGINT and inner.kind is Kind.NUMBER
    return inner if is_wide else None


def _step(inner: ColumnTerm, step: TermStep, kind: Kind | None) -> ColumnTerm | None:
    if inner.kind is Kind.NUMBER and kind is not Kind.NUMBER:
        return None
    steps = inner.steps if step == TermStep() else (*inner.steps, step)
    return replace(inner, steps=steps, kind=kind)


def _truncation(node: exp.TimestampTrunc | exp.DateTrunc) -> str:
    """Give the unit of DATE_TRUNC or TRUNC, "" for one that gives NULL or is no literal."""
    written = node.args.get("unit")
    if not isinstance(written, exp.Var | exp.Literal):
        return ""
    name = written.name.lower()
    unit = _TRUNCATIONS.get(name, name)
    known = MONTHS.keys() | ({"week"} if isinstance(node, exp.DateTrunc) else SIZES.keys())
    return unit if unit in known else ""


def _interval(node: exp.Expr | None) -> tuple[int, int] | None:
    """Give months and microseconds of an interval, None for what is none."""
    match node:
        case exp.Add():
            parts = _interval(node.this), _interval(node.expression)
            if parts[0] is None or parts[1] is None:
                return None
            return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
        case exp.Interval(this=exp.Expr() as count):
            unit = node.args.get("unit")
            is_text = isinstance(count, exp.Literal)
            written = count.name if is_text else str(integer(count))
            if isinstance(unit, exp.Var):
                written = f"{written} {unit.name}"
            return None if unit and not isinstance(unit, exp.Var) else _length(written)
        case exp.Paren():
            return _interval(node.this)
        case _:
            return None


def _length(text: str) -> tuple[int, int] | None:
    months = micros = at = 0
    while at < len(text):
        found = _PART.match(text, at)
        unit = found[2].lower() if found else ""
        if found is None or (unit not in SIZES and unit not in MONTHS):
            return None
        months += int(found[1]) * MONTHS.get(unit, 0)
        micros += int(found[1]) * SIZES.get(unit, 0)
        at = found.end()
    return (months, micros) if text else None
