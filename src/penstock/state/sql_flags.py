"""Flags on rows that failed a gate, and checks that are pending: opened and closed with steps."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, bindparam, exists, insert, or_, select, update

from penstock.core.partition import read_grid
from penstock.core.ranges import Ranges, numbers
from penstock.core.records import Status
from penstock.core.step import StepKind
from penstock.state.flag_rules import EndedStep, FlagChange, Key, KnownFlag, Pending, flag_change
from penstock.state.sql_ending import Ending
from penstock.state.tables import flags, partition_state, steps
from penstock.state.verdict import read_numbers, write_numbers


@dataclass(frozen=True, slots=True)
class Closing:
    """When flags were closed, why and by whom."""

    at: dt.datetime
    why: str
    who: str


def change(ending: Ending, *, is_ours: bool) -> FlagChange:
    """Do what the end of a step means for flags and pending checks, and give it."""
    end, connection = ending.end, ending.connection
    ended = EndedStep(
        intent=end.intent,
        checks=end.verdict,
        replaces=is_ours and (end.settles or not end.by_time),
        recovered=end.recovered,
        undone=end.undone,
    )
    found = flag_change(ended, _known(ending), _pending(ending))
    close(connection, found.closes, Closing(end.at, end.intent.step, end.executed_by))
    _reopen(connection, found.reopens)
    for step_seq, left in found.pending.items():
        _set_pending(connection, step_seq, left)
    open_flags(ending, found.opens)
    return found


def is_pending() -> ColumnElement[bool]:
    """Say which steps have pending checks, in a way for which SQLite takes the index."""
    return steps.c.pending > ""


def open_flags(ending: Ending, failed: Ranges) -> None:
    """Open a flag for each partition that failed."""
    verdict = ending.end.verdict
    if verdict is None or not failed:
        return
    rows = [
        {
            "step_seq": ending.seq,
            "ord": number,
            "model_id": ending.model,
            "partition": ending.intent.grid.key(number),
            "checks": json.dumps(verdict.gates_of(number), ensure_ascii=False),
            "version": verdict.version,
            "opened": ending.end.at,
        }
        for number in numbers(failed)
    ]
    ending.connection.execute(insert(flags), rows)


def close(connection: Connection, keys: Iterable[Key], closing: Closing) -> None:
    """Close flags; those that are closed stay as they are."""
    rows = [{"of_step": step_seq, "of_ord": number} for step_seq, number in keys]
    if rows:
        statement = (
            update(flags)
            .where(flags.c.step_seq == bindparam("of_step"), flags.c.ord == bindparam("of_ord"))
            .where(flags.c.closed.is_(None))
            .values(closed=closing.at, why=closing.why, who=closing.who)
        )
        connection.execute(statement, rows)


def forgive(connection: Connection, keys: Sequence[Key]) -> None:
    """Write that partitions are SUCCESS again if nothing but these flags made them fail.

    That holds where the step of the flag was the last one to touch them.
    """
    state, others = partition_state.c, flags.alias("others")
    model = select(steps.c.model_id).where(steps.c.step_seq == bindparam("of_step"))
    still = exists().where(
        others.c.closed.is_(None), others.c.model_id == state.model_id, others.c.ord == state.ord
    )
    statement = (
        update(partition_state)
        .where(
            state.model_id == model.scalar_subquery(),
            state.ord == bindparam("of_ord"),
            state.status == str(Status.FAILED),
            state.step_seq == bindparam("of_step"),
            state.last_step_seq == bindparam("of_step"),
            ~still,
        )
        .values(status=str(Status.SUCCESS))
    )
    rows = [{"of_step": step_seq, "of_ord": number} for step_seq, number in keys]
    if rows:
        connection.execute(statement, rows)


def _known(ending: Ending) -> list[KnownFlag]:
    """Give the open flags of a model; before a rollback also those that steps had closed."""
    closer = steps.alias("closer")
    is_open = flags.c.closed.is_(None)
    goes_back = ending.intent.kind is StepKind.ROLLBACK
    query = (
        select(flags.c.step_seq, flags.c.ord, steps.c.grid, closer.c.step_seq.label("closed_by"))
        .join(steps, steps.c.step_seq == flags.c.step_seq)
        .outerjoin(closer, (closer.c.id == flags.c.why) & ~is_open)
        .where(flags.c.model_id == ending.model)
        .where(or_(is_open, closer.c.step_seq.is_not(None)) if goes_back else is_open)
    )
    return [
        KnownFlag((step_seq, number), read_grid(grid), closed_by)
        for step_seq, number, grid, closed_by in ending.connection.execute(query)
    ]


def _pending(ending: Ending) -> list[Pending]:
    query = select(steps.c.step_seq, steps.c.grid, steps.c.pending).where(
        steps.c.model_id == ending.model, is_pending()
    )
    return [
        Pending(step_seq, read_grid(grid), read_numbers(left))
        for step_seq, grid, left in ending.connection.execute(query)
    ]


def _reopen(connection: Connection, keys: Iterable[Key]) -> None:
    rows = [{"of_step": step_seq, "of_ord": number} for step_seq, number in keys]
    if rows:
        statement = (
            update(flags)
            .where(flags.c.step_seq == bindparam("of_step"), flags.c.ord == bindparam("of_ord"))
            .values(closed=None, why="", who="")
        )
        connection.execute(statement, rows)


def _set_pending(connection: Connection, step_seq: int, left: Ranges) -> None:
    values = {"pending": write_numbers(left) if left else None}
    connection.execute(update(steps).where(steps.c.step_seq == step_seq).values(values))
