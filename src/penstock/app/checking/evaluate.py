"""Evaluating the checks of one phase: what is measured, what it means, how it is said."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from penstock.app.checking.inputs import CheckedRows, CheckInputs
from penstock.app.checking.placing import (
    Group,
    Placed,
    bound_text,
    missing,
    own_groups,
    place,
    whole_group,
)
from penstock.app.checking.queries import AT_ONCE, Answer, ask, fetched, sampled, since
from penstock.app.checking.results import failed_of, reason_of, refused, result_of
from penstock.core.check_results import CheckResult, CheckStatus, GroupValue
from penstock.core.checks import Check, CheckScope, Empty, Phase, RowCountChange, SqlCheck
from penstock.core.columns.schema import Schema
from penstock.core.errors import DataError, QueryError
from penstock.core.partitions.partition import Grain
from penstock.core.partitions.ranges import Ranges, difference, holds
from penstock.core.ports.engine import QuerySession
from penstock.core.query import bound
from penstock.core.statement import OBSERVED_ROWS, Row
from penstock.strategies.checks.measure import ROWS, GroupMeasures, GroupVerdict, Values
from penstock.strategies.checks.observe import taken
from penstock.strategies.checks.phase import GROUP, named
from penstock.strategies.checks.samples import sample_of
from penstock.strategies.checks.typed import measured, verdict_of
from penstock.strategies.checks.types.sql_check import group_query, united, verdict
from penstock.strategies.checks.written import MESSAGE, number, shortened

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TIMELESS = (Grain.WHOLE, Grain.RANGE)


def evaluate(
    session: QuerySession, checks: Sequence[Check], given: CheckInputs, *, sampling: bool = True
) -> tuple[CheckResult, ...]:
    """Give one result per check, in their order; all are evaluated, whatever fails.

    Typed checks over the same rows share one query, and what was observed while the rows were
    written is not asked for again. A check that Spark cannot evaluate is failed; a job that was
    lost or cancelled is raised, as is everything else that is no error of a query. Without
    `sampling`, as for a check without sample, no cell of a row leaves Spark.
    """
    wanted = [check if sampling else replace(check, sample=False) for check in checks]
    found = [_found(session, check, given) for check in wanted]
    asked = iter(ask(session, [each for each in found if isinstance(each, Placed)], given))
    answers = [next(asked) if isinstance(each, Placed) else each for each in found]
    results: list[CheckResult | None] = []
    for each in answers:
        if isinstance(each, Answer) and not _is_change(each):
            values = [*_judge(each, each.placed.groups, given, {})]
            results.append(_result(session, each, values, given))
        else:
            results.append(each if isinstance(each, CheckResult) else None)
    # How much a number of rows changed is judged last: what fails another gate is no base for it.
    changes = [each for each in answers if isinstance(each, Answer) and _is_change(each)]
    failed = failed_of([one for one in results if one], given.grid, given.partitions)
    found_last = _judge_changes(changes, given, difference(given.partitions, failed))
    pairs = zip(changes, found_last, strict=True)
    last = (_result(session, each, values, given) for each, values in pairs)
    return tuple(each or next(last) for each in results)


def _found(
    session: QuerySession, check: Check, given: CheckInputs
) -> Placed | Answer | CheckResult:
    """Find where a check looks; SQL checks, and what was observed, are done with that.

    That no row was written is an answer already, to a check for which it is a change to 0.
    """
    if given.adds and given.step is None and _is_of_quiet_runs(check):
        nothing = Placed(check, CheckedRows("", Schema()), (whole_group(given),), is_step=True)
        return Answer(nothing, {})
    if isinstance(check.rule, SqlCheck):
        return _evaluate_sql(session, check, check.rule, given)
    placed = place(check, given, session)
    return (_observed(placed, given) or placed) if isinstance(placed, Placed) else placed


def _is_of_quiet_runs(check: Check) -> bool:
    if not isinstance(check.rule, RowCountChange) or check.empty is not Empty.FAIL:
        return False
    return check.phase is Phase.AFTER and check.scope is CheckScope.STEP


def _is_change(answer: Answer) -> bool:
    return isinstance(answer.placed.check.rule, RowCountChange)


def _observed(placed: Placed, given: CheckInputs) -> Answer | None:
    """Give what was seen of the step's rows while they were written."""
    if given.observed is None or not placed.is_step or len(placed.groups) != 1:
        return None
    seen = taken(measured(placed.check, placed.rows.columns), given.observed)
    return None if seen is None else Answer(placed, {placed.groups[0].key: seen})


def _result(
    session: QuerySession, answer: Answer, values: Sequence[GroupValue], given: CheckInputs
) -> CheckResult:
    sample, detailed = sampled(session, answer.placed, values)
    return result_of(answer.placed.check, given, detailed, seconds=answer.seconds, sample=sample)


