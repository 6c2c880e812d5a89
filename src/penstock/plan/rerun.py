"""The bounds of a rerun: what somebody says becomes values of the time column, or an error."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal

from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import PenstockError, RerunError, UsageError
from penstock.core.model import Model
from penstock.core.steps.window import Watermark

Given = str | int | Decimal | dt.date
_DAY = dt.timedelta(days=1)
_INSTANT = dt.timedelta(microseconds=1)


def bounds(
    model: Model, table: Schema | None, watermarks: Sequence[Watermark], low: Given, high: Given
) -> tuple[TypedValue, TypedValue]:
    """Give both ends of a range, inside of it, in the type of the table's time column.

    A date, or its text, covers its whole day at both ends. Raises `RerunError`.
    """
    if model.is_view:
        raise _refused(model, "rerun-unsupported", "only materialized tables support rerun()")
    settings = model.strategy.window
    if settings is None:
        sentence = "rerun() needs an incremental table with a time_column"
        raise _refused(model, "rerun-unsupported", sentence)
    column = table.find(settings.time_column) if table else None
    if column is None or not watermarks:
        hint = f"penstock run --select {model.name}"
        raise _refused(model, "rerun-before-first-run", "the table was never built", hint)
    first, last = _value(model, column.type, low, ends=False), _value(model, column.type, high)
    if last < first:
        sentence = "max_date must be greater than or equal to min_date"
        raise _refused(model, "rerun-bounds", sentence)
    lowest = min((w.value for w in watermarks), key=lambda each: each.key)
    if lowest.type.split("(")[0] == first.type.split("(")[0] and lowest < first:
        sentence = f"min_date {first.text} lies above what was read, {lowest.text}"
        hint = f"penstock run --select {model.name} reads what lies between"
        raise _refused(model, "rerun-beyond-watermark", sentence, hint)
    grain = settings.grain
    return (first.floor(grain), _end(last, grain)) if grain else (first, last)


def _end(value: TypedValue, grain: str) -> TypedValue:
    """Give the last instant of the unit in which a value lies."""
    step = {"hour": dt.timedelta(hours=1), "day": _DAY, "week": 7 * _DAY}
    after = value.floor(grain).minus(
        -step.get(grain, 32 * _DAY if grain == "month" else 367 * _DAY)
    )
    return after.floor(grain).minus(_DAY if value.type == "DATE" else _INSTANT)


def _value(model: Model, kind: str, given: Given, *, ends: bool = True) -> TypedValue:
    family = kind.upper()
    try:
        if family.startswith("TIMESTAMP"):
            return _instant(model, family, given, ends=ends)
        if family == "DATE":
            moment = dt.datetime.fromisoformat(given) if isinstance(given, str) else given
            if not isinstance(moment, dt.date):
                raise TypeError  # noqa: TRY301  one error for all that does not fit
            return TypedValue.parse(family, moment.isoformat())
        if isinstance(given, str if family == "STRING" else int | Decimal | str):
            return TypedValue.parse(family, str(given))
    except (ValueError, TypeError, UsageError):
        pass
    raise _of_type(model, family, given)


def _instant(model: Model, family: str, given: Given, *, ends: bool) -> TypedValue:
    """Read a time; a date covers its whole day. What is naive is UTC."""
    if isinstance(given, str) and len(given) == len("2025-01-15"):
        given = dt.date.fromisoformat(given)
    if isinstance(given, dt.date) and not isinstance(given, dt.datetime):
        day = dt.datetime.combine(given, dt.time.min)
        return TypedValue.parse(family, (day + _DAY - _INSTANT if ends else day).isoformat())
    moment = dt.datetime.fromisoformat(given) if isinstance(given, str) else given
    if not isinstance(moment, dt.datetime):
        raise TypeError
    if family == "TIMESTAMP_NTZ" and moment.tzinfo is not None:
        raise _of_type(model, family, given)
    return TypedValue.parse(family, moment.isoformat())


def _of_type(model: Model, family: str, given: Given) -> PenstockError:
    sentence = f"{given!r} is no {family}, the type of its time column"
    return _refused(model, "rerun-bounds-type", sentence)


def _refused(model: Model, code: str, sentence: str, hint: str = "") -> RerunError:
    return RerunError(code, f"{model.name}: {sentence}", where=model.where, hint=hint)
