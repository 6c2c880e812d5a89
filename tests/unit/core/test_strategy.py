"""What is asked of any strategy, and how one is found by its word."""

import datetime as dt
from decimal import Decimal

import pytest

from penstock.core.strategy import (
    Layout,
    NullWatermark,
    Strategy,
    WindowSettings,
    Writing,
    register,
    shown_strategy,
    strategies,
    strategy_named,
)
from penstock.strategies.table import Table
from penstock.strategies.view import View


def test_a_window_is_plain_unless_a_model_says_more():
    plain = WindowSettings("t")

    assert (plain.counts_late, plain.overlaps, plain.guarded, plain.string_watermark) == (
        True,
        False,
        False,
        False,
    )
    assert plain.null_watermark is NullWatermark.ERROR


@pytest.mark.parametrize(
    ("window", "again"),
    [
        (WindowSettings("t"), False),
        (WindowSettings("t", overlaps=True), True),
        (WindowSettings("t", grain="day"), True),
        (WindowSettings("t", lookback=0), True),
    ],
)
def test_a_window_reads_again_with_a_lookback_a_grain_or_its_ties(window, again):
    assert window.reads_again is again


@pytest.mark.parametrize(
    ("lookback", "text"),
    [(None, None), (0, "0"), (dt.timedelta(hours=1), "1:00:00"), (Decimal("1.5"), "1.5")],
)
def test_the_fingerprint_of_a_window_has_whatever_decides_its_rows(lookback, text):
    plain = {
        "time_column": "t",
        "lookback": text,
        "on": {"raw.e": "ts"},
        "null_watermark": "drop_counted",
        "string_watermark": True,
    }
    window = WindowSettings("t", lookback, {"raw.e": "ts"}, NullWatermark.DROP_COUNTED, True)

    assert window.fingerprint == plain
    assert WindowSettings(
        "t", lookback, {"raw.e": "ts"}, NullWatermark.DROP_COUNTED, True, "day"
    ).fingerprint == {**plain, "grain": "day"}


def test_a_strategy_that_says_no_more_makes_its_table_anew():
    view = View()

    assert (view.writing, view.partitioning, view.history, view.window) == (
        *(Writing.WHOLE, None, None, None),
    )
    assert (view.keys, view.reads_slices, view.keeps_rows) == ((), False, False)
    assert (view.fingerprint(Layout()), view.staying(Layout(), "r", "t")) == ({}, "")
    assert View.counts({"n": 1}) == {}


def test_of_a_strategy_that_is_gone_nothing_is_known():
    gone = strategy_named("gone")

    assert gone is Strategy
    assert [gone.is_view, gone.takes_feed, gone.is_incremental, gone.adds_again] == [False] * 4
    assert [gone.rerun_is_safe, gone.by_passes, gone.moves_forward] == [False] * 3
    assert (gone.hides_rows, gone.is_written) == (False, True)


def test_a_word_has_one_strategy_and_may_be_shown_as_another():
    class Other(View):
        name = "view"

    assert strategies()["table"] is Table
    assert register(View) is View
    with pytest.raises(ValueError, match="'view' is View already"):
        register(Other)
    assert [shown_strategy(word) for word in ("table", "entity_full", "gone")] == [
        "table",
        "full",
        "gone",
    ]
