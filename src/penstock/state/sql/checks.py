"""Read check results, open flags, and pending checks."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CTE, ColumnElement, Connection, Select, and_, exists, func, or_, select

from penstock.core.check_results import (
    WHOLE_GROUP,
    Checked,
    CheckRecord,
    Flag,
    Quarantine,
    RowsBefore,
    Unsettled,
    ValuesBefore,
)
from penstock.core.checks.check import OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue, Values
from penstock.core.errors import UsageError
from penstock.core.findings import Severity
from penstock.core.partitions.partition import Grid
from penstock.core.partitions.ranges import Ranges
from penstock.core.records import Status
from penstock.state.schema import (
    check_results,
    execution_history,
    flags,
    models,
    quarantines,
    steps,
)
from penstock.state.sql.database import Database, batched
from penstock.state.sql.load import is_pending, with_names
from penstock.state.sql.rows import Found, cells_of, check_record_of, quarantine_of, step_of
from penstock.state.transitions.model_state import BUILDS

HISTORY = execution_history.c
STEP = steps.c
_LAST = 2**62
"""A number after that of every step."""
_FLAG = ("step", "step_seq", "model", "ord", "partition", "checks", "opened", "version")


class SqlChecks:
    """Reads records of checks; the cost does not depend on the length of the history."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unsettled(self) -> tuple[Unsettled, ...]:
        """Return steps with pending checks or a due rollback, oldest first."""
        flagged = select(flags.c.step_seq).where(flags.c.closed.is_(None))
        counts = steps.c.undone_by.is_(None)
        pending = select(steps).where(is_pending(), counts)
        failed = select(steps).where(
            steps.c.step_seq.in_(flagged), steps.c.commit_version.is_not(None), counts
        )
        with self._database.read() as connection:
            found = [Unsettled(step_of(row).record) for row in connection.execute(pending)]
            for step in map(step_of, connection.execute(failed)):
                verdict = step.verdict
                if verdict is not None and verdict.mode is OnFailure.ROLLBACK:
                    known = cells_of(verdict, ("mode", "version", "failure", "failed"))
                    found.append(Unsettled(step.record, Checked(**known)))
        return tuple(sorted(found, key=lambda each: each.step.intent.step_seq))

    def flags(self) -> tuple[Flag, ...]:
        """Return the open flags, by model, step and partition."""
        query = with_names(flags).where(flags.c.closed.is_(None))
        with self._database.read() as connection:
            found = [Flag(**cells_of(row, _FLAG)) for row in connection.execute(query)]
        return tuple(sorted(found, key=lambda each: (each.model, each.step_seq, each.ord)))

    def quarantines(self) -> tuple[Quarantine, ...]:
        """Return the existing quarantines, oldest first."""
        query = with_names(quarantines).where(quarantines.c.dropped.is_(None))
        query = query.order_by(quarantines.c.step_seq)
        with self._database.read() as connection:
            return tuple(quarantine_of(row) for row in connection.execute(query))

    def known_steps(self, steps: Collection[str]) -> frozenset[str]:
        """Return which of the steps began in this store."""
        found: set[str] = set()
        with self._database.read() as connection:
            for part in batched(sorted(steps)):
                found |= set(connection.scalars(select(STEP.id).where(STEP.id.in_(part))))
        return frozenset(found)

    def evaluated(self) -> Mapping[str, frozenset[str]]:
        """Return the definitions of all checks that have results, by model."""
        found: dict[str, set[str]] = defaultdict(set)
        with self._database.read() as connection:
            for model, definition in connection.execute(_EVALUATED):
                found[model].add(definition)
        return {model: frozenset(found[model]) for model in sorted(found)}

    def checks_of(
        self, model: str, name: str | None = None, limit: int | None = None
    ) -> tuple[CheckRecord, ...]:
        """Return the history of a model's checks, newest first.

        Results that were recorded together keep their order. `limit` counts rows: a failed check
        has one row per group.
        """
        which = [] if name is None else [check_results.c.name == name]
        query = (
            with_names(check_results)
            .where(models.c.name == model, *which)
            .order_by(check_results.c.batch.desc(), check_results.c.number)
            .limit(limit)
        )
        with self._database.read() as connection:
            return tuple(check_record_of(row) for row in connection.execute(query))

    def newest_of(self, limits: Mapping[str, int]) -> Mapping[str, tuple[CheckRecord, ...]]:
        """See `CheckRecords.newest_of`: one query for hundreds of models."""
        found: dict[str, list[CheckRecord]] = defaultdict(list)
        order = (check_results.c.batch.desc(), check_results.c.number)
        with self._database.read() as connection:
            for part in batched([*limits]):
                query = with_names(check_results).where(
                    models.c.name.in_(part), _is_among_newest(max(limits[name] for name in part))
                )
                for row in connection.execute(query.order_by(models.c.name, *order)):
                    found[row.model].append(check_record_of(row))
        return {name: tuple(rows[: limits[name]]) for name, rows in found.items()}

    def steps_that_skipped(self, model: str, why: str) -> frozenset[str]:
        """Return the steps of a model whose checks were skipped for this reason."""
        result = check_results.c
        query = (
            select(steps.c.id)
            .join(check_results, result.step_seq == steps.c.step_seq)
            .join(models, models.c.id == result.model_id)
            .where(
                models.c.name == model,
                result.status == CheckStatus.SKIPPED,
                result.message == why,
            )
        )
        with self._database.read() as connection:
            return frozenset(connection.scalars(query))

    def rows_before(
        self,
        model: str,
        partitions: Ranges,
        last: int,
        step_seq: int,
        *,
        with_rows: bool = False,
    ) -> RowsBefore:
        """Return row counts of successes before a step: of its partitions and `last` before them.

        All partitions in between are included. Executions that were rolled back, failed a gate, or
        wrote an unknown number of rows do not count.
        """
        with self._database.read() as connection:
            grid = _grid(connection, model, step_seq)
            done = _successes(model, grid, step_seq, HISTORY.rows_written >= int(with_rows))
            if grid.is_whole:
                newest = select(done.c.rows_written).order_by(done.c.step_seq.desc())
                found = connection.scalars(newest.limit(max(last, 1)))
                return RowsBefore(recent=tuple(rows or 0 for rows in found))
            if not partitions:
                return RowsBefore()
            rows = connection.execute(_newest(done, partitions, last))
            return RowsBefore({row.ord: row.rows_written for row in rows})

    def values_before(self, model: str, check: str, step_seq: int, limit: int) -> ValuesBefore:
        """See `CheckRecords.values_before`."""
        result = check_results.c
        query = (
            select(check_results)
            .join(models, models.c.id == result.model_id)
            .where(
                models.c.name == model,
                result.name == check,
                result.phase == Phase.AFTER,
            )
            .order_by(result.batch.desc(), result.number)
            .limit(limit)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).all()
            numbers = [row.step_seq for row in rows if row.step_seq is not None]
            grid, successes = _grid(connection, model, step_seq), set[tuple[int, int]]()
            if numbers:
                since = HISTORY.step_seq >= min(numbers)
                done = _successes(model, grid, _LAST, since, accepted=True)
                pairs = connection.execute(select(done.c.step_seq, done.c.ord))
                successes = {(seq, place) for seq, place in pairs}
        return _values_of(map(_recorded, rows), successes, grid, step_seq)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """One record of a check: its step, None for `penstock check`, and its values."""

    step_seq: int | None
    version: int | None
    started: dt.datetime
    is_gate: bool
    values: tuple[GroupValue, ...]


