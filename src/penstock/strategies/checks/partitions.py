"""Rows of an input by the partitions that read them: a row that two read stands there twice."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.columns.schema import Column
from penstock.core.names import literal, quoted
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid, Span, literal_at

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


_LARGE = 2**63


def key_sql(grid: Grid, field: str, kind: str) -> str:
    """Give SQL on a row for the key of its partition, as `Grid.key` writes it.

    `kind` is the Spark type of the field; the session's zone is UTC. NULL is in no partition.

    >>> from penstock.core.partitions.partition import Grain
    >>> key_sql(Grid(Grain.MONTH), "day", "date")
    'left(CAST(`day` AS STRING), 7)'
    """
    column = quoted(field)
    date = column if kind == "date" else f"CAST({column} AS DATE)"
    match grid.grain:
        case Grain.WHOLE:
            return "'*'"
        case Grain.RANGE:
            return _range(grid, column)
        case Grain.HOUR:
            return f"replace(left(CAST({column} AS STRING), 13), ' ', 'T')"
        case Grain.DAY:
            return f"CAST({date} AS STRING)"
        case Grain.WEEK:
            return f"CAST(trunc({date}, 'WEEK') AS STRING)"
        case Grain.MONTH:
            return f"left(CAST({date} AS STRING), 7)"
        case Grain.YEAR:
            return f"left(CAST({date} AS STRING), 4)"


def _range(grid: Grid, column: str) -> str:
    """Give the lower bound of an integer's partition; wide ranges are reckoned as decimals."""
    is_wide = max(abs(grid.start), abs(grid.end), grid.end - grid.start) >= _LARGE
    kind = "DECIMAL(38,0)" if is_wide else "BIGINT"
    value, start, interval = (
        f"CAST({each} AS {kind})" for each in (column, f"'{grid.start}'", f"'{grid.interval}'")
    )
    inside = f"{column} >= {grid.start} AND {column} < {grid.end}"
    key = f"CAST({value} - pmod({value} - {start}, {interval}) AS STRING)"
    return f"CASE WHEN {inside} THEN {key} END"
