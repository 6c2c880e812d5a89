"""Find the rows and groups of a check, or the reason why it is not evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from penstock.app.checking.results import (
    CheckedRows,
    CheckInputs,
    is_of_the_job,
    reason_of,
    refused,
    skip,
)
from penstock.core.check_results import WHOLE_GROUP, CheckResult
from penstock.core.checks.check import GROUP_PARAMETERS, Check, CheckScope, Phase
from penstock.core.checks.check_type import Measure, Values, parts_of
from penstock.core.columns.schema import Schema
from penstock.core.errors import DataError, QueryError
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grain
from penstock.core.partitions.ranges import count, numbers
from penstock.core.ports.engine import QuerySession
from penstock.core.query import at, bound, mentioned, parameters, with_parameters
from penstock.core.statement import Row
from penstock.strategies.checks.queries import group_of
from penstock.strategies.checks.typed import (
    NOTHING_WRITTEN,
    measured,
    misfit,
    parameters_of,
    with_texts,
)

NO_TABLE = "table does not exist yet"
NO_STEP_ROWS = "no step rows"
NO_SLICE = "no slice is being read"
NO_WINDOW = "no window is on record"


@dataclass(frozen=True, slots=True)
class Group:
    """The rows behind one value; `number` is the partition, None if there are several.

    If parameters give each group its own SQL, `check` is the check for this group, `means` what it
    measures, and `sql` the SELECT of its rows; otherwise those of the whole check apply.
    """

    key: str
    number: int | None = None
    check: Check | None = None
    means: Measure | None = None
    sql: str = ""


@dataclass(frozen=True, slots=True)
class Probe:
    """A typed check, what it measures, its rows and its groups, identified by the key of `rows`.

    With `by_group` every group is queried with its own SQL. `answers` are measured values, by group
    and by the names of a phase query, None until measured; groups without rows are missing.
    `seconds` is the time it took; checks that share a query share it.
    """

    check: Check
    means: Measure
    rows: CheckedRows
    groups: tuple[Group, ...]
    by_group: bool = False
    is_step: bool = False
    answers: Mapping[str, Values] | None = None
    seconds: float = 0.0

    def answer(self, group: Group) -> Values:
        """Return the measured values of a group, empty if it has no rows."""
        return (self.answers or {}).get(group.key, {})


def described(
    session: QuerySession, sql: str, check: Check, inputs: CheckInputs
) -> Schema | CheckResult:
    """Return the columns of a query, or the reason why Spark rejects the check."""
    try:
        return session.describe(sql)
    except (QueryError, DataError) as error:
        return refused(check, inputs, reason_of(error, check))


def fetched(
    session: QuerySession, sql: str, check: Check, inputs: CheckInputs
) -> Sequence[Row] | CheckResult:
    """Run a query; an error of the query belongs to the check, an error of the job is raised."""
    try:
        return session.rows(sql)
    except (QueryError, DataError) as error:
        if is_of_the_job(error):
            raise
        return refused(check, inputs, reason_of(error, check, ran=True))


def place(check: Check, inputs: CheckInputs, session: QuerySession) -> Probe | CheckResult:
    """Find the rows of a typed check, or the reason why it is not evaluated; run nothing."""
    if (result := missing(check, inputs)) is not None:
        return result
    queries: Sequence[str] = ()
    if check.query is None:
        rows = _rows_of(check, inputs)
    else:
        queries = own_queries(check.query.text, own_groups(check, inputs), inputs)
        columns = described(session, queries[0], check, inputs)
        rows = CheckedRows(queries[0], columns) if isinstance(columns, Schema) else columns
    if isinstance(rows, CheckResult):
        return rows
    return _misfit(check, rows.columns, inputs, session) or _group(check, rows, queries, inputs)


def missing(check: Check, inputs: CheckInputs) -> CheckResult | None:
    """Return which table of the check is missing, or that its parameters have no values."""
    query = check.own_query
    names = mentioned(query.text) if query else ()
    used = parameters_of(check) | (parameters(query.text) if query else frozenset())
    if used & GROUP_PARAMETERS - inputs.values(_first(inputs)).keys():
        return skip(check, NO_WINDOW)
    for name in (*names, *parts_of(check.rule, InputName)):
        if name not in inputs.views:
            if name.kind is InputKind.THIS:
                return skip(check, NO_TABLE)
            if name in inputs.later:
                return skip(check, f"{name} is built later, and has no table yet")
            return refused(check, inputs, f"no table {name}")
    return None


def own_groups(check: Check, inputs: CheckInputs) -> tuple[Group, ...]:
    """Return the groups of a check with their own SQL: one, unless parameters differ."""
    return _partitions(inputs) if check.differs_by_group else (whole_group(inputs),)


def own_queries(text: str, groups: Sequence[Group], inputs: CheckInputs) -> list[str]:
    """Return a check's own SQL for each group, over the views of its tables."""
    text = bound(text, inputs.views)
    return [_with_values(text, inputs, group) for group in groups]


