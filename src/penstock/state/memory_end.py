"""A step that ends in memory, and what its success moves."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from penstock.core.records import WatermarkChange
from penstock.core.step import StepKind
from penstock.state.memory_replay import pictures
from penstock.state.memory_tables import MemoryStep, MemoryTables
from penstock.state.watermarks import moves, returns


def end(tables: MemoryTables, step: MemoryStep) -> None:
    """Write a step that ended, and the watermarks that it moves."""
    step = replace(step, ended_as=tables.ended)
    tables.steps[step.intent.step] = step
    if step.outcome is None or step.ended is None:
        return
    if step.settles and not (step.verdict and step.verdict.blocks):
        tables.watermarks += _moves(tables, step, step.ended)


def _moves(tables: MemoryTables, step: MemoryStep, at: dt.datetime) -> tuple[WatermarkChange, ...]:
    current = tables.current_watermarks(step.intent.model)
    if step.intent.kind is not StepKind.ROLLBACK:
        return moves(step.intent, current, at)
    first, undone = step.intent.restores, pictures(tables)[step.intent.model].undone
    numbers = {each.intent.step: each.intent.step_seq for each in tables.steps.values()}
    began = {each.intent.step_seq: each.started for each in tables.steps.values()}.get(first)
    before = {}
    for change in tables.watermarks:
        number = numbers.get(change.step, first)
        counts = number < first and number not in undone
        by_hand = change.step == "" and began is not None and change.set_at <= began
        if change.model == step.intent.model and (counts or by_hand):
            before[change.input, change.column] = change.value
    return returns(step.intent, current, before, at)
