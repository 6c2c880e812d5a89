"""What the ends of a rerun mean."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pytest

from fakes.builders import a_model
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import RerunError
from penstock.core.steps.window import Watermark
from penstock.core.strategy import WindowSettings
from penstock.plan.rerun import rerun_range
from penstock.strategies.overwrite import OverwriteRange
from penstock.strategies.view import Frame

NOON_OF_16 = TypedValue.parse("TIMESTAMP", "2025-01-16T12:00:00Z")


def read(low, high, *, kind="timestamp", mark=NOON_OF_16, grain=""):
    """Give the ends, without seconds and zone where they are times, and the note."""
    model = a_model("events", strategy=OverwriteRange(WindowSettings("ts", grain=grain)))
    marks = (Watermark("raw_logs", "ts", mark),) if mark else ()
    found = rerun_range(model, Schema((Column("ts", kind),)), marks, low, high)
    return found.low.text, found.high.text, found.note


def refused(low, high, **more):
    with pytest.raises(RerunError) as caught:
        read(low, high, **more)
    return caught.value.code


def test_an_instant_with_an_offset_is_converted():
    low, _, _ = read("2025-01-15T13:00:00+01:00", "2025-01-15T18:00:00")

    assert low == "2025-01-15T12:00:00.000000Z"


def test_a_time_without_a_zone_takes_no_offset():
    mark = TypedValue.parse("TIMESTAMP_NTZ", "2025-01-16T12:00:00")
    asked = "2025-01-15T13:00:00+01:00"

    assert refused(asked, asked, kind="timestamp_ntz", mark=mark) == "rerun-bounds-type"


def test_a_time_of_day_of_a_date_is_dropped():
    mark = TypedValue("DATE", "2025-01-16")
    asked = "2025-01-15T13:00"

    assert read(asked, asked, kind="date", mark=mark) == ("2025-01-15", "2025-01-15", "")


@pytest.mark.parametrize("day", [dt.date(2025, 1, 15), "2025-01-15"])
def test_a_date_covers_its_whole_day(day):
    assert read(day, day) == (
        "2025-01-15T00:00:00.000000Z",
        "2025-01-15T23:59:59.999999Z",
        "",
    )


def test_an_inferred_unit_widens_the_range_and_says_so():
    hour = dt.datetime(2025, 1, 15, 12, tzinfo=dt.UTC)

    assert read(hour, hour + dt.timedelta(hours=1), kind="date") == (
        "2025-01-15",
        "2025-01-15",
        "the range was widened to whole units (day): 2025-01-15",
    )
    assert read("2025-01-15", "2025-01-15", kind="date") == ("2025-01-15", "2025-01-15", "")


@pytest.mark.parametrize(
    ("grain", "low", "high"),
    [
        ("hour", "2025-01-15T12:00:00.000000Z", "2025-01-15T13:59:59.999999Z"),
        ("week", "2025-01-13T00:00:00.000000Z", "2025-01-19T23:59:59.999999Z"),
        ("month", "2025-01-01T00:00:00.000000Z", "2025-01-31T23:59:59.999999Z"),
        ("year", "2025-01-01T00:00:00.000000Z", "2025-12-31T23:59:59.999999Z"),
    ],
)
def test_a_unit_widens_both_ends(grain, low, high):
    found = read("2025-01-15T12:30:00", "2025-01-15T13:30:00", grain=grain)

    assert found == (low, high, f"the range was widened to whole units ({grain}): {low} to {high}")


@pytest.mark.parametrize(
    ("kind", "end"), [("timestamp", "9999-12-31T23:59:59.999999Z"), ("date", "9999-12-31")]
)
@pytest.mark.parametrize("grain", ["day", "month", "year"])
def test_a_range_ends_with_the_calendar(kind, end, grain):
    assert read("2025-01-01", "9999-12-31", kind=kind, grain=grain)[1] == end


def test_numbers_are_taken_as_they_are():
    mark = TypedValue("BIGINT", "9")

    assert read(3, "7", kind="bigint", mark=mark) == ("3", "7", "")
    assert refused(1.5, 2, kind="bigint", mark=mark) == "rerun-bounds-type"
    assert read(Decimal("1.5"), 2, kind="decimal(4,2)", mark=mark) == ("1.50", "2.00", "")


@pytest.mark.parametrize("bad", ["yesterday", 1.5, 1])
def test_what_is_no_time_is_refused(bad):
    assert refused(bad, "2025-01-15") == "rerun-bounds-type"


def test_ends_that_are_the_wrong_way_round_are_refused():
    assert refused("2025-01-16", "2025-01-15") == "rerun-bounds"


def test_a_table_that_was_never_built_has_no_range():
    assert refused("2025-01-15", "2025-01-15", mark=None) == "rerun-before-first-run"


@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_a_range_above_what_was_read_is_refused(kind):
    assert refused("2025-01-17", "2025-01-17", kind=kind) == "rerun-beyond-watermark"
    assert read("2025-01-16", "2025-01-17", kind=kind)


@pytest.mark.parametrize("strategy", [Frame(), a_model("t").strategy])
def test_only_incremental_tables_have_ranges(strategy):
    model = replace(a_model("totals"), strategy=strategy)

    with pytest.raises(RerunError) as caught:
        rerun_range(model, None, (), "2025-01-15", "2025-01-15")

    assert caught.value.code == "rerun-unsupported"
