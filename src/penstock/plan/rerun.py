"""The bounds of a rerun: convert the user's range to values of the time column, or raise."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import PenstockError, RerunError, UsageError
from penstock.core.model import Model
from penstock.core.steps.window import Watermark
from penstock.core.strategy import WindowSettings

Given = str | int | Decimal | dt.date
_DAY = dt.timedelta(days=1)
_INSTANT = dt.timedelta(microseconds=1)
_DATE = "2025-01-15"
_LAST_DAY = "9999-12-31"
_END_OF_DAY = "T23:59:59.999999"
_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")


@dataclass(frozen=True, slots=True)
class RerunRange:
    """A range of rows to rebuild, both ends inclusive, in the type of the table's time column.

    `note` says that it was extended to whole units; "" if it is unchanged.
    """

    low: TypedValue
    high: TypedValue
    note: str = ""


def rerun_range(
    model: Model, table: Schema | None, watermarks: Sequence[Watermark], low: Given, high: Given
) -> RerunRange:
    """Return the range of two ends for a table; a date, or its text, covers its whole day.

    If windows begin at a unit, the range is extended to whole units. Raises `RerunError`.
    """
    settings = rerun_windows(model)
    column = table.find(settings.time_column) if table else None
    if column is None or not watermarks:
        raise unbuilt_error(model)
    first, last = (_parse(model, column.type, low, ends=False), _parse(model, column.type, high))
    if last < first:
        sentence = "max_date must be greater than or equal to min_date"
        raise _rerun_error(model, "rerun-bounds", sentence)
    _refuse_beyond(model, first, watermarks)
    grain, is_cut = settings.grain, False
    if first.type == "DATE" and any(w.value.type.startswith("TIMESTAMP") for w in watermarks):
        # the days of a timestamp: what was asked for of a day takes in all of it
        grain, is_cut = grain or "day", _has_time(low) or _has_time(high)
    if not grain:
        return RerunRange(first, last)
    found = RerunRange(first.floor(grain), _last_instant(last, grain))
    if (found.low, found.high) == (first, last) and not is_cut:
        return found
    shown = found.low.text if found.low == found.high else f"{found.low.text} to {found.high.text}"
    return replace(found, note=f"the range was widened to whole units ({grain}): {shown}")


def rerun_windows(model: Model) -> WindowSettings:
    """Return the windows of a model that supports reruns of a range; raise if it does not."""
    if model.is_view:
        raise _rerun_error(model, "rerun-unsupported", "only materialized tables support rerun()")
    settings = model.strategy.window
    if settings is None:
        sentence = "rerun() needs an incremental table with a time_column"
        raise _rerun_error(model, "rerun-unsupported", sentence)
    return settings


def unbuilt_error(model: Model) -> RerunError:
    """Return the error for a range of a table that has no rows yet, or lost them."""
    hint = f"penstock run --select {model.name}"
    return _rerun_error(model, "rerun-before-first-run", "the table was never built", hint)


def _refuse_beyond(model: Model, first: TypedValue, watermarks: Sequence[Watermark]) -> None:
    """Refuse a range that begins after what was read: the rows between would never be read."""
    for each in watermarks:
        start, _ = range_in_type((first, first), each.value.type)
        if type(start.key) is type(each.value.key) and each.value < start:
            sentence = f"min_date {first.text} lies above what was read, {each.value.text}"
            hint = f"penstock run --select {model.name} reads what lies between"
            raise _rerun_error(model, "rerun-beyond-watermark", sentence, hint)


def range_in_type(ends: tuple[TypedValue, TypedValue], kind: str) -> tuple[TypedValue, TypedValue]:
    """Return a range in the type of another column with the same times.

    A day covers all of its times, and a time belongs to its day.

    >>> day = TypedValue("DATE", "2025-01-15")
    >>> [each.text for each in range_in_type((day, day), "timestamp_ntz")]
    ['2025-01-15T00:00:00.000000', '2025-01-15T23:59:59.999999']
    """
    low, high = ends
    family = kind.upper()
    if low.type == family or not (low.is_temporal and family in _TIMES):
        return ends
    found = TypedValue.parse(family, low.text), TypedValue.parse(family, high.text)
    if low.type != "DATE":
        return found
    return found[0], TypedValue.parse(family, high.text + _END_OF_DAY)


def _has_time(value: Given) -> bool:
    if isinstance(value, str):
        return len(value.strip()) > len(_DATE)
    return isinstance(value, dt.datetime)


def _last_instant(value: TypedValue, grain: str) -> TypedValue:
    """Return the last time of the unit of a value; the calendar ends with 9999."""
    step = {"hour": dt.timedelta(hours=1), "day": _DAY, "week": 7 * _DAY, "month": 32 * _DAY}
    is_date = value.type == "DATE"
    try:
        after = value.floor(grain).minus(-step.get(grain, 367 * _DAY)).floor(grain)
    except OverflowError:
        return TypedValue.parse(value.type, _LAST_DAY if is_date else _LAST_DAY + _END_OF_DAY)
    return after.minus(_DAY if is_date else _INSTANT)


def _parse(model: Model, kind: str, value: Given, *, ends: bool = True) -> TypedValue:
    family = kind.upper()
    try:
        if family.startswith("TIMESTAMP"):
            return _parse_instant(model, family, value, ends=ends)
        if family == "DATE":
            moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
            if not isinstance(moment, dt.date):
                raise TypeError  # noqa: TRY301  one error for all that does not fit
            return TypedValue.parse(family, moment.isoformat())
        if isinstance(value, str if family == "STRING" else int | Decimal | str):
            return TypedValue.parse(family, str(value))
    except (ValueError, TypeError, UsageError):
        pass
    raise _type_error(model, family, value)


def _parse_instant(model: Model, family: str, value: Given, *, ends: bool) -> TypedValue:
    """Parse a time; a date covers its whole day. A time without an offset is UTC."""
    if isinstance(value, str) and len(value) == len(_DATE):
        value = dt.date.fromisoformat(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        at = dt.time.max if ends else dt.time.min
        return TypedValue.parse(family, dt.datetime.combine(value, at).isoformat())
    moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, dt.datetime):
        raise TypeError
    if family == "TIMESTAMP_NTZ" and moment.tzinfo is not None:
        raise _type_error(model, family, value)
    return TypedValue.parse(family, moment.isoformat())


def _type_error(model: Model, family: str, value: Given) -> PenstockError:
    sentence = f"{value!r} is not a valid {family}, the type of its time column"
    return _rerun_error(model, "rerun-bounds-type", sentence)


def _rerun_error(model: Model, code: str, sentence: str, hint: str = "") -> RerunError:
    return RerunError(code, f"{model.name}: {sentence}", where=model.where, hint=hint)