def _recorded(row: Found) -> _Recorded:
    cells = cells_of(row, ("step_seq", "version", "started", "severity", "values"))
    is_gate = cells.pop("severity") is Severity.ERROR
    return _Recorded(is_gate=is_gate, **cells)


def _values_of(
    rows: Iterable[_Recorded], successes: Collection[tuple[int, int]], grid: Grid, step_seq: int
) -> ValuesBefore:
    """Return the values that count, of records newest first."""
    steps = {seq for seq, _ in successes if seq < step_seq}
    by_partition: dict[int, Values] = {}
    recent: list[tuple[dt.datetime, Values]] = []
    for row in rows:
        for value in row.values:
            if value.group == WHOLE_GROUP:
                is_view = row.step_seq is None and row.version is None
                if is_view or row.step_seq in steps:
                    recent.append((row.started, value.values))
                continue
            try:
                place = grid.parse(value.group)
            except UsageError:  # of partitions that are no longer those of the model
                continue
            fails = row.is_gate and value.status is CheckStatus.FAILED
            counts = (row.step_seq, place) in successes if row.step_seq is not None else not fails
            if counts:
                by_partition.setdefault(place, value.values)
    return ValuesBefore(by_partition, tuple(recent))


def _is_among_newest(limit: int) -> ColumnElement[bool]:
    """Return the condition of a model's newest rows; an index ends the search at the limit."""
    newest = check_results.alias()
    first = select(newest.c.batch).where(newest.c.model_id == models.c.id).correlate(models)
    first = first.order_by(newest.c.batch.desc()).limit(1).offset(limit - 1)
    return check_results.c.batch >= func.coalesce(first.scalar_subquery(), 0)


