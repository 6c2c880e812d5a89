"""The check `row_count_change`: how the number of rows changed."""

from __future__ import annotations

from fractions import Fraction

from penstock.core.check_results import CheckStatus
from penstock.core.checks import RowCountChange
from penstock.strategies.checks.literals import number, percent, plain
from penstock.strategies.checks.measure import (
    ROWS,
    GroupMeasures,
    GroupVerdict,
    Measure,
    Restriction,
    failed,
    passed,
)

NO_BASE = "no earlier execution"
NOTHING_WRITTEN = "nothing was written"


def row_count_change(rule: RowCountChange, kept: Restriction) -> Measure:
    """Hold when the number of rows changed by at most so many percent of what was before.

    From nothing to something is an infinite increase.
    """

    def judge(found: GroupMeasures) -> GroupVerdict:
        rows, before = found.rows, found.before
        if before is None:
            return GroupVerdict(CheckStatus.SKIPPED, NO_BASE)
        if before == 0 and rows:
            said = f"rows {rows}, infinite increase from 0"
            limit = rule.max_increase
            return (
                passed(said) if limit is None else failed(f"{said} (max increase {plain(limit)} %)")
            )
        change = 100 * (rows - before) / before if before else Fraction(0)
        return _verdict(rule, rows, change, number(before))

    return Measure({ROWS: kept.rows}, judge)


def _verdict(rule: RowCountChange, rows: int, change: Fraction, base: str) -> GroupVerdict:
    limit, word = (
        (rule.max_increase, "increase") if change >= 0 else (rule.max_decrease, "decrease")
    )
    bound = None if limit is None else Fraction(limit)
    shown = percent(abs(change), bound, digits=1)
    said = f"rows {rows}, {'+' if change >= 0 else '-'}{shown} % of {base}"
    if limit is None or bound is None or abs(change) <= bound:
        return passed(said)
    return failed(f"{said} (max {word} {plain(limit)} %)")
