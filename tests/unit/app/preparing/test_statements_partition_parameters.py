"""What `@start_date` and its like are: bounds of partitions, or of the window of a step."""

import datetime as dt

import pytest

from penstock.app.preparing.statements import of_partitions, of_range, of_windows
from penstock.core.columns.typed import TypedValue
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.window import Bound, InputWindow, Window
from penstock.strategies.partition import Partition

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
TODAY = {"run_date": "DATE '2024-03-01'"}
BIG = "123456789012345678901234567890"


def of_window(kind, lower=None, upper=None):
    """Give `@start_date` and `@end_date` of a window; a bound is a text and whether it is in it."""
    low, high = (
        Bound(TypedValue.parse(kind, each[0]), each[1]) if each else None for each in (lower, upper)
    )
    found = of_windows((InputWindow("raw.events", Window("n", low, high)),), NOON)(0)
    return found["start_date"], found["end_date"]


def test_a_step_without_a_window_has_only_its_run_date():
    assert of_windows((), NOON)(0) == TODAY


def test_a_window_is_told_as_its_first_value_and_the_one_after_its_last():
    assert of_window("DATE", ("2024-01-31", False), ("2024-02-29", True)) == (
        "DATE '2024-02-01'",
        "DATE '2024-03-01'",
    )
    assert of_window("BIGINT", ("3", True), ("9", False)) == (
        "CAST('3' AS BIGINT)",
        "CAST('9' AS BIGINT)",
    )


def test_no_digit_of_a_wide_decimal_is_lost():
    assert of_window("DECIMAL(38,2)", (f"{BIG}.12", False), (f"{BIG}.99", True)) == (
        f"CAST('{BIG}.13' AS DECIMAL(38,2))",
        "CAST('123456789012345678901234567891.00' AS DECIMAL(38,2))",
    )


def test_an_open_lower_bound_is_the_least_value_of_the_type():
    assert of_window("DECIMAL(4,2)", None, ("1.50", True)) == (
        "CAST('-99.99' AS DECIMAL(4,2))",
        "CAST('1.51' AS DECIMAL(4,2))",
    )


@pytest.mark.parametrize(
    ("settings", "key", "lower", "upper"),
    [
        (
            Partition("d", "date", Grid(Grain.MONTH)),
            "2024-02",
            "DATE '2024-02-01'",
            "DATE '2024-03-01'",
        ),
        (
            Partition("t", "timestamp", Grid(Grain.HOUR)),
            "2024-02-01T23",
            "TIMESTAMP '2024-02-01T23:00:00.000000Z'",
            "TIMESTAMP '2024-02-02T00:00:00.000000Z'",
        ),
        (Partition("n", "int", Grid(Grain.RANGE, 0, 250, 100)), "200", "200", "250"),
    ],
)
def test_a_partition_is_told_by_its_own_bounds(settings, key, lower, upper):
    found = of_partitions(settings, NOON)(settings.grid.parse(key))

    assert found == {
        **TODAY,
        "partition_date": lower,
        "start_date": lower,
        "end_date": upper,
    }


def test_partitions_that_one_run_makes_are_told_from_the_first_to_the_last():
    settings = Partition("d", "date", Grid(Grain.DAY))
    first, last = (settings.grid.parse(key) for key in ("2024-02-28", "2024-03-01"))

    found = of_range(settings, NOON, first, last)

    assert (found["start_date"], found["end_date"]) == ("DATE '2024-02-28'", "DATE '2024-03-02'")
