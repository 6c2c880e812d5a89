import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.builders import a_model
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import IncrementalConfigError, PenstockError
from penstock.core.model import PythonFunction
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import NullWatermark, WindowSettings
from penstock.plan.windows import (
    Measured,
    Opened,
    WindowedInput,
    aligned,
    check_watermarks,
    expected_windows,
    future_note,
    joined_windows,
    kind_of,
    low_bound,
    open_windows,
    windowed_inputs,
)
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge
from penstock.strategies.overwrite import OverwriteRange

EVENTS = WindowedInput("raw.events", "n", "int")
FORWARD = WindowSettings("n")
APPEND = a_model("log", "raw.events", strategy=Append(FORWARD))


def integer(value: int) -> TypedValue:
    return TypedValue("INT", str(value))


def mark(value: int, column: str = "n", name: str = "raw.events") -> Watermark:
    return Watermark(name, column, integer(value))


def shown(settings: WindowSettings, high: int | None, *marks: Watermark, **more: object) -> str:
    top = integer(high) if high is not None else None
    measured = [Measured(EVENTS, top, int(str(more.get("nulls", 0))))]
    found = open_windows(APPEND, settings, measured, marks, initial=bool(more.get("initial")))
    return str(found.windows[0].window)


def test_the_first_window_is_open_below_and_ends_at_the_pinned_maximum() -> None:
    assert shown(FORWARD, 7) == "(-∞, 7]"


def test_the_next_window_starts_above_the_watermark() -> None:
    assert shown(FORWARD, 9, mark(7)) == "(7, 9]"


def test_a_lookback_takes_rows_below_the_watermark_in_again() -> None:
    assert shown(WindowSettings("n", lookback=3), 9, mark(7)) == "[4, 9]"


def test_a_full_refresh_reads_everything_whatever_the_watermark() -> None:
    assert shown(FORWARD, 9, mark(7), initial=True) == "(-∞, 9]"


def test_nothing_above_the_watermark_is_an_empty_window_that_keeps_the_watermark() -> None:
    measured = [Measured(EVENTS, None, 0)]

    found = open_windows(APPEND, FORWARD, measured, [mark(7)], initial=False)

    assert found.all_empty
    assert found.watermarks == (mark(7),)


def test_nulls_in_the_watermark_column_are_an_error_with_column_and_count() -> None:
    with pytest.raises(PenstockError) as caught:
        shown(FORWARD, None, nulls=4)

    assert caught.value.code == "null-watermark"
    assert caught.value.sentence == (
        "column 'n' of raw.events is NULL in 4 rows that 'log' would read"
    )


def test_include_first_reads_nulls_on_the_first_load_only() -> None:
    settings = WindowSettings("n", null_watermark=NullWatermark.INCLUDE_FIRST)

    measured = [Measured(EVENTS, integer(7), 2)]
    first = open_windows(APPEND, settings, measured, [], initial=True)
    later = open_windows(APPEND, settings, measured, [mark(6)], initial=False)

    assert first.windows[0].window.condition == "(`n` <= CAST('7' AS INT) OR `n` IS NULL)"
    assert not later.windows[0].window.nulls
    assert (first.null_rows, later.null_rows) == (2, 2)


def test_a_new_input_of_an_append_is_refused_and_of_a_merge_read_from_the_start() -> None:
    merged = a_model("m", strategy=Merge(("id",), FORWARD))
    measured = [Measured(EVENTS, integer(7), 0)]
    other = [mark(3, name="raw.other")]

    with pytest.raises(PenstockError, match=r"raw.events has no watermark"):
        open_windows(APPEND, FORWARD, measured, other, initial=False)
    found = open_windows(merged, FORWARD, measured, other, initial=False)

    assert str(found.windows[0].window) == "(-∞, 7]"


def test_an_input_of_an_append_that_was_empty_before_is_read_from_the_start() -> None:
    measured = [Measured(EVENTS, integer(7), 0)]
    other = [mark(3, name="raw.other")]

    found = open_windows(
        APPEND, FORWARD, measured, other, initial=False, read_before={"raw.events", "raw.other"}
    )

    assert str(found.windows[0].window) == "(-∞, 7]"


def test_a_watermark_on_another_column_asks_for_a_full_refresh() -> None:
    with pytest.raises(PenstockError, match=r"the watermark of raw.events is on 'old'"):
        shown(FORWARD, 7, mark(3, column="old"))


@pytest.mark.parametrize(("old", "now"), [("INT", "bigint"), ("BIGINT", "decimal(20,2)")])
def test_a_watermark_fits_a_column_of_wider_numbers(old: str, now: str) -> None:
    known = Watermark("raw.events", "n", TypedValue(old, "7"))

    check_watermarks(APPEND, [WindowedInput("raw.events", "n", now)], [known])


