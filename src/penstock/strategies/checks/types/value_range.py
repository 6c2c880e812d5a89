"""The check `value_range`: values between bounds."""

from __future__ import annotations

from penstock.core.checks import ValueRange
from penstock.core.names import quoted
from penstock.strategies.checks.literals import literal_of, one_zero
from penstock.strategies.checks.measure import (
    GroupMeasures,
    GroupVerdict,
    Measure,
    Restriction,
    counting,
    failed,
    passed,
    text,
)

_MIN, _MAX, _BELOW, _ABOVE = "min", "max", "below", "above"


def value_range(rule: ValueRange, kept: Restriction, kind: str) -> Measure:
    """Hold when every value lies within the bounds, compared in the column's type by Spark.

    NaN is greater than every number, as everywhere in Spark.
    """
    column = quoted(rule.column)
    low, high = ("<=", ">=") if rule.strict else ("<", ">")
    value = kept.only(one_zero(column, kind))
    least, most = f"min({value})", f"max({value})"
    aggregates = {_MIN: text(least), _MAX: text(most)}
    broken = []
    if rule.minimum is not None:
        bound = literal_of(rule.minimum, kind)
        aggregates[_BELOW] = text(f"({least} {low} {bound})")
        broken.append(f"{column} {low} {bound}")
    if rule.maximum is not None:
        bound = literal_of(rule.maximum, kind)
        aggregates[_ABOVE] = text(f"({most} {high} {bound})")
        broken.append(f"{column} {high} {bound}")
    breaks = " OR ".join(broken)

    def judge(found: GroupMeasures) -> GroupVerdict:
        values = found.values
        found_least, found_most = values.get(_MIN), values.get(_MAX)
        if found_least is None:
            return passed("no values", failures=0)
        wrong = [
            *([f"min {found_least} {low} {rule.minimum}"] * (values.get(_BELOW) == "true")),
            *([f"max {found_most} {high} {rule.maximum}"] * (values.get(_ABOVE) == "true")),
        ]
        if not wrong:
            return passed(f"range {found_least} to {found_most}", failures=0)
        return failed(", ".join(wrong), failures=found.failures)

    return counting(kept, breaks, judge, aggregates, spare=True)
