"""The check `not_null`: columns that have a value in every row."""

from __future__ import annotations

from penstock.core.checks import NotNull
from penstock.core.names import quoted
from penstock.strategies.checks.literals import counted
from penstock.strategies.checks.measure import (
    GroupMeasures,
    GroupVerdict,
    Measure,
    Restriction,
    counting,
    failed,
    passed,
)


def not_null(rule: NotNull, kept: Restriction) -> Measure:
    """Hold when no value of the columns is NULL; a row with two of them breaks it once."""
    by_column = {f"nulls {each}": f"{quoted(each)} IS NULL" for each in rule.columns}
    breaks = " OR ".join(by_column.values())

    def judge(found: GroupMeasures) -> GroupVerdict:
        counts = [(each, found.count(f"nulls {each}")) for each in rule.columns]
        wrong = [(each, number) for each, number in counts if number]
        if not wrong:
            return passed("no NULL", failures=0)
        first = f"{counted(wrong[0][1], 'NULL')} in {wrong[0][0]}"
        rest = [f"{number} in {each}" for each, number in wrong[1:]]
        return failed(", ".join((first, *rest)), failures=found.failures)

    nulls = {name: kept.count(condition) for name, condition in by_column.items()}
    return counting(kept, breaks, judge, nulls, spare=True)
