"""The check `column_check`: a condition of a group, or of each of its rows."""

from __future__ import annotations

import re

from penstock.core.check_results import GroupValue
from penstock.core.checks import ColumnCheck
from penstock.strategies.checks import measure
from penstock.strategies.checks.literals import DETAILS, shortened
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction

_CONDITION = "condition"
_PLAIN = re.compile(r"`([A-Za-z_]\w*)`")
_FIGURES = re.compile(rf"({measure.FIGURES})\s*\(", re.IGNORECASE)


def column_check(rule: ColumnCheck, kept: Restriction, *, sample: bool) -> Measure:
    """Hold when the condition is true; NULL is not true.

    The aggregates in a condition of a group are measured, too; without `sample` only those that
    are figures, because others may hold what stands in a row.
    """
    condition = rule.condition
    if not condition.aggregates:
        return measure.counting(
            kept,
            f"NOT coalesce({measure.bracketed(condition.text)}, false)",
            "every row meets the condition",
            lambda found: (
                "1 row breaks the condition"
                if found.failures == 1
                else f"{found.failures} rows break the condition"
            ),
        )
    shown = {
        _PLAIN.sub(r"\1", each): measure.text(kept.call(each))
        for each in condition.aggregates
        if sample or _FIGURES.match(each)
    }

    def judge(found: GroupMeasures) -> GroupValue:
        met = found.values.get(_CONDITION)
        if met == "true":
            return measure.passed("condition is true")
        values = {each: found.values.get(each) for each in shown}
        written = ", ".join(f"{k} = {'NULL' if v is None else v}" for k, v in values.items())
        said = "condition is NULL (no rows?)" if met is None else "condition is false"
        return measure.failed(said, shortened(written, DETAILS) or None)

    whole = measure.bracketed(kept.condition(condition.text, condition.aggregates))
    return Measure({measure.ROWS: kept.rows, _CONDITION: measure.text(whole), **shown}, judge)
