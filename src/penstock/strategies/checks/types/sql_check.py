"""The check `sql`: a query that gives no row (spec/checks.md §4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.check_results import GroupValue
from penstock.core.columns.schema import Schema
from penstock.core.names import literal
from penstock.strategies.checks.literals import counted
from penstock.strategies.checks.measure import failed, passed
from penstock.strategies.checks.queries import ASKED, GROUP, KEPT, cells, places


def group_query(sql: str, group: str, columns: Schema | None) -> str:
    """Give the first rows of one group as texts; without columns no cell of a row."""
    if columns is None:
        return f"SELECT {literal(group)} AS {GROUP}, 1 AS c0 FROM (\n{sql}\n) LIMIT {ASKED}"
    names = ", ".join(places(len(columns.columns)))
    shown = ", ".join((f"{literal(group)} AS {GROUP}", *cells(columns)))
    return f"SELECT {shown} FROM (\n{sql}\n) AS t({names}) LIMIT {ASKED}"


def united(queries: Sequence[str]) -> str:
    """Give the rows of all queries."""
    if len(queries) == 1:
        return queries[0]
    return " UNION ALL ".join(f"({each})" for each in queries)


def verdict(rows: int) -> GroupValue:
    """Judge by the number of rows that came back."""
    if not rows:
        return passed("no rows", failures=0)
    if rows > KEPT:
        return failed(f"more than {KEPT} rows (expected 0)")
    return failed(f"{counted(rows, 'row')} (expected 0)", failures=rows)