@pytest.mark.parametrize(("old", "now"), [("INT", "date"), ("TIMESTAMP", "timestamp_ntz")])
def test_a_watermark_of_another_type_asks_for_a_full_refresh(old: str, now: str) -> None:
    known = Watermark("raw.events", "n", TypedValue(old, "2024"))

    with pytest.raises(PenstockError) as caught:
        check_watermarks(APPEND, [WindowedInput("raw.events", "n", now)], [known])

    assert caught.value.code == "watermark-type-changed"
    assert caught.value.sentence == (
        f"the watermark of raw.events.n is a {old}, the column is {now.upper()} now"
    )


@given(st.lists(st.lists(st.integers(-50, 50), max_size=5), max_size=8))
def test_forward_windows_read_every_row_above_the_first_watermark_exactly_once(
    batches: list[list[int]],
) -> None:
    read: list[int] = []
    seen: list[int] = []
    marks: tuple[Watermark, ...] = ()
    for batch in batches:
        above = [value for value in batch if not seen or value > max(seen)]
        seen.extend(above)
        rows = seen
        top = max((v for v in rows if not marks or integer(v) > marks[0].value), default=None)
        measured = [Measured(EVENTS, None if top is None else integer(top), 0)]
        found = open_windows(APPEND, FORWARD, measured, marks, initial=not marks)
        window = found.windows[0].window
        low = int(window.lower.value.text) if window.lower else None
        high = int(window.upper.value.text) if window.upper else None
        if high is not None:
            read += [v for v in rows if (low is None or v > low) and v <= high]
        marks = found.watermarks

    assert sorted(read) == sorted(seen)


def test_inputs_with_the_time_column_are_windowed_and_others_are_read_whole() -> None:
    inputs = {
        "raw.events": Schema((Column("N", "int"),)),
        "raw.users": Schema((Column("id", "int"),)),
    }

    assert windowed_inputs(APPEND, FORWARD, inputs) == (WindowedInput("raw.events", "N", "int"),)


def test_no_windowed_input_says_how_to_name_one() -> None:
    with pytest.raises(PenstockError) as caught:
        windowed_inputs(APPEND, FORWARD, {"raw.users": Schema((Column("id", "int"),))})

    assert caught.value.code == "no-windowed-input"
    assert caught.value.hint == "name the inputs' columns: window_on={'raw.users': 'COLUMN'}"


def test_text_columns_carry_a_watermark_only_when_asked() -> None:
    inputs = {"raw.events": Schema((Column("n", "string"),))}

    with pytest.raises(PenstockError, match="is STRING"):
        windowed_inputs(APPEND, FORWARD, inputs)
    allowed = WindowSettings("n", string_watermark=True)
    assert windowed_inputs(APPEND, allowed, inputs)[0].type == "string"


@pytest.mark.parametrize("kind", ["double", "boolean", "map<string,int>", "string collate UNICODE"])
def test_other_types_carry_no_watermark(kind: str) -> None:
    inputs = {"raw.events": Schema((Column("n", kind),))}

    with pytest.raises(IncrementalConfigError) as caught:
        windowed_inputs(APPEND, WindowSettings("n", string_watermark=True), inputs)

    assert caught.value.code == "time-column-type"
    assert caught.value.sentence.endswith(f"it is {kind.upper()}")
    assert "to_timestamp" in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("string", WindowSettings("n", lookback=1, string_watermark=True)),
        ("string", WindowSettings("n", grain="day", string_watermark=True)),
        ("bigint", WindowSettings("n", grain="day")),
        ("bigint", WindowSettings("n", lookback=dt.timedelta(days=1))),
        ("bigint", WindowSettings("n", lookback=Decimal("0.5"))),
        ("decimal(10,2)", WindowSettings("n", grain="hour")),
        ("timestamp", WindowSettings("n", lookback=Decimal(1))),
    ],
)
def test_a_lookback_and_a_grain_must_fit_the_type(kind: str, settings: WindowSettings) -> None:
    inputs = {"raw.events": Schema((Column("n", kind),))}

    with pytest.raises(IncrementalConfigError) as caught:
        windowed_inputs(APPEND, settings, inputs)

    assert caught.value.code == "option-conflict"
    value = TypedValue.least(kind)
    assert low_bound(settings, value) == Bound(value, inclusive=False)  # a plan does not fail


def test_a_lookback_of_decimals_is_exact() -> None:
    settings = WindowSettings("n", lookback=Decimal("0.05"))

    low = low_bound(settings, TypedValue("DECIMAL(10,2)", "12.50"))

    assert str(low and low.value) == "DECIMAL(10,2) 12.45"


