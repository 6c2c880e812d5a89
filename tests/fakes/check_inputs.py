"""Checks and the rows that they look at, for tests of what checks say."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.app.checking.results import CheckedRows, CheckInputs
from penstock.core.checks.check import Check, Phase
from penstock.core.checks.check_type import CheckType, Condition
from penstock.core.columns.schema import Schema
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.partitions.ranges import of_numbers
from penstock.core.query import Query, mentioned
from penstock.core.statement import Row
from penstock.project.checks.kept import condition_of
from penstock.project.checks.scene import ConditionKind
from penstock.strategies.checks.queries import ROWS, alias, key_sql
from penstock.strategies.checks.typed import measured
from penstock.strategies.checks.types import ColumnCheck

EVERY = frozenset({"partition_date", "start_date", "end_date", "run_date"})
MOMENT = dt.datetime(2024, 12, 5, 12, tzinfo=dt.UTC)
DAYS = Grid(Grain.DAY)
THIS = InputName(InputKind.THIS, "user_stats")


def a_check(rule: CheckType, **changes: object) -> Check:
    """A check under `after`; `where` may be text."""
    where = changes.pop("where", None)
    found = Check("checked", Phase.AFTER, rule, Location("models/user_stats.yml", 7))
    if isinstance(where, str):
        found = replace(found, condition=condition(where, ConditionKind.WHERE))
    return replace(found, **changes)  # type: ignore[arg-type]


def condition(text: str, kind: ConditionKind = ConditionKind.CHECK, column: str = "") -> Condition:
    """Read a condition as project files have it."""
    read = condition_of(text, kind, column=column, allowed=EVERY)
    assert read.value is not None, read.problems
    return read.value


def column_check(column: str, text: str) -> ColumnCheck:
    """The rule of a `column_check`."""
    return ColumnCheck(column, condition(text, column=column))


def a_query(text: str) -> Query:
    """A query whose tables and parameters are tokens."""
    return Query(text, text, text, mentioned(text))


def rows_of(view: str, columns: Schema, grid: Grid = DAYS, field: str = "date") -> CheckedRows:
    """The rows of a view, by partition."""
    found = columns.find(field)
    key = key_sql(grid, field, found.type) if found else ""
    return CheckedRows(f"SELECT * FROM {view}", columns, key)


def a_check_inputs(
    step: CheckedRows | None, *keys: str, grid: Grid = DAYS, **changes: object
) -> CheckInputs:
    """Inputs of checks of these partitions, built on 2024-12-05 at noon."""
    check_inputs = CheckInputs(MOMENT, step=step)
    if keys:
        partitions = of_numbers(grid.parse(key) for key in keys)
        check_inputs = replace(
            check_inputs, grid=grid, partitions=partitions, values=literals(grid)
        )
    return replace(check_inputs, **changes)  # type: ignore[arg-type]


def literals(grid: Grid):
    """Give the parameters of DAY partitions."""

    def values(number: int) -> Mapping[str, str]:
        day = f"DATE '{grid.key(number)}'"
        return {"partition_date": day, "start_date": day, "end_date": f"{day} + 1"}

    return values


def said(results: Sequence[object]) -> list[tuple[str, str]]:
    """Give status and message of results."""
    return [(str(each.status), each.message) for each in results]  # type: ignore[attr-defined]


def answered(check: Check, columns: Schema, rows: int, **values: object) -> Row:
    """The row of the query that measures a check: `failures=1`."""
    measures = measured(check, columns).aggregates
    return {ROWS: rows, **{alias(measures[name]): str(each) for name, each in values.items()}}
