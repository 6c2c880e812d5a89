"""What a step leaves behind when it ends: one place for finish, fail, reject and rebuild."""

from __future__ import annotations

import json

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from penstock.core.partition import write_grid
from penstock.core.records import Status
from penstock.core.step import Outcome, StepFailure, StepKind
from penstock.core.typed import TypedValue, read_typed
from penstock.state import sql_flags, sql_partitions, sql_rollback, sql_whole
from penstock.state.high_time import high_time_after
from penstock.state.partition_rules import is_whole, takes_grid
from penstock.state.sql_ending import End, Ending
from penstock.state.sql_rows import failure_cells, fingerprint_id, insert_watermark, model_id
from penstock.state.tables import models, partition_state, steps, target_state, watermarks
from penstock.state.watermarks import moves

__all__ = ["End", "write_failure", "write_success"]


def write_success(connection: Connection, end: End, outcome: Outcome) -> None:
    """Write the step, its partitions, its target, its watermarks and its history.

    A change of metadata alone (`alter`) leaves rows, inputs and status as the last build left them.
    If a gate failed the step is FAILED, and so are the partitions that failed it.
    """
    ending, failure = _ending(connection, end), end.failure
    connection.execute(
        update(steps)
        .where(steps.c.step_seq == ending.seq)
        .values(
            status=str(Status.FAILED if failure else Status.SUCCESS),
            recovered=end.recovered,
            ended=end.at,
            duration_ms=end.duration_ms,
            **_outcome_cells(outcome),
            **(failure_cells(failure) if failure else {}),
        )
    )
    _see_target(ending, outcome)
    is_ours = _take_grid(ending, succeeded=True)
    if end.intent.kind is StepKind.ROLLBACK:
        sql_rollback.undo(ending)
    changed = sql_flags.change(ending, is_ours=is_ours)
    if is_whole(end.intent):
        sql_whole.write_success(ending, outcome, is_ours=is_ours)
    else:
        sql_partitions.write_success(ending, outcome, changed, is_ours=is_ours)
    if end.settles and not end.blocked:
        _move_watermarks(ending)


def write_failure(connection: Connection, end: End, failure: StepFailure) -> None:
    """Write the step and its history; of a partition only that its last execution failed."""
    ending = _ending(connection, end)
    connection.execute(
        update(steps)
        .where(steps.c.step_seq == ending.seq)
        .values(
            status=str(Status.SKIPPED if end.skipped else Status.FAILED),
            recovered=end.recovered,
            ended=end.at,
            duration_ms=end.duration_ms,
            **failure_cells(failure),
        )
    )
    is_ours = _take_grid(ending, succeeded=False)
    part = sql_whole if is_whole(end.intent) else sql_partitions
    part.write_failure(ending, failure, is_ours=is_ours)


def _ending(connection: Connection, end: End) -> Ending:
    model = model_id(connection, end.intent.model)
    mark = fingerprint_id(connection, model, end.intent.fingerprint)
    return Ending(connection, end, model, mark)


def _outcome_cells(outcome: Outcome) -> dict[str, object]:
    rows = outcome.rows
    return {
        "table_id": outcome.table_id,
        "commit_version": outcome.version,
        "settled_version": outcome.settled_version,
        "rows_written": rows.written,
        "rows_inserted": rows.inserted,
        "rows_updated": rows.updated,
        "rows_deleted": rows.deleted,
        "rows_late": rows.late,
        "rows_null_time": rows.null_time,
        "bytes_written": outcome.bytes_written,
        "metrics": json.dumps(dict(outcome.metrics), sort_keys=True, separators=(",", ":")),
    }


def _take_grid(ending: Ending, *, succeeded: bool) -> bool:
    """Whether the records are of the step's grid, or give way to it now.

    A model of one partition that keeps its record still learns of the step.
    """
    connection, row = ending.connection, models.c.id == ending.model
    known = connection.scalar(select(models.c.grid).where(row))
    wanted = write_grid(ending.intent.grid)
    if known == wanted:
        return True
    of_model = partition_state.c.model_id == ending.model
    has_rows = bool(connection.scalar(select(exists().where(of_model))))
    settles = ending.end.settles
    if takes_grid(ending.intent, succeeded=succeeded, settles=settles, has_rows=has_rows):
        connection.execute(delete(partition_state).where(of_model))
        connection.execute(update(models).where(row).values(grid=wanted))
        return True
    if known == "*":
        sql_whole.touch(ending, fails=settles and not succeeded)
    return False


def _see_target(ending: Ending, outcome: Outcome) -> None:
    connection, end = ending.connection, ending.end
    target = str(end.intent.table)
    row = target_state.c.target == target
    known = connection.execute(select(target_state.c.high_time).where(row)).first()
    before = known.high_time if known else None
    high = high_time_after(end.intent, outcome, before, settles=end.settles)
    seen = {"table_id": outcome.table_id, "seen_version": outcome.settled_version}
    if known is None:
        connection.execute(insert(target_state).values(target=target, high_time=high, **seen))
        return
    values = {"high_time": high, **(seen if end.settles else {})}
    connection.execute(update(target_state).where(row).values(values))


def _move_watermarks(ending: Ending) -> None:
    connection, end = ending.connection, ending.end
    current = current_watermarks(connection, ending.model)
    if end.intent.kind is StepKind.ROLLBACK:
        changes = sql_rollback.watermarks_before(ending, current)
    else:
        changes = moves(end.intent, current, end.at)
    for change in changes:
        insert_watermark(connection, change)


def current_watermarks(connection: Connection, model: int) -> dict[tuple[str, str], TypedValue]:
    """Give the values that count now, by input and column."""
    newest = (
        select(func.max(watermarks.c.id))
        .where(watermarks.c.model_id == model)
        .group_by(watermarks.c.input, watermarks.c.column)
    )
    rows = connection.execute(
        select(watermarks.c.input, watermarks.c.column, watermarks.c.value).where(
            watermarks.c.id.in_(newest), watermarks.c.value.is_not(None)
        )
    )
    return {(row.input, row.column): read_typed(row.value) for row in rows}
