"""The range in which the rows of a function lie, in the type of its time column."""

import pytest

from fakes.builders import a_model
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.steps.window import Bound, InputWindow, Window
from penstock.core.strategy import WindowSettings
from penstock.strategies.overwrite import OverwriteRange, range_condition

DAYS = (TypedValue("DATE", "2025-01-15"), TypedValue("DATE", "2025-01-16"))
TIMES = tuple(
    TypedValue.parse("TIMESTAMP", text) for text in ("2025-01-15T10:00:00Z", "2025-01-16T12:00:00Z")
)


def window(ends, *, forward=False):
    low, high = ends
    return InputWindow("logs", Window("x", Bound(low, inclusive=not forward), Bound(high, True)))


def range_of(kind, *windows):
    model = a_model("events", strategy=OverwriteRange(WindowSettings("t", guarded=True)))
    return range_condition(model, Schema((Column("t", kind),)), windows)


@pytest.mark.parametrize(
    ("kind", "windows", "expected"),
    [
        ("date", [window(TIMES)], "`t` >= DATE '2025-01-15' AND `t` <= DATE '2025-01-16'"),
        (
            "timestamp",
            [window(DAYS)],
            (
                "`t` >= TIMESTAMP '2025-01-15T00:00:00.000000Z' "
                "AND `t` < TIMESTAMP '2025-01-17T00:00:00.000000Z'"
            ),
        ),
        (
            "timestamp",
            [window(DAYS, forward=True), window(TIMES)],
            (
                "`t` >= TIMESTAMP '2025-01-15T10:00:00.000000Z' "
                "AND `t` < TIMESTAMP '2025-01-17T00:00:00.000000Z'"
            ),
        ),
        (
            "timestamp_ntz",
            [window(TIMES)],
            (
                "`t` >= TIMESTAMP_NTZ '2025-01-15T10:00:00.000000' "
                "AND `t` <= TIMESTAMP_NTZ '2025-01-16T12:00:00.000000'"
            ),
        ),
    ],
    ids=["days", "times", "both", "without a zone"],
)
def test_days_and_instants_are_one_range(kind, windows, expected):
    assert range_of(kind, *windows) == expected
