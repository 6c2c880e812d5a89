"""SQL as positions: constants of a partition, and columns under truncations.

`date_sub(@partition_date, 6)` is a constant, `CAST(DATE_TRUNC('WEEK', date) AS DATE)` a term of the
column `date`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlglot import exp

from penstock.core.partitions.calendar import DAY, instant
from penstock.core.partitions.mapping import MONTHS, SIZES, At, Bound, Lower, Upper
from penstock.core.partitions.partition import Grain, Grid
from penstock.project.input_ranges.bounds import ceil, end_of_month, floor, move

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


class Kind(StrEnum):
    """The kind of a value; a text takes the kind of the other side of a comparison."""

    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is known once the partition, one of `grid`, is known."""

    grid: Grid
    bound: Bound
    kind: Kind
    text: str = ""

    def compared(self, kind: Kind | None) -> Bound | None:
        """Return the position for a comparison with a term of a kind, None if they do not match.

        A text compared as a DATE is the day that it begins with, independent of its offset.
        """
        if self.kind is not Kind.TEXT:
            is_number = self.kind is Kind.NUMBER
            return self.bound if kind is None or is_number == (kind is Kind.NUMBER) else None
        if kind is Kind.NUMBER:
            return At(int(self.text)) if re.fullmatch(r"[+-]?\d{1,19}", self.text) else None
        place, day = instant(self.text), instant(self.text[:10])
        if place is None or (kind is None and place != day):
            return None
        return At(day) if kind is Kind.DATE and day is not None else At(place)

    def dated(self) -> Constant | None:
        """Return it as a DATE."""
        bound = self.compared(Kind.DATE)
        return Constant(self.grid, floor(bound, "day", self.grid), Kind.DATE) if bound else None

    def timed(self) -> Constant | None:
        """Return it as a TIMESTAMP."""
        bound = self.compared(Kind.TIME)
        return Constant(self.grid, bound, Kind.TIME) if bound else None

    def truncated(self, unit: str, kind: Kind) -> Constant | None:
        """Return the beginning of its unit."""
        place = self.dated() if kind is Kind.DATE else self.timed()
        return place and Constant(self.grid, floor(place.bound, unit, self.grid), kind)

    def moved(self, months: int, micros: int, kind: Kind) -> Constant | None:
        """Move it by months, then by microseconds or integers."""
        return Constant(self.grid, move(self.bound, months, micros), kind)


@dataclass(frozen=True, slots=True)
class ColumnTerm:
    """A column and its operations, from the inside out; an unknown `kind` is None.

    A step floors it to a unit, or moves it by microseconds or integers.
    """

    relation: str
    column: str
    steps: tuple[str | int, ...] = ()
    kind: Kind | None = None

    def dated(self) -> ColumnTerm | None:
        """Return it as a DATE."""
        return self.truncated("day", Kind.DATE)

    def timed(self) -> ColumnTerm | None:
        """Return it as a TIMESTAMP; one of an unknown kind may count seconds."""
        is_time = self.kind not in (None, Kind.NUMBER)
        return replace(self, kind=Kind.TIME) if is_time else None

    def truncated(self, unit: str, kind: Kind) -> ColumnTerm | None:
        """Return the beginning of its unit."""
        found = replace(self, steps=(*self.steps, unit), kind=kind)
        return None if self.kind is Kind.NUMBER else found

    def moved(self, months: int, micros: int, kind: Kind) -> ColumnTerm | None:
        """Move it by microseconds or integers; months depend on the row."""
        steps = (*self.steps, micros) if micros else self.steps
        return None if months else replace(self, steps=steps, kind=kind)

    def first(self, bound: Bound, grid: Grid) -> Bound:
        """Return the least value of the column for which the term is at least a bound."""
        for step in reversed(self.steps):
            bound = ceil(bound, step, grid) if isinstance(step, str) else move(bound, micros=-step)
        return bound

    def beyond(self, bound: Bound, grid: Grid, tick: int) -> Bound:
        """Return the least value of the column for which the term is greater than a bound.

        `tick` is the distance between values of a column that is not truncated.
        """
        for at, step in reversed([*enumerate(self.steps, 1)]):
            if isinstance(step, str):
                bound = move(floor(bound, step, grid), MONTHS.get(step, 0), SIZES.get(step, 0))
                return replace(self, steps=self.steps[:at]).first(bound, grid)
            bound = move(bound, micros=-step)
        return move(bound, micros=tick)

    def over(
        self, low: Bound | None, high: Bound | None, grid: Grid
    ) -> tuple[Bound | None, Bound | None]:
        """Return the range of the term for a range of the column."""
        for step in self.steps:
            if isinstance(step, str):
                low, high = low and floor(low, step, grid), high and ceil(high, step, grid)
            else:
                low, high = low and move(low, micros=step), high and move(high, micros=step)
        return low, high


Value = Constant | ColumnTerm


def parameter_of(node: exp.Expr) -> str:
    """Return the name of a parameter node, "" for any other node."""
    if isinstance(node, exp.Parameter):
        return str(node.name)
    if isinstance(node, exp.Column) and node.name.startswith(_TOKEN):
        return node.name.removeprefix(_TOKEN)
    return ""


