"""What `@partition_date`, `@start_date`, `@end_date` and `@run_date` are in checks (spec 1.6)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

from penstock.core.model import Partition
from penstock.core.partition import Grain, literal_at
from penstock.core.typed import TypedValue
from penstock.core.window import InputWindow, Window

Values = Callable[[int], Mapping[str, str]]


def run_date(moment: dt.datetime) -> dict[str, str]:
    """Give the one parameter that every model has."""
    return {"run_date": f"DATE '{moment.astimezone(dt.UTC).date().isoformat()}'"}


def of_partitions(settings: Partition, moment: dt.datetime) -> Values:
    """Give the parameters of a partition by its number, as its SQL has them."""

    def values(number: int) -> Mapping[str, str]:
        return of_range(settings, moment, number, number)

    return values


def of_range(settings: Partition, moment: dt.datetime, first: int, last: int) -> dict[str, str]:
    """Give the parameters of some partitions that one run of the SQL makes."""
    grid, kind = settings.grid, parameter_type(settings)
    lower, upper = literal_at(grid.lower(first), kind), literal_at(grid.upper(last), kind)
    return {
        **run_date(moment),
        "partition_date": lower,
        "start_date": lower,
        "end_date": upper,
    }


def parameter_type(settings: Partition) -> str:
    """Give the type of the parameters: DATE, for HOUR that of the field, for RANGE an integer."""
    match settings.grid.grain:
        case Grain.HOUR:
            return settings.type
        case Grain.RANGE:
            return "bigint"
        case _:
            return "date"


def of_windows(windows: Sequence[InputWindow], moment: dt.datetime) -> Values:
    """Give the bounds of the first window as half-open; without one only the run's date."""
    day = run_date(moment)
    if not windows:
        return lambda _: day
    lower, upper = _bounds(windows[0].window)
    found = {**day, "partition_date": lower, "start_date": lower, "end_date": upper}
    return lambda _: found


def _bounds(window: Window) -> tuple[str, str]:
    high = window.upper.value if window.upper else None
    low = window.lower.value if window.lower else None
    kind = (high or low or TypedValue("BIGINT", "0")).type
    if low is None:
        low = TypedValue.least(kind)
    elif window.lower is not None and not window.lower.inclusive:
        low = low.next()
    high = low if high is None else high
    if window.upper is not None and window.upper.inclusive:
        high = high.next()
    return low.sql, high.sql
