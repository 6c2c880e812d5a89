from __future__ import annotations

import pytest

from penstock.project.sql.canonical import parse_query, tokens_of
from penstock.project.sql.outputs import outputs_of

SNAPSHOT = "materialized='snapshot'"


CHECK = f"{SNAPSHOT}, unique_key='id', strategy='check'"


@pytest.fixture
def said(findings):
    """Say what is found in one model with this header, without its file."""

    def found(header, query="select id, value, updated_at from t"):
        text = f"{{{{ config({header}) }}}}\n{query}"
        return [f.removeprefix("models/s.sql:") for f in findings({"models/s.sql": text})]

    return found


@pytest.mark.parametrize(
    "query",
    [
        "select * from t",
        "select t.* from t join u on t.a = u.a",
        "select id, count(*) from t group by id",
        "with a as (select * from t) select * from a",
        "select * except (value) from (select 1 as id, 2 as value)",
    ],
)
def test_a_list_that_cannot_be_read_is_left_to_the_run(said, query):
    assert said(f"{CHECK}, check_cols='nothing'", query) == []


@pytest.mark.parametrize(
    "query",
    [
        "with a as (select id, value from t) select * from a",
        "select a.* from (select id, value from t) as a join t on true",
        "select * from (select 1, 2) as a (id, value)",
        "select id, value from t union all select * from u",
        "(select cast(id as int), t.value from t)",
    ],
)
def test_a_list_is_read_through_ctes_subqueries_and_unions(said, query):
    assert said(f"{CHECK}, check_cols='nothing'", query) == [
        "1: error: column-not-selected: check_cols 'nothing' is not selected"
    ]


@pytest.mark.parametrize(
    "query",
    [
        "select id, upper(b.v) as value from (select id, now() as v from t) as b",
        "with b as (select id, uuid() as value from t) select * from b",
        "select id, 1 as value from t union all select id, rand() from t",
        "select id, input_file_name() as value from t",
    ],
)
def test_what_changes_by_itself_is_followed_through_the_query(said, query):
    assert [f.partition(": ")[2] for f in said(f"{CHECK}, check_cols='all'", query)] == [
        (
            "warning: volatile-change-column: "
            "'value' differs on every run; each run would open a version of every row"
        )
    ]


@pytest.mark.parametrize(
    ("item", "unit"),
    [
        ("date_trunc('week', d)", "WEEK"),
        ("trunc(d, 'MM')", "MONTH"),
        ("date_trunc('YYYY', t)", "YEAR"),
        ("cast(date_trunc('dd', t) as date)", "DAY"),
        ("(date(date_trunc('hour', t)))", "HOUR"),
        ("date_trunc('quarter', t)", ""),
        ("concat(date_trunc('day', t))", ""),
        ("d", ""),
    ],
)
def test_the_unit_of_a_date_that_is_truncated_right_there_is_known(item, unit):
    text = f"select {item} as d from s.t"

    (column,) = outputs_of(parse_query(tokens_of(text), text)).columns

    assert (column.name, column.unit) == ("d", unit)