def fold(node: exp.Expr | None, grid: Grid) -> Constant | None:
    """Return the value of an expression for a partition of `grid`, None if it is not fixed."""

    def leaf(each: exp.Expr) -> Constant | None:
        bound, number = PARAMETERS.get(parameter_of(each)), integer(each)
        if bound:
            kinds = {Grain.RANGE: Kind.NUMBER, Grain.HOUR: Kind.TIME}
            return Constant(grid, bound, kinds.get(grid.grain, Kind.DATE))
        if isinstance(each, exp.Literal) and each.is_string:
            return Constant(grid, At(0), Kind.TEXT, each.name)
        return None if number is None else Constant(grid, At(number), Kind.NUMBER)

    found = _read(node, leaf)
    return found if isinstance(found, Constant) else None


def term(node: exp.Expr | None, kind_of: Callable[[exp.Column], Kind | None]) -> ColumnTerm | None:
    """Read a column under truncations and shifts; None for any other expression."""

    def leaf(each: exp.Expr) -> ColumnTerm | None:
        if not isinstance(each, exp.Column):
            return None
        kind = kind_of(each)
        steps = ("day",) if kind is Kind.DATE else ()
        return ColumnTerm(each.table, each.name.lower(), steps, kind)

    found = _read(node, leaf)
    return found if isinstance(found, ColumnTerm) else None


def _read(node: object, leaf: Callable[[exp.Expr], Value | None]) -> Value | None:
    """Return the operations on a leaf, from the inside out."""
    if not isinstance(node, exp.Expr):
        return None
    found = leaf(node)
    inner = _read(node.this, leaf) if found is None else None
    if inner is None:
        return found
    match node:
        case exp.Paren():
            return inner
        case exp.Add() | exp.Sub():
            return _added(node, inner)
        case exp.Cast():
            return _cast(node.to.this, inner)
        case exp.TsOrDsToDate() | exp.TsOrDsAdd() | exp.AddMonths() | exp.LastDay():
            return _of_date(node, inner.dated())
        case exp.TimestampTrunc() | exp.DateTrunc():
            kind = Kind.DATE if isinstance(node, exp.DateTrunc) else Kind.TIME
            unit = _truncation(node)
            return inner.truncated(unit, kind) if unit else None
        case _:
            return None


def _of_date(node: exp.Expr, date: Value | None) -> Value | None:
    number = integer(node.args.get("expression"))
    match node:
        case exp.TsOrDsToDate() if not node.args.get("format"):
            return date
        case exp.TsOrDsAdd() if date and number is not None:
            return date.moved(0, number * DAY, Kind.DATE)
        case exp.AddMonths() if isinstance(date, Constant) and number is not None:
            return date.moved(number, 0, Kind.DATE)
        case exp.LastDay() if isinstance(date, Constant) and not node.args.get("unit"):
            return replace(date, bound=end_of_month(date.bound))
        case _:
            return None


def _cast(to: object, inner: Value) -> Value | None:
    if to is exp.DType.DATE:
        return inner.dated()
    if to in _TIMES:
        return inner.timed()
    numbers = _NUMBERS if isinstance(inner, Constant) else {exp.DType.BIGINT}
    return inner if to in numbers and inner.kind is Kind.NUMBER else None


def _added(node: exp.Add | exp.Sub, inner: Value) -> Value | None:
    sign = -1 if isinstance(node, exp.Sub) else 1
    number, length = integer(node.expression), _interval(node.expression)
    if number is not None and inner.kind in (Kind.NUMBER, Kind.DATE):
        return inner.moved(0, sign * number * (DAY if inner.kind is Kind.DATE else 1), inner.kind)
    if length is None or inner.kind not in (Kind.DATE, Kind.TIME):
        return None
    kind = Kind.TIME if length[1] % DAY else inner.kind
    return inner.moved(sign * length[0], sign * length[1], kind)


def integer(node: exp.Expr | None) -> int | None:
    """Return the value of an integer literal, with its sign."""
    match node:
        case exp.Literal() if not node.is_string and re.fullmatch(r"\d+", node.name):
            return int(node.name)
        case exp.Neg() | exp.Paren():
            number = integer(node.this)
            return number if number is None or isinstance(node, exp.Paren) else -number
        case exp.Mul():  # DATE_SUB is read as DATE_ADD of the number times -1
            one, other = integer(node.this), integer(node.expression)
            return None if one is None or other is None else one * other
        case _:
            return None


def _truncation(node: exp.TimestampTrunc | exp.DateTrunc) -> str:
    """Return the unit of DATE_TRUNC or TRUNC, "" if it gives NULL or is not a literal."""
    written = node.args.get("unit")
    if not isinstance(written, exp.Var | exp.Literal):
        return ""
    name = written.name.lower()
    unit = _TRUNCATIONS.get(name, name)
    known = MONTHS.keys() | ({"week"} if isinstance(node, exp.DateTrunc) else SIZES.keys())
    return unit if unit in known else ""


def _interval(node: exp.Expr | None) -> tuple[int, int] | None:
    """Return months and microseconds of an interval, None for any other node."""
    match node:
        case exp.Add():
            left, right = _interval(node.this), _interval(node.expression)
            return (left[0] + right[0], left[1] + right[1]) if left and right else None
        case exp.Interval(this=exp.Expr() as count):
            unit = node.args.get("unit")
            written = count.name if isinstance(count, exp.Literal) else str(integer(count))
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
