"""How many failing rows are too many, as users and dbt write it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock.core.checks.check import ANY_ROW, Threshold, Thresholds
from penstock.core.findings import Severity
from penstock.project.checks.check import threshold_of

TEN, FIVE_PERCENT = Threshold(">", Decimal(10)), Threshold(">", Decimal(5), percent=True)


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("> 10", TEN),
        (" >10 ", TEN),
        (">5%", FIVE_PERCENT),
        ("<> 0", ANY_ROW),
        ("==3", Threshold("=", Decimal(3))),
        ("between 1 and 5", Threshold("between", Decimal(1), Decimal(5))),
        ("BETWEEN 0.5 AND 2 %", Threshold("between", Decimal("0.5"), Decimal(2), percent=True)),
        ("10", None),
        ("> ten", None),
        ("> 0.5", None),
        ("between 5 and 1", None),
        ("> -1", None),
    ],
)
def test_a_threshold_is_read_as_it_is_written(text, threshold):
    assert threshold_of(text) == threshold


@pytest.mark.parametrize(
    ("keys", "thresholds"),
    [
        ("", None),
        ("error_if: '> 10'", Thresholds(TEN, ANY_ROW)),
        ("error_if: '> 10', warn_if: '> 5 %'", Thresholds(TEN, FIVE_PERCENT)),
        ("warn_if: '> 10', severity: warning", Thresholds(None, TEN)),
        ("mostly: 0.95", Thresholds(FIVE_PERCENT)),
        ("mostly: 0.95, severity: warning", Thresholds(None, FIVE_PERCENT)),
        ("mostly: 1", Thresholds(Threshold(">", Decimal(0), percent=True))),
    ],
)
def test_what_is_not_said_is_any_row_as_dbt_has_it(after, keys, thresholds):
    comma = ", " * bool(keys)

    [check] = after(f"{{type: not_null, column: region{comma}{keys}}}")

    assert check.thresholds == thresholds
    assert check.is_gate == ("severity" not in keys)


def test_rows_that_fail_are_kept_where_that_is_asked_for(after):
    [kept] = after("{type: unique, column: region, store_failures: true, limit: 100}")

    assert (kept.store, kept.limit, kept.thresholds) == (True, 100, None)


def test_only_thresholds_belong_to_what_a_check_means(after):
    one, same, other = (
        after(f"{{type: not_null, column: region{more}}}")[0].definition
        for more in ("", ", store_failures: true", ", mostly: 0.9")
    )

    assert one == same
    assert one != other


@pytest.mark.parametrize(
    ("check", "finding"),
    [
        (
            "{type: not_null, column: region, error_if: many}",
            (
                "bad-value: check \"not_null_region\": error_if is 'many'; it must be a "
                "condition on "
                "the number of failing rows, such as > 10, > 1 % or between 1 and 5\n"
                '  hint: quote it: "> 10"'
            ),
        ),
        (
            "{type: row_count, min: 1, warn_if: '> 1', severity: warning}",
            (
                'unsupported-threshold: check "row_count": warn_if: row_count counts no '
                "rows that fail"
                "\n  hint: use null_percentage, row_count or column_check"
            ),
        ),
        (
            "{type: column_check, column: revenue, check: 'MIN({column}) > 0', mostly: 0.5}",
            (
                'unsupported-threshold: check "column_check_revenue": mostly: '
                "column_check counts no "
                "rows that fail\n  hint: use null_percentage, row_count or column_check"
            ),
        ),
        (
            (
                "{name: a, sql: 'select * from {destination} where date = @partition_date', "
                "error_if: '> 5 %'}"
            ),
            (
                'unsupported-threshold: check "a": error_if: SQL gives failing rows '
                "alone, so a "
                'percentage means nothing\n  hint: write a number: "> 10"'
            ),
        ),
        (
            "{type: not_null, column: region, mostly: 95}",
            (
                'percent-out-of-range: check "not_null_region": mostly is 95; it must be '
                "more than 0 "
                "and at most 1\n  hint: 0.95 lets at most 5 % of the rows fail"
            ),
        ),
        (
            "{type: not_null, column: region, mostly: 0.9, error_if: '> 5'}",
            (
                'option-conflict: check "not_null_region": mostly says what error_if says\n'
                "  hint: keep one of them"
            ),
        ),
        (
            "{type: not_null, column: region, warn_if: '> 5'}",
            (
                'option-without-effect: check "not_null_region": without error_if a single failing '
                "row is an error\n  hint: give error_if as well, or severity: warning"
            ),
        ),
        (
            "{type: not_null, column: region, error_if: '> 5', severity: warning}",
            (
                'option-without-effect: check "not_null_region": the severity is '
                "warning, so nothing "
                "is an error\n  hint: write warn_if, or severity: error"
            ),
        ),
        (
            "{type: not_null, column: region, limit: 5}",
            (
                'option-without-effect: check "not_null_region": limit is how many '
                "failing rows are "
                "kept, and none are\n  hint: write store_failures: true, or take it out"
            ),
        ),
        (
            "{type: row_count, min: 1, store_failures: true}",
            (
                'option-without-effect: check "row_count": row_count has no rows that fail\n'
                "  hint: take it out"
            ),
        ),
    ],
)
def test_what_could_not_be_meant_is_a_finding(said, check, finding):
    assert said(check) == [finding]


@pytest.mark.parametrize(
    ("failures", "rows", "severity"),
    [
        (0, 100, None),
        (0, 0, None),
        (5, 100, None),
        (6, 100, Severity.WARNING),
        (10, 100, Severity.WARNING),
        (11, 1000, Severity.ERROR),
    ],
)
def test_the_gravest_threshold_that_is_met_counts(failures, rows, severity):
    assert Thresholds(TEN, FIVE_PERCENT).severity_of(failures, rows) == severity
