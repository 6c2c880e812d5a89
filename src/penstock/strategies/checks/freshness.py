"""The check `freshness`: how old the newest value is."""

from __future__ import annotations

from penstock.core import calendar
from penstock.core.checks import Freshness
from penstock.core.names import quoted
from penstock.strategies.checks.measured import (
    ROWS,
    GroupVerdict,
    Measure,
    Setting,
    Values,
    failed,
    passed,
    text,
)
from penstock.strategies.checks.restriction import Restriction
from penstock.strategies.checks.written import age, micros_of

_NEWEST = "newest"
_FIRST = calendar.day_number(1) * calendar.DAY


def freshness(rule: Freshness, kept: Restriction) -> Measure:
    """Hold when the newest value is at most so old; a value later than the reference has age 0.

    A DATE counts from its midnight UTC.
    """
    most = micros_of(rule.max_age)

    def judge(values: Values, at: Setting) -> GroupVerdict:
        newest = values.get(_NEWEST)
        if newest is None:
            return failed("no values")
        old = max(0, at.reference - _instant(newest, at.reference))
        said = f"newest {newest}, age {age(old, most)}"
        return passed(said) if old <= most else failed(f"{said} > max {age(most)}")

    return Measure(
        {ROWS: kept.rows, _NEWEST: text(f"max({kept.only(quoted(rule.column))})")},
        judge,
        columns=(rule.column,),
    )


def _instant(written: str, reference: int) -> int:
    """Give a value's position; years after 9999 are no age, those before 1 are as old as 1."""
    found = calendar.instant(written)
    if found is not None:
        return found
    return reference if written.startswith("+") else _FIRST
