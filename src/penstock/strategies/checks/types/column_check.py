"""The check `column_check`: a condition of a group, or of each of its rows."""

from __future__ import annotations

import re

from penstock.core.checks import ColumnCheck
from penstock.strategies.checks.literals import DETAILS, shortened
from penstock.strategies.checks.measure import (
    FIGURES,
    ROWS,
    GroupMeasures,
    GroupVerdict,
    Measure,
    Restriction,
    bracketed,
    counting,
    failed,
    passed,
    text,
)

_CONDITION = "condition"
_PLAIN = re.compile(r"`([A-Za-z_]\w*)`")
_FIGURES = re.compile(rf"({FIGURES})\s*\(", re.IGNORECASE)


def column_check(rule: ColumnCheck, kept: Restriction, *, sample: bool) -> Measure:
    """Hold when the condition is true; NULL is not true.

    The aggregates in a condition of a group are measured, too; without `sample` only those that
    are figures, because others may hold what stands in a row.
    """
    if rule.condition.aggregates:
        return _of_group(rule, kept, sample=sample)
    breaks = f"NOT coalesce({bracketed(rule.condition.text)}, false)"

    def judge(found: GroupMeasures) -> GroupVerdict:
        broken = found.failures
        if not broken:
            return passed("every row meets the condition", failures=0)
        said = "1 row breaks" if broken == 1 else f"{broken} rows break"
        return failed(f"{said} the condition", failures=broken)

    return counting(kept, breaks, judge)


def _of_group(rule: ColumnCheck, kept: Restriction, *, sample: bool) -> Measure:
    condition = rule.condition
    shown = {
        _PLAIN.sub(r"\1", each): text(kept.call(each))
        for each in condition.aggregates
        if sample or _FIGURES.match(each)
    }

    def judge(found: GroupMeasures) -> GroupVerdict:
        met = found.values.get(_CONDITION)
        if met == "true":
            return passed("condition is true")
        written = ", ".join(f"{each} = {_written(found.values.get(each))}" for each in shown)
        details = shortened(written, DETAILS) or None
        if met is None:
            return failed("condition is NULL (no rows?)", details)
        return failed("condition is false", details)

    whole_condition = bracketed(kept.condition(condition.text, condition.aggregates))
    return Measure({ROWS: kept.rows, _CONDITION: text(whole_condition), **shown}, judge)


def _written(value: str | None) -> str:
    return "NULL" if value is None else value
