"""The check `row_count`: how many rows there are."""

from __future__ import annotations

from penstock.core.checks import RowCount
from penstock.strategies.checks.measure import ROWS, Measure, Restriction, verdict_by_bounds


def row_count(rule: RowCount, kept: Restriction) -> Measure:
    """Hold when there are at least and at most so many rows; no rows are 0."""
    return Measure(
        {ROWS: kept.rows},
        lambda found: verdict_by_bounds("rows", found.rows, rule.minimum, rule.maximum),
    )
