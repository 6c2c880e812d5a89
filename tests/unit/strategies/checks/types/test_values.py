import datetime as dt

import pytest

from penstock.core.columns.schema import Column
from penstock.strategies.checks.types.values import (
    AcceptedValues,
    ColumnTypes,
    Freshness,
    NotNull,
    Unique,
    ValueRange,
    aged,
)
from unit.strategies.checks.types.judged import measured, said

NOON = 1_735_732_800_000_000  # 2025-01-01 12:00
ALL = "count(CASE WHEN (w) THEN 1 END)"


@pytest.mark.parametrize(
    ("rule", "complete", "keys"),
    [
        (
            Unique(("n", "t")),
            "count(CASE WHEN (w) AND (`n` IS NOT NULL AND `t` IS NOT NULL) THEN 1 END)",
            "count(DISTINCT CASE WHEN (w) THEN `n` END, `t`)",
        ),
        (
            Unique(("n", "t"), nulls_equal=True),
            ALL,
            "count(DISTINCT CASE WHEN (w) THEN struct(`n`, `t`) END)",
        ),
    ],
)
def test_rows_with_a_null_repeat_nothing_unless_nulls_are_equal(rule, complete, keys):
    assert measured(rule) == {"rows": ALL, "complete": complete, "keys": keys}
    assert said(rule, {"rows": "9", "complete": "5", "keys": "5"}) == "unique (0)"
    assert said(rule, {"complete": "5", "keys": "4"}) == "failed: 1 duplicate row (1)"
    assert (rule.is_of_current, Unique((), all_versions=True).is_of_current) == (True, False)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "no NULL (0)"),
        ({"nulls n": "1", "failures": "1"}, "failed: 1 NULL in n (1)"),
        ({"nulls n": "2", "nulls t": "1", "failures": "3"}, "failed: 2 NULLs in n, 1 in t (3)"),
        ({"nulls t": "2", "failures": "2"}, "failed: 2 NULLs in t (2)"),
    ],
)
def test_nulls_are_told_by_column(values, expected):
    assert said(NotNull(("n", "t")), values) == expected


def test_accepted_values_are_compared_in_the_type_of_the_column():
    assert measured(AcceptedValues("n", ("1", "2")))["failures"] == (
        "count(CASE WHEN (w) AND (NOT (`n` IN (1, 2))) THEN 1 END)"
    )
    assert measured(AcceptedValues("f", ("0",)))["failures"] == (
        "count(CASE WHEN (w) AND (NOT ((`f` + CAST(0 AS double)) IN (CAST('0' AS double)))) "
        "THEN 1 END)"
    )
    rule = AcceptedValues("t", ("a",))
    assert said(rule, {"failures": "0"}) == "only accepted values (0)"
    assert said(rule, {"failures": "2"}) == "failed: 2 rows with other values (2)"


@pytest.mark.parametrize(
    ("strict", "low", "high"),
    [(False, "<", ">"), (True, "<=", ">=")],
)
def test_a_range_is_broken_below_and_above_and_at_its_ends_if_it_is_strict(strict, low, high):
    rule = ValueRange("n", "1", "9", strict)
    value = "CASE WHEN (w) THEN `n` END"

    assert measured(rule) == {
        "rows": ALL,
        "min": f"CAST(min({value}) AS STRING)",
        "max": f"CAST(max({value}) AS STRING)",
        "below": f"CAST((min({value}) {low} 1) AS STRING)",
        "above": f"CAST((max({value}) {high} 9) AS STRING)",
        "failures": f"count(CASE WHEN (w) AND (`n` {low} 1 OR `n` {high} 9) THEN 1 END)",
    }
    broken = {"min": "0", "max": "10", "below": "true", "above": "true", "failures": "2"}
    assert said(rule, broken) == f"failed: min 0 {low} 1, max 10 {high} 9 (2)"
    assert said(rule, {**broken, "above": "false"}) == f"failed: min 0 {low} 1 (2)"


def test_a_range_that_holds_says_its_ends():
    rule = ValueRange("n", None, "9")

    assert said(rule, {"min": "2", "max": "3", "above": "false"}) == "range 2 to 3 (0)"
    assert said(rule, {"min": None, "max": None, "above": None}) == "no values (0)"
    assert (rule.literals, ValueRange("n", "1", "9").literals) == (("9",), ("1", "9"))
    assert "below" not in measured(rule)


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        ("2025-01-01 11:00:00", "newest 2025-01-01 11:00:00, age 1h (None)"),
        ("2025-01-01 13:00:00", "newest 2025-01-01 13:00:00, age 0m (None)"),
        (
            "2025-01-01 10:59:59",
            "failed: newest 2025-01-01 10:59:59, age 1h 1s > max 1h (None)",
        ),
        ("+10000-01-01", "newest +10000-01-01, age 0m (None)"),
        (None, "failed: no values (None)"),
    ],
)
def test_the_newest_value_is_at_most_so_old(newest, expected):
    assert said(aged("at", dt.timedelta(hours=1)), {"newest": newest}, reference=NOON) == expected


def test_what_lies_before_the_first_year_is_old_and_what_is_no_time_has_no_age():
    rule = Freshness("at", dt.timedelta(hours=1))

    assert said(rule, {"newest": "-0001-01-01"}, reference=NOON).startswith(
        "failed: newest -0001-01-01, age 7392"
    )
    assert rule.refusal_of(Column("at", "date")) == ""
    assert rule.refusal_of(Column("n", "int")) == 'column "at" is INT, no DATE or TIMESTAMP'
    assert aged("at", dt.timedelta(minutes=90)).shown == "1h 30m"


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((("N", "bigint"), ("at", "timestamp")), "2 columns as declared (None)"),
        ((("n", "int"), ("gone", "string"), ("t", "string")),
         'failed: "n" is BIGINT, not INT; no "gone" ["n" is BIGINT, not INT; no "gone"] (None)'),
    ],
)  # fmt: skip
def test_columns_have_the_types_that_are_declared(types, expected):
    assert said(ColumnTypes(types), {"rows": "0"}) == expected
