"""Typed checks: measurements, their evaluation, and which of them a write can observe."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.checks.check import Check, CheckScope
from penstock.core.checks.check_type import (
    FAILURES,
    CheckStatus,
    Condition,
    Empty,
    GroupMeasures,
    GroupValue,
    Measure,
    parts_of,
    with_parts,
)
from penstock.core.columns.schema import Schema
from penstock.core.names import literal, quoted
from penstock.core.query import parameters, with_parameters
from penstock.core.statement import OBSERVED_ROWS, Row
from penstock.strategies.checks import measure
from penstock.strategies.checks.literals import is_value
from penstock.strategies.checks.queries import ROWS, aggregates_of, alias

NOTHING_WRITTEN = "nothing was written"


def measured(check: Check, columns: Schema) -> Measure:
    """Return what a typed check measures on matching columns; `ValueError` for a `sql` check."""
    where = check.condition.text if check.condition else ""
    return check.rule.measure(measure.Restriction(where, columns, check.sample))


def misfit(check: Check, columns: Schema) -> str:
    """Return why a typed check does not support these columns, "" if it does."""
    for name in check.rule.columns_named:
        column = columns.find(name)
        if column is None:
            return f'unknown column "{name}"'
        if why := check.rule.refusal_of(replace(column, name=name)):
            return why
    return ""


def verdict_of(check: Check, means: Measure, group: GroupMeasures) -> GroupValue:
    """Return the result of a group's values; without rows, the user or the type decides.

    An idle run of a model that adds rows counts as a change to 0 only if the user says so.
    """
    quiet = group.adds and not group.rows and check.empty is None
    if quiet and check.rule.compares_runs:
        return GroupValue("", CheckStatus.SKIPPED, message=NOTHING_WRITTEN)
    return measure.weighed(check, _of_type(check, means, group), group.rows)


def _of_type(check: Check, means: Measure, group: GroupMeasures) -> GroupValue:
    if group.rows or (check.rule.counts_empty and check.empty is not Empty.PASS):
        return means.judge(group)
    counts = 0 if means.breaks else None
    if (check.empty or check.rule.if_empty) is Empty.FAIL:
        return measure.failed("no rows", failures=counts)
    return measure.passed("no rows", counts)


def with_texts(check: Check, bind: Callable[[str], str]) -> Check:
    """Return the check with a function applied to its conditions, to insert parameters."""

    def bound(condition: Condition) -> Condition:
        aggregates = tuple(bind(each) for each in condition.aggregates)
        return replace(condition, text=bind(condition.text), aggregates=aggregates)

    rule = with_parts(check.rule, Condition, bound)
    return replace(check, rule=rule, condition=check.condition and bound(check.condition))


def parameters_of(check: Check) -> frozenset[str]:
    """Return the names of the parameters in a typed check's conditions."""
    return frozenset(name for each in check.conditions for name in parameters(each.text))


_CALL = re.compile(r"(?<![\w`.])(?:count|min|max|try_sum|avg)(?=\s*\()", re.IGNORECASE)
_UNREAD = re.compile(measure.UNREAD, re.DOTALL)
_FUNCTION = re.compile(r"(?<![\w`.])(\w+)\s*\(")
_PLAIN = frozenset({"cast", "coalesce", "and", "or", "not", "in", "decimal"})
_EXACT = re.compile(
    r"tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\)|string|date|timestamp(_ntz)?|boolean"
)
"""Types whose values survive conversion to text and back."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The aggregate calls within the wanted values, by name, and the values as SQL on the names.

    `OBSERVED_ROWS` is not a call: the count of all rows is always observed.
    """

    calls: Mapping[str, str]
    wanted: Mapping[str, str]

    @property
    def counts(self) -> Mapping[str, str]:
        """Everything that is observed: every call as text, and the count of all rows."""
        texts = {name: f"CAST({call} AS STRING)" for name, call in self.calls.items()}
        return {OBSERVED_ROWS: measure.COUNT_ALL, **texts}

    @staticmethod
    def is_exact(types: Schema) -> bool:
        """Return whether values of these types survive conversion to text."""
        return all(_EXACT.fullmatch(column.type) for column in types.columns)

    def put_together(self, observed: Row, types: Schema) -> str:
        """Return a query, without reading a table, that computes the wanted values."""
        values = ", ".join(
            f"CAST({'NULL' if value is None else literal(str(value))} AS {column.type})"
            for value, column in zip(map(observed.get, self.calls), types.columns, strict=True)
        )
        wanted = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.wanted.items())
        return f"SELECT {wanted} FROM VALUES ({values}) AS t({', '.join(self.calls)})"


