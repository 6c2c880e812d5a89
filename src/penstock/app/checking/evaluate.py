"""Evaluating the checks of one phase: what is measured, what it means, how it is said."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from penstock.app.checking.placing import (
    Group,
    Placed,
    bound_text,
    missing,
    own_groups,
    place,
    whole_group,
)
from penstock.app.checking.results import (
    CheckedRows,
    CheckInputs,
    failed_of,
    is_of_the_job,
    reason_of,
    refused,
    result_of,
)
from penstock.core.check_results import WHOLE_GROUP, CheckResult, CheckStatus, GroupValue, Sample
from penstock.core.checks import (
    AcceptedValues,
    Check,
    CheckScope,
    Empty,
    Phase,
    RowCountChange,
    SqlCheck,
)
from penstock.core.columns.schema import Schema
from penstock.core.errors import DataError, QueryError
from penstock.core.partitions.partition import Grain
from penstock.core.partitions.ranges import Ranges, difference, holds
from penstock.core.ports.engine import QuerySession
from penstock.core.query import bound
from penstock.core.statement import OBSERVED_ROWS, Row
from penstock.strategies.checks.literals import CELL, DETAILS, MESSAGE, number, shortened
from penstock.strategies.checks.measure import ROWS, GroupMeasures, GroupVerdict, Values
from penstock.strategies.checks.observe import taken
from penstock.strategies.checks.queries import (
    ASKED,
    GROUP,
    aggregates_of,
    both_query,
    named,
    one_group_query,
    phase_query,
    renamed,
    sample_of,
    sample_query,
    shown_columns,
    values_query,
)
from penstock.strategies.checks.typed import columns_of, measured, verdict_of
from penstock.strategies.checks.types.sql_check import group_query, united, verdict

AT_ONCE = 50
"""How many groups one statement asks where each has SQL of its own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was measured for a check, by group and then by the names of a phase query.

    Groups without rows lack. `seconds` is how long it took; checks that share a query share it.
    """

    placed: Placed
    groups: Mapping[str, Values]
    seconds: float = 0.0


def ask(
    session: QuerySession, placed: Sequence[Placed], given: CheckInputs
) -> list[Answer | CheckResult]:
    """Give the answers to all checks, in their order.

    Checks over the same rows share a query. Of those that Spark refuses to analyse, or that fail,
    each is tried alone, so that the others have their values.
    """
    found: dict[int, Answer | CheckResult] = {}
    together: dict[CheckedRows, list[int]] = {}
    for at, each in enumerate(placed):
        if each.by_group:
            found[at] = _by_group(session, each, given)
        else:
            together.setdefault(each.rows, []).append(at)
    for places in together.values():
        answers = _together(session, [placed[at] for at in places], given)
        found |= dict(zip(places, answers, strict=True))
    return [found[at] for at in range(len(placed))]


def fetched(session: QuerySession, sql: str) -> tuple[Row, ...] | QueryError | DataError:
    """Run a query; an error of the query is given back, one of the job is raised."""
    try:
        return session.rows(sql)
    except (QueryError, DataError) as error:
        if is_of_the_job(error):
            raise
        return error


def _together(
    session: QuerySession, placed: Sequence[Placed], given: CheckInputs
) -> list[Answer | CheckResult]:
    errors = _errors(session, placed)
    left = [each for at, each in enumerate(placed) if at not in errors]
    answers = iter(_shared(session, left, given) if left else ())
    return [
        refused(each.check, given, reason_of(errors[at], each.check))
        if at in errors
        else next(answers)
        for at, each in enumerate(placed)
    ]


def _errors(
    session: QuerySession, placed: Sequence[Placed]
) -> Mapping[int, QueryError | DataError]:
    """Find the checks that Spark does not understand: all at once, and only then one by one."""
    found = (
        {at: _error(session, [each]) for at, each in enumerate(placed)}
        if _error(session, placed)
        else {}
    )
    return {at: error for at, error in found.items() if error is not None}


def _error(session: QuerySession, placed: Sequence[Placed]) -> QueryError | DataError | None:
    try:
        session.describe(_query(placed))
    except (QueryError, DataError) as error:
        return error
    return None


def _query(placed: Sequence[Placed]) -> str:
    rows = placed[0].rows
    measures = [measured(each.check, rows.columns) for each in placed]
    return phase_query(rows.sql, rows.key, aggregates_of(measures))


def _shared(
    session: QuerySession, placed: Sequence[Placed], given: CheckInputs
) -> list[Answer | CheckResult]:
    """Ask for all with one query; where it fails each is tried alone."""
    started = time.monotonic()
    found = fetched(session, _query(placed))
    if isinstance(found, tuple):
        groups = {_group(row): _texts(row) for row in found}
        return [Answer(each, groups, since(started)) for each in placed]
    if len(placed) == 1:
        check = placed[0].check
        return [refused(check, given, reason_of(found, check, ran=True))]
    return [answer for each in placed for answer in _shared(session, [each], given)]


def _by_group(session: QuerySession, placed: Placed, given: CheckInputs) -> Answer | CheckResult:
    """Ask for groups that have SQL of their own, some by one statement."""
    started, rows = time.monotonic(), dict[str, Values]()
    measures = {
        each.key: measured(each.check or placed.check, placed.rows.columns)
        for each in placed.groups
    }
    queries = [one_group_query(each.sql, each.key, measures[each.key]) for each in placed.groups]
    try:
        session.describe(queries[0])
    except (QueryError, DataError) as error:
        return refused(placed.check, given, reason_of(error, placed.check))
    for first in range(0, len(queries), AT_ONCE):
        found = fetched(session, united(queries[first : first + AT_ONCE]))
        if not isinstance(found, tuple):
            return refused(placed.check, given, reason_of(found, placed.check, ran=True))
        rows |= {_group(row): _texts(row) for row in found}
    groups = {key: renamed(rows[key], measures[key]) for key in measures if key in rows}
    return Answer(placed, groups, since(started))


def _group(row: Row) -> str:
    return str(row.get(GROUP, WHOLE_GROUP))


def _texts(row: Row) -> Values:
    return {name: None if value is None else str(value) for name, value in row.items()}


def since(started: float) -> float:
    """Give how many seconds have passed since then."""
    return round(time.monotonic() - started, 3)


_GROUPS_ASKED = 50
"""Of so many groups that failed, the values that are not accepted are asked for."""


def sampled(
    session: QuerySession, placed: Placed, values: Sequence[GroupValue]
) -> tuple[Sample | None, tuple[GroupValue, ...]]:
    """Give rows of a failed check that counts rows, and its groups with what the rows say.

    They are of the lowest groups that have enough, or of the first where groups have SQL of their
    own.
    """
    failed = [value for value in values if value.status is CheckStatus.FAILED and value.failures]
    if not failed or not placed.check.sample:
        return None, tuple(values)
    check, rows, groups = placed.check, placed.rows, [value.group for value in failed]
    if placed.by_group:
        first = next(each for each in placed.groups if each.key == failed[0].group)
        check, rows = first.check or check, CheckedRows(first.sql, rows.columns)
    means = measured(check, rows.columns)
    if not means.breaks:
        return None, tuple(values)
    columns = shown_columns(rows.columns, columns_of(check))
    where = check.condition.text if check.condition else ""
    enough = _enough(failed) if rows.key else ()
    sql = sample_query(rows.sql, rows.key, enough, means, where, columns)
    if isinstance(check.rule, AcceptedValues):
        column = rows.columns.find(check.rule.column)
        assert column is not None  # noqa: S101  the check was measured of it
        asked = groups[:_GROUPS_ASKED] if rows.key else ()
        of_values = values_query(rows.sql, rows.key, asked, means, where, column)
        sql = both_query(of_values, sql, len(columns.columns))
    found = fetched(session, sql)
    if not isinstance(found, tuple):
        return None, tuple(values)
    kept = [row for row in found if not row.get("n")]
    return sample_of(kept, columns), _detailed(values, [row for row in found if row.get("n")])


def _enough(failed: Sequence[GroupValue]) -> tuple[str, ...]:
    """Give the lowest groups that have as many rows as are asked for."""
    found, rows = [], 0
    for value in failed:
        if rows >= ASKED:
            break
        found.append(value.group)
        rows += value.failures or 0
    return tuple(found)


def _detailed(values: Sequence[GroupValue], counts: Sequence[Row]) -> tuple[GroupValue, ...]:
    """Add the values that are not accepted, the most frequent ones first."""
    found: dict[str, list[str]] = {}
    for row in sorted(counts, key=lambda row: int(row["place"] or 0)):
        shown = shortened(str(row["value"]), CELL)
        found.setdefault(str(row[GROUP]), []).append(f"{shown} ({row['n']})")
    return tuple(
        replace(value, details=shortened(", ".join(found[value.group]), DETAILS))
        if value.group in found
        else value
        for value in values
    )


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
