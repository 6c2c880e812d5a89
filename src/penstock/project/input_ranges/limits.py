"""Which range of a column the conditions on its table leave (spec/drift.md §6.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.core.partitions.bounds import Bound
from penstock.core.partitions.calendar import DAY
from penstock.core.partitions.partition import Grain, Grid
from penstock.project.input_ranges.bounds import ceil, floor, greatest, least
from penstock.project.input_ranges.scopes import FromItem, conjuncts
from penstock.project.input_ranges.terms import (
    PARAMETERS,
    ColumnTerm,
    Constant,
    Kind,
    compared,
    fold,
    parameter_of,
    term,
)

_FLIPPED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.NEQ: exp.NEQ,
}
_NEGATED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """A range; None is open. One that is open is `unclear` where a condition was not recognised."""

    low: Bound | None = None
    high: Bound | None = None
    unclear: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it leaves everything."""
        return self.low is None and self.high is None


ANY = Limits()
UNCLEAR = Limits(unclear=True)


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Reads conditions for partitions of `grid`; `kind_of` knows the types of columns."""

    grid: Grid
    relations: Mapping[str, FromItem]
    kind_of: Callable[[exp.Column], Kind | None]

    def limits(self, relation: FromItem, column: str) -> Limits:
        """Give the range of a column that a scan needs."""
        found = [self._read(c, relation.label, column) for c in relation.conditions]
        return both(found)

    def columns(self, relation: FromItem) -> list[str]:
        """Give the columns of a scan that conditions compare, as written in them."""
        return sorted(
            {
                column.name
                for condition in relation.conditions
                for column in condition.find_all(exp.Column)
                if column.table == relation.label
            }
        )

    def _read(self, node: exp.Expr, label: str, column: str, *, direct: bool = False) -> Limits:
        match node:
            case exp.Paren():
                return self._read(node.this, label, column, direct=direct)
            case exp.And():
                parts = [self._read(c, label, column, direct=direct) for c in conjuncts(node)]
                return both(parts)
            case exp.Or():
                sides = (node.this, node.expression)
                return either([self._read(side, label, column, direct=direct) for side in sides])
            case exp.Not() if (turned := _negated(node.this)) is not None:
                return self._read(turned, label, column, direct=direct)
            case exp.Between():
                pair = _between(node)
                return both([self._read(each, label, column, direct=direct) for each in pair])
            case exp.In() if node.expressions:
                equal = [exp.EQ(this=node.this, expression=each) for each in node.expressions]
                return either([self._read(each, label, column, direct=direct) for each in equal])
            case exp.Binary() if type(node) in _FLIPPED:
                found = self._comparison(node, label, column, direct=direct)
                if found is not None or isinstance(node, exp.NEQ):
                    return found or ANY
        return ANY if direct else self._unread(node, label, column)

    def _unread(self, node: exp.Expr, label: str, column: str) -> Limits:
        """Leave a condition out that is not recognised.

        It is unclear what it reads if it ties the column to the partition; "" is any column.
        """
        mentions = follows = False
        for each in node.find_all(exp.Column, exp.Parameter):
            if parameter_of(each) in PARAMETERS:
                follows = True
            elif isinstance(each, exp.Column):
                mentions = mentions or (each.table == label and column in (each.name, ""))
        return UNCLEAR if mentions and follows else ANY

    def _comparison(
        self, node: exp.Binary, label: str, column: str, *, direct: bool
    ) -> Limits | None:
        for this, other, kind in (
            (node.this, node.expression, type(node)),
            (node.expression, node.this, _FLIPPED[type(node)]),
        ):
            found = term(this, self.kind_of)
            if found is None or (found.relation, found.column) != (label, column):
                continue
            value = fold(other, self.grid)
            if value is not None and direct and _is_of_letters(found, value, kind):
                return None
            if value is not None:
                return self._against(kind, found, value)
            far = term(other, self.kind_of)
            if far is not None and kind is exp.EQ and not direct:
                return self._passed(found, far)
        return None

    def _against(self, kind: type[exp.Expr], found: ColumnTerm, value: Constant) -> Limits | None:
        bound = compared(value, found.kind)
        if bound is None:
            return None
        tick = DAY if value.kind is Kind.DATE and found.kind is None else 1
        if kind is exp.NEQ:
            return ANY
        low = high = None
        if kind in (exp.GTE, exp.EQ, exp.NullSafeEQ):
            low = found.first(bound, self.grid)
        elif kind is exp.GT:
            low = found.beyond(bound, self.grid, 1)
        if kind in (exp.LTE, exp.EQ, exp.NullSafeEQ):
            high = found.beyond(bound, self.grid, tick)
        elif kind is exp.LT:
            high = found.first(bound, self.grid)
        return Limits(low, high)

    def _passed(self, found: ColumnTerm, far: ColumnTerm) -> Limits | None:
        """Give the range that an equality passes on from another column."""
        if found.kind and far.kind and (found.kind is Kind.NUMBER) != (far.kind is Kind.NUMBER):
            return None
        known = self._known(far.relation, far.column)
        if known.is_open:
            return None
        low, high = far.over(known.low, known.high, self.grid)
        if (
            far.kind is None
            and found.kind in (None, Kind.DATE)
            and self.grid.grain is not Grain.RANGE
        ):
            low = low and floor(low, "day", self.grid)  # a text may lose its time on the way
            high = high and ceil(high, "day", self.grid)
        return Limits(low and found.first(low, self.grid), high and found.first(high, self.grid))

    def _known(self, label: str, column: str) -> Limits:
        """Give the range that the values of a column surely have, NULL left out."""
        relation = self.relations.get(label)
        if relation is None:
            return ANY
        found = [self._read(c, label, column, direct=True) for c in relation.conditions]
        if not relation.branches:
            return both(found)
        inside = []
        for branch in relation.branches:
            inner = term(branch.output(column), self.kind_of)
            if inner is None:
                return both(found)
            known = self._known(inner.relation, inner.column)
            inside.append(Limits(*inner.over(known.low, known.high, self.grid)))
        return both([*found, either(inside)])


def both(several: Iterable[Limits]) -> Limits:
    """Give what several conditions leave together."""
    parts = list(several)
    lows = [each.low for each in parts if each.low is not None]
    highs = [each.high for each in parts if each.high is not None]
    if not lows and not highs:
        return UNCLEAR if any(each.unclear for each in parts) else ANY
    return Limits(greatest(lows) if lows else None, least(highs) if highs else None)


def either(several: Iterable[Limits]) -> Limits:
    """Give the hull of what one of several conditions leaves."""
    parts = list(several)
    lows = [each.low for each in parts if each.low is not None]
    highs = [each.high for each in parts if each.high is not None]
    low = least(lows) if len(lows) == len(parts) else None
    high = greatest(highs) if len(highs) == len(parts) else None
    opened = [each for each in parts if each.is_open]
    return Limits(low, high, unclear=bool(opened) and all(each.unclear for each in opened))


def _is_of_letters(found: ColumnTerm, value: Constant, kind: type[exp.Expr]) -> bool:
    """Whether a comparison may go letter by letter: '2024-4-9' is then after '2024-05-01'."""
    is_order = kind not in (exp.EQ, exp.NullSafeEQ)
    return is_order and found.kind is None and value.kind is Kind.TEXT


def _between(node: exp.Between) -> tuple[exp.Expr, exp.Expr]:
    low = exp.GTE(this=node.this, expression=node.args["low"])
    return low, exp.LTE(this=node.this, expression=node.args["high"])


def _negated(node: exp.Expr) -> exp.Expr | None:
    """Write the opposite of a condition without NOT, None where that is not known."""
    match node:
        case exp.Paren():
            return _negated(node.this)
        case exp.Not():
            inner: exp.Expr = node.this
            return inner
        case exp.And() | exp.Or():
            kind = exp.Or if isinstance(node, exp.And) else exp.And
            sides = [_negated(node.this), _negated(node.expression)]
            if None in sides:
                return None
            return kind(this=sides[0], expression=sides[1])
        case exp.Between():
            low, high = _between(node)
            return exp.Or(this=_negated(low), expression=_negated(high))
        case exp.Binary() if type(node) in _NEGATED:
            return _NEGATED[type(node)](this=node.this, expression=node.expression)
        case _:
            return None
