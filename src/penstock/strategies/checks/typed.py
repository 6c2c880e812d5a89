"""Typed checks: one of twelve rules in, what it measures and how it is judged out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.core import checks as rules
from penstock.core.check_results import CheckStatus, GroupValue
from penstock.core.checks import Check, Condition, Empty
from penstock.core.columns.schema import Schema
from penstock.core.columns.types import has_map, parse_type, scalars
from penstock.core.query import parameters
from penstock.strategies.checks.literals import TIMES
from penstock.strategies.checks.measure import GroupMeasures, Measure, Restriction, failed, passed
from penstock.strategies.checks.types.accepted_values import accepted_values
from penstock.strategies.checks.types.column_check import column_check
from penstock.strategies.checks.types.distinct_count import distinct_count
from penstock.strategies.checks.types.freshness import freshness
from penstock.strategies.checks.types.not_null import not_null
from penstock.strategies.checks.types.null_percentage import null_percentage
from penstock.strategies.checks.types.relationships import relationships
from penstock.strategies.checks.types.row_count import row_count
from penstock.strategies.checks.types.row_count_change import NOTHING_WRITTEN, row_count_change
from penstock.strategies.checks.types.unique import unique
from penstock.strategies.checks.types.value_range import value_range

_COMPARED = (rules.Unique, rules.DistinctCount, rules.AcceptedValues, rules.ValueRange)
_COUNTED = (rules.RowCount, rules.DistinctCount, rules.RowCountChange)
"""Types for which no rows are a number like others."""


def measured(check: Check, columns: Schema) -> Measure:  # noqa: C901  one line per type
    """Give what a typed check measures of rows with these columns.

    The columns must fit (`misfit`). Raises `ValueError` for a `sql` check.
    """
    kinds = {each.name.lower(): each.type for each in columns.columns}
    kept = Restriction(check.condition.text if check.condition else "")
    match check.rule:
        case rules.RowCount() as rule:
            return row_count(rule, kept)
        case rules.ColumnCheck() as rule:
            return column_check(rule, kept, sample=check.sample)
        case rules.NullPercentage() as rule:
            return null_percentage(rule, kept)
        case rules.DistinctCount() as rule:
            return distinct_count(rule, kept)
        case rules.ValueRange() as rule:
            return value_range(rule, kept, kinds[rule.column.lower()])
        case rules.Unique() as rule:
            return unique(rule, kept)
        case rules.NotNull() as rule:
            return not_null(rule, kept)
        case rules.AcceptedValues() as rule:
            return accepted_values(rule, kept, kinds[rule.column.lower()])
        case rules.Relationships() as rule:
            return relationships(rule, kept)
        case rules.Freshness() as rule:
            return freshness(rule, kept)
        case rules.RowCountChange() as rule:
            return row_count_change(rule, kept)
        case rules.SqlCheck():
            raise ValueError(f"{check.name} is no typed check")


def misfit(check: Check, columns: Schema) -> str:
    """Say why a typed check cannot be measured of these columns, "" if it can."""
    for name in columns_of(check):
        found = columns.find(name)
        if found is None:
            return f'unknown column "{name}"'
        kind = parse_type(found.type)
        if isinstance(check.rule, _COMPARED) and (has_map(kind) or "variant" in scalars(kind)):
            return f'type not comparable: column "{name}" is {found.type.upper()}'
        if isinstance(check.rule, rules.Freshness) and found.type not in TIMES:
            return f'column "{name}" is {found.type.upper()}, no DATE or TIMESTAMP'
    return ""


def columns_of(check: Check) -> tuple[str, ...]:
    """Give the columns that a typed check names outside of conditions."""
    match check.rule:
        case rules.RowCount() | rules.RowCountChange() | rules.SqlCheck():
            return ()
        case (
            rules.DistinctCount() | rules.Unique() | rules.NotNull() | rules.Relationships() as rule
        ):
            return rule.columns
        case rule:
            return (rule.column,)


def verdict_of(check: Check, means: Measure, found: GroupMeasures) -> GroupValue:
    """Say what the values of a group mean; no rows mean what the user or the type says.

    A quiet run of a model that adds rows is a change to 0 only where the user says so.
    """
    quiet = found.adds and not found.rows and check.empty is None
    if quiet and isinstance(check.rule, rules.RowCountChange):
        return GroupValue("", CheckStatus.SKIPPED, message=NOTHING_WRITTEN)
    if found.rows or (isinstance(check.rule, _COUNTED) and check.empty is not Empty.PASS):
        return means.judge(found)
    of_type = Empty.FAIL if isinstance(check.rule, rules.Freshness) else Empty.PASS
    counts = 0 if means.breaks else None
    if (check.empty or of_type) is Empty.FAIL:
        return failed("no rows", failures=counts)
    return passed("no rows", counts)


def with_texts(check: Check, bind: Callable[[str], str]) -> Check:
    """Give the check with its conditions changed by a function, as parameters are put in."""
    rule = check.rule
    if isinstance(rule, rules.ColumnCheck):
        rule = replace(rule, condition=_bound(rule.condition, bind))
    return replace(check, rule=rule, condition=check.condition and _bound(check.condition, bind))


def parameters_of(check: Check) -> frozenset[str]:
    """Give the names of the parameters in a typed check's conditions."""
    return frozenset(name for text in condition_texts(check) for name in parameters(text))


def condition_texts(check: Check) -> tuple[str, ...]:
    """Give the SQL of a typed check's conditions."""
    own = check.rule.condition if isinstance(check.rule, rules.ColumnCheck) else None
    return tuple(each.text for each in (check.condition, own) if each)


def _bound(condition: Condition, bind: Callable[[str], str]) -> Condition:
    aggregates = tuple(bind(each) for each in condition.aggregates)
    return replace(condition, text=bind(condition.text), aggregates=aggregates)
