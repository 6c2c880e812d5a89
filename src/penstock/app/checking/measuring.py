"""Asking Spark what checks measure: one query for all that look at the same rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.app.checking.inputs import CheckedRows, Refusal, is_of_the_job
from penstock.app.checking.placing import Placed
from penstock.core.check_results import WHOLE_GROUP, CheckStatus, GroupValue, Sample
from penstock.core.checks import AcceptedValues, Check
from penstock.core.engine_ports import QuerySession
from penstock.core.errors import DataError, QueryError
from penstock.core.statement import Row
from penstock.strategies.checks.measured import Measure, Values
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
from penstock.strategies.checks.sql_check import united
from penstock.strategies.checks.typed import measured
from penstock.strategies.checks.written import CELL, DETAILS, shortened

AT_ONCE = 50
"""How many groups one statement asks where each has SQL of its own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was measured, by group and then by the names of a phase query; groups without rows lack.

    `seconds` is how long it took; checks that share a query share it.
    """

    groups: Mapping[str, Values]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """A check that is placed, with what was measured for it."""

    placed: Placed
    answer: Answer


def means_of(placed: Placed) -> Measure:
    """Give what a check measures of its rows; of those of its first group, if they differ."""
    check = placed.by_group[0].check if placed.by_group else placed.check
    return measured(check, placed.rows.columns)


def asked(session: QuerySession, placed: Sequence[Placed]) -> list[Answer | Refusal]:
    """Give the answers to all checks, in their order.

    Checks over the same rows share a query. Of those that Spark refuses to analyse, or that fail,
    each is tried alone, so that the others have their values.
    """
    found: dict[int, Answer | Refusal] = {}
    together: dict[CheckedRows, list[int]] = {}
    for place, each in enumerate(placed):
        if each.by_group:
            found[place] = _by_group(session, each)
        else:
            together.setdefault(each.rows, []).append(place)
    for rows, places in together.items():
        answers = _together(session, rows, [placed[place] for place in places])
        found |= dict(zip(places, answers, strict=True))
    return [found[place] for place in range(len(placed))]


def fetched(session: QuerySession, sql: str) -> tuple[Row, ...] | QueryError | DataError:
    """Run a query; an error of the query is given back, one of the job is raised."""
    try:
        return session.rows(sql)
    except (QueryError, DataError) as error:
        if is_of_the_job(error):
            raise
        return error


def _together(
    session: QuerySession, rows: CheckedRows, placed: Sequence[Placed]
) -> list[Answer | Refusal]:
    refusals = _described(session, rows, placed)
    left = [place for place in range(len(placed)) if place not in refusals]
    found: dict[int, Answer | Refusal] = {**refusals}
    if left:
        answer = _shared(session, rows, [placed[place] for place in left])
        is_final = isinstance(answer, Answer) or len(left) == 1
        for place in left:
            found[place] = answer if is_final else _shared(session, rows, [placed[place]])
    return [found[place] for place in range(len(placed))]


def _described(
    session: QuerySession, rows: CheckedRows, placed: Sequence[Placed]
) -> Mapping[int, Refusal]:
    """Find the checks that Spark does not understand: all at once, and only then one by one."""
    if _refusal(session, rows, placed) is None:
        return {}
    each = {place: _refusal(session, rows, [one]) for place, one in enumerate(placed)}
    return {place: refusal for place, refusal in each.items() if refusal is not None}


def _refusal(session: QuerySession, rows: CheckedRows, placed: Sequence[Placed]) -> Refusal | None:
    try:
        session.describe(_query(rows, placed))
    except (QueryError, DataError) as error:
        return Refusal.of(error, placed[0].check)
    return None


def _query(rows: CheckedRows, placed: Sequence[Placed]) -> str:
    return phase_query(rows.sql, rows.key, aggregates_of([means_of(each) for each in placed]))


def _shared(session: QuerySession, rows: CheckedRows, placed: Sequence[Placed]) -> Answer | Refusal:
    started = time.monotonic()
    found = fetched(session, _query(rows, placed))
    if not isinstance(found, tuple):
        return Refusal.of(found, placed[0].check, ran=True)
    groups = {_group(row): _texts(row) for row in found}
    return Answer(groups, _since(started))


def _by_group(session: QuerySession, placed: Placed) -> Answer | Refusal:
    """Ask for groups that have SQL of their own, some by one statement."""
    started, groups = time.monotonic(), dict[str, Values]()
    parts = [(each, measured(each.check, placed.rows.columns)) for each in placed.by_group]
    queries = [one_group_query(each.sql, each.group.key, means) for each, means in parts]
    try:
        session.describe(queries[0])
    except (QueryError, DataError) as error:
        return Refusal.of(error, placed.check)
    for first in range(0, len(queries), AT_ONCE):
        found = fetched(session, united(queries[first : first + AT_ONCE]))
        if not isinstance(found, tuple):
            return Refusal.of(found, placed.check, ran=True)
        groups |= {_group(row): _texts(row) for row in found}
    known = {
        each.group.key: renamed(groups[each.group.key], means)
        for each, means in parts
        if each.group.key in groups
    }
    return Answer(known, _since(started))


def _group(row: Row) -> str:
    return str(row.get(GROUP, WHOLE_GROUP))


def _texts(row: Row) -> Values:
    return {name: None if value is None else str(value) for name, value in row.items()}


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


_TOLD = 50
"""Of so many groups that failed, the values that are not accepted are asked for."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Where the rows of a sample are: a check with the SQL that it has there."""

    check: Check
    sql: str
    key: str
    groups: tuple[str, ...]


