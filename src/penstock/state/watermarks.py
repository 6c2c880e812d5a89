"""How a finished step moves its model's watermarks (spec/state.md §6)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from penstock.core.records import WatermarkChange
from penstock.core.step import Intent
from penstock.core.typed import TypedValue
from penstock.core.window import Watermark

Marks = Mapping[tuple[str, str], TypedValue]


def moves(intent: Intent, current: Marks, at: dt.datetime) -> tuple[WatermarkChange, ...]:
    """Give the changes that a success leaves: only upwards, unless the intent says otherwise.

    With `lowers_watermarks` the intent's set replaces the model's: what it does not name is
    reset. `current` maps `(input, column)` to the value that counts now.
    """
    wanted = {(mark.input, mark.column): mark for mark in intent.watermarks}
    changes = [
        _change(intent, mark.input, mark.column, at, str(mark.value))
        for key, mark in wanted.items()
        if _moves(mark, current.get(key), lowers=intent.lowers_watermarks)
    ]
    if intent.lowers_watermarks:
        gone = sorted(key for key in current if key not in wanted)
        changes += [_change(intent, name, column, at, None) for name, column in gone]
    return tuple(changes)


def returns(
    intent: Intent,
    current: Marks,
    before: Mapping[tuple[str, str], str | None],
    at: dt.datetime,
) -> tuple[WatermarkChange, ...]:
    """Give the changes that take watermarks back; `before` are the values to go back to."""
    now = {key: str(value) for key, value in current.items()}
    return tuple(
        _change(intent, *key, at, before.get(key))
        for key in sorted({*now, *before})
        if now.get(key) != before.get(key)
    )


def _moves(mark: Watermark, now: TypedValue | None, *, lowers: bool) -> bool:
    if now is None:
        return True
    if lowers:
        return str(now) != str(mark.value)
    try:
        return now < mark.value
    except TypeError:  # the column changed its type: the plan allowed it, the new type counts
        return True


def _change(
    intent: Intent, name: str, column: str, at: dt.datetime, value: str | None
) -> WatermarkChange:
    return WatermarkChange(intent.model, name, column, value, at, step=intent.step)
