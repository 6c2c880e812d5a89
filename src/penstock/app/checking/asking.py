"""Asking Spark what checks measure: one query for all that look at the same rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.app.checking.ground import Rows
from penstock.app.checking.placing import Placed
from penstock.app.checking.refusing import Refusal, is_of_the_job
from penstock.core.check_results import WHOLE_GROUP
from penstock.core.engine_ports import QuerySession
from penstock.core.errors import DataError, QueryError
from penstock.core.statement import Row
from penstock.strategies.checks.measured import Measured, Values
from penstock.strategies.checks.phase import (
    GROUP,
    aggregates_of,
    one_group_query,
    phase_query,
    renamed,
)
from penstock.strategies.checks.sql_check import united
from penstock.strategies.checks.typed import measured

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


def means_of(placed: Placed) -> Measured:
    """Give what a check measures of its rows; of those of its first group, if they differ."""
    check = placed.by_group[0].check if placed.by_group else placed.check
    return measured(check, placed.rows.columns)


def asked(session: QuerySession, placed: Sequence[Placed]) -> list[Answer | Refusal]:
    """Give the answers to all checks, in their order.

    Checks over the same rows share a query. Of those that Spark refuses to analyse, or that fail,
    each is tried alone, so that the others have their values.
    """
    found: dict[int, Answer | Refusal] = {}
    together: dict[Rows, list[int]] = {}
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
    session: QuerySession, rows: Rows, placed: Sequence[Placed]
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
    session: QuerySession, rows: Rows, placed: Sequence[Placed]
) -> Mapping[int, Refusal]:
    """Find the checks that Spark does not understand: all at once, and only then one by one."""
    if _refusal(session, rows, placed) is None:
        return {}
    each = {place: _refusal(session, rows, [one]) for place, one in enumerate(placed)}
    return {place: refusal for place, refusal in each.items() if refusal is not None}


def _refusal(session: QuerySession, rows: Rows, placed: Sequence[Placed]) -> Refusal | None:
    try:
        session.describe(_query(rows, placed))
    except (QueryError, DataError) as error:
        return Refusal.of(error, placed[0].check)
    return None


def _query(rows: Rows, placed: Sequence[Placed]) -> str:
    return phase_query(rows.sql, rows.key, aggregates_of([means_of(each) for each in placed]))


def _shared(session: QuerySession, rows: Rows, placed: Sequence[Placed]) -> Answer | Refusal:
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
