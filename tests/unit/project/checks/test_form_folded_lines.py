"""What is wrong with a folded text is told at its line."""

from __future__ import annotations

import pytest

from fakes.check_projects import PATH, user_stats

CHECK = """
        name: a
        {key}: >{more}
          {first}
          {second}

          {third}"""


def a_check(first, second, third, key="sql", more=""):
    return user_stats(CHECK.format(key=key, first=first, second=second, third=third, more=more))


@pytest.mark.parametrize("more", ["", "-", "  # folded"])
def test_each_line_counts_though_folding_joins_them(findings, more):
    files = a_check(
        "select * from {destination}", "where {table} = 1", "and @no_day = 1", more=more
    )

    errors = [each for each in findings(files) if ": error: " in each]

    assert [each.partition(": error: ")[0] for each in errors] == [f"{PATH}:12", f"{PATH}:14"]


def test_a_condition_is_told_at_its_line(findings):
    files = a_check("region = 'eu'", "and revenu > 0", "and true", key="min: 1\n        where")
    files[PATH] = files[PATH].replace("name: a\n", "name: a\n        type: row_count\n")

    (found,) = findings(files)

    assert found.startswith(f"{PATH}:14: error: unknown-column")


def test_where_folding_changes_the_meaning_the_first_line_is_told(findings):
    files = a_check("select 1 -- a", "from {nothing}", "where {table} = 1")

    errors = [each for each in findings(files) if ": error: " in each]

    assert [each.partition(": error: ")[0] for each in errors] == [f"{PATH}:11:1"]
