from __future__ import annotations

import pytest

from penstock.core.query import with_parameters
from penstock.project.files.parsed import RefKind
from penstock.project.sql.branches import read_branch
from penstock.project.sql.canonical import canonical_sql

PARTITION = "{{ config(materialized='partition', partition_by='d', start='2024-01-01') }}\n"
DAY = {"partition_date": "DATE '2024-12-02'"}


@pytest.fixture
def said(findings):
    def found(text, header=PARTITION):
        return findings({"models/m.sql": header + text}, hints=True)

    return found


def spelt(text: str) -> str:
    """Return a text with every parameter replaced by its name in brackets."""
    branch, _ = read_branch(text, ())
    parts = branch.text.split("\0")
    return "".join(
        f"<{branch.refs[int(part)].names[0]}>" if number % 2 else part
        for number, part in enumerate(parts)
    )


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("select @partition_date+1", "select <partition_date>+1"),
        ("select date(@start_date)d", "select date(<start_date>)d"),
        ("select '@run_date', \"@run_date\"", "select '@run_date', \"@run_date\""),
        ("select r'@run_date', `@run_date`", "select r'@run_date', `@run_date`"),
        (
            "select 1 -- @run_date\n, @run_date /* @run_date */",
            "select 1 -- @run_date\n, <run_date> /* @run_date */",
        ),
        ("select get_json_object(j, '$.a@run_date')", "select get_json_object(j, '$.a@run_date')"),
        ("select /*+ x(@run_date) */ 1", "select /*+ x(@run_date) */ 1"),
        ("select a:b.c, @run_date ?? 1", "select a:b.c, <run_date> ?? 1"),  # unparsed
        ("select ${run_date}", "select ${run_date}"),
    ],
)
def test_parameters_are_tokens_and_nothing_else(text, result):
    assert spelt(text) == result


def test_a_parameter_is_a_hole_with_its_line():
    branch, problems = read_branch("select\n  @end_date", ())

    assert [(h.kind, h.names, h.line) for h in branch.refs] == [(RefKind.PARAM, ("end_date",), 2)]
    assert (branch.canonical, problems) == ("SELECT @end_date", [])


def test_strings_and_comments_are_left_alone_with_a_warning(load):
    text = "SELECT '@partition_date' s, @partition_date p -- @partition_date"

    project = load({"models/m.sql": PARTITION + text})

    model = project.models["m"]
    assert with_parameters(model.query.text, DAY) == (
        "\nSELECT '@partition_date' s, DATE '2024-12-02' p -- @partition_date\n"
    )
    assert project.shown_sql(model).strip() == text
    assert [(f.code, str(f.severity)) for f in project.findings] == [
        ("parameter-in-string", "warning")
    ]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "select @partition_dat as d",
            (
                "models/m.sql:2: error: unknown-parameter: unknown parameter '@partition_dat'\n"
                "  hint: did you mean '@partition_date'?"
            ),
        ),
        (
            "select @Partition_Date as d",
            (
                "models/m.sql:2: error: unknown-parameter: unknown parameter '@Partition_Date'\n"
                "  hint: did you mean '@partition_date'?"
            ),
        ),
        (
            "select @x as d",
            (
                "models/m.sql:2: error: unknown-parameter: unknown parameter '@x'\n"
                "  hint: known here: @partition_date, @start_date, @end_date, @run_date"
            ),
        ),
        (
            "select @start_date as d,\n 'a\n @run_date' as s",
            (
                "models/m.sql:4: warning: parameter-in-string: "
                "@run_date is inside a string and stays text\n"
                "  hint: a parameter is a typed value: write it without quotes"
            ),
        ),
        (
            "select @run_date as d",
            (
                "models/m.sql:1: warning: no-partition-parameter: v1: none of @partition_date, "
                "@start_date, @end_date\n"
                "  hint: filter the query by one of them: each partition gets only its own rows"
            ),
        ),
    ],
)
def test_what_is_wrong_with_a_parameter_is_said_once(said, text, finding):
    assert said(text) == [finding]


def test_a_model_without_partitions_has_only_the_run_date(said):
    header = "{{ config(materialized='table') }}\n"

    assert said("select @run_date as d, @start_date as a", header) == [
        (
            "models/m.sql:2: error: parameter-without-partition: "
            "@start_date is that of a partition, and the model has none\n"
            "  hint: name a partition field, or write @run_date"
        )
    ]


def test_names_are_exact():
    assert canonical_sql("select @Run_Date") != canonical_sql("select @run_date")
    assert spelt("select @ run_date, @@run_date") == "select @ run_date, @<run_date>"
