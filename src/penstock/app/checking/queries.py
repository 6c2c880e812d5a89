"""Asking Spark what checks measure: one query for all that look at the same rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.app.checking.inputs import CheckedRows, CheckInputs
from penstock.app.checking.placing import Placed
from penstock.app.checking.results import is_of_the_job, reason_of, refused
from penstock.core.check_results import (
    WHOLE_GROUP,
    CheckResult,
    CheckStatus,
    GroupValue,
    Sample,
)
from penstock.core.checks import AcceptedValues
from penstock.core.errors import DataError, QueryError
from penstock.core.ports.engine import QuerySession
from penstock.core.statement import Row
from penstock.strategies.checks.measure import Values
from penstock.strategies.checks.phase import (
    GROUP,
    aggregates_of,
    one_group_query,
    phase_query,
    renamed,
)
from penstock.strategies.checks.samples import (
    ASKED,
    both_query,
    sample_of,
    sample_query,
    shown_columns,
    values_query,
)
from penstock.strategies.checks.typed import columns_of, measured
from penstock.strategies.checks.types.sql_check import united
from penstock.strategies.checks.written import CELL, DETAILS, shortened

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
