"""Rows of an input by the partitions that read them: a row that two read stands there twice."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.names import literal, quoted
from penstock.core.partition import FIRST, LAST, Span, literal_at
from penstock.core.schema import Column

KEY = quoted("_ps_group")
"""The column that has the key of the partition."""


def ranged(view: str, column: Column | None, spans: Mapping[str, tuple[Span, ...]]) -> str:
    """Give the rows of a view that lie in the spans of each key; without a column all of them.

    One partition is a condition, which files are skipped by; several are a join with their bounds.
    """
    if len(spans) == 1:
        [(name, pieces)] = spans.items()
        where = _condition(column, pieces)
        return f"SELECT *, {literal(name)} AS {KEY} FROM {quoted(view)}{where}"
    rows = ", ".join(
        f"({literal(name)}, {_bound(column, low, FIRST)}, {_bound(column, high, LAST)})"
        for name, pieces in spans.items()
        for low, high in pieces
    )
    if not rows:
        return f"SELECT *, '' AS {KEY} FROM {quoted(view)} WHERE false"
    groups = f"(SELECT * FROM VALUES {rows} AS g({KEY}, `_ps_low`, `_ps_high`))"
    name = f"r.{quoted(column.name)}" if column is not None else "NULL"
    inside = (
        f"(g.`_ps_low` IS NULL OR {name} >= g.`_ps_low`) "
        f"AND (g.`_ps_high` IS NULL OR {name} < g.`_ps_high`)"
    )
    return f"SELECT r.*, g.{KEY} FROM {quoted(view)} r JOIN {groups} g ON {inside}"


def _condition(column: Column | None, pieces: tuple[Span, ...]) -> str:
    if column is None:
        return ""
    name, terms = quoted(column.name), []
    for low, high in pieces:
        ends = [f"{name} >= {literal_at(low, column.type)}"] if low > FIRST else []
        ends += [f"{name} < {literal_at(high, column.type)}"] if high < LAST else []
        terms.append(" AND ".join(ends) or "true")
    if "true" in terms:
        return ""
    return f" WHERE {' OR '.join(f'({term})' for term in terms) or 'false'}"


def _bound(column: Column | None, place: int, opened: int) -> str:
    if column is None or place == opened:
        return "NULL"
    return literal_at(place, column.type)
