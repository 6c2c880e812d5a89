"""Evaluating the checks of one phase: what is measured, what it means, how it is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.app.checking.asking import Answer, Answered, asked
from penstock.app.checking.chosen import skipped
from penstock.app.checking.ground import Ground, Rows
from penstock.app.checking.judging import RowsToCompare, judge
from penstock.app.checking.placing import Placed, Skip, place, whole_group
from penstock.app.checking.querying_sql import evaluate_sql
from penstock.app.checking.refusing import Refusal
from penstock.app.checking.row_count_changes import judge_changes
from penstock.app.checking.sampling import sampled
from penstock.app.checking.telling import told, told_refused
from penstock.app.checking.verdicts import failed_of
from penstock.core.check_results import CheckResult, GroupValue
from penstock.core.checks import Check, CheckScope, Empty, Phase, RowCountChange, SqlCheck
from penstock.core.engine_ports import QuerySession
from penstock.core.ranges import difference
from penstock.core.schema import Schema
from penstock.strategies.checks.observe import taken
from penstock.strategies.checks.typed import measured


def evaluate(
    session: QuerySession, checks: Sequence[Check], ground: Ground, *, sampling: bool = True
) -> tuple[CheckResult, ...]:
    """Give one result per check, in their order; all are evaluated, whatever fails.

    Typed checks over the same rows share one query, and what was observed while the rows were
    written is not asked for again. A check that Spark cannot evaluate is failed; a job that was
    lost or cancelled is raised, as is everything else that is no error of a query. Without
    `sampling`, as for a check without sample, no cell of a row leaves Spark.
    """
    wanted = [check if sampling else replace(check, sample=False) for check in checks]
    found = [_found(session, check, ground) for check in wanted]
    answers = iter(_answered(session, [e for e in found if isinstance(e, Placed)], ground))
    return _judged(
        session, [next(answers) if isinstance(each, Placed) else each for each in found], ground
    )


def _found(session: QuerySession, check: Check, ground: Ground) -> Placed | Answered | CheckResult:
    """Find where a check looks; SQL checks are done with that.

    That no row was written is an answer already, to a check for which it is a change to 0.
    """
    if ground.adds and ground.step is None and _is_of_quiet_runs(check):
        nothing = Placed(check, Rows("", Schema()), (whole_group(ground),), is_step=True)
        return Answered(nothing, Answer({}))
    if isinstance(check.rule, SqlCheck):
        return evaluate_sql(session, check, check.rule, ground)
    match place(check, ground, session):
        case Skip(reason):
            return skipped([check], reason)[0]
        case Refusal() as refusal:
            return told_refused(check, ground, refusal)
        case Placed() as placed:
            return placed


def _is_of_quiet_runs(check: Check) -> bool:
    if not isinstance(check.rule, RowCountChange) or check.empty is not Empty.FAIL:
        return False
    return check.phase is Phase.AFTER and check.scope is CheckScope.STEP


def _answered(
    session: QuerySession, placed: Sequence[Placed], ground: Ground
) -> list[Answered | CheckResult]:
    """Take what was observed, and ask for everything else."""
    seen = [_observed(each, ground) for each in placed]
    left = [each for each, answer in zip(placed, seen, strict=True) if answer is None]
    rest = iter(asked(session, left))
    found: list[Answered | CheckResult] = []
    for each, known in zip(placed, seen, strict=True):
        answer = known or next(rest)
        if isinstance(answer, Refusal):
            found.append(told_refused(each.check, ground, answer))
        else:
            found.append(Answered(each, answer))
    return found


def _judged(
    session: QuerySession, found: Sequence[Answered | CheckResult], ground: Ground
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
            base = RowsToCompare(ground)
            values = [*judge(each.placed, each.placed.groups, each.answer.groups, base)]
            results.append(_told(session, each, values, ground))
    failed = failed_of([one for one in results if one], ground.grid, ground.partitions)
    passing = difference(ground.partitions, failed)
    judged = zip(changes, judge_changes(changes, ground, passing), strict=True)
    last = iter([_told(session, each, values, ground) for each, values in judged])
    return tuple(each or next(last) for each in results)


def _is_change(answered: Answered) -> bool:
    return isinstance(answered.placed.check.rule, RowCountChange)


def _observed(placed: Placed, ground: Ground) -> Answer | None:
    """Give what was seen of the step's rows while they were written."""
    observed = ground.observed
    if observed is None or not placed.is_step or len(placed.groups) != 1:
        return None
    seen = taken(measured(placed.check, placed.rows.columns), observed)
    return None if seen is None else Answer({placed.groups[0].key: seen})


def _told(
    session: QuerySession, answered: Answered, values: Sequence[GroupValue], ground: Ground
) -> CheckResult:
    sample, detailed = sampled(session, answered.placed, values)
    check, seconds = answered.placed.check, answered.answer.seconds
    return told(check, ground, detailed, seconds=seconds, sample=sample)