def described(aggregates: Mapping[str, str], columns: Schema) -> str:
    """Return a query that only determines the types of aggregates."""
    given = ", ".join(f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in columns.columns)
    asked = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in aggregates.items())
    return f"SELECT {asked} FROM (SELECT {given})"


def shared(aggregates: Mapping[str, str]) -> Shared | None:
    """Return the calls in some aggregates, each once; None if one cannot be separated."""
    calls: dict[str, str] = {}
    names: dict[str, str] = {measure.COUNT_ALL: OBSERVED_ROWS}
    wanted = {}
    for name, sql in aggregates.items():
        if name == OBSERVED_ROWS:
            continue
        text, at = "", 0
        for start, end in _calls(sql):
            function, bracket, rest = sql[start:end].partition("(")
            call = function.strip().lower() + bracket + rest  # `MAX(x)` and `max(x)` are one
            known = names.setdefault(call, f"_ps_a{len(names)}")
            calls[known] = call
            text += sql[at:start] + known
            at = end
        text += sql[at:]
        if at == 0 or not _is_plain(text) or OBSERVED_ROWS in text:
            return None
        wanted[name] = text
    return Shared(calls, wanted) if wanted else None


def _calls(sql: str) -> list[tuple[int, int]]:
    """Return the positions of aggregate calls, ignoring quoted text."""
    found, masked = [], _UNREAD.sub(lambda each: "_" * len(each[0]), sql)
    for match in _CALL.finditer(masked):
        depth, at = 0, masked.index("(", match.end())
        for place in range(at, len(masked)):
            depth += {"(": 1, ")": -1}.get(masked[place], 0)
            if not depth:
                found.append((match.start(), place + 1))
                break
    return found


def _is_plain(text: str) -> bool:
    """Return whether no part needs a row: no column, no other function."""
    bare = _UNREAD.sub(lambda each: "`" if each[0].startswith("`") else " ", text)
    return "`" not in bare and {name.lower() for name in _FUNCTION.findall(bare)} <= _PLAIN


_SUM = re.compile(rf"({measure.UNREAD})|(?<![\w`.])sum\s*\(", re.IGNORECASE | re.DOTALL)
_FILTER = re.compile(r"\bfilter\s*\(", re.IGNORECASE)


def observables(
    checks: Sequence[Check], columns: Schema, values: Mapping[str, str] | None = None
) -> Mapping[str, str]:
    """Return aggregates by name for all observable checks of scope `step`.

    An aggregate that could fail for some row is left out, because it would fail the write; so is
    one over missing columns. `values` are the parameters of the one group. The plain count of all
    rows, `ROWS`, is always included; without checks there are no aggregates.
    """
    found = [
        means for check in checks if (means := _observed(check, columns, values or {})) is not None
    ]
    if not found:
        return {}
    # What matters only where a check fails is not observed: then the rows are looked at anyway.
    needed = aggregates_of([replace(means, aggregates=means.needed) for means in found])
    return {name: _tried(sql) for name, sql in needed.items()}


def taken(means: Measure, observed: Row) -> Mapping[str, str | None] | None:
    """Return the observed values of a check by the names of a phase query; None if incomplete.

    A sum that overflowed was observed as NULL and does not count. Nor does a failure whose failing
    rows were not counted.
    """
    found: dict[str, str | None] = {ROWS: str(observed.get(ROWS))}
    for aggregate in means.needed.values():
        name = alias(aggregate)
        if name not in observed:
            return None
        value = observed[name]
        if value is None and _tried(aggregate) != aggregate:
            return None
        found[name] = None if value is None else str(value)
    if means.spare and (failures := alias(means.aggregates[FAILURES])) not in found:
        found[failures] = "0"
        values = {name: found[alias(sql)] for name, sql in means.aggregates.items()}
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
    values, column = check.rule.literals, columns.find("".join(check.rule.columns_named[:1]))
    if values and not (column and all(is_value(each, column.type) for each in values)):
        return False
    own = [each.text for each in parts_of(check.rule, Condition)]
    if check.rule.own_history is not None:  # it measures a number, which a comparison makes true
        own = [f"{measure.bracketed(each)} = 0" for each in own]
    texts = [*own, *([check.condition.text] if check.condition else [])]
    if not texts:
        return True
    from penstock.strategies.checks.harmless import is_harmless  # the parser costs 0.2 s

    return all(not parameters(text) and is_harmless(text, columns) for text in texts)


def _tried(aggregate: str) -> str:
    return _SUM.sub(lambda found: found[1] or "try_sum(", aggregate)