def whole_group(inputs: CheckInputs) -> Group:
    """Return the one group of all rows; it has a partition only if there is exactly one."""
    only = inputs.partitions[0][0] if count(inputs.partitions) == 1 else None
    return Group(WHOLE_GROUP, None if inputs.grid.grain is Grain.WHOLE else only)


def _partitions(inputs: CheckInputs) -> tuple[Group, ...]:
    return tuple(Group(inputs.grid.key(each), each) for each in numbers(inputs.partitions))


def _with_values(text: str, inputs: CheckInputs, group: Group) -> str:
    values = inputs.values(_first(inputs) if group.number is None else group.number)
    return at(with_parameters(text, values), inputs.run_timestamp)


def _first(inputs: CheckInputs) -> int:
    return inputs.partitions[0][0] if inputs.partitions else 0


def _rows_of(check: Check, inputs: CheckInputs) -> CheckedRows | CheckResult:
    if check.phase is Phase.AFTER and check.scope is CheckScope.STEP:
        # How the rows of a step changed cannot be told from a table that stands in for them.
        if inputs.step and inputs.step.stands_in and check.rule.compares_runs:
            return skip(check, NO_STEP_ROWS)
        return inputs.step or skip(check, NOTHING_WRITTEN)
    if check.phase is Phase.AFTER:
        return (
            (inputs.current if check.rule.is_of_current else None)
            or inputs.table
            or skip(check, NO_TABLE)
        )
    name, tables = check.input, inputs.inputs
    if name is None and not tables:
        return skip(check, NO_SLICE)
    if name is None and len(tables) == 1:
        return next(iter(tables.values()))
    if name is None:
        return refused(check, inputs, "several inputs, and none is named")
    if name in tables:
        return tables[name]
    is_target = name.kind is InputKind.THIS
    return skip(check, NO_TABLE) if is_target else refused(check, inputs, f"no input {name}")


def _misfit(
    check: Check, columns: Schema, inputs: CheckInputs, session: QuerySession
) -> CheckResult | None:
    why, lookup = misfit(check, columns), check.rule.lookup(inputs.views)
    if not why and lookup is not None:
        fields = described(session, lookup.fields, check, inputs)
        if isinstance(fields, CheckResult):
            return fields
        why = lookup.misfit(columns, fields)
    return refused(check, inputs, why) if why else None


def _group(check: Check, rows: CheckedRows, queries: Sequence[str], inputs: CheckInputs) -> Probe:
    is_after = check.phase is Phase.AFTER
    if is_after and check.scope is CheckScope.TABLE:
        rows = replace(rows, key="")
    differs = bool(parameters_of(check) & GROUP_PARAMETERS) and count(inputs.partitions) > 1
    if queries:
        groups, differs = own_groups(check, inputs), len(queries) > 1
    else:
        groups = _partitions(inputs) if rows.key or differs else (whole_group(inputs),)
    lookup = check.rule.lookup(inputs.views)
    rows = replace(rows, sql=lookup.rows(rows.sql)) if lookup else rows
    is_step = is_after and check.scope is CheckScope.STEP and not queries
    own = [
        with_texts(check, partial(_with_values, inputs=inputs, group=each))
        for each in (groups if differs else groups[:1])
    ]
    means = [measured(each, rows.columns) for each in own]
    if not differs:
        return Probe(own[0], means[0], rows, groups, is_step=is_step)
    texts = [lookup.rows(each) for each in queries] if lookup else [*queries]
    texts = texts or [group_of(rows.sql, rows.key, each.key) for each in groups]
    parts = zip(groups, own, means, texts, strict=True)
    groups = tuple(replace(g, check=each, means=its, sql=sql) for g, each, its, sql in parts)
    return Probe(check, means[0], rows, groups, by_group=True, is_step=is_step)
