"""SQL that makes the parser throw anything at all is a finding at most."""

from __future__ import annotations

import pytest

from penstock.project.sql.branches import read_branch
from penstock.project.sql.canonical import canonical_sql
from penstock.project.unit_tests.tables import select_problem
from penstock.strategies.one_query import parsed_sql

ODD = (
    "select date_trunc() as day",
    "select map(a as b) as a",
    "select cast() as a",
    "select transform(a, x -> )",
    "select 'a",
    "select /* a",
    "select " + "(" * 5000,
    "select " + "not " * 5000 + "true",
    "select cast(a as " + "array<" * 500 + "int" + ">" * 500 + ")",
    "select 1" + " union select 1" * 50_000,
)
LARGE = "this has more than 100,000 words, or brackets in more than 150 others"


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_sql_that_the_parser_falls_over_is_read_as_far_as_it_goes(text):
    branch, findings = read_branch(text, ())

    assert branch.text == text
    assert {each.code for each in findings} <= {"unparsed-sql"}
    assert all(each.hint for each in findings)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_rows_of_unit_tests_canonical_forms_and_conditions_may_hold_it_too(text):
    assert select_problem(text) is None or select_problem(text)[0] == "not-a-query"
    assert canonical_sql(text) is None or canonical_sql(text).startswith("SELECT")
    assert parsed_sql(text) is None or parsed_sql(text).sql() is not None


def test_what_would_take_the_parser_minutes_is_not_given_to_it():
    _, findings = read_branch("select cast(a as " + "array<" * 500 + "int" + ">" * 500 + ")", ())

    assert [each.sentence for each in findings] == [f"{LARGE}; Spark may still read it"]


def test_many_comparisons_are_not_deep():
    text = "select 1 where " + " and ".join(["cast(a as array<map<int, int>>) < b"] * 400)

    assert read_branch(text, ())[1] == []
