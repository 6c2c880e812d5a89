"""Evaluate the checks of one phase: measure, compare, and build the messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from penstock.app.checking import placing
from penstock.app.checking.comparing import group_value, judge_changes
from penstock.app.checking.placing import Probe
from penstock.app.checking.results import CheckedRows, CheckInputs, failed_of, result_of
from penstock.core.check_results import WHOLE_GROUP, CheckResult
from penstock.core.checks.check import Check, CheckScope, Phase
from penstock.core.checks.check_type import (
    CheckStatus,
    Empty,
    GroupValue,
    Measure,
    Values,
    parts_of,
)
from penstock.core.columns.schema import Schema
from penstock.core.partitions.ranges import difference
from penstock.core.ports.engine import QuerySession
from penstock.core.query import Query
from penstock.core.statement import Row
from penstock.strategies.checks import queries
from penstock.strategies.checks.literals import CELL, DETAILS, shortened
from penstock.strategies.checks.measure import weighed
from penstock.strategies.checks.queries import (
    count_query,
    group_query,
    storable,
    united,
    verdict,
)
from penstock.strategies.checks.typed import measured, taken

AT_ONCE = 50
"""How many groups one statement covers if each has its own SQL."""


def evaluate(
    session: QuerySession, checks: Sequence[Check], inputs: CheckInputs, *, sampling: bool = True
) -> tuple[CheckResult, ...]:
    """Return one result per check, in their order; a failure does not stop the others.

    Typed checks over the same rows share one query, and values observed during the write are not
    queried again. A check that Spark cannot evaluate fails; a lost or cancelled job is raised, and
    so is every error that is not about the query. Without `sampling`, as for a check without
    sample, no cell of a row leaves Spark.
    """
    wanted = [check if sampling else replace(check, sample=False) for check in checks]
    answers = _measure(session, [_locate(session, check, inputs) for check in wanted], inputs)
    results: dict[int, CheckResult] = {}
    changes: dict[int, Probe] = {}
    for at, each in enumerate(answers):
        if isinstance(each, CheckResult):
            results[at] = each
        elif each.check.rule.compares_runs:
            changes[at] = each
        else:
            values = [group_value(each, group, inputs) for group in each.groups]
            results[at] = _result(session, each, values, inputs)
    # What compares runs is judged last: what fails another gate is no base for it.
    failed = failed_of(tuple(results.values()), inputs.grid, inputs.partitions)
    passing = difference(inputs.partitions, failed)
    last = judge_changes([*changes.values()], inputs, passing)
    for (at, probe), values in zip(changes.items(), last, strict=True):
        results[at] = _result(session, probe, values, inputs)
    return tuple(results[at] for at in range(len(answers)))


def _locate(session: QuerySession, check: Check, inputs: CheckInputs) -> Probe | CheckResult:
    """Find the rows of a check; SQL checks and observed checks are complete afterwards.

    If no row was written, that already answers checks that treat this as a change to 0.
    """
    for query in parts_of(check.rule, Query):
        return _evaluate_sql(session, check, query, inputs)
    is_of_step = check.phase is Phase.AFTER and check.scope is CheckScope.STEP
    is_quiet = inputs.adds and inputs.step is None and check.empty is Empty.FAIL
    if is_quiet and is_of_step and check.rule.compares_runs:
        rows = CheckedRows("", Schema())
        means, group = measured(check, rows.columns), placing.whole_group(inputs)
        return Probe(check, means, rows, (group,), is_step=True, answers={})
    probe = placing.place(check, inputs, session)
    if isinstance(probe, CheckResult) or not probe.is_step or inputs.observed is None:
        return probe
    values = taken(probe.means, inputs.observed) if len(probe.groups) == 1 else None
    return probe if values is None else replace(probe, answers={probe.groups[0].key: values})


def _measure(
    session: QuerySession, checks: Sequence[Probe | CheckResult], inputs: CheckInputs
) -> list[Probe | CheckResult]:
    """Measure what is still missing; queries that Spark rejects are tried one by one."""
    answers = [*checks]
    together: dict[CheckedRows, dict[int, Probe]] = {}
    for at, each in enumerate(checks):
        if isinstance(each, CheckResult) or each.answers is not None:
            continue
        if each.by_group:
            answers[at] = _by_group(session, each, inputs)
        else:
            together.setdefault(each.rows, {})[at] = each
    for same in together.values():
        measured = _together(session, [*same.values()], inputs)
        for at, answer in zip(same, measured, strict=True):
            answers[at] = answer
    return answers


def _together(
    session: QuerySession, probes: Sequence[Probe], inputs: CheckInputs
) -> list[Probe | CheckResult]:
    """Query everything at once; only if that fails, one by one."""
    wrong: dict[int, CheckResult] = {}
    if isinstance(placing.described(session, _query(probes), probes[0].check, inputs), CheckResult):
        for at, each in enumerate(probes):
            refusal = placing.described(session, _query([each]), each.check, inputs)
            if isinstance(refusal, CheckResult):
                wrong[at] = refusal
    left = [each for at, each in enumerate(probes) if at not in wrong]
    answers = iter(_shared(session, left, inputs) if left else ())
    return [wrong.get(at) or next(answers) for at in range(len(probes))]


def _query(probes: Sequence[Probe]) -> str:
    rows = probes[0].rows
    return queries.phase_query(
        rows.sql, rows.key, queries.aggregates_of([each.means for each in probes])
    )


def _shared(
    session: QuerySession, probes: Sequence[Probe], inputs: CheckInputs
) -> list[Probe | CheckResult]:
    started = time.monotonic()
    rows = placing.fetched(session, _query(probes), probes[0].check, inputs)
    if not isinstance(rows, CheckResult):
        groups = {str(row.get(queries.GROUP, WHOLE_GROUP)): _texts(row) for row in rows}
        took = _since(started)
        return [replace(each, answers=groups, seconds=took) for each in probes]
    if len(probes) == 1:
        return [rows]
    return [answer for each in probes for answer in _shared(session, [each], inputs)]


def _by_group(session: QuerySession, probe: Probe, inputs: CheckInputs) -> Probe | CheckResult:
    started = time.monotonic()
    means = {each.key: each.means or probe.means for each in probe.groups}
    texts = [queries.one_group_query(each.sql, each.key, means[each.key]) for each in probe.groups]
    wrong = placing.described(session, texts[0], probe.check, inputs)
    rows = wrong if isinstance(wrong, CheckResult) else _of_all(session, texts, probe.check, inputs)
    if isinstance(rows, CheckResult):
        return rows
    answers = {
        key: queries.renamed(_texts(row), means[key])
        for row in rows
        if (key := str(row[queries.GROUP]))
    }
    return replace(probe, answers=answers, seconds=_since(started))


def _of_all(
    session: QuerySession, texts: Sequence[str], check: Check, inputs: CheckInputs
) -> list[Row] | CheckResult:
    rows: list[Row] = []
    for first in range(0, len(texts), AT_ONCE):
        more = placing.fetched(session, united(texts[first : first + AT_ONCE]), check, inputs)
        if isinstance(more, CheckResult):
            return more
        rows += more
    return rows


def _texts(row: Row) -> Values:
    return {name: None if value is None else str(value) for name, value in row.items()}


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


def _evaluate_sql(
    session: QuerySession, check: Check, query: Query, inputs: CheckInputs
) -> CheckResult:
    started = time.monotonic()
    if (result := placing.missing(check, inputs)) is not None:
        return result
    groups = placing.own_groups(check, inputs)
    texts = placing.own_queries(query.text, groups, inputs)
    columns = placing.described(session, texts[0], check, inputs)
    if isinstance(columns, CheckResult):
        return columns
    sampled = columns if check.sample else None
    asked = [group_query(sql, group.key, sampled) for sql, group in zip(texts, groups, strict=True)]
    found = _of_all(session, asked, check, inputs)
    if isinstance(found, CheckResult):
        return found
    rows: dict[str, list[Row]] = {group.key: [] for group in groups}
    for row in found:
        rows[str(row[queries.GROUP])].append(row)
    values = _values_of_sql(session, check, dict(zip(rows, texts, strict=True)), rows, inputs)
    if isinstance(values, CheckResult):
        return values
    values = _keep_failing_rows(
        inputs, check, values, lambda: storable(united([*map(_alone, texts)]), columns, check.limit)
    )
    failing = [row for each in rows.values() for row in each]
    sample = queries.sample_of(failing, columns) if failing and check.sample else None
    return result_of(check, inputs, values, seconds=_since(started), sample=sample)


def _values_of_sql(
    session: QuerySession,
    check: Check,
    texts: Mapping[str, str],
    rows: Mapping[str, Sequence[Row]],
    inputs: CheckInputs,
) -> Sequence[GroupValue] | CheckResult:
    """Compare the groups of SQL with the returned rows; thresholds need to know how many."""
    counts, is_exact = {key: len(each) for key, each in rows.items()}, check.thresholds is not None
    many = [key for key, n in counts.items() if is_exact and n >= queries.ASKED]
    found = _of_all(session, [count_query(texts[key], key) for key in many], check, inputs)
    if isinstance(found, CheckResult):
        return found
    counts |= {str(row[queries.GROUP]): int(str(row["n"])) for row in found}
    return [
        replace(weighed(check, verdict(n, exact=is_exact), n), group=key)
        for key, n in counts.items()
    ]


def _alone(sql: str) -> str:
    return f"SELECT * FROM (\n{sql}\n)"  # an ORDER BY or a comment in it stays in it


_GROUPS_ASKED = 50
"""The number of failed groups for which unaccepted values are queried."""


def _result(
    session: QuerySession, probe: Probe, values: Sequence[GroupValue], inputs: CheckInputs
) -> CheckResult:
    """Combine the groups of a check, with some failing rows of the lowest groups."""
    check, rows, means = probe.check, probe.rows, probe.means
    values = _keep_failing_rows(inputs, check, values, lambda: _failing_sql(probe))
    failed = [value for value in values if value.status is CheckStatus.FAILED and value.failures]
    if failed and probe.by_group:
        first = next(each for each in probe.groups if each.key == failed[0].group)
        check, means = first.check or check, first.means or means
        rows = CheckedRows(first.sql, rows.columns)
    sample = None
    if failed and means.breaks and check.sample:
        columns = queries.shown_columns(rows.columns, check.rule.columns_named)
        sql = _sample_sql(replace(probe, check=check, rows=rows, means=means), failed, columns)
        found = placing.fetched(session, sql, check, inputs)
        if not isinstance(found, CheckResult):
            sample = queries.sample_of([row for row in found if not row.get("n")], columns)
            values = _detailed(values, [row for row in found if row.get("n")])
    return result_of(probe.check, inputs, values, seconds=probe.seconds, sample=sample)


def _keep_failing_rows(
    inputs: CheckInputs, check: Check, values: Sequence[GroupValue], sql: Callable[[], str]
) -> Sequence[GroupValue]:
    """Keep all failing rows in the check's table if it asks for that, and report it."""
    if not check.store or inputs.keep is None or all(each.failures is None for each in values):
        return values
    where = inputs.keep(check, sql() if any(each.failures for each in values) else "")
    at = next((at for at, each in enumerate(values) if each.failures), None)
    if at is None or not where:
        return values
    details = "; ".join(each for each in (values[at].details, where) if each)
    return [*values[:at], replace(values[at], details=details), *values[at + 1 :]]


