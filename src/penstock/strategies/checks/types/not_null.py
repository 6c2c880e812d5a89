"""The check `not_null`: columns that have a value in every row."""

from __future__ import annotations

from penstock.core.checks import NotNull
from penstock.core.names import quoted
from penstock.strategies.checks.literals import counted
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction, counting


def not_null(rule: NotNull, kept: Restriction) -> Measure:
    """Hold when no value of the columns is NULL; a row with two of them breaks it once."""
    by_column = {f"nulls {each}": f"{quoted(each)} IS NULL" for each in rule.columns}

    def wrong(found: GroupMeasures) -> str:
        nulls = [(each, count) for each in rule.columns if (count := found.count(f"nulls {each}"))]
        return ", ".join(
            f"{count if at else counted(count, 'NULL')} in {each}"
            for at, (each, count) in enumerate(nulls)
        )

    nulls = {name: kept.count(condition) for name, condition in by_column.items()}
    return counting(kept, " OR ".join(by_column.values()), "no NULL", wrong, nulls)
