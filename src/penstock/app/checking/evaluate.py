"""Evaluating the checks of one phase: what is measured, what it means, how it is said."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from penstock.app.checking.chosen import skipped
from penstock.app.checking.inputs import CheckedRows, CheckInputs, Refusal
from penstock.app.checking.measuring import AT_ONCE, Answer, Answered, asked, fetched, sampled
from penstock.app.checking.placing import (
    Group,
    Placed,
    Skip,
    bound_text,
    missing,
    own_groups,
    place,
    whole_group,
)
from penstock.app.checking.results import failed_of, told, told_refused
from penstock.core.check_results import CheckResult, CheckStatus, GroupValue
from penstock.core.checks import Check, CheckScope, Empty, Phase, RowCountChange, SqlCheck
from penstock.core.engine_ports import QuerySession
from penstock.core.errors import DataError, QueryError
from penstock.core.partition import Grain
from penstock.core.query import bound
from penstock.core.ranges import Ranges, difference, holds
from penstock.core.schema import Schema
from penstock.core.statement import OBSERVED_ROWS, Row
from penstock.strategies.checks.measured import ROWS, GroupVerdict, Measure, Setting, Values, whole
from penstock.strategies.checks.observe import taken
from penstock.strategies.checks.phase import GROUP, named
from penstock.strategies.checks.samples import sample_of
from penstock.strategies.checks.sql_check import group_query, united, verdict
from penstock.strategies.checks.typed import judged, measured
from penstock.strategies.checks.written import MESSAGE, number, shortened

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TIMELESS = (Grain.WHOLE, Grain.RANGE)


@dataclass(frozen=True, slots=True)
class RowsToCompare:
    """What the rows of a group are compared with, and the rows that this step wrote so far.

    `written` are the rows of partitions that passed every gate, by number.
    """

    check_inputs: CheckInputs
    written: Mapping[int, int] = field(default_factory=dict)

    def of(self, rule: RowCountChange, group: Group, *, is_partition: bool) -> Fraction | None:
        """Give the base of a group, None where no execution came before."""
        known = self.check_inputs.bases
        if not is_partition:
            recent = known.recent[: rule.last or 1]
            return Fraction(sum(recent), len(recent)) if recent else None
        assert group.number is not None  # noqa: S101  a partition has one
        if rule.last is None:
            rows = known.by_partition.get(group.number)
            return None if rows is None else Fraction(rows)
        earlier = {**known.by_partition, **self.written}
        before = sorted((each for each in earlier if each < group.number), reverse=True)
        found = [earlier[each] for each in before[: rule.last]]
        return Fraction(sum(found), len(found)) if found else None


def judge(
    placed: Placed, groups: Sequence[Group], answers: Mapping[str, Values], base: RowsToCompare
) -> Iterator[GroupValue]:
    """Say what the answers mean for some groups of a check; a group without one has no rows."""
    checks = {each.group: each.check for each in placed.by_group}
    shared = None if placed.by_group else measured(placed.check, placed.rows.columns)
    for group in groups:
        check = checks.get(group, placed.check)
        means = shared or measured(check, placed.rows.columns)
        values = _values(means, answers.get(group.key, {}))
        at = _setting(placed, group, base)
        verdict = judged(check, means, values, at)
        if at.before is not None:
            values = {**values, "base": number(at.before)}
        yield group_value(group, values, verdict)


def group_value(group: Group, values: Values, verdict: GroupVerdict) -> GroupValue:
    """Put together what is told of a group."""
    return GroupValue(
        group.key,
        verdict.status,
        values,
        shortened(verdict.message, MESSAGE),
        verdict.details,
        verdict.failures,
    )


def _values(means: Measure, row: Values) -> Values:
    """Give the values of a group by their own names; without rows there is nothing to measure."""
    found = {name: row.get(named(sql)) for name, sql in means.aggregates.items()}
    return found if whole(found, ROWS) else {ROWS: "0", **means.empty}


def _setting(placed: Placed, group: Group, base: RowsToCompare) -> Setting:
    check_inputs, rule = base.check_inputs, placed.check.rule
    is_partition = _is_partition(placed, group, check_inputs)
    reference = (check_inputs.run_timestamp - _EPOCH) // dt.timedelta(microseconds=1)
    if is_partition and group.number is not None and check_inputs.grid.grain not in _TIMELESS:
        reference = min(reference, check_inputs.grid.upper(group.number))
    before = None
    if isinstance(rule, RowCountChange):
        before = base.of(rule, group, is_partition=is_partition)
    return Setting(reference, before, adds=check_inputs.adds and placed.is_step)


def _is_partition(placed: Placed, group: Group, check_inputs: CheckInputs) -> bool:
    """Whether a group is what a step wrote to one partition."""
    has_number = group.number is not None and check_inputs.grid.grain is not Grain.WHOLE
    return placed.is_step and has_number


def judge_changes(
    checks: Sequence[Answered], check_inputs: CheckInputs, passing: Ranges
) -> list[list[GroupValue]]:
    """Give the values of the groups of each check; `passing` fail no gate of another type."""
    found: list[list[GroupValue]] = [[] for _ in checks]
    written: dict[int, int] = {}
    for turn in range(max((len(each.placed.groups) for each in checks), default=0)):
        base = RowsToCompare(check_inputs, dict(written))
        for each, values in zip(checks, found, strict=True):
            groups = each.placed.groups[turn : turn + 1]
            values.extend(judge(each.placed, groups, each.answer.groups, base))
        judged = zip(checks, found, strict=True)
        if not any(_fails_gate(each, values, turn) for each, values in judged):
            for each in checks:
                rows = _rows_written(each, turn)
                written |= {n: count for n, count in rows.items() if holds(passing, n)}
    return found


def _fails_gate(answered: Answered, values: Sequence[GroupValue], turn: int) -> bool:
    """Whether the group whose turn it was fails a gate."""
    found = values[turn : turn + 1]
    is_gate = answered.placed.check.is_gate
    return is_gate and any(each.status is CheckStatus.FAILED for each in found)


def _rows_written(answered: Answered, turn: int) -> Mapping[int, int]:
    """Give all rows of one partition of a step, whatever the check leaves out of them."""
    placed = answered.placed
    return {
        group.number: whole(answered.answer.groups.get(group.key, {}), OBSERVED_ROWS)
        for group in placed.groups[turn : turn + 1]
        if placed.is_step and group.number is not None
    }


def evaluate_sql(
    session: QuerySession, check: Check, rule: SqlCheck, check_inputs: CheckInputs
) -> CheckResult:
    """Run the query of every group, at most fifty by one statement."""
    started = time.monotonic()
    match missing(check, check_inputs):
        case Skip(reason):
            return skipped([check], reason)[0]
        case Refusal() as refusal:
            return told_refused(check, check_inputs, refusal)
    groups = own_groups(check, check_inputs)
    text = bound(rule.query.text, check_inputs.views)
    queries = [bound_text(text, check_inputs, group.number) for group in groups]
    try:
        columns = session.describe(queries[0])
    except (QueryError, DataError) as error:
        return told_refused(check, check_inputs, Refusal.of(error, check))
    shown = columns if check.sample else None
    asked = [group_query(sql, group.key, shown) for sql, group in zip(queries, groups, strict=True)]
    rows: dict[str, list[Row]] = {group.key: [] for group in groups}
    for first in range(0, len(asked), AT_ONCE):
        found = fetched(session, united(asked[first : first + AT_ONCE]))
        if not isinstance(found, tuple):
            return told_refused(check, check_inputs, Refusal.of(found, check, ran=True))
        for row in found:
            rows[str(row[GROUP])].append(row)
    values = [group_value(group, {}, verdict(len(rows[group.key]))) for group in groups]
    failing = [row for value in values for row in rows[value.group]]
    sample = sample_of(failing, columns) if failing and check.sample else None
    return told(
        check, check_inputs, values, seconds=round(time.monotonic() - started, 3), sample=sample
    )


def evaluate(
    session: QuerySession,
    checks: Sequence[Check],
    check_inputs: CheckInputs,
    *,
    sampling: bool = True,
) -> tuple[CheckResult, ...]:
    """Give one result per check, in their order; all are evaluated, whatever fails.

    Typed checks over the same rows share one query, and what was observed while the rows were
    written is not asked for again. A check that Spark cannot evaluate is failed; a job that was
    lost or cancelled is raised, as is everything else that is no error of a query. Without
    `sampling`, as for a check without sample, no cell of a row leaves Spark.
    """
    wanted = [check if sampling else replace(check, sample=False) for check in checks]
    found = [_found(session, check, check_inputs) for check in wanted]
    answers = iter(_answered(session, [e for e in found if isinstance(e, Placed)], check_inputs))
    return _judged(
        session,
        [next(answers) if isinstance(each, Placed) else each for each in found],
        check_inputs,
    )


def _found(
    session: QuerySession, check: Check, check_inputs: CheckInputs
) -> Placed | Answered | CheckResult:
    """Find where a check looks; SQL checks are done with that.

    That no row was written is an answer already, to a check for which it is a change to 0.
    """
    if check_inputs.adds and check_inputs.step is None and _is_of_quiet_runs(check):
        nothing = Placed(
            check, CheckedRows("", Schema()), (whole_group(check_inputs),), is_step=True
        )
        return Answered(nothing, Answer({}))
    if isinstance(check.rule, SqlCheck):
        return evaluate_sql(session, check, check.rule, check_inputs)
    match place(check, check_inputs, session):
        case Skip(reason):
            return skipped([check], reason)[0]
        case Refusal() as refusal:
            return told_refused(check, check_inputs, refusal)
        case Placed() as placed:
            return placed


def _is_of_quiet_runs(check: Check) -> bool:
    if not isinstance(check.rule, RowCountChange) or check.empty is not Empty.FAIL:
        return False
    return check.phase is Phase.AFTER and check.scope is CheckScope.STEP


def _answered(
    session: QuerySession, placed: Sequence[Placed], check_inputs: CheckInputs
) -> list[Answered | CheckResult]:
    """Take what was observed, and ask for everything else."""
    seen = [_observed(each, check_inputs) for each in placed]
    left = [each for each, answer in zip(placed, seen, strict=True) if answer is None]
    rest = iter(asked(session, left))
    found: list[Answered | CheckResult] = []
    for each, known in zip(placed, seen, strict=True):
        answer = known or next(rest)
        if isinstance(answer, Refusal):
            found.append(told_refused(each.check, check_inputs, answer))
        else:
            found.append(Answered(each, answer))
    return found


def _judged(
    session: QuerySession, found: Sequence[Answered | CheckResult], check_inputs: CheckInputs
) -> tuple[CheckResult, ...]:
    """Judge all checks; changes of row counts last, because they look at what passed."""
    changes = [each for each in found if isinstance(each, Answered) and _is_change(each)]
    results: list[CheckResult | None] = []
    for each in found:
        if isinstance(each, CheckResult):
            results.append(each)
        elif _is_change(each):
            results.append(None)
        else:
            base = RowsToCompare(check_inputs)
            values = [*judge(each.placed, each.placed.groups, each.answer.groups, base)]
            results.append(_told(session, each, values, check_inputs))
    failed = failed_of([one for one in results if one], check_inputs.grid, check_inputs.partitions)
    passing = difference(check_inputs.partitions, failed)
    judged = zip(changes, judge_changes(changes, check_inputs, passing), strict=True)
    last = iter([_told(session, each, values, check_inputs) for each, values in judged])
    return tuple(each or next(last) for each in results)


def _is_change(answered: Answered) -> bool:
    return isinstance(answered.placed.check.rule, RowCountChange)


def _observed(placed: Placed, check_inputs: CheckInputs) -> Answer | None:
    """Give what was seen of the step's rows while they were written."""
    observed = check_inputs.observed
    if observed is None or not placed.is_step or len(placed.groups) != 1:
        return None
    seen = taken(measured(placed.check, placed.rows.columns), observed)
    return None if seen is None else Answer({placed.groups[0].key: seen})


def _told(
    session: QuerySession,
    answered: Answered,
    values: Sequence[GroupValue],
    check_inputs: CheckInputs,
) -> CheckResult:
    sample, detailed = sampled(session, answered.placed, values)
    check, seconds = answered.placed.check, answered.answer.seconds
    return told(check, check_inputs, detailed, seconds=seconds, sample=sample)
