"""The check `row_count_change`: how the number of rows changed."""

from __future__ import annotations

from fractions import Fraction

from penstock.core.check_results import CheckStatus, GroupValue
from penstock.core.checks import RowCountChange
from penstock.strategies.checks import measure
from penstock.strategies.checks.literals import number, percent, plain
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction

NO_BASE = "no earlier execution"
NOTHING_WRITTEN = "nothing was written"


def row_count_change(rule: RowCountChange, kept: Restriction) -> Measure:
    """Hold when the number of rows changed by at most so many percent of what was before.

    From nothing to something is an infinite increase.
    """

    def judge(found: GroupMeasures) -> GroupValue:
        rows, before = found.rows, found.before
        if before is None:
            return GroupValue("", CheckStatus.SKIPPED, message=NO_BASE)
        grows = rows >= before
        limit, word = (rule.max_increase, "increase") if grows else (rule.max_decrease, "decrease")
        bound = None if limit is None else Fraction(limit)
        if rows and not before:
            said, holds = f"rows {rows}, infinite increase from 0", bound is None
        else:
            change = 100 * abs(rows - before) / before if before else Fraction(0)
            shown = f"{'+' if grows else '-'}{percent(change, bound, digits=1)} %"
            said, holds = (
                f"rows {rows}, {shown} of {number(before)}",
                bound is None or change <= bound,
            )
        if limit is None or holds:
            return measure.passed(said)
        return measure.failed(f"{said} (max {word} {plain(limit)} %)")

    return Measure({measure.ROWS: kept.rows}, judge)
