"""The check `unique`: no two rows agree."""

from __future__ import annotations

from penstock.core.check_results import GroupValue
from penstock.core.checks import Unique
from penstock.core.names import quoted
from penstock.strategies.checks import measure
from penstock.strategies.checks.literals import counted
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction


def unique(rule: Unique, kept: Restriction) -> Measure:
    """Hold when no two rows agree in all columns.

    A row with a NULL repeats nothing, or with `nulls_equal` NULL equals NULL. Every row beyond the
    first of its kind counts.
    """
    first, *others = (quoted(each) for each in rule.columns)
    breaks = f"{measure.COPIES} > 1"
    if rule.nulls_equal:
        complete = kept.rows
        # count(DISTINCT a, b) leaves rows with a NULL out; a struct of NULLs is a value
        keys = kept.only(f"struct({', '.join((first, *others))})")
    else:
        has_all = " AND ".join(f"{each} IS NOT NULL" for each in (first, *others))
        complete, breaks = kept.count(has_all), f"{has_all} AND {breaks}"
        keys = ", ".join((kept.only(first), *others))

    def judge(found: GroupMeasures) -> GroupValue:
        copies = found.count("complete") - found.count("keys")
        if not copies:
            return measure.passed("unique", failures=0)
        return measure.failed(counted(copies, "duplicate row"), failures=copies)

    aggregates = {measure.ROWS: kept.rows, "complete": complete, "keys": f"count(DISTINCT {keys})"}
    return Measure(aggregates, judge, breaks, repeated=rule.columns)
