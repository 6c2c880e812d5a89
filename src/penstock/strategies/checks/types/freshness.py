"""The check `freshness`: how old the newest value is."""

from __future__ import annotations

from penstock.core.check_results import GroupValue
from penstock.core.checks import Freshness
from penstock.core.names import quoted
from penstock.core.partitions import calendar
from penstock.strategies.checks import measure
from penstock.strategies.checks.literals import age, micros_of
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction

_NEWEST = "newest"
_FIRST = calendar.day_number(1) * calendar.DAY


def freshness(rule: Freshness, kept: Restriction) -> Measure:
    """Hold when the newest value is at most so old; a value later than the reference has age 0.

    A DATE counts from its midnight UTC.
    """
    most = micros_of(rule.max_age)

    def judge(found: GroupMeasures) -> GroupValue:
        newest = found.values.get(_NEWEST)
        if newest is None:
            return measure.failed("no values")
        instant = calendar.instant(newest)
        if instant is None:  # years after 9999 are no age, those before 1 are as old as 1
            instant = found.reference if newest.startswith("+") else _FIRST
        old = max(0, found.reference - instant)
        said = f"newest {newest}, age {age(old, most)}"
        return measure.passed(said) if old <= most else measure.failed(f"{said} > max {age(most)}")

    value = kept.only(quoted(rule.column))
    return Measure({measure.ROWS: kept.rows, _NEWEST: measure.text(f"max({value})")}, judge)
