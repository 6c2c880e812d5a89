"""What functions of a step are told of its windows, and those that they open, as values."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.builders import a_model
from penstock.app.preparing.function_windows import StepWindows
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import IncrementalConfigError
from penstock.core.model import PythonFunction
from penstock.core.names import InputKind, InputName
from penstock.core.steps.window import Watermark
from penstock.core.strategy import NullWatermark, WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge

NOON = dt.datetime(2025, 1, 16, 12, tzinfo=dt.UTC)
KNOWN = Watermark("events", "n", TypedValue("BIGINT", "7"))
FORWARD = WindowSettings("n")


def windows(*known, settings=FORWARD, keyed=False, initial=False):
    strategy = Merge(("id",), settings) if keyed else Append(settings)
    return StepWindows(a_model("events", strategy=strategy), settings, known, initial, NOON)


def on(found, name="", high="9", nulls=0):
    return str(found.on("events", "n", "bigint", name, lambda *_: seen(high, nulls)))


def seen(high, nulls):
    return {"high": high, "top": high, "nulls": nulls}


def test_a_filter_of_another_name_would_append_rows_again():
    assert on(windows(KNOWN)) == "(7, 9]"
    assert on(windows(KNOWN, keyed=True), "other") == "(-∞, 9]"
    with pytest.raises(IncrementalConfigError) as caught:
        on(windows(KNOWN), "other")

    assert caught.value.code == "new-windowed-input"
    assert caught.value.hint.endswith("--column events.other")


def test_a_window_of_the_runs_time_would_append_rows_again():
    with pytest.raises(IncrementalConfigError) as caught:
        windows(KNOWN).span()

    assert caught.value.code == "new-windowed-input"
    assert str(windows().span()) == "(-∞, 2025-01-16T12:00:00.000000Z)"


def test_a_filter_loads_rows_without_a_time_once():
    settings = WindowSettings("n", null_watermark=NullWatermark.INCLUDE_FIRST)

    first = windows(settings=settings, initial=True)
    later = windows(settings=settings)

    assert first.on("events", "n", "bigint", "", lambda *_: seen(None, 2)).nulls
    assert not later.on("events", "n", "bigint", "", lambda *_: seen(None, 2)).nulls
    assert later.own[0].null_rows == 2


def test_filters_of_one_name_are_told_apart_by_another():
    found = windows()

    on(found)
    with pytest.raises(IncrementalConfigError) as caught:
        on(found)

    assert caught.value.code == "duplicate-window"
    assert on(found, "x") == "(-∞, 9]"


SETTINGS = WindowSettings("n")
CHANCE = InputName(InputKind.MODEL, "chance")


def sharing(settings=SETTINGS, marks=(("chance", "n", 7),), deltas=(), **more):
    """Give the windows of a step that reads `chance`, up to 7 of which was read."""
    function = PythonFunction(print, "", {"chance": CHANCE})
    model = a_model("one", "chance", strategy=Append(settings))
    model = replace(model, function=function, query=replace(model.query, deltas=deltas))
    known = [Watermark(i, c, TypedValue("BIGINT", str(value))) for i, c, value in marks]
    now = dt.datetime(2025, 1, 17, tzinfo=dt.UTC)
    return StepWindows(model, settings, known, **{"initial": False, "run_timestamp": now, **more})


def test_a_frame_is_read_from_the_low_end_of_its_window_on() -> None:
    found = sharing().lowest("chance")
    again = sharing(replace(SETTINGS, lookback=3)).lowest("chance")

    assert found.condition == "(`n` >= CAST('7' AS BIGINT) OR `n` IS NULL)"
    assert again.condition == "(`n` >= CAST('4' AS BIGINT) OR `n` IS NULL)"


@pytest.mark.parametrize(
    "whole",
    [
        sharing(initial=True),
        sharing(again=(TypedValue("INT", "1"), TypedValue("INT", "2"))),
        sharing(marks=()),
        sharing(marks=(("chance", "m", 7),)),
        sharing(replace(SETTINGS, on={"chance": None})),
        sharing(deltas=(CHANCE,)),
    ],
    ids=["first", "rerun", "never read", "by another column", "not windowed", "what is new"],
)
def test_a_frame_of_which_any_row_may_be_read_is_not_cut(whole) -> None:
    assert whole.lowest("chance") is None


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, "external"),
        ({"initial": True}, "initial"),
        ({"initial": True, "decided": "full"}, "full"),
        ({"again": (TypedValue("INT", "1"), TypedValue("INT", "2")), "decided": "rerun"}, "rerun"),
    ],
)
def test_a_window_says_why_it_reads_what_it_reads(more, kind) -> None:
    assert sharing(**more).kind == kind
