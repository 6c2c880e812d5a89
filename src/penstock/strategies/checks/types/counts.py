"""Types that compare a number of rows or values with bounds, or with earlier numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from statistics import fmean, median
from typing import Any

from penstock.core.checks.check_type import (
    ROWS,
    CheckKey,
    CheckStatus,
    CheckType,
    Condition,
    CountedRows,
    GivenKeys,
    GroupMeasures,
    GroupValue,
    KeyKind,
    Measure,
    OwnHistory,
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


_OF_ANOMALY = "Of `anomaly`"
_SENSITIVITY, _MIN_HISTORY, _LAST = Decimal("3.5"), 7, 30
_LONGEST_NOUN = 60
"""The greatest length of a measure in messages, in characters."""
_SCALE, _MEAN_SCALE = 1.4826, 1.2533
"""They scale the median and the mean of deviations to the standard deviation of a bell curve."""
_SHARE = 0.01
"""The least spread, as a share of the median."""
_EXACT = 2**53
_FEW, _ALL = 4, 17


@dataclass(frozen=True, slots=True)
class Anomaly(CheckType):
    """Passes if a number of the group is close to its own earlier values.

    Close means at most `sensitivity` spreads from their median. The spread is the median deviation
    from the median, scaled like a standard deviation, so that single outliers do not widen it.
    """

    expression: Condition | None = key(
        "measure",
        KeyKind.MEASURE,
        f"{_OF_ANOMALY}: the number to compare, an expression of aggregates.",
        "sum(amount)",
        unset="number of rows",
    )
    sensitivity: Decimal | None = key(
        "sensitivity",
        KeyKind.POSITIVE,
        f"{_OF_ANOMALY}: how many spreads from the median are allowed.",
        5,
        unset="3.5",
    )
    min_history: int | None = key(
        "min_history",
        KeyKind.NATURAL,
        f"{_OF_ANOMALY}: how many earlier values it needs; with fewer it passes.",
        14,
        unset="7",
    )
    last: int | None = key(
        "last",
        KeyKind.NATURAL,
        "Of `row_count_change` with `trailing`, and of `anomaly`: of how many.",
        7,
        unset="7; `anomaly`: 30",
    )
    min_spread: Decimal | None = key(
        "min_spread",
        KeyKind.POSITIVE,
        f"{_OF_ANOMALY}: the least spread, in units of the measure.",
        10,
        unset="1 % of the median; of a number of rows at least 1",
    )
    same_weekday: bool = key(
        "by",
        KeyKind.CHOICE,
        f"{_OF_ANOMALY}: `weekday` compares Mondays with Mondays.",
        "weekday",
        unset="`all`",
        choice=("all", "weekday"),
    )

    name = "anomaly"
    only_after = True
    counts_empty = True

    @classmethod
    def settle(cls, keys: GivenKeys, values: dict[str, Any]) -> dict[str, Any]:
        """Fill in the defaults; refuse a history that is shorter than the least."""
        last, least = values["last"], values["min_history"]
        if least is None:
            least = min(_MIN_HISTORY, last or _LAST)
        last = max(_LAST, least) if last is None else last
        if least > last:
            sentence = f"min_history {least} is above last {last}, so it never compares"
            keys.report("min_history", "option-conflict", sentence, f"last: {least}")
        sensitivity = values["sensitivity"] or _SENSITIVITY
        return values | {"last": last, "min_history": least, "sensitivity": sensitivity}

    @property
    def own_history(self) -> OwnHistory:
        """Which of its earlier values it compares with."""
        return OwnHistory(self.last or _LAST, self.same_weekday)

    def measure(self, rows: CountedRows) -> Measure:
        """Count the rows, or measure the number."""
        if self.expression is None:
            return Measure({ROWS: rows.count_all}, self._judge)
        number = measure.bracketed(rows.condition(self.expression.text, self.expression.aggregates))
        value = measure.text(f"CAST({number} AS DOUBLE)")
        return Measure({ROWS: rows.count_all, "value": value}, self._judge)

    def _judge(self, group: GroupMeasures) -> GroupValue:
        value, noun = self._number(group)
        earlier = [each for each in group.earlier if math.isfinite(each)]
        numbers = {"value": _plain(value), "earlier": str(len(earlier))}
        least, amount = self.min_history or _MIN_HISTORY, literals.amount
        if len(earlier) < least:
            said = f"{noun} {_number_text(value)}, not compared"
            few = amount(len(earlier), "earlier value")
            passed = measure.passed(f"{said}: {few}, {least} needed")
            return _with(passed, numbers)
        low, middle, high = self._band(earlier)
        numbers |= {"low": _plain(low), "median": _plain(middle), "high": _plain(high)}
        expected = (
            f"expected {_number_text(low)} to {_number_text(high)} "
            f"({amount(len(earlier), 'earlier value')}, median {_number_text(middle)})"
        )
        if math.isfinite(value) and low <= value <= high:
            return _with(measure.passed(f"{noun} {_number_text(value)}, {expected}"), numbers)
        sign = "<" if value < low else ">" if value > high else ""
        bound = low if value < low else high
        beyond = f" {sign} {_number_text(bound, value)}" if sign else ""
        return _with(
            measure.failed(f"{noun} {_number_text(value, bound)}{beyond}, {expected}"), numbers
        )

    def _number(self, group: GroupMeasures) -> tuple[float, str]:
        """Return the number, NaN for NULL, and its noun."""
        if self.expression is None:
            return float(group.rows), "rows"
        value = group.values.get("value")
        noun = literals.shortened(" ".join(self.expression.text.split()), _LONGEST_NOUN)
        return (math.nan if value is None else float(value)), noun.replace("`", "")

    def _band(self, earlier: list[float]) -> tuple[float, float, float]:
        """Return the least expected value, the median, and the greatest expected value."""
        middle = median(earlier)
        away = [abs(each - middle) for each in earlier]
        spread = _SCALE * median(away) or _MEAN_SCALE * fmean(away)
        counts = self.expression is None
        if self.min_spread is not None:
            least = float(self.min_spread)
        else:
            least = max(_SHARE * abs(middle), float(counts)) or float(not any(earlier))
        reach = float(self.sensitivity or _SENSITIVITY) * max(spread, least)
        low = middle - reach
        return (max(0.0, low) if counts else low), middle, middle + reach


def _with(value: GroupValue, numbers: dict[str, str | None]) -> GroupValue:
    return GroupValue("", value.status, numbers, value.message)


def _plain(value: float) -> str | None:
    """Return a number for records, without loss; None for NaN."""
    if math.isnan(value):
        return None
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)


def _number_text(value: float, other: float | None = None) -> str:
    """Format a number with four digits, or with as many as distinguish it from another.

    >>> (
    ...     _number_text(110.0),
    ...     _number_text(98.51234),
    ...     _number_text(12345.678),
    ...     _number_text(0.00012345),
    ... )
    ('110', '98.51', '12346', '0.0001234')
    >>> _number_text(100.04, 100.05), _number_text(float("nan"))
    ('100.04', 'NULL')
    """
    if math.isnan(value):
        return "NULL"
    for digits in range(_FEW, _ALL + 1):
        shown = _rounded(value, digits)
        if other is None or other == value or shown != _rounded(other, digits):
            return shown
    return repr(value)


def _rounded(value: float, digits: int) -> str:
    if value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    whole = 10 ** (digits - 1)
    return f"{value:.0f}" if whole <= abs(value) < _EXACT else f"{value:.{digits}g}"
