"""The check `null_percentage`: which part of the values is NULL."""

from __future__ import annotations

from fractions import Fraction

from penstock.core.check_results import GroupValue
from penstock.core.checks import NullPercentage
from penstock.core.names import quoted
from penstock.strategies.checks import measure
from penstock.strategies.checks.literals import counted, exactly, percent
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction

_NULLS = "nulls"


def null_percentage(rule: NullPercentage, kept: Restriction) -> Measure:
    """Hold when at most so many percent of the values are NULL; exact, nothing is rounded."""
    breaks = f"{quoted(rule.column)} IS NULL"
    most = Fraction(rule.maximum)

    def judge(found: GroupMeasures) -> GroupValue:
        nulls, rows = found.count(_NULLS), found.rows
        share = Fraction(100 * nulls, rows)
        shown = f"nulls {percent(share, most)} %"
        if share <= most:
            return measure.passed(shown, failures=0)
        details = f"{nulls} of {counted(rows, 'row')}"
        return measure.failed(f"{shown} > max {exactly(rule.maximum)} %", details, nulls)

    return Measure({measure.ROWS: kept.rows, _NULLS: kept.count(breaks)}, judge, breaks)
