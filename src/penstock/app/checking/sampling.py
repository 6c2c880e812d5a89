"""A few rows that break a check: at most one more query for a check that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.app.checking.asking import fetched
from penstock.app.checking.placing import Placed
from penstock.core.check_results import CheckStatus, GroupValue, Sample
from penstock.core.checks import AcceptedValues, Check
from penstock.core.engine_ports import QuerySession
from penstock.core.statement import Row
from penstock.strategies.checks.measured import Measured
from penstock.strategies.checks.phase import GROUP
from penstock.strategies.checks.samples import (
    ASKED,
    both_query,
    sample_of,
    sample_query,
    shown_columns,
    values_query,
)
from penstock.strategies.checks.typed import measured
from penstock.strategies.checks.written import CELL, DETAILS, shortened

_TOLD = 50
"""Of so many groups that failed, the values that are not accepted are asked for."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Where the rows of a sample are: a check with the SQL that it has there."""

    check: Check
    sql: str
    key: str
    groups: tuple[str, ...]


def sampled(
    session: QuerySession, placed: Placed, values: Sequence[GroupValue]
) -> tuple[Sample | None, tuple[GroupValue, ...]]:
    """Give rows of a failed check that counts rows, and its groups with what the rows say."""
    failed = [value for value in values if value.status is CheckStatus.FAILED and value.failures]
    if not failed or not placed.check.sample:
        return None, tuple(values)
    look = _look(placed, failed)
    means = measured(look.check, placed.rows.columns)
    if not means.breaks:
        return None, tuple(values)
    columns = shown_columns(placed.rows.columns, means.columns)
    where = look.check.condition.text if look.check.condition else ""
    first = _first(look, failed)
    sql = sample_query(look.sql, look.key, first, means, where, columns)
    if isinstance(look.check.rule, AcceptedValues):
        sql = both_query(_of_values(look, means, where, placed), sql, len(columns.columns))
    found = fetched(session, sql)
    if not isinstance(found, tuple):
        return None, tuple(values)
    rows = [row for row in found if not row.get("n")]
    return sample_of(rows, columns), _detailed(values, [row for row in found if row.get("n")])


def _look(placed: Placed, failed: Sequence[GroupValue]) -> _Look:
    """Look at all groups that failed, or at the first where groups have SQL of their own."""
    if not placed.by_group:
        rows = placed.rows
        groups = tuple(value.group for value in failed)
        return _Look(placed.check, rows.sql, rows.key, groups if rows.key else ())
    first = next(each for each in placed.by_group if each.group.key == failed[0].group)
    return _Look(first.check, first.sql, "", ())


def _first(look: _Look, failed: Sequence[GroupValue]) -> tuple[str, ...]:
    """Give the lowest groups that have enough rows."""
    found, rows = [], 0
    for value in failed:
        if rows >= ASKED or not look.groups:
            break
        found.append(value.group)
        rows += value.failures or 0
    return tuple(found)


def _of_values(look: _Look, means: Measured, where: str, placed: Placed) -> str:
    column = placed.rows.columns.find(means.columns[0])
    assert column is not None  # noqa: S101  the check was measured of it
    return values_query(look.sql, look.key, look.groups[:_TOLD], means, where, column)


def _detailed(values: Sequence[GroupValue], counts: Sequence[Row]) -> tuple[GroupValue, ...]:
    """Tell the values that are not accepted, the most frequent ones first."""
    told: dict[str, list[str]] = {}
    for row in sorted(counts, key=lambda row: int(row["place"] or 0)):
        shown = shortened(str(row["value"]), CELL)
        told.setdefault(str(row[GROUP]), []).append(f"{shown} ({row['n']})")
    return tuple(
        replace(value, details=shortened(", ".join(told[value.group]), DETAILS))
        if value.group in told
        else value
        for value in values
    )