def _grid(connection: Connection, model: str, step_seq: int) -> Grid:
    """Return the grid of the model's step, or that of its records."""
    of_step = (
        select(steps.c.grid)
        .where(steps.c.step_seq == step_seq, steps.c.model_id == models.c.id)
        .scalar_subquery()
    )
    query = select(func.coalesce(of_step, models.c.grid)).where(models.c.name == model)
    return connection.scalar(query) or Grid()


def _successes(
    model: str, grid: Grid, step_seq: int, *which: ColumnElement[bool], accepted: bool = False
) -> CTE:
    """Return a query for rows of the history that no check and no rollback revoked later.

    With `accepted`, rows count too whose flag a user closed, and not a step.
    """
    of_row = exists().where(flags.c.step_seq == HISTORY.step_seq, flags.c.ord == HISTORY.ord)
    counts = and_(HISTORY.status == Status.SUCCESS, ~of_row)
    if accepted:
        by_step = exists().where(steps.c.id == flags.c.why).correlate(flags)
        counts = or_(counts, of_row.where(flags.c.closed.is_not(None), ~by_step))
    return (
        select(HISTORY.ord, HISTORY.step_seq, HISTORY.rows_written)
        .join(models, models.c.id == HISTORY.model_id)
        .join(steps, steps.c.step_seq == HISTORY.step_seq)
        .where(
            models.c.name == model,
            HISTORY.step_seq < step_seq,
            counts,
            steps.c.undone_by.is_(None),
            steps.c.kind.in_(BUILDS),
            steps.c.grid == grid,
            *which,
        )
        .cte("done")
    )


def _newest(rows: CTE, partitions: Ranges, last: int) -> Select[Any]:
    """Return a query for the newest row of each partition, starting `last` below the lowest."""
    low, high = partitions[0][0], partitions[-1][1]
    below = (
        select(rows.c.ord)
        .where(rows.c.ord < low)
        .group_by(rows.c.ord)
        .order_by(rows.c.ord.desc())
        .limit(last)
        .subquery()
    )
    first = select(func.coalesce(func.min(below.c.ord), low)).scalar_subquery()
    place = func.row_number().over(partition_by=rows.c.ord, order_by=rows.c.step_seq.desc())
    each = (
        select(rows.c.ord, rows.c.rows_written, place.label("place"))
        .where(rows.c.ord >= first, rows.c.ord <= high)
        .subquery()
    )
    return select(each.c.ord, each.c.rows_written).where(each.c.place == 1).order_by(each.c.ord)


def _evaluated() -> Select[Any]:
    """Return a query that skips from one definition to the next in the index."""

    def next_of(model: ColumnElement[int], *after: ColumnElement[bool]) -> ColumnElement[str]:
        result = check_results.c
        evaluated = result.status != CheckStatus.SKIPPED
        query = select(func.min(result.definition)).where(result.model_id == model, evaluated)
        return query.where(*after).scalar_subquery()

    first = select(models.c.id, next_of(models.c.id).label("definition"))
    found = first.cte("found", recursive=True)
    later = check_results.c.definition > found.c.definition
    found = found.union_all(
        select(found.c.id, next_of(found.c.id, later)).where(found.c.definition.is_not(None))
    )
    return (
        select(models.c.name, found.c.definition)
        .join(models, models.c.id == found.c.id)
        .where(found.c.definition.is_not(None))
    )


_EVALUATED = _evaluated()
