"""Flags and pending checks in memory, as a model's steps and events are replayed."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from penstock.core.check_results import Flag
from penstock.core.ranges import Ranges, holds, numbers
from penstock.core.records import Status
from penstock.state.check_rules import fails
from penstock.state.flag_rules import EndedStep, FlagChange, KnownFlag, Pending, flag_change
from penstock.state.memory_picture import Picture
from penstock.state.memory_tables import MemoryEvent, MemoryStep
from penstock.state.verdict import RecordedChecks


def change(picture: Picture, step: MemoryStep, *, is_ours: bool) -> FlagChange:
    """Do what the end of a step means for flags and pending checks, and give it."""
    intent, checks = step.intent, step.verdict
    if step.ended is None:
        return FlagChange()
    ended = EndedStep(
        intent=intent,
        checks=checks,
        replaces=is_ours and (step.settles or not step.by_time),
        recovered=step.recovered,
        undone=intent.step_seq in picture.undone,
    )
    grids = {each.intent.step_seq: each.intent.grid for each in picture.steps}
    known = [KnownFlag(key, grids[key[0]]) for key in picture.flags]
    known += [KnownFlag(key, grids[key[0]], by) for key, (_, by) in picture.closed.items()]
    pending = [Pending(seq, grids[seq], ords) for seq, ords in picture.pending.items()]
    found = flag_change(ended, known, pending)
    for key in found.closes:
        picture.closed[key] = picture.flags.pop(key), intent.step_seq
    for key in found.reopens:
        picture.flags[key] = picture.closed.pop(key)[0]
    every = {**picture.pending, **found.pending}
    picture.pending = {seq: left for seq, left in every.items() if left}
    if checks is not None:
        _open(picture, step, checks, found.opens, step.ended)
    return found


def settle(picture: Picture, step: MemoryStep, event: MemoryEvent) -> None:
    """Make a step what its checks say after it ended."""
    verdict = step.settled
    picture.pending.pop(step.intent.step_seq, None)
    if verdict is None or verdict.failure is None:
        return
    told = [
        past
        for past in picture.past
        if past.step.intent.step == step.intent.step and holds(verdict.failed, past.ord)
    ]
    late = replace(step, ended=event.at)
    for past in sorted(told, key=lambda each: each.ord):
        execution = past.execution
        written = execution.rows_written, execution.bytes_written
        picture.tell(late, past.ord, written, execution.partition, failure=verdict.failure)
    _fail_records(picture, step, fails(step.intent, verdict))
    _open(picture, step, verdict, verdict.failed, event.at)


def close(picture: Picture, event: MemoryEvent) -> None:
    """Close flags; partitions that failed only by them are SUCCESS again."""
    closed = [key for key in event.closes if key in picture.flags]
    for key in closed:
        picture.closed[key] = picture.flags.pop(key), 0
    for seq, number in closed:
        if all(other != number for _, other in picture.flags):
            _forgive(picture, seq, number)


def _open(
    picture: Picture, step: MemoryStep, verdict: RecordedChecks, failed: Ranges, at: dt.datetime
) -> None:
    intent = step.intent
    for number in numbers(failed):
        picture.flags[intent.step_seq, number] = Flag(
            step=intent.step,
            step_seq=intent.step_seq,
            model=intent.model,
            ord=number,
            partition=intent.grid.key(number),
            checks=verdict.gates_of(number),
            opened=at,
            version=verdict.version,
        )


def _fail_records(picture: Picture, step: MemoryStep, failing: Ranges) -> None:
    seq = step.intent.step_seq
    if picture.whole is not None and picture.whole.step_seq == seq and holds(failing, 0):
        picture.whole = replace(picture.whole, status=Status.FAILED)
    for number, row in picture.rows.items():
        if row.step_seq == seq and holds(failing, number):
            picture.rows[number] = replace(row, status=Status.FAILED)


def _forgive(picture: Picture, seq: int, number: int) -> None:
    row = picture.whole if number == 0 and picture.whole else picture.rows.get(number)
    if row is None or not row.step_seq == row.last_step_seq == seq:
        return
    if picture.whole is not None and number == 0:
        picture.whole = replace(picture.whole, status=Status.SUCCESS)
    elif number in picture.rows:
        picture.rows[number] = replace(picture.rows[number], status=Status.SUCCESS)
