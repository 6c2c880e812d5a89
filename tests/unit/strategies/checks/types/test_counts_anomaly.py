from decimal import Decimal

import pytest

from fakes.check_inputs import condition
from penstock.project.checks.scene import ConditionKind
from penstock.strategies.checks.types import Anomaly
from unit.strategies.checks.types.judged import ROWS_OF_W, Keys, measured, said

SUM = condition("sum(n) / 2", ConditionKind.MEASURE)
STEADY = (100.0, 104.0, 96.0, 102.0, 98.0, 100.0, 101.0)


def of_rows(rows, earlier=STEADY, **changes):
    return said(Anomaly(**changes), {"rows": str(rows)}, earlier=earlier)


def of_sum(value, earlier=STEADY, **changes):
    values = {"rows": "9", "value": value}
    return said(Anomaly(SUM, **changes), values, earlier=earlier)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (110, "rows 110"),
        (111, "failed: rows 111 > 110.4"),
        (90, "rows 90"),
        (89, "failed: rows 89 < 89.62"),
        (0, "failed: rows 0 < 89.62"),
    ],
)
def test_a_number_of_rows_is_close_to_the_median_of_earlier_ones(rows, expected):
    band = "expected 89.62 to 110.4 (7 earlier values, median 100)"
    assert of_rows(rows) == f"{expected}, {band} (None)"


def test_one_wild_value_moves_neither_the_median_nor_the_spread():
    wild = (*STEADY, 1_000_000.0)

    assert of_rows(120, wild).startswith("failed: rows 120 > ")
    assert of_rows(105, wild).startswith("rows 105, expected ")


@pytest.mark.parametrize("number", [0, 6])
def test_with_too_little_history_it_passes_and_says_so(number):
    amount = f"{number} earlier value{'' if number == 1 else 's'}"
    assert of_rows(5, STEADY[:number]) == f"rows 5, not compared: {amount}, 7 needed (None)"


@pytest.mark.parametrize(
    ("constant", "inside", "outside"),
    [(100, (97, 100, 103), (96, 104)), (5, (2, 8), (1, 9)), (0, (3,), (4,))],
)
def test_a_constant_history_allows_small_changes(constant, inside, outside):
    earlier = (float(constant),) * 9

    assert all(not of_rows(each, earlier).startswith("failed") for each in inside)
    assert all(of_rows(each, earlier).startswith("failed") for each in outside)


def test_the_least_spread_is_a_share_of_the_median_or_what_is_written():
    earlier = (2.0,) * 9

    assert of_sum("2.06", earlier).startswith("sum(n) / 2 2.06, expected 1.93 to 2.07 (9 earlier")
    assert of_sum("2.08", earlier).startswith("failed: sum(n) / 2 2.08 > 2.07, expected ")
    assert of_sum("3.9", earlier, min_spread=Decimal(1), sensitivity=Decimal(2)).startswith("sum")
    assert of_sum("-1", (0.0,) * 7).startswith("sum(n) / 2 -1, expected -3.5 to 3.5 ")


def test_where_most_values_are_equal_the_others_still_widen_the_spread():
    earlier = (10.0,) * 6 + (20.0, 30.0, 40.0)

    assert of_rows(30, earlier).startswith("rows 30, expected ")


@pytest.mark.parametrize("value", [None, "NaN"])
def test_what_is_no_number_fails_once_there_is_a_history(value):
    said = "sum(n) / 2 NULL"
    assert of_sum(value).startswith(f"failed: {said}, expected 89.62 to 110.4 ")
    assert of_sum(value, ()).startswith(f"{said}, not compared: 0 earlier values")


def test_infinity_fails_and_is_no_history():
    assert of_sum("Infinity").startswith("failed: sum(n) / 2 inf > 110.4")
    assert of_sum("100", (*STEADY[:6], float("inf"))).endswith("6 earlier values, 7 needed (None)")


def test_a_value_and_its_bound_are_told_apart():
    assert of_sum("110.37832").startswith("failed: sum(n) / 2 110.3783 > 110.3782")


def test_what_is_measured_and_expected_is_recorded():
    found = Anomaly().measure(ROWS_OF_W).judge
    from penstock.core.checks.check_type import GroupMeasures

    values = found(GroupMeasures({"rows": "7"}, earlier=(5.0,) * 7)).values
    assert values == {"value": "7", "earlier": "7", "low": "1.5", "median": "5", "high": "8.5"}
    assert found(GroupMeasures({"rows": "7"})).values == {"value": "7", "earlier": "0"}


def test_the_measure_reads_the_rows_that_count():
    assert measured(Anomaly()) == {"rows": "count(CASE WHEN (w) THEN 1 END)"}
    assert measured(Anomaly(SUM))["value"] == (
        "CAST(CAST((sum(CASE WHEN (w) THEN n END) / 2) AS DOUBLE) AS STRING)"
    )


def test_a_history_shorter_than_the_least_is_refused():
    keys = Keys(min_history="9", last="4")
    given = {"last": 4, "min_history": 9, "sensitivity": None}

    Anomaly.settle(keys, dict(given))

    assert keys.codes == ["min_history: option-conflict"]
