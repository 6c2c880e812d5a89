"""Flags on rows that failed a gate, and checks that are pending: opened and closed with steps."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, bindparam, exists, insert, select, update

from penstock.core.partition import write_grid
from penstock.core.ranges import Ranges, numbers
from penstock.core.records import Status
from penstock.core.step import StepKind
from penstock.state.check_rules import promises, replaced
from penstock.state.partition_rules import BUILDS
from penstock.state.sql_ending import Ending
from penstock.state.tables import flags, partition_state, steps
from penstock.state.verdict import ords_of, read_numbers, write_numbers

Key = tuple[int, int]
"""A flag: the number of its step and that of its partition."""


@dataclass(frozen=True, slots=True)
class Closing:
    """When flags were closed, why and by whom."""

    at: dt.datetime
    why: str
    who: str


def change(ending: Ending, *, is_ours: bool) -> None:
    """Close the flags on rows that a step replaced or took back, then open those of its own."""
    end, intent = ending.end, ending.intent
    closing = Closing(end.at, intent.step, end.executed_by)
    if intent.kind is StepKind.ROLLBACK:
        close(ending.connection, _taken_back(ending), closing)
    elif intent.kind in BUILDS and is_ours and (end.settles or not end.by_time):
        close(ending.connection, _replaced(ending), closing)
        _lessen_pending(ending)
    if promises(intent, end.verdict, recovered=end.recovered):
        _set_pending(ending.connection, ending.seq, ords_of(intent))
    if not end.blocked and not end.undone:
        open_flags(ending, ending.failing)


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


def _taken_back(ending: Ending) -> list[Key]:
    query = select(flags.c.step_seq, flags.c.ord).where(
        *_open_of(ending), flags.c.step_seq >= ending.intent.restores
    )
    return [(step_seq, number) for step_seq, number in ending.connection.execute(query)]


def _replaced(ending: Ending) -> list[Key]:
    """Give the flags on rows that are gone; with the records of another grid its flags go too."""
    gone = replaced(ending.intent, ending.end.verdict)
    query = (
        select(flags.c.step_seq, flags.c.ord, steps.c.grid)
        .join(steps, steps.c.step_seq == flags.c.step_seq)
        .where(*_open_of(ending))
    )
    return [
        (step_seq, number)
        for step_seq, number, grid in ending.connection.execute(query)
        if grid != write_grid(ending.intent.grid) or not gone.left_of(((number, number),))
    ]


def _open_of(ending: Ending) -> tuple[ColumnElement[bool], ...]:
    older = flags.c.step_seq < ending.seq
    return flags.c.closed.is_(None), flags.c.model_id == ending.model, older


def _lessen_pending(ending: Ending) -> None:
    gone = replaced(ending.intent, ending.end.verdict)
    query = select(steps.c.step_seq, steps.c.grid, steps.c.pending).where(
        steps.c.model_id == ending.model, is_pending()
    )
    older = [row for row in ending.connection.execute(query) if row.step_seq < ending.seq]
    for row in older:
        same = row.grid == write_grid(ending.intent.grid)
        left = gone.left_of(read_numbers(row.pending)) if same else ()
        _set_pending(ending.connection, row.step_seq, left)


def _set_pending(connection: Connection, step_seq: int, left: Ranges) -> None:
    values = {"pending": write_numbers(left) if left else None}
    connection.execute(update(steps).where(steps.c.step_seq == step_seq).values(values))
