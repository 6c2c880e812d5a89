"""Flags and pending checks in memory, as a model's steps and events are replayed."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from penstock.core.check_results import Flag
from penstock.core.ranges import Ranges, holds, numbers
from penstock.core.records import Status
from penstock.core.step import StepKind
from penstock.state.check_rules import fails, promises, replaced
from penstock.state.memory_picture import Picture
from penstock.state.memory_tables import MemoryEvent, MemoryStep
from penstock.state.partition_rules import BUILDS
from penstock.state.verdict import Verdict, ords_of


def change(picture: Picture, step: MemoryStep, *, is_ours: bool) -> None:
    """Close the flags on rows that a step replaced or took back, then open those of its own."""
    intent, verdict = step.intent, step.verdict
    if step.ended is None:
        return
    if intent.kind is StepKind.ROLLBACK:
        first, seq = intent.restores, intent.step_seq
        picture.flags = {k: f for k, f in picture.flags.items() if not first <= k[0] < seq}
    elif intent.kind in BUILDS and is_ours and (step.settles or not step.by_time):
        _replace(picture, step)
    if promises(intent, verdict, recovered=step.recovered):
        picture.pending[intent.step_seq] = ords_of(intent)
    if verdict and not verdict.blocks and intent.step_seq not in picture.undone:
        _open(picture, step, verdict, fails(intent, verdict), step.ended)


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
    picture.flags = {key: flag for key, flag in picture.flags.items() if key not in closed}
    for seq, number in closed:
        if all(other != number for _, other in picture.flags):
            _forgive(picture, seq, number)


def _replace(picture: Picture, step: MemoryStep) -> None:
    """Drop what was known of rows that are gone; with another grid's records its flags go too."""
    gone, seq = replaced(step.intent, step.verdict), step.intent.step_seq
    grids = {each.intent.step_seq: each.intent.grid for each in picture.steps}
    same = {number for number, grid in grids.items() if grid == step.intent.grid}
    picture.flags = {
        key: flag
        for key, flag in picture.flags.items()
        if key[0] >= seq or (key[0] in same and gone.left_of(((key[1], key[1]),)))
    }
    left = {
        number: ords if number >= seq else gone.left_of(ords) if number in same else ()
        for number, ords in picture.pending.items()
    }
    picture.pending = {number: ords for number, ords in left.items() if ords}


def _open(
    picture: Picture, step: MemoryStep, verdict: Verdict, failed: Ranges, at: dt.datetime
) -> None:
    intent = step.intent
    for number in numbers(failed):
        picture.flagged.add((intent.step_seq, number))
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