def test_a_watermark_of_another_type_is_told_before_the_type_is_judged() -> None:
    inputs = {"raw.events": Schema((Column("n", "string"),))}

    with pytest.raises(IncrementalConfigError) as caught:
        windowed_inputs(APPEND, FORWARD, inputs, [mark(5)])

    assert caught.value.code == "watermark-type-changed"


def test_nulls_that_were_the_first_load_are_not_loaded_again() -> None:
    settings = WindowSettings("n", null_watermark=NullWatermark.INCLUDE_FIRST)
    measured, known = [Measured(EVENTS, None, 2)], {"raw.events"}

    first = open_windows(APPEND, settings, measured, [], initial=True)
    later = open_windows(APPEND, settings, measured, [], initial=False, read_before=known)

    assert (first.all_empty, later.all_empty) == (False, True)
    assert (first.null_rows, later.null_rows) == (2, 2)


@pytest.mark.parametrize(("initial", "read_before"), [(False, ()), (True, ("raw.events",))])
def test_nulls_are_read_of_an_input_that_is_new_or_read_anew(initial, read_before):
    settings = WindowSettings("n", null_watermark=NullWatermark.INCLUDE_FIRST)
    merged, measured = a_model("m", strategy=Merge(("id",), settings)), [Measured(EVENTS, None, 2)]

    found = open_windows(merged, settings, measured, [], initial=initial, read_before=read_before)

    assert found.windows[0].window.nulls


def test_a_watermark_after_tomorrow_is_told() -> None:
    now = dt.datetime(2025, 1, 16, 12, tzinfo=dt.UTC)
    times = ("2025-01-17T12:00:00Z", "2025-01-17T12:00:01Z")
    marks = [Watermark("logs", "ts", TypedValue.parse("TIMESTAMP", time)) for time in times]

    [note] = future_note(APPEND, [*marks, mark(10**12)], now)
    assert note == (
        "watermark-in-future: logs.ts is 2025-01-17T12:00:01.000000Z; "
        "penstock watermark set log VALUE --column logs.ts"
    )


def foreseen(settings: WindowSettings, *marks: Watermark, rerun: object = None) -> list[str]:
    model = a_model("log", strategy=OverwriteRange(settings))
    return [str(each.window) for each in expected_windows(model, marks, None, rerun)]


def test_a_plan_knows_the_low_end_of_a_window_and_both_of_a_rerun() -> None:
    marks = (mark(7), mark(5, name="raw.clicks"))

    assert foreseen(FORWARD, *marks) == ["(7, ∞)", "(5, ∞)"]
    assert foreseen(WindowSettings("n", overlaps=True), *marks) == ["[5, ∞)", "[5, ∞)"]
    assert foreseen(FORWARD, mark(7), rerun=(integer(1), integer(3))) == ["[1, 3]"]


def test_days_made_of_instants_are_made_again_as_one_range() -> None:
    settings, table = WindowSettings("date", guarded=True), Schema((Column("date", "date"),))
    function = PythonFunction(print, "", {}, frozenset())
    model = a_model("daily", strategy=Append(settings), function=function)
    instants, days = (WindowedInput("logs", "ts", kind) for kind in ("timestamp", "date"))

    found = aligned(settings, model, [instants], table)

    assert (found.grain, found.overlaps) == ("day", True)
    assert aligned(settings, model, [days], table) == settings


def test_one_window_spans_no_times_that_do_not_compare() -> None:
    at, day = TypedValue.parse("TIMESTAMP", "2025-01-15"), TypedValue.parse("DATE", "2025-01-15")
    windows = [
        InputWindow("logs", Window("ts", Bound(at, inclusive=True))),
        InputWindow("days", Window("d", Bound(day, inclusive=True))),
    ]

    with pytest.raises(IncrementalConfigError, match=r"logs.ts, days.d.*DATE, TIMESTAMP") as caught:
        joined_windows(windows)

    assert caught.value.code == "time-column-type"


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        (Window("n"), "initial"),
        (Window("n", Bound(integer(1), inclusive=False)), "forward"),
        (Window("n", Bound(integer(1), inclusive=True)), "lookback"),
        (
            Window("n", Bound(integer(1), inclusive=True), Bound(integer(2), inclusive=False)),
            "external",
        ),
    ],
)
def test_a_window_tells_why_it_reads_what_it_reads_unless_its_step_does(window, kind) -> None:
    assert (kind_of(window, ""), kind_of(window, "rerun")) == (kind, "rerun")


def test_the_windows_of_one_step_stand_together_and_are_cut_if_any_is() -> None:
    one = Opened((InputWindow("a", Window("x")),), (mark(1),), 2)
    cut = Opened((InputWindow("b", Window("x")),), (mark(2),), 3, is_cut=True)

    assert one.join([cut]) == Opened(one.windows + cut.windows, (mark(1), mark(2)), 5, is_cut=True)
    assert one.join([]) == one
    assert not Opened((), ()).all_empty
