from __future__ import annotations

import pytest

from fakes.inferred_ranges import (
    read,
)


def test_an_equality_passes_the_bounds_of_the_other_column() -> None:
    sql = (
        "SELECT * FROM {events} e LEFT JOIN {daily} d ON d.date = DATE(e.created_at)"
        " WHERE DATE(e.created_at) = @partition_date"
    )

    assert read(sql) == {
        "raw.events": ["2024-12-03..2024-12-03"],
        "daily": ["2024-12-03..2024-12-03"],
    }


ONE_DAY = ["2024-12-03..2024-12-03"]


@pytest.mark.parametrize(
    "predicate",
    [
        "datediff($, date) BETWEEN 0 AND 4",
        "year(date) = year($) AND month(date) = month($)",
        "CASE WHEN hour = 23 THEN date_add(date, 1) ELSE date END = $",
        "coalesce(date, day) = $",
        "greatest(date, day) = $",
        "last_day(date) = last_day($)",
        "add_months(date, 1) = $",
        "date_format(date, 'yyyy-MM') = date_format($, 'yyyy-MM')",
        "date = coalesce($, date)",
        "date = next_day($, 'MON')",
        "date >= nullif($, '2024-01-01')",
        "(date < $) = true",
        "(date = $) IS NOT TRUE",
        "(date, k) IN (($, 1))",
        "$ IN (date, date_add(date, k))",
        "date_add(date, k) = $",
        "exists(days, each -> each = date AND each = $)",
    ],
)
def test_a_condition_that_is_not_recognised_is_no_bound_and_never_the_same_partition(
    predicate: str,
) -> None:
    assert read(f"SELECT 1 FROM {{daily}} WHERE {predicate}") == {"daily": "unclear"}
    assert read(f"SELECT 1 FROM {{daily}} WHERE date <= $ AND ({predicate})") == {
        "daily": ["..2024-12-03"]
    }


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("$ = date", ONE_DAY),
        ("`penstock:param:partition_date` = date", ONE_DAY),
        ("daily.date = $", ONE_DAY),
        ("`Date` = $", ONE_DAY),
        ("(date = $)", ONE_DAY),
        ("date <=> $", ONE_DAY),
        ("TO_DATE(date) = $", ONE_DAY),
        ("date::date = $", ONE_DAY),
        ("CAST(date AS TIMESTAMP) = $", ONE_DAY),
        ("CAST(date AS STRING) = $", "unclear"),
        ("date = CAST($ AS DATE)", ONE_DAY),
        ("date = CAST($ AS STRING)", "unclear"),
        ("date = '2024-05-01'", ["2024-05-01..2024-05-01"]),
        ("date >= DATE '2024-05-01'", ["2024-05-01.."]),
        ("date > $", ["2024-12-04.."]),
        ("date < $", ["..2024-12-02"]),
        ("date IN ($, date_add($, 3))", ["2024-12-03..2024-12-06"]),
        ("date IN ($, my_udf(date))", "whole"),
        (
            "date = $ OR date = add_months($, -1)",
            ["2024-11-03..2024-12-03"],
        ),
        ("date = $ OR is_late", "whole"),
        (
            "(date = $ AND a = 1) OR (date = '2024-12-01' AND b)",
            ["2024-12-01..2024-12-03"],
        ),
        ("NOT (date < $ OR date > $)", ONE_DAY),
        ("date NOT BETWEEN $ AND @end_date", "whole"),
        ("date <> $", "whole"),
        ("date IS NOT NULL", "whole"),
        ("date IS NOT NULL AND my_udf(date) = $", "unclear"),
        ("date >= date_sub(@run_date, 3)", "whole"),
        ("date >= date_sub(@run_date, 3) AND date <= $", ["..2024-12-03"]),
        (
            "date >= $ - INTERVAL 1 MONTH AND date < @end_date",
            ["2024-11-03..2024-12-03"],
        ),
        (
            "date > $ - INTERVAL '7' DAYS AND date < @end_date",
            ["2024-11-27..2024-12-03"],
        ),
        ("date BETWEEN $ - 2 AND $", ["2024-12-01..2024-12-03"]),
        (
            "date BETWEEN trunc($, 'MM') AND last_day($)",
            ["2024-12-01..2024-12-31"],
        ),
        ("trunc(date, 'MM') = trunc($, 'MM')", ["2024-12-01..2024-12-31"]),
        ("trunc(date, 'QUARTER') < $", ["..2024-12-31"]),
        ("trunc(date, 'QUARTER') > $", ["2025-01-01.."]),
        ("trunc(date, 'no unit') = $", "unclear"),
        ("date_add(date, 1) = $", ["2024-12-02..2024-12-02"]),
        ("month(date) = 12", "whole"),
        ("date = $ AND date < $", []),
        ("date = 5", "whole"),
        ("date = '2024-05-01T23:00:00-05:00'", ["2024-05-01..2024-05-01"]),
        ("date >= DATE '2024-05-01T23:00:00-05:00' AND date <= $", ["2024-05-01..2024-12-03"]),
    ],
)
def test_predicates_on_a_date(predicate: str, expected: list[str] | str) -> None:
    assert read(f"SELECT 1 FROM {{daily}} WHERE {predicate}") == {"daily": expected}