def _failing_sql(probe: Probe) -> str:
    """Return the SQL of failing rows; if each group has its own SQL, of all of them."""

    def of(check: Check, sql: str, key: str, means: Measure) -> str:
        where = check.condition.text if check.condition else ""
        return queries.failing_query(sql, key, means, where, probe.rows.columns, check.limit)

    if not probe.by_group:
        return of(probe.check, probe.rows.sql, probe.rows.key, probe.means)
    groups = ((g.check or probe.check, g.sql, "", g.means or probe.means) for g in probe.groups)
    return united([of(*each) for each in groups])


def _sample_sql(probe: Probe, failed: Sequence[GroupValue], columns: Schema) -> str:
    check, rows = probe.check, probe.rows
    where = check.condition.text if check.condition else ""
    enough, counted = list[str](), 0
    for value in failed if rows.key else ():
        if counted < queries.ASKED:
            enough.append(value.group)
            counted += value.failures or 0
    sql = queries.sample_query(rows.sql, rows.key, enough, probe.means, where, columns)
    column = rows.columns.find("".join(check.rule.columns_named[:1]))
    if column is None or not check.rule.lists_values:
        return sql
    asked = [value.group for value in failed[:_GROUPS_ASKED]] if rows.key else []
    of_values = queries.values_query(rows.sql, rows.key, asked, probe.means, where, column)
    return queries.both_query(of_values, sql, len(columns.columns))


def _detailed(values: Sequence[GroupValue], counts: Sequence[Row]) -> list[GroupValue]:
    found: dict[str, list[str]] = {}
    for row in sorted(counts, key=lambda row: int(row["place"] or 0)):
        shown = shortened(str(row["value"]), CELL)
        found.setdefault(str(row[queries.GROUP]), []).append(f"{shown} ({row['n']})")
    return [
        replace(value, details=shortened(", ".join(found[value.group]), DETAILS))
        if value.group in found
        else value
        for value in values
    ]
