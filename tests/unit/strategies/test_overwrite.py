"""The range in which the rows of a function lie, in the type of its time column."""

from dataclasses import replace

import pytest

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import IncrementalConfigError
from penstock.core.steps.window import Bound, InputWindow, Window
from penstock.core.strategy import Layout, WindowSettings
from penstock.strategies.merge import Merge
from penstock.strategies.overwrite import (
    OverwriteRange,
    check_output,
    checked_rows,
    contract_rows,
    range_condition,
)
from unit.strategies.builds import read

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


def a_function(by=(), **settings):
    window = WindowSettings("t", guarded=True, **settings)
    return a_model("events", strategy=OverwriteRange(window), layout=Layout(by))


@pytest.mark.parametrize(
    ("query", "by", "settings", "code"),
    [
        ("t timestamp, date date", ("date",), {}, None),
        ("t int, n int", ("n",), {}, None),
        ("t date", (), {}, None),
        ("t string", (), {"string_watermark": True}, None),
        ("x date", (), {}, "time-column-missing"),
        ("t date", ("day",), {}, "partition-column-missing"),
        ("t string", (), {}, "time-column-type"),
        ("t boolean", (), {}, "time-column-type"),
        ("t timestamp, n int", ("n",), {}, "no-date-partition"),
        ("t date, n int, d date", ("n", "d"), {}, None),
    ],
)
def test_a_function_gives_the_columns_that_its_options_name(query, by, settings, code):
    def found():
        try:
            check_output(a_function(by, **settings), columns(query))
        except IncrementalConfigError as error:
            return error.code
        return None

    assert found() == code


def test_the_keys_of_a_merge_are_among_its_columns():
    model = a_model("events", strategy=Merge(("id",)))

    check_output(model, columns("id int"))
    with pytest.raises(IncrementalConfigError, match="unique_key 'id' is not in the output"):
        check_output(model, columns("n int"))


def test_a_row_outside_of_the_windows_fails_the_write():
    query = columns("n int, t date")
    model, nulls = a_function(), replace(window(DAYS).window, nulls=True)
    inside = "`t` >= DATE '2025-01-15' AND `t` <= DATE '2025-01-16'"

    sql = checked_rows(model, query, [window(DAYS)])

    assert sql.startswith(f"SELECT `n`, CASE WHEN {inside} THEN `t` ELSE ")
    assert sql.endswith(" END AS `t` FROM `penstock_function`")
    assert "'\\'events\\' made a row of t '" in sql
    assert f"CASE WHEN ({inside} OR `t` IS NULL) THEN" in checked_rows(
        model, query, [InputWindow("logs", nulls)]
    )
    with pytest.raises(IncrementalConfigError, match="time_column 't' is not in the output"):
        checked_rows(model, columns("n int"), [window(DAYS)])


def test_declared_columns_are_found_by_name_and_null_fails_where_it_may_not_be():
    wanted = Schema(
        (Column("id", "bigint", nullable=False), Column("T", "date"), Column("x", "int"))
    )
    model = replace(a_function(), contract=wanted)

    sql = contract_rows(model, columns("t date, n int, ID bigint"))

    failed = "raise_error(concat('penstock:', 'null-in-required-column: ', "
    message = "'column \\'id\\' of \\'events\\' is NOT NULL, and NULL in a row'))"
    assert sql == (
        f"SELECT CASE WHEN `id` IS NULL THEN {failed}{message} ELSE `id` END AS `id`, `T`, `n` "
        "FROM `penstock_function`"
    )


def test_a_window_and_not_null_are_checked_together():
    wanted = Schema((Column("t", "date"), Column("n", "int", nullable=False)))
    model = replace(a_function(), contract=wanted)

    sql = checked_rows(model, columns("t date, n int"), [window(DAYS)])

    assert sql.startswith("SELECT CASE WHEN `t` >= DATE '2025-01-15'")
    assert " END AS `t`, CASE WHEN `n` IS NULL THEN raise_error(" in sql


def test_no_window_is_no_range_and_an_open_one_has_no_low_end():
    assert range_of("date") == "true"
    assert range_of("date", InputWindow("logs", Window("x", None, Bound(DAYS[1], False)))) == (
        "`t` < DATE '2025-01-16'"
    )
    assert range_condition(a_model("events"), columns("t date"), [window(DAYS)]) == ""
    assert OverwriteRange(WindowSettings("t")).fingerprint(Layout())["window"]["time_column"] == "t"
    assert read(OverwriteRange) == (OverwriteRange(WindowSettings("")), [])