def sampled(
    session: QuerySession, placed: Placed, values: Sequence[GroupValue]
) -> tuple[Sample | None, tuple[GroupValue, ...]]:
    """Give rows of a failed check that counts rows, and its groups with what the rows say."""
    failed = [value for value in values if value.status is CheckStatus.FAILED and value.failures]
    if not failed or not placed.check.sample:
        return None, tuple(values)
    look = _look(placed, failed)
    means = measured(look.check, placed.rows.columns)
    if not means.breaks:
        return None, tuple(values)
    columns = shown_columns(placed.rows.columns, means.columns)
    where = look.check.condition.text if look.check.condition else ""
    first = _first(look, failed)
    sql = sample_query(look.sql, look.key, first, means, where, columns)
    if isinstance(look.check.rule, AcceptedValues):
        sql = both_query(_of_values(look, means, where, placed), sql, len(columns.columns))
    found = fetched(session, sql)
    if not isinstance(found, tuple):
        return None, tuple(values)
    rows = [row for row in found if not row.get("n")]
    return sample_of(rows, columns), _detailed(values, [row for row in found if row.get("n")])


def _look(placed: Placed, failed: Sequence[GroupValue]) -> _Look:
    """Look at all groups that failed, or at the first where groups have SQL of their own."""
    if not placed.by_group:
        rows = placed.rows
        groups = tuple(value.group for value in failed)
        return _Look(placed.check, rows.sql, rows.key, groups if rows.key else ())
    first = next(each for each in placed.by_group if each.group.key == failed[0].group)
    return _Look(first.check, first.sql, "", ())


def _first(look: _Look, failed: Sequence[GroupValue]) -> tuple[str, ...]:
    """Give the lowest groups that have enough rows."""
    found, rows = [], 0
    for value in failed:
        if rows >= ASKED or not look.groups:
            break
        found.append(value.group)
        rows += value.failures or 0
    return tuple(found)


def _of_values(look: _Look, means: Measure, where: str, placed: Placed) -> str:
    column = placed.rows.columns.find(means.columns[0])
    assert column is not None  # noqa: S101  the check was measured of it
    return values_query(look.sql, look.key, look.groups[:_TOLD], means, where, column)


def _detailed(values: Sequence[GroupValue], counts: Sequence[Row]) -> tuple[GroupValue, ...]:
    """Tell the values that are not accepted, the most frequent ones first."""
    told: dict[str, list[str]] = {}
    for row in sorted(counts, key=lambda row: int(row["place"] or 0)):
        shown = shortened(str(row["value"]), CELL)
        told.setdefault(str(row[GROUP]), []).append(f"{shown} ({row['n']})")
    return tuple(
        replace(value, details=shortened(", ".join(told[value.group]), DETAILS))
        if value.group in told
        else value
        for value in values
    )
