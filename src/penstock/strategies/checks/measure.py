"""What a check type measures on the rows that count, and how the values are evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from penstock.core.checks.check import Check
from penstock.core.checks.check_type import (
    FAILURES,
    ROWS,
    CheckStatus,
    CountedRows,
    GroupMeasures,
    GroupValue,
    KeyKind,
    Measure,
    key,
)
from penstock.core.columns.schema import Schema
from penstock.core.findings import Severity

COUNT_ALL = "count(*)"

FIGURES = (
    "avg|bool_and|bool_or|count|count_if|every|max|mean|min|some|std|stddev|stddev_pop|"
    "stddev_samp|sum|var_pop|var_samp|variance|any"
)
"""Aggregates that return one number for one argument.

They ignore NULL: replacing a value by NULL excludes its row.
"""
_SIMPLE = re.compile(rf"({FIGURES})\s*\(\s*(?!distinct\b)([^,]*)\)", re.IGNORECASE | re.DOTALL)
_FILTER = re.compile(r"\bfilter\s*\(\s*where\b", re.IGNORECASE)
UNREAD = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/"""
"""A text, a quoted name or a comment (with DOTALL), which contain no SQL."""
_UNREAD = re.compile(UNREAD, re.DOTALL)


@dataclass(frozen=True, slots=True)
class Restriction:
    """The rows for which `where` is true, or with "" all of them (`CountedRows`)."""

    where: str = ""
    columns: Schema = Schema()
    sample: bool = True
    """Whether measured values may contain values of rows."""

    def type_of(self, name: str) -> str:
        """Return the Spark type of a column, "" if it does not exist."""
        column = self.columns.find(name)
        return column.type if column else ""

    @property
    def count_all(self) -> str:
        """The SQL that counts them."""
        return self.count("") if self.where else COUNT_ALL

    def count(self, condition: str) -> str:
        """Return SQL that counts those for which a condition is also true."""
        both = " AND ".join(bracketed(each) for each in (self.where, condition) if each)
        return f"count(CASE WHEN {both} THEN 1 END)"

    def only(self, value: str) -> str:
        """Return SQL that is a value for rows that count, and NULL for all others."""
        return f"CASE WHEN {bracketed(self.where)} THEN {value} END" if self.where else value

    def call(self, aggregate: str) -> str:
        """Return a user's aggregate call over the rows that count."""
        if not self.where:
            return aggregate
        simple = _SIMPLE.fullmatch(aggregate)
        if simple and not _FILTER.search(aggregate):
            # A comment may hide what comes after it on its line.
            value = _UNREAD.sub(lambda it: " " if it[0][:2] in ("--", "/*") else it[0], simple[2])
            name, value = simple[1], value.strip()
            return f"{name}({self.only('1' if value == '*' else value)})"
        filters = list(_FILTER.finditer(aggregate))
        if filters and aggregate.endswith(")"):
            last = filters[-1]
            both = f"{bracketed(self.where)} AND {bracketed(aggregate[last.end() : -1])}"
            return f"{aggregate[: last.start()]}FILTER (WHERE {both})"
        return f"{aggregate} FILTER (WHERE {bracketed(self.where)})"

    def condition(self, text: str, aggregates: tuple[str, ...]) -> str:
        """Return a condition of a group with every aggregate over the rows that count.

        Quoted text and comments stay unchanged.

        >>> Restriction("w").condition("sum(a) > 1 and 'sum(a)' <> b", ("sum(a)",))
        "sum(CASE WHEN (w) THEN a END) > 1 and 'sum(a)' <> b"
        """
        wanted = "|".join(map(re.escape, sorted(aggregates, key=len, reverse=True)))
        pattern = re.compile(rf"({UNREAD})|(?<![\w`.])(?:{wanted})", re.DOTALL)
        return pattern.sub(lambda found: found[1] or self.call(found[0]), text)


def bracketed(condition: str) -> str:
    """Put a condition in parentheses; a comment in it ends with its line.

    >>> bracketed("a > 1")
    '(a > 1)'
    """
    return f"({condition}\n)" if "--" in condition else f"({condition})"


COPIES = "__penstock_copies"
"""The column with the number of rows that have the same values."""

COLUMN = partial(key, "column", kind=KeyKind.COLUMN, says="The column to check.", example="id")
COLUMNS = partial(
    key,
    "columns",
    KeyKind.COLUMNS,
    "The columns that are checked together; `column` is the same.",
    ("country", "day"),
    alias="column",
)
LEAST = partial(key, "min", says="The least that is allowed.", example=1, unset="none")
MOST = partial(key, "max", says="The most that is allowed.", example=1000, unset="none")


def counting(
    rows: CountedRows,
    breaks: str,
    holds: str | Callable[[GroupMeasures], str],
    wrong: Callable[[GroupMeasures], str],
    also: Mapping[str, str] | None = None,
) -> Measure:
    """Measure how many rows fail a check; `holds` and `wrong` are its messages.

    With `also`, aggregates that show whether any row fails, `wrong` is "" if none does.
    """

    def judge(group: GroupMeasures) -> GroupValue:
        if (also or group.failures) and (said := wrong(group)):
            return failed(said, failures=group.failures)
        return passed(holds if isinstance(holds, str) else holds(group), failures=0)

    aggregates = {ROWS: rows.count_all, **(also or {}), FAILURES: rows.count(breaks)}
    return Measure(aggregates, judge, breaks, spare=also is not None)


def passed(message: str, failures: int | None = None) -> GroupValue:
    """Return the value of a check that passed."""
    return GroupValue("", CheckStatus.PASSED, message=message, failures=failures)


def failed(message: str, details: str | None = None, failures: int | None = None) -> GroupValue:
    """Return the value of a check that failed."""
    return GroupValue("", CheckStatus.FAILED, {}, message, details, failures)


def weighed(check: Check, value: GroupValue, rows: int) -> GroupValue:
    """Apply the check's thresholds to the number of failing rows, if rows are counted.

    A group without rows fails under `empty: fail`, independent of thresholds.
    """
    limits, failures = check.thresholds, value.failures
    is_missing = not rows and value.status is CheckStatus.FAILED
    if limits is None or failures is None or is_missing:
        return value
    severity = limits.severity_of(failures, rows)
    if severity is None and not failures:
        return replace(value, status=CheckStatus.PASSED)
    met = limits.error if severity is Severity.ERROR else limits.warning
    limit = met if severity else limits.error or limits.warning
    share = f" of {rows}" if limit is not None and limit.percent else ""
    why = f"({failures}{share} failing, {'' if severity else 'not '}{limit})"
    status = CheckStatus.FAILED if severity else CheckStatus.PASSED
    return replace(value, status=status, message=f"{value.message} {why}", severity=severity)


def text(aggregate: str) -> str:
    """Return an aggregate in Spark's text form."""
    return f"CAST({aggregate} AS STRING)"


def verdict_by_bounds(
    noun: str, value: int, minimum: int | None, maximum: int | None
) -> GroupValue:
    """Return the result for a number with inclusive bounds.

    >>> [verdict_by_bounds("rows", n, 5, 9).message for n in (4, 5, 10)]
    ['rows 4 < min 5', 'rows 5', 'rows 10 > max 9']
    """
    if minimum is not None and value < minimum:
        return failed(f"{noun} {value} < min {minimum}")
    if maximum is not None and value > maximum:
        return failed(f"{noun} {value} > max {maximum}")
    return passed(f"{noun} {value}")
