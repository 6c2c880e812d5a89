"""The check `unique`: no two rows agree."""

from __future__ import annotations

from penstock.core.checks import Unique
from penstock.core.names import quoted
from penstock.strategies.checks.literals import counted
from penstock.strategies.checks.measure import (
    COPIES,
    ROWS,
    GroupMeasures,
    GroupVerdict,
    Measure,
    Restriction,
    failed,
    passed,
)

_COMPLETE, _KEYS = "complete", "keys"


def unique(rule: Unique, kept: Restriction) -> Measure:
    """Hold when no two rows agree in all columns.

    A row with a NULL repeats nothing, or with `nulls_equal` NULL equals NULL. Every row beyond the
    first of its kind counts.
    """
    columns = [quoted(each) for each in rule.columns]
    has_all = " AND ".join(f"{each} IS NOT NULL" for each in columns)
    if rule.nulls_equal:
        complete = kept.rows
        # count(DISTINCT a, b) leaves rows with a NULL out; a struct of NULLs is a value
        whole_key = f"struct({', '.join(columns)})"
        keys = f"count(DISTINCT {kept.only(whole_key)})"
    else:
        complete = kept.count(has_all)
        keys = f"count(DISTINCT {', '.join((kept.only(columns[0]), *columns[1:]))})"

    def judge(found: GroupMeasures) -> GroupVerdict:
        copies = found.count(_COMPLETE) - found.count(_KEYS)
        if not copies:
            return passed("unique", failures=0)
        return failed(counted(copies, "duplicate row"), failures=copies)

    repeats = f"{COPIES} > 1"
    return Measure(
        {ROWS: kept.rows, _COMPLETE: complete, _KEYS: keys},
        judge,
        repeats if rule.nulls_equal else f"{has_all} AND {repeats}",
        repeated=rule.columns,
    )
