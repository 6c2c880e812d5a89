"""The one query of all typed checks that look at the same rows (spec/checks.md §4.5)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from penstock.core.names import literal, quoted
from penstock.core.statement import OBSERVED_ROWS
from penstock.strategies.checks.measure import Measure, Values
from penstock.strategies.checks.restriction import COUNT_ALL

GROUP = "__penstock_group"
ROWS = OBSERVED_ROWS
"""The name of the plain count of all rows."""


def named(aggregate: str) -> str:
    """Give the name under which an aggregate is asked for: the same text, the same name."""
    if aggregate == COUNT_ALL:
        return ROWS
    return f"_ps_{hashlib.sha256(aggregate.encode()).hexdigest()[:16]}"


def aggregates_of(measures: Iterable[Measure]) -> Mapping[str, str]:
    """Give what several checks measure, each aggregate once, and the count of all rows."""
    asked = (aggregate for each in measures for aggregate in each.aggregates.values())
    return {ROWS: COUNT_ALL} | {named(aggregate): aggregate for aggregate in asked}


def phase_query(rows: str, key: str, aggregates: Mapping[str, str]) -> str:
    """Give one row per group that has rows; without a key one row of all, rows or not."""
    asked = [f"{aggregate} AS {quoted(name)}" for name, aggregate in aggregates.items()]
    if not key:
        return f"SELECT {', '.join(asked)} FROM (\n{rows}\n)"
    columns = ", ".join((f"{key} AS {GROUP}", *asked))
    return f"SELECT {columns} FROM (\n{rows}\n) GROUP BY {key}"


def group_of(rows: str, key: str, group: str) -> str:
    """Give the rows of one group."""
    return f"SELECT * FROM (\n{rows}\n) WHERE {key} = {literal(group)}" if key else rows


def one_group_query(rows: str, group: str, measured: Measure) -> str:
    """Give one row of the rows of one group, with the aggregates in the order of their names."""
    asked = ", ".join(
        f"{aggregate} AS {quoted(f'm{place}')}"
        for place, aggregate in enumerate((COUNT_ALL, *measured.aggregates.values()))
    )
    return f"SELECT {literal(group)} AS {GROUP}, {asked} FROM (\n{rows}\n)"


def renamed(row: Values, measured: Measure) -> Values:
    """Give the row of `one_group_query` with the names of `phase_query`."""
    aggregates = (COUNT_ALL, *measured.aggregates.values())
    return {named(aggregate): row[f"m{place}"] for place, aggregate in enumerate(aggregates)}
