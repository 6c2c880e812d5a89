"""Which aggregates can be computed while rows are written (spec/checks.md §6.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from penstock.core.check_results import CheckStatus
from penstock.core.checks import AcceptedValues, Check, CheckScope, ValueRange
from penstock.core.columns.schema import Schema
from penstock.core.query import parameters, with_parameters
from penstock.core.statement import Row
from penstock.strategies.checks.literals import is_value
from penstock.strategies.checks.measure import FAILURES, GroupMeasures, Measure
from penstock.strategies.checks.phase import ROWS, aggregates_of, named
from penstock.strategies.checks.restriction import UNREAD
from penstock.strategies.checks.typed import condition_texts, measured, misfit, with_texts

_NONE: Mapping[str, str] = MappingProxyType({})
_SUM = re.compile(rf"({UNREAD})|(?<![\w`.])sum\s*\(", re.IGNORECASE | re.DOTALL)
_FILTER = re.compile(r"\bfilter\s*\(", re.IGNORECASE)


def observables(
    checks: Sequence[Check], columns: Schema, values: Mapping[str, str] = _NONE
) -> Mapping[str, str]:
    """Give aggregates by name for all checks of scope `step` that can be observed.

    What could fail for some row is left out, because it would fail the write: a check never does.
    So is what these columns do not have. `values` are the parameters of the one group. The plain
    count of all rows, `ROWS`, is always among the aggregates; with no check there are none.
    """
    found = [means for check in checks if (means := _observed(check, columns, values)) is not None]
    if not found:
        return {}
    # What matters only where a check fails is not observed: then the rows are looked at anyway.
    needed = aggregates_of([replace(means, aggregates=means.needed) for means in found])
    return {name: _tried(sql) for name, sql in needed.items()}


def taken(means: Measure, observed: Row) -> Mapping[str, str | None] | None:
    """Give what was observed for a check, by the names of a phase query; None if not all was.

    A sum that overflowed was observed as NULL: that is no answer either. Nor is a failure of which
    the failing rows were not counted.
    """
    found: dict[str, str | None] = {ROWS: str(observed.get(ROWS))}
    for aggregate in means.needed.values():
        name = named(aggregate)
        if name not in observed:
            return None
        value = observed[name]
        if value is None and _tried(aggregate) != aggregate:
            return None
        found[name] = None if value is None else str(value)
    if means.spare and (failures := named(means.aggregates[FAILURES])) not in found:
        found[failures] = "0"
        values = {name: found[named(sql)] for name, sql in means.aggregates.items()}
        if means.judge(GroupMeasures(values)).status is not CheckStatus.PASSED:
            return None
    return found


def _observed(check: Check, columns: Schema, values: Mapping[str, str]) -> Measure | None:
    if not check.is_observable or check.scope is not CheckScope.STEP:
        return None
    bound = with_texts(check, lambda text: with_parameters(text, values))
    if misfit(bound, columns) or not _cannot_fail(bound, columns):
        return None
    means = measured(bound, columns)
    fits = not any(_FILTER.search(each) for each in means.aggregates.values())
    return means if fits else None


def _cannot_fail(check: Check, columns: Schema) -> bool:
    match check.rule:
        case ValueRange(column=column, minimum=low, maximum=high):
            if not _are_values([low, high], column, columns):
                return False
        case AcceptedValues(column=column, values=values):
            if not _are_values(values, column, columns):
                return False
    texts = condition_texts(check)
    if not texts:
        return True
    from penstock.strategies.checks.harmless import is_harmless  # the parser costs 0.2 s

    return all(not parameters(text) and is_harmless(text, columns) for text in texts)


def _are_values(texts: Sequence[str | None], column: str, columns: Schema) -> bool:
    found = columns.find(column)
    return found is not None and all(each is None or is_value(each, found.type) for each in texts)


def _tried(aggregate: str) -> str:
    """Give an aggregate with sums that become NULL where they overflow."""
    return _SUM.sub(lambda found: found[1] or "try_sum(", aggregate)
