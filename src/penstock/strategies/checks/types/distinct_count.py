"""The check `distinct_count`: how many different values there are."""

from __future__ import annotations

from penstock.core.checks import DistinctCount
from penstock.core.names import quoted
from penstock.strategies.checks.measure import ROWS, Measure, Restriction, verdict_by_bounds

_DISTINCT = "distinct"


def distinct_count(rule: DistinctCount, kept: Restriction) -> Measure:
    """Hold when the columns have so many different values; a row with a NULL has none."""
    first, *others = (quoted(each) for each in rule.columns)
    counted = ", ".join((kept.only(first), *others))
    return Measure(
        {ROWS: kept.rows, _DISTINCT: f"count(DISTINCT {counted})"},
        lambda found: verdict_by_bounds(
            _DISTINCT, found.count(_DISTINCT), rule.minimum, rule.maximum
        ),
        empty={_DISTINCT: "0"},
    )
