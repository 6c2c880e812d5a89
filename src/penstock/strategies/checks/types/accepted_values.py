"""The check `accepted_values`: only listed values."""

from __future__ import annotations

from penstock.core.checks import AcceptedValues
from penstock.core.names import quoted
from penstock.strategies.checks.literals import counted, literal_of, one_zero
from penstock.strategies.checks.measure import Measure, Restriction, counting


def accepted_values(rule: AcceptedValues, kept: Restriction, kind: str) -> Measure:
    """Hold when every value that is not NULL is listed, compared in the column's type."""
    value = one_zero(quoted(rule.column), kind)  # a long list is a set of hashes to Spark
    listed = ", ".join(literal_of(each, kind) for each in rule.values)
    return counting(
        kept,
        f"NOT ({value} IN ({listed}))",
        "only accepted values",
        lambda found: f"{counted(found.failures, 'row')} with other values",
    )
