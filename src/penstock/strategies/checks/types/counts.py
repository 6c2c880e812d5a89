"""Types that compare a number of rows or values with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.core.checks.check_type import (
    ROWS,
    CheckKey,
    CheckStatus,
    CheckType,
    CountedRows,
    GivenKeys,
    GroupMeasures,
    GroupValue,
    KeyKind,
    Measure,
    key,
)
from penstock.core.names import quoted
from penstock.strategies.checks import literals, measure


@dataclass(frozen=True, slots=True)
class RowCount(CheckType):
    """Passes if there are at least `minimum` and at most `maximum` rows; an empty group has 0."""

    minimum: int | None = measure.LEAST(kind=KeyKind.COUNT)
    maximum: int | None = measure.MOST(kind=KeyKind.COUNT)

    name = "row_count"
    counts_empty = True
    without_empty = "0 rows are compared with the bounds"

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows."""
        return Measure(
            {ROWS: rows.count_all},
            lambda group: measure.verdict_by_bounds("rows", group.rows, self.minimum, self.maximum),
        )


_NOUN = "distinct"


@dataclass(frozen=True, slots=True)
class DistinctCount(CheckType):
    """Passes if the number of distinct values is in bounds; rows with NULL do not count."""

    columns: tuple[str, ...] = measure.COLUMNS()
    minimum: int | None = measure.LEAST(kind=KeyKind.COUNT)
    maximum: int | None = measure.MOST(kind=KeyKind.COUNT)

    name = "distinct_count"
    compares = True
    is_observable = False
    counts_empty = True

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows and the distinct values."""
        first, *others = (quoted(each) for each in self.columns)
        values = ", ".join((rows.only(first), *others))
        return Measure(
            {ROWS: rows.count_all, _NOUN: f"count(DISTINCT {values})"},
            lambda group: measure.verdict_by_bounds(
                _NOUN, group.count(_NOUN), self.minimum, self.maximum
            ),
            empty={_NOUN: "0"},
        )


@dataclass(frozen=True, slots=True)
class NullPercentage(CheckType):
    """Passes if at most this percentage of the values is NULL; exact, without rounding."""

    column: str = measure.COLUMN()
    maximum: Decimal = key(
        "max_percentage",
        KeyKind.PERCENT,
        "Of `null_percentage`: how many values may be NULL.",
        5,
    )

    name = "null_percentage"
    stores_rows = True

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows, and those with NULL."""
        breaks = f"{quoted(self.column)} IS NULL"
        most = Fraction(self.maximum)

        def judge(group: GroupMeasures) -> GroupValue:
            nulls, total = group.count("nulls"), group.rows
            share = Fraction(100 * nulls, total)
            shown = f"nulls {literals.percent(share, most)} %"
            if share <= most:
                return measure.passed(shown, failures=0)
            details = f"{nulls} of {literals.amount(total, 'row')}"
            bound = literals.exactly(self.maximum)
            return measure.failed(f"{shown} > max {bound} %", details, nulls)

        return Measure({ROWS: rows.count_all, "nulls": rows.count(breaks)}, judge, breaks)


NO_BASE = "no earlier execution"
_TRAILING = 7
_BOTH, _MORE, _LESS = "max_percent", "max_increase_percent", "max_decrease_percent"
_OF = "Of `row_count_change`"


@dataclass(frozen=True, slots=True)
class RowCountChange(CheckType):
    """Passes if the number of rows changed by at most this percentage.

    The base is the last success, or with `last` the mean of that many successes. Growth from zero
    counts as infinite.
    """

    max_increase: Decimal | None = key(
        _MORE,
        KeyKind.CHANGE,
        f"{_OF}: how many more rows than before are allowed.",
        50,
        unset="none",
    )
    max_decrease: Decimal | None = key(
        _LESS, KeyKind.PERCENT, f"{_OF}: how many fewer.", 50, unset="none"
    )
    last: int | None = key(
        "last", KeyKind.NATURAL, f"{_OF} with `trailing`: of how many.", 7, unset="7"
    )

    name = "row_count_change"
    other_keys = (
        CheckKey(_BOTH, KeyKind.CHANGE, f"{_OF}: both.", 50),
        CheckKey(
            "compare",
            KeyKind.CHOICE,
            f"{_OF}: with the last success, or with the mean of several.",
            "trailing",
            unset="`previous`",
            choice=("previous", "trailing"),
        ),
    )
    only_after = True
    counts_empty = True

    @classmethod
    def settle(cls, keys: GivenKeys, values: dict[str, Any]) -> dict[str, Any]:
        """Return the bounds that apply; refuse a subset of the step's rows."""
        both, trailing, last = values.pop(_BOTH), values.pop("compare"), values["last"]
        bounds = [each for each in (_MORE, _LESS, _BOTH) if keys.find(each) is not None]
        for each in bounds[:-1] if _BOTH in bounds else ():
            keys.report(each, "option-conflict", f"max_percent says {each} too", "keep one")
        if not bounds:
            sentence = f"none of {_MORE}, {_LESS}, {_BOTH} is given"
            keys.report("type", "missing-bounds", sentence, f"give {_MORE}, {_LESS} or both")
        if last is not None and not trailing:
            sentence = "last counts what compare: trailing compares with"
            hint = "write compare: trailing, or take it out"
            keys.report("last", "option-conflict", sentence, hint)
        for each in ("where", "query", "scope"):
            if keys.find(each) is not None and (each != "scope" or keys.text(each) == "table"):
                sentence = (
                    f"row_count_change counts all rows of a step, as earlier ones did; {each}"
                )
                keys.report(each, "option-conflict", f"{sentence} says other rows", "take it out")
        if both is not None:
            values |= {"max_increase": both, "max_decrease": min(both, Decimal(100))}
        return values | {"last": (last or _TRAILING) if trailing else None}

    @property
    def runs_before(self) -> int | None:
        """How many earlier runs it compares with: 0 for the last success."""
        return self.last or 0

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows."""
        return Measure({ROWS: rows.count_all}, self._judge)

    def _judge(self, group: GroupMeasures) -> GroupValue:
        rows, before = group.rows, group.before
        if before is None:
            return GroupValue("", CheckStatus.SKIPPED, message=NO_BASE)
        grows = rows >= before
        limit, word = (self.max_increase, "increase") if grows else (self.max_decrease, "decrease")
        bound = None if limit is None else Fraction(limit)
        if rows and not before:
            message, holds = f"rows {rows}, infinite increase from 0", bound is None
        else:
            change = 100 * abs(rows - before) / before if before else Fraction(0)
            shown = f"{'+' if grows else '-'}{literals.percent(change, bound, digits=1)} %"
            message = f"rows {rows}, {shown} of {literals.number(before)}"
            holds = bound is None or change <= bound
        if limit is None or holds:
            return measure.passed(message)
        return measure.failed(f"{message} (max {word} {literals.plain(limit)} %)")
