"""The check `distinct_count`: how many different values there are."""

from __future__ import annotations

from penstock.core.checks import DistinctCount
from penstock.core.names import quoted
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

_DISTINCT = "distinct"


def distinct_count(rule: DistinctCount, kept: Restriction) -> Measure:
    """Hold when the columns have so many different values; a row with a NULL has none."""
    first, *others = (quoted(each) for each in rule.columns)
    counted = ", ".join((kept.only(first), *others))

    def judge(values: Values, _: Setting) -> GroupVerdict:
        number = whole(values, _DISTINCT)
        wrong = outside(number, rule.minimum, rule.maximum)
        return failed(f"distinct {wrong}") if wrong else passed(f"distinct {number}")

    return Measure(
        {ROWS: kept.rows, _DISTINCT: f"count(DISTINCT {counted})"},
        judge,
        columns=rule.columns,
        empty={_DISTINCT: "0"},
    )
