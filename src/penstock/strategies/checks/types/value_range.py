"""The check `value_range`: values between bounds."""

from __future__ import annotations

from penstock.core.checks import ValueRange
from penstock.core.names import quoted
from penstock.strategies.checks.literals import literal_of, one_zero
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction, counting, text


def value_range(rule: ValueRange, kept: Restriction, kind: str) -> Measure:
    """Hold when every value lies within the bounds, compared in the column's type by Spark.

    NaN is greater than every number, as everywhere in Spark.
    """
    column = quoted(rule.column)
    low, high = ("<=", ">=") if rule.strict else ("<", ">")
    value = kept.only(one_zero(column, kind))
    sides = [
        (end, f"{end}({value})", name, sign, bound)
        for end, name, sign, bound in (
            ("min", "below", low, rule.minimum),
            ("max", "above", high, rule.maximum),
        )
    ]
    aggregates = {end: text(found) for end, found, *_ in sides}
    broken = []
    for _, found, name, sign, bound in sides:
        if bound is not None:
            written = literal_of(bound, kind)
            aggregates[name] = text(f"({found} {sign} {written})")
            broken.append(f"{column} {sign} {written}")

    def holds(found: GroupMeasures) -> str:
        least, most = found.values.get("min"), found.values.get("max")
        return "no values" if least is None else f"range {least} to {most}"

    def wrong(found: GroupMeasures) -> str:
        values = found.values
        return ", ".join(
            f"{end} {values.get(end)} {sign} {bound}"
            for end, _, name, sign, bound in sides
            if values.get(name) == "true"
        )

    return counting(kept, " OR ".join(broken), holds, wrong, aggregates)
