"""The key of the partition that a row is in, as SQL."""

from __future__ import annotations

from penstock.core.names import quoted
from penstock.core.partition import Grain, Grid

_LARGE = 2**63


def key_sql(grid: Grid, field: str, kind: str) -> str:
    """Give SQL on a row for the key of its partition, as `Grid.key` writes it.

    `kind` is the Spark type of the field; the session's zone is UTC. NULL is in no partition.

    >>> from penstock.core.partition import Grain
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
