"""New rows of an incremental table since a model last read it.

Normally these are the rows of the table's last step; a crash between the two steps, or a separate
run of the table, adds more, and no row is missed.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import IncrementalConfigError
from penstock.core.model import Model
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.plan.windows import EXTERNAL, Opened, WindowedInput, family


def growing_input(model: Model, table: Schema) -> WindowedInput:
    """Return an incremental table as an input, with its time column."""
    settings = model.strategy.window
    column = table.find(settings.time_column) if settings else None
    if column is None:
        raise IncrementalConfigError(
            "time-column-missing",
            f"{model.table} has no column {settings.time_column if settings else ''!r}",
            where=model.where,
            hint=f"available columns: {', '.join(table.names[:20])}",
        )
    return WindowedInput(model.name, column.name, column.type)


def delta_window(
    table: WindowedInput,
    above: Sequence[Watermark],
    last: TypedValue | None,
    *,
    nulls: bool = False,
) -> Opened:
    """Return the window on an incremental table with the rows that a model has not read yet.

    It ends at the table's own watermark, `above`, the lowest if it has several: later rows may
    still arrive below the others. `known` is the upper end of what the model has read; None reads
    all. Raises `time-column-type` if their types do not compare.
    """
    until = min((typed_bound(table, each.value) for each in above), default=None)
    # a window on the run's time leaves its last instant to the next one
    is_external = any((one.input, one.column) == (table.input, EXTERNAL) for one in above)
    low = Bound(last, inclusive=is_external) if last is not None else None
    high = max((v for v in (last, until) if v is not None), default=None)
    end = Bound(high, inclusive=not is_external) if high is not None else None
    window = Window(table.column, low, end, nulls=nulls and last is None)
    kept = () if high is None else (Watermark(table.input, table.column, high),)
    return Opened((InputWindow(table.input, window),), kept)


def typed_bound(table: WindowedInput, value: TypedValue) -> TypedValue:
    """Return a watermark of a table as a value of its time column."""
    if family(value.type) == family(table.type):
        return value
    if value.is_temporal and table.type in ("date", "timestamp", "timestamp_ntz"):
        return TypedValue.parse(table.type, value.text)
    raise IncrementalConfigError(
        "time-column-type",
        f"the watermark of {table.input} is a {value.type}, its column {table.column!r} a "
        f"{table.type.upper()}: what is new in it cannot be decided",
        hint="take it out of delta",
    )
