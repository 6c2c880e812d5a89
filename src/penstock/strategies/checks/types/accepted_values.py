"""The check `accepted_values`: only listed values."""

from __future__ import annotations

from penstock.core.checks import AcceptedValues
from penstock.core.names import quoted
from penstock.strategies.checks.literals import counted, literal_of, one_zero
from penstock.strategies.checks.measure import (
    GroupMeasures,
    GroupVerdict,
    Measure,
    Restriction,
    counting,
    failed,
    passed,
)


def accepted_values(rule: AcceptedValues, kept: Restriction, kind: str) -> Measure:
    """Hold when every value that is not NULL is listed, compared in the column's type."""
    value = one_zero(quoted(rule.column), kind)  # a long list is a set of hashes to Spark
    listed = ", ".join(literal_of(each, kind) for each in rule.values)
    breaks = f"NOT ({value} IN ({listed}))"

    def judge(found: GroupMeasures) -> GroupVerdict:
        others = found.failures
        if not others:
            return passed("only accepted values", failures=0)
        return failed(f"{counted(others, 'row')} with other values", failures=others)

    return counting(kept, breaks, judge)
