"""What a check of a type measures of a group, and what its values mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from penstock.core.check_results import CheckStatus
from penstock.strategies.checks.restriction import Restriction

ROWS = "rows"
FAILURES = "failures"
COPIES = "__penstock_copies"
"""The column that counts the rows with the same values."""

Values = Mapping[str, str | None]
"""Measured values as canonical texts, by name; None is NULL."""


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """What the values of one group mean. `failures` counts rows, where the type counts rows."""

    status: CheckStatus
    message: str
    details: str | None = None
    failures: int | None = None


@dataclass(frozen=True, slots=True)
class GroupMeasures:
    """The values of one group, and what a verdict needs beside them.

    `reference` is the instant that ages are told from, in microseconds since 1970. `before` is how
    many rows there were earlier, None where nobody knows. `adds` is whether the rows are those of
    a step that puts them to rows that stay: without any it changed nothing.
    """

    values: Values
    reference: int = 0
    before: Fraction | None = None
    adds: bool = False

    def count(self, name: str) -> int:
        """Give a count, 0 where nothing was counted."""
        return int(self.values.get(name) or 0)

    @property
    def rows(self) -> int:
        """How many rows of the group count."""
        return self.count(ROWS)

    @property
    def failures(self) -> int:
        """How many of them break the check."""
        return self.count(FAILURES)


@dataclass(frozen=True, slots=True)
class Measure:
    """Aggregates by name, and the judge of their values.

    Counts are whole numbers, everything else is cast to STRING. `rows` is always among them.
    `empty` is what a group without rows has, beside no rows. `breaks` is SQL that is true of a row
    that breaks the check, "" where rows are not counted; of `unique` it may name the column
    `COPIES`, the number of rows with the same values in `repeated`. With `spare` the count of
    failures matters only where the check fails.
    """

    aggregates: Mapping[str, str]
    judge: Callable[[GroupMeasures], GroupVerdict]
    breaks: str = ""
    repeated: tuple[str, ...] = ()
    empty: Values = field(default_factory=dict)
    spare: bool = False

    @property
    def needed(self) -> Mapping[str, str]:
        """The aggregates without which nobody can say whether the check holds."""
        left_out = FAILURES if self.spare else ""
        return {name: sql for name, sql in self.aggregates.items() if name != left_out}


def counting(
    kept: Restriction,
    breaks: str,
    judge: Callable[[GroupMeasures], GroupVerdict],
    also: Mapping[str, str] | None = None,
    *,
    spare: bool = False,
) -> Measure:
    """Measure how many rows break a check, and `also` other aggregates."""
    aggregates = {ROWS: kept.rows, **(also or {}), FAILURES: kept.count(breaks)}
    return Measure(aggregates, judge, breaks, spare=spare)


def passed(message: str, failures: int | None = None) -> GroupVerdict:
    """Say that it holds."""
    return GroupVerdict(CheckStatus.PASSED, message, failures=failures)


def failed(message: str, details: str | None = None, failures: int | None = None) -> GroupVerdict:
    """Say that it does not hold."""
    return GroupVerdict(CheckStatus.FAILED, message, details, failures)


def text(aggregate: str) -> str:
    """Give an aggregate as Spark writes it."""
    return f"CAST({aggregate} AS STRING)"


def verdict_by_bounds(
    noun: str, value: int, minimum: int | None, maximum: int | None
) -> GroupVerdict:
    """Judge a number by inclusive bounds.

    >>> [verdict_by_bounds("rows", n, 5, 9).message for n in (4, 5, 10)]
    ['rows 4 < min 5', 'rows 5', 'rows 10 > max 9']
    """
    if minimum is not None and value < minimum:
        return failed(f"{noun} {value} < min {minimum}")
    if maximum is not None and value > maximum:
        return failed(f"{noun} {value} > max {maximum}")
    return passed(f"{noun} {value}")
