from decimal import Decimal
from fractions import Fraction

import pytest

from penstock.strategies.checks.types.counts import (
    DistinctCount,
    NullPercentage,
    RowCount,
    RowCountChange,
)
from unit.strategies.checks.types.judged import Keys, measured, said


@pytest.mark.parametrize(
    ("bounds", "rows", "expected"),
    [
        ((2, 3), "2", "rows 2 (None)"),
        ((2, 3), "3", "rows 3 (None)"),
        ((2, 3), "1", "failed: rows 1 < min 2 (None)"),
        ((2, 3), "4", "failed: rows 4 > max 3 (None)"),
        ((None, 3), "0", "rows 0 (None)"),
        ((2, None), "9", "rows 9 (None)"),
    ],
)
def test_rows_and_different_values_lie_within_bounds_ends_included(bounds, rows, expected):
    assert said(RowCount(*bounds), {"rows": rows}) == expected
    distinct = said(DistinctCount(("n",), *bounds), {"rows": "9", "distinct": rows})
    assert distinct == expected.replace("rows", "distinct")


def test_only_the_rows_that_count_are_counted():
    assert measured(RowCount(1)) == {"rows": "count(CASE WHEN (w) THEN 1 END)"}
    assert measured(DistinctCount(("n", "t"))) == {
        "rows": "count(CASE WHEN (w) THEN 1 END)",
        "distinct": "count(DISTINCT CASE WHEN (w) THEN `n` END, `t`)",
    }
    assert measured(NullPercentage("n", Decimal(5))) == {
        "rows": "count(CASE WHEN (w) THEN 1 END)",
        "nulls": "count(CASE WHEN (w) AND (`n` IS NULL) THEN 1 END)",
    }


@pytest.mark.parametrize(
    ("most", "nulls", "expected"),
    [
        ("5", "5", "nulls 5.00 % (0)"),
        ("5", "6", "failed: nulls 6.00 % > max 5.00 % [6 of 100 rows] (6)"),
        ("33.335", "33", "nulls 33.00 % (0)"),
        ("0", "0", "nulls 0.00 % (0)"),
    ],
)
def test_the_share_of_nulls_is_exact(most, nulls, expected):
    rule = NullPercentage("n", Decimal(most))

    assert said(rule, {"rows": "100", "nulls": nulls}) == expected


def test_a_share_is_shown_with_the_digits_that_tell_it_from_its_bound():
    rule = NullPercentage("n", Decimal("33.33"))

    assert said(rule, {"rows": "3", "nulls": "1"}) == (
        "failed: nulls 33.333 % > max 33.33 % [1 of 3 rows] (1)"
    )


@pytest.mark.parametrize(
    ("rows", "before", "expected"),
    [
        ("10", None, "skipped: no earlier execution (None)"),
        ("15", 10, "rows 15, +50.0 % of 10 (None)"),
        ("16", 10, "failed: rows 16, +60.0 % of 10 (max increase 50 %) (None)"),
        ("10", 10, "rows 10, +0.0 % of 10 (None)"),
        ("8", 10, "rows 8, -20.0 % of 10 (None)"),
        ("7", 10, "failed: rows 7, -30.0 % of 10 (max decrease 20 %) (None)"),
        ("1", 0, "failed: rows 1, infinite increase from 0 (max increase 50 %) (None)"),
        ("0", 0, "rows 0, +0.0 % of 0 (None)"),
    ],
)
def test_a_change_of_rows_has_a_bound_for_more_and_one_for_fewer(rows, before, expected):
    rule = RowCountChange(Decimal(50), Decimal(20))
    base = None if before is None else Fraction(before)

    assert said(rule, {"rows": rows}, before=base) == expected


def test_a_side_without_a_bound_may_change_as_it_likes():
    more, fewer = RowCountChange(Decimal(50), None), RowCountChange(None, Decimal(20))

    assert said(more, {"rows": "0"}, before=Fraction(5, 2)) == "rows 0, -100.0 % of 2.5 (None)"
    assert said(fewer, {"rows": "9"}, before=Fraction(0)) == (
        "rows 9, infinite increase from 0 (None)"
    )
    assert (more.runs_before, RowCountChange(None, None, 7).runs_before) == (0, 7)


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ({"max_percent": "5"}, []),
        ({"max_increase_percent": "5", "max_decrease_percent": "5"}, []),
        ({}, ["type: missing-bounds"]),
        (
            {"max_percent": "5", "max_decrease_percent": "5"},
            ["max_decrease_percent: option-conflict"],
        ),
        ({"max_percent": "5", "scope": "step"}, []),
        (
            {"max_percent": "5", "scope": "table", "where": "n > 1", "query": "q"},
            [f"{key}: option-conflict" for key in ("where", "query", "scope")],
        ),
    ],
)
def test_a_change_has_bounds_and_is_of_all_rows_of_a_step(given, codes):
    keys = Keys(**given)

    RowCountChange.settle(keys, {"max_percent": None, "compare": None, "last": None})

    assert keys.codes == codes


@pytest.mark.parametrize(
    ("most", "compare", "last", "settled"),
    [
        (None, None, None, (None, None, None)),
        (Decimal(150), None, None, (Decimal(150), Decimal(100), None)),
        (Decimal(0), "trailing", None, (Decimal(0), Decimal(0), 7)),
        (None, "trailing", 3, (None, None, 3)),
    ],
)
def test_one_bound_is_both_and_a_mean_is_of_seven_unless_it_says_otherwise(
    most, compare, last, settled
):
    keys = Keys(max_percent="5")
    found = RowCountChange.settle(keys, {"max_percent": most, "compare": compare, "last": last})

    assert tuple(found.get(key) for key in ("max_increase", "max_decrease", "last")) == settled
    assert keys.codes == []


def test_a_number_of_runs_needs_a_mean():
    keys = Keys(max_percent="5")

    RowCountChange.settle(keys, {"max_percent": None, "compare": None, "last": 3})

    assert keys.codes == ["last: option-conflict"]
    assert [RowCountChange(None, None, last).runs_before for last in (None, 3)] == [0, 3]
