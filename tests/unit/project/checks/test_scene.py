"""Columns in `check` and `where` are looked up where all of them are known."""

from __future__ import annotations

import pytest

from fakes.check_projects import PATH, user_stats


@pytest.mark.parametrize(
    ("check", "finding"),
    [
        (
            "{name: a, type: row_count, min: 1, where: \"regoin = 'eu'\"}",
            (
                "unknown-column: check \"a\": no column is called 'regoin'\n"
                "  hint: did you mean 'region'?"
            ),
        ),
        (
            "{name: a, type: column_check, column: revenue, check: '{column} >= user_cont'}",
            (
                "unknown-column: check \"a\": no column is called 'user_cont'\n"
                "  hint: did you mean 'user_count'?"
            ),
        ),
        (
            "{name: a, type: column_check, column: revenue, check: 'MIN(revenu) > MAX(revenu)'}",
            (
                "unknown-column: check \"a\": no column is called 'revenu'\n"
                "  hint: did you mean 'revenue'?"
            ),
        ),
        (
            "{name: a, type: column_check, column: revenu, check: '{column} >= 0'}",
            (
                "unknown-column: check \"a\": no column is called 'revenu'\n"
                "  hint: did you mean 'revenue'?"
            ),
        ),
    ],
)
def test_a_column_that_is_not_there_is_one_finding(said, check, finding):
    assert said(check) == [finding]


@pytest.mark.parametrize(
    "condition",
    [
        "REGION = 'eu' and `Revenue` > 0",
        "exists(split(region, ','), x -> x = 'eu')",
        "date >= @partition_date and date < current_date",
        "datediff(DAY, date, current_date()) < 3 or timestampdiff(MONTH, date, date) > 1",
        "extract(YEAR FROM date) > 2000",
        "cast(region as bigint) is null or interval 1 day > interval 2 hours",
        "case when region in ('a', 'b') then true else user_count between 1 and 2 end",
    ],
)
def test_what_is_no_column_is_not_looked_up(said, condition):
    assert said(f'{{name: a, type: row_count, min: 1, where: "{condition}"}}') == []


def test_the_line_of_a_long_condition_is_told(findings):
    check = "\n        name: a\n        type: row_count\n        min: 1\n        where: |\n"
    files = user_stats(f"{check}          region = 'eu'\n          and revenu > 0")

    assert findings(files) == [
        f"{PATH}:14: error: unknown-column: check \"a\": no column is called 'revenu'"
    ]


def test_conditions_of_a_query_or_of_unknown_columns_are_left_alone(said, findings):
    assert said("{name: a, type: row_count, min: 1, where: x > 0, query: select 1 as x}") == []
