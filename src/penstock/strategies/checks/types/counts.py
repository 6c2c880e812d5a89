"""Types that compare a number of rows or values with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Self

from penstock.core.check_type import (
    ROWS,
    CheckKey,
    CheckStatus,
    CheckType,
    GivenCheck,
    GroupMeasures,
    GroupValue,
    Measure,
)
from penstock.core.columns.schema import Schema
from penstock.core.names import quoted
from penstock.strategies.checks import literals, measure
from penstock.strategies.checks.measure import Restriction


@dataclass(frozen=True, slots=True)
class RowCount(CheckType):
    """Holds when there are at least `minimum` and at most `maximum` rows; no rows are 0."""

    minimum: int | None = None
    maximum: int | None = None

    name = "row_count"
    keys = (
        measure.LEAST,
        measure.MOST,
    )
    counts_empty = True
    without_empty = "0 rows are compared with the bounds"

    @classmethod
    def read(cls, given: GivenCheck) -> Self | None:
        """Read its bounds."""
        return cls(*given.count_bounds())

    def measure(self, where: str, columns: Schema, *, sample: bool) -> Measure:
        """Count the rows."""
        del columns, sample
        return Measure(
            {ROWS: Restriction(where).rows},
            lambda found: measure.verdict_by_bounds("rows", found.rows, self.minimum, self.maximum),
        )


_NOUN = "distinct"


@dataclass(frozen=True, slots=True)
class DistinctCount(CheckType):
    """Holds when the columns have so many different values; rows with a NULL do not count."""

    columns: tuple[str, ...]
    minimum: int | None = None
    maximum: int | None = None

    name = "distinct_count"
    compares = True
    keys = (
        measure.COLUMNS,
        measure.LEAST,
        measure.MOST,
    )
    is_observable = False
    counts_empty = True

    @classmethod
    def read(cls, given: GivenCheck) -> Self | None:
        """Read its columns and bounds."""
        columns, bounds = given.column_names(), given.count_bounds()
        return cls(columns, *bounds) if columns else None

    def measure(self, where: str, columns: Schema, *, sample: bool) -> Measure:
        """Count the different values."""
        del columns, sample
        kept, (first, *others) = Restriction(where), (quoted(each) for each in self.columns)
        values = ", ".join((kept.only(first), *others))
        return Measure(
            {ROWS: kept.rows, _NOUN: f"count(DISTINCT {values})"},
            lambda found: measure.verdict_by_bounds(
                _NOUN, found.count(_NOUN), self.minimum, self.maximum
            ),
            empty={_NOUN: "0"},
        )


@dataclass(frozen=True, slots=True)
class NullPercentage(CheckType):
    """Holds when at most so many percent of the values are NULL; exact, nothing is rounded."""

    column: str
    maximum: Decimal

    name = "null_percentage"
    keys = (
        measure.COLUMN,
        CheckKey(
            "max_percentage",
            "Of `null_percentage`: how many values may be NULL.",
            5,
            "number",
            needed=True,
        ),
    )
    stores_rows = True

    @classmethod
    def read(cls, given: GivenCheck) -> Self | None:
        """Read its column and its bound."""
        column, maximum = given.column(), given.percent("max_percentage")
        return cls(column, maximum) if column and maximum is not None else None

    def measure(self, where: str, columns: Schema, *, sample: bool) -> Measure:
        """Count the rows, and those with NULL."""
        del columns, sample
        kept, breaks = Restriction(where), f"{quoted(self.column)} IS NULL"
        most = Fraction(self.maximum)

        def judge(found: GroupMeasures) -> GroupValue:
            nulls, rows = found.count("nulls"), found.rows
            share = Fraction(100 * nulls, rows)
            shown = f"nulls {literals.percent(share, most)} %"
            if share <= most:
                return measure.passed(shown, failures=0)
            details = f"{nulls} of {literals.counted(rows, 'row')}"
            bound = literals.exactly(self.maximum)
            return measure.failed(f"{shown} > max {bound} %", details, nulls)

        return Measure({ROWS: kept.rows, "nulls": kept.count(breaks)}, judge, breaks)


NO_BASE = "no earlier execution"
_TRAILING = 7
_BOTH, _MORE, _LESS = "max_percent", "max_increase_percent", "max_decrease_percent"
_OF = "Of `row_count_change`"


@dataclass(frozen=True, slots=True)
class RowCountChange(CheckType):
    """Holds when the number of rows changed by at most so many percent.

    The base is the last success, or with `last` the mean of so many before it. From nothing to
    something is an infinite increase.
    """

    max_increase: Decimal | None = None
    max_decrease: Decimal | None = None
    last: int | None = None

    name = "row_count_change"
    keys = (
        CheckKey(_MORE, f"{_OF}: how many more rows than before are allowed.", 50, "number"),
        CheckKey(_LESS, f"{_OF}: how many fewer.", 50, "number"),
        CheckKey(_BOTH, f"{_OF}: both.", 50, "number"),
        CheckKey(
            "compare",
            f"{_OF}: with the last success, or with the mean of several.",
            "trailing",
            "`previous` or `trailing`",
            "`previous`",
        ),
        CheckKey("last", f"{_OF} with `trailing`: of how many.", 7, "integer", "7"),
    )
    only_after = True
    counts_empty = True

    @classmethod
    def read(cls, given: GivenCheck) -> Self | None:
        """Read its bounds, and what it compares with."""
        section = given.section
        both = given.percent(_BOTH, most=None)
        more, less = given.percent(_MORE, most=None), given.percent(_LESS)
        for key in (_MORE, _LESS) if section.find(_BOTH) is not None else ():
            if section.find(key) is not None:
                sentence = f"max_percent says {key} too"
                section.report(key, "option-conflict", sentence, "keep one")
        given.needs_one((_MORE, _LESS, _BOTH), f"give {_MORE}, {_LESS} or both")
        if both is not None:
            more, less = both, min(both, Decimal(100))
        trailing = section.word("compare", ("previous", "trailing")) == "trailing"
        last = section.number("last", 1)
        if last is not None and not trailing:
            sentence = "last counts what compare: trailing compares with"
            hint = "write compare: trailing, or take it out"
            section.report("last", "option-conflict", sentence, hint)
        _refuse_other_rows(given)
        return cls(more, less, (last or _TRAILING) if trailing else None)

    @property
    def runs_before(self) -> int | None:
        """How many earlier runs it compares with: 0 for the last success."""
        return self.last or 0

    def measure(self, where: str, columns: Schema, *, sample: bool) -> Measure:
        """Count the rows."""
        del columns, sample
        return Measure({ROWS: Restriction(where).rows}, self._judge)

    def _judge(self, found: GroupMeasures) -> GroupValue:
        rows, before = found.rows, found.before
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


def _refuse_other_rows(given: GivenCheck) -> None:
    """Report keys that choose other rows than all of a step: earlier steps did not count those."""
    section = given.section
    for key in ("where", "query", "scope"):
        if section.find(key) is not None and (key != "scope" or section.text(key) == "table"):
            sentence = f"row_count_change counts all rows of a step, as earlier ones did; {key}"
            section.report(key, "option-conflict", f"{sentence} says other rows", "take it out")