def _judge(
    answer: Answer, groups: Sequence[Group], given: CheckInputs, written: Mapping[int, int]
) -> Iterator[GroupValue]:
    """Say what the answers mean for some groups of a check; a group without one has no rows.

    `written` are the rows that this step wrote so far: those of partitions that passed every gate.
    """
    placed = answer.placed
    shared = None if placed.by_group else measured(placed.check, placed.rows.columns)
    for group in groups:
        check = group.check or placed.check
        means = shared or measured(check, placed.rows.columns)
        row = answer.groups.get(group.key, {})
        values: Values = {name: row.get(named(sql)) for name, sql in means.aggregates.items()}
        if not GroupMeasures(values).rows:  # without rows there is nothing to measure
            values = {ROWS: "0", **means.empty}
        found = _with_base(placed, group, GroupMeasures(values), given, written)
        verdict = verdict_of(check, means, found)
        if found.before is not None:
            values = {**values, "base": number(found.before)}
        yield _group_value(group, values, verdict)


def _group_value(group: Group, values: Values, verdict: GroupVerdict) -> GroupValue:
    message = shortened(verdict.message, MESSAGE)
    return GroupValue(group.key, verdict.status, values, message, verdict.details, verdict.failures)


def _with_base(
    placed: Placed,
    group: Group,
    found: GroupMeasures,
    given: CheckInputs,
    written: Mapping[int, int],
) -> GroupMeasures:
    """Add what a verdict needs beside the values: what rows and ages are compared with."""
    rule, partition = placed.check.rule, None
    if placed.is_step and given.grid.grain is not Grain.WHOLE:
        partition = group.number  # the group is what a step wrote to one partition
    reference = (given.run_timestamp - _EPOCH) // dt.timedelta(microseconds=1)
    if partition is not None and given.grid.grain not in _TIMELESS:
        reference = min(reference, given.grid.upper(partition))
    before = None
    if isinstance(rule, RowCountChange):
        before = _base(rule, partition, given, written)
    return replace(found, reference=reference, before=before, adds=given.adds and placed.is_step)


def _base(
    rule: RowCountChange, partition: int | None, given: CheckInputs, written: Mapping[int, int]
) -> Fraction | None:
    """Give the rows that those of a group are compared with, None if no execution came before."""
    known = given.bases
    if partition is None:
        found = list(known.recent[: rule.last or 1])
    elif rule.last is None:
        found = [known.by_partition[partition]] if partition in known.by_partition else []
    else:
        earlier = {**known.by_partition, **written}
        before = sorted((each for each in earlier if each < partition), reverse=True)
        found = [earlier[each] for each in before[: rule.last]]
    return Fraction(sum(found), len(found)) if found else None


def _judge_changes(
    answers: Sequence[Answer], given: CheckInputs, passing: Ranges
) -> list[list[GroupValue]]:
    """Give the values of the groups of each check; `passing` fail no gate of another type.

    Groups are judged in turn: the rows of one that passes are a base for those after it.
    """
    found: list[list[GroupValue]] = [[] for _ in answers]
    written: dict[int, int] = {}
    for turn in range(max((len(each.placed.groups) for each in answers), default=0)):
        fails_gate, rows = False, dict[int, int]()
        for each, values in zip(answers, found, strict=True):
            groups = each.placed.groups[turn : turn + 1]
            found_now = [*_judge(each, groups, given, written)]
            values.extend(found_now)
            fails = any(value.status is CheckStatus.FAILED for value in found_now)
            fails_gate |= fails and each.placed.check.is_gate
            rows |= {n: count for n, count in _rows_of(each, groups) if holds(passing, n)}
        if not fails_gate:
            written |= rows
    return found


def _rows_of(answer: Answer, groups: Sequence[Group]) -> Iterator[tuple[int, int]]:
    """Give all rows that a step wrote to its partitions, whatever the check leaves out of them."""
    for group in groups if answer.placed.is_step else ():
        if group.number is not None:
            found = GroupMeasures(answer.groups.get(group.key, {}))
            yield group.number, found.count(OBSERVED_ROWS)


def _evaluate_sql(
    session: QuerySession, check: Check, rule: SqlCheck, given: CheckInputs
) -> CheckResult:
    """Run the query of every group, at most fifty by one statement."""
    started = time.monotonic()
    gone = missing(check, given)
    if gone is not None:
        return gone
    groups = own_groups(check, given)
    text = bound(rule.query.text, given.views)
    queries = [bound_text(text, given, group.number) for group in groups]
    try:
        columns = session.describe(queries[0])
    except (QueryError, DataError) as error:
        return refused(check, given, reason_of(error, check))
    shown = columns if check.sample else None
    asked = [group_query(sql, group.key, shown) for sql, group in zip(queries, groups, strict=True)]
    rows: dict[str, list[Row]] = {group.key: [] for group in groups}
    for first in range(0, len(asked), AT_ONCE):
        found = fetched(session, united(asked[first : first + AT_ONCE]))
        if not isinstance(found, tuple):
            return refused(check, given, reason_of(found, check, ran=True))
        for row in found:
            rows[str(row[GROUP])].append(row)
    values = [_group_value(group, {}, verdict(len(rows[group.key]))) for group in groups]
    failing = [row for value in values for row in rows[value.group]]
    sample = sample_of(failing, columns) if failing and check.sample else None
    return result_of(check, given, values, seconds=since(started), sample=sample)
