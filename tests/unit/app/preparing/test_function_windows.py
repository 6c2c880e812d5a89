"""What functions of a step are told of its windows, as values (P104)."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.builders import a_model
from penstock.app.preparing.function_windows import StepWindows
from penstock.core.columns.typed import TypedValue
from penstock.core.model import PythonFunction
from penstock.core.names import InputKind, InputName
from penstock.core.steps.window import Watermark
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append

SETTINGS = WindowSettings("n")
CHANCE = InputName(InputKind.MODEL, "chance")


def windows(settings=SETTINGS, marks=(("chance", "n", 7),), deltas=(), **more):
    """Give the windows of a step that reads `chance`, up to 7 of which was read."""
    function = PythonFunction(print, "", {"chance": CHANCE})
    model = a_model("one", "chance", strategy=Append(settings))
    model = replace(model, function=function, query=replace(model.query, deltas=deltas))
    known = [Watermark(i, c, TypedValue("BIGINT", str(value))) for i, c, value in marks]
    now = dt.datetime(2025, 1, 17, tzinfo=dt.UTC)
    return StepWindows(model, settings, known, **{"initial": False, "run_timestamp": now, **more})


def test_P104_a_frame_is_read_from_the_low_end_of_its_window_on() -> None:
    found = windows().lowest("chance")
    again = windows(replace(SETTINGS, lookback=3)).lowest("chance")

    assert found.condition == "(`n` >= CAST('7' AS BIGINT) OR `n` IS NULL)"
    assert again.condition == "(`n` >= CAST('4' AS BIGINT) OR `n` IS NULL)"


@pytest.mark.parametrize(
    "whole",
    [
        windows(initial=True),
        windows(again=(TypedValue("INT", "1"), TypedValue("INT", "2"))),
        windows(marks=()),
        windows(marks=(("chance", "m", 7),)),
        windows(replace(SETTINGS, on={"chance": None})),
        windows(deltas=(CHANCE,)),
    ],
    ids=["first", "rerun", "never read", "by another column", "not windowed", "what is new"],
)
def test_P104_a_frame_of_which_any_row_may_be_read_is_not_cut(whole) -> None:
    assert whole.lowest("chance") is None
