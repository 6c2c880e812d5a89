"""The check `row_count`: how many rows there are."""

from __future__ import annotations

from penstock.core.checks import RowCount
from penstock.strategies.checks.measured import (
    ROWS,
    GroupVerdict,
    Measure,
    Setting,
    Values,
    failed,
    outside,
    passed,
    whole,
)
from penstock.strategies.checks.restriction import Restriction


def row_count(rule: RowCount, kept: Restriction) -> Measure:
    """Hold when there are at least and at most so many rows; no rows are 0."""

    def judge(values: Values, _: Setting) -> GroupVerdict:
        rows = whole(values, ROWS)
        wrong = outside(rows, rule.minimum, rule.maximum)
        return failed(f"rows {wrong}") if wrong else passed(f"rows {rows}")

    return Measure({ROWS: kept.rows}, judge)
