"""What a check of a type measures of a group, and what its values mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from penstock.core.check_results import CheckStatus

ROWS = "rows"
FAILURES = "failures"

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
class Setting:
    """What a verdict needs beside the values.

    `reference` is the moment that ages are told from, in microseconds since 1970. `before` is how
    many rows there were earlier, None where nobody knows. `adds` is whether the rows are those of
    a step that puts them to rows that stay: without any it changed nothing.
    """

    reference: int = 0
    before: Fraction | None = None
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """Aggregates by name, and the judge of their values.

    Counts are whole numbers, everything else is cast to STRING. `rows` is always among them.
    `empty` is what a group without rows has, beside no rows. `breaks` is SQL that is true of a row
    that breaks the check, "" where rows are not counted; of `unique` it may name the column
    `COPIES`, the number of rows with the same values in `repeated`. `columns` are those that the
    user named. `spare` names aggregates that matter only where the check fails.
    """

    aggregates: Mapping[str, str]
    judge: Callable[[Values, Setting], GroupVerdict]
    columns: tuple[str, ...] = ()
    breaks: str = ""
    repeated: tuple[str, ...] = ()
    empty: Values = field(default_factory=dict)
    spare: tuple[str, ...] = ()


def passed(message: str, failures: int | None = None) -> GroupVerdict:
    """Say that it holds."""
    return GroupVerdict(CheckStatus.PASSED, message, failures=failures)


def failed(message: str, details: str | None = None, failures: int | None = None) -> GroupVerdict:
    """Say that it does not hold."""
    return GroupVerdict(CheckStatus.FAILED, message, details, failures)


def whole(values: Values, name: str) -> int:
    """Give a count."""
    return int(values.get(name) or 0)


def text(aggregate: str) -> str:
    """Give an aggregate as Spark writes it."""
    return f"CAST({aggregate} AS STRING)"


def outside(value: int, minimum: int | None, maximum: int | None) -> str:
    """Say how a number lies outside of inclusive bounds, "" if it does not.

    >>> outside(50, 100, None), outside(9, None, 5), outside(5, 5, 5)
    ('50 < min 100', '9 > max 5', '')
    """
    if minimum is not None and value < minimum:
        return f"{value} < min {minimum}"
    if maximum is not None and value > maximum:
        return f"{value} > max {maximum}"
    return ""
