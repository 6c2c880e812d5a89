"""How a step that succeeds moves its model's watermarks and its table's high time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from penstock.core.columns.typed import TypedValue
from penstock.core.records import WatermarkChange
from penstock.core.steps.step import Intent, Outcome, StepKind
from penstock.core.steps.window import Watermark
from penstock.state.transitions.model_state import BUILDS, ModelState


def moves(intent: Intent, records: ModelState, at: dt.datetime) -> tuple[WatermarkChange, ...]:
    """Give the changes that a success leaves: only upwards, unless the intent says otherwise.

    With `lowers_watermarks` the intent's set replaces the model's: what it does not name is
    reset. A rollback takes them back to what they were (spec/state.md §6).
    """
    current = records.current_watermarks
    if intent.kind is StepKind.ROLLBACK:
        now, before = {k: str(v) for k, v in current.items()}, _before(intent, records)
        return tuple(
            _change(intent, *key, at, before.get(key))
            for key in sorted({*now, *before})
            if now.get(key) != before.get(key)
        )
    wanted = {(watermark.input, watermark.column): watermark for watermark in intent.watermarks}
    changes = [
        _change(intent, watermark.input, watermark.column, at, str(watermark.value))
        for key, watermark in wanted.items()
        if _moves(watermark, current.get(key), lowers=intent.lowers_watermarks)
    ]
    if intent.lowers_watermarks:
        gone = sorted(key for key in current if key not in wanted)
        changes += [_change(intent, name, column, at, None) for name, column in gone]
    return tuple(changes)


def high_time_after(
    intent: Intent, outcome: Outcome, before: dt.datetime | None, *, settles: bool = True
) -> dt.datetime | None:
    """Give the high time that a success leaves: only upwards, unless the table began anew.

    A step that committed nothing, or no rows of a run, leaves it. A first load or a full refresh
    (`lowers_watermarks`) sets it to its own run timestamp; one that does not settle, because the
    records are newer, only raises it.
    """
    if outcome.version is None or intent.kind not in BUILDS:
        return before
    if before is None or (settles and intent.lowers_watermarks):
        return intent.run_timestamp
    return max(before, intent.run_timestamp)


def _before(intent: Intent, records: ModelState) -> Mapping[tuple[str, str], str | None]:
    """Give what watermarks were before `restores` began; what a person set until then counts."""
    first = records.steps.get(intent.restores)
    number_of = {step.intent.step: step.seq for step in records.steps.values()}
    found = {}
    for change in records.watermarks:
        number = number_of.get(change.step, intent.restores)
        counts = number < intent.restores and not records.steps[number].undone_by
        by_hand = change.step == "" and first is not None and change.set_at <= first.started
        if counts or by_hand:
            found[change.input, change.column] = change.value
    return found


def _moves(watermark: Watermark, now: TypedValue | None, *, lowers: bool) -> bool:
    if now is None:
        return True
    if lowers:
        return str(now) != str(watermark.value)
    try:
        return now < watermark.value
    except TypeError:  # the column changed its type: the plan allowed it, the new type counts
        return True


def _change(
    intent: Intent, name: str, column: str, at: dt.datetime, value: str | None
) -> WatermarkChange:
    return WatermarkChange(intent.model, name, column, value, at, step=intent.step)
