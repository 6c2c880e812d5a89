"""SQL of checks as it is read: tables, placeholders, parameters, and what is wrong."""

from __future__ import annotations

import pytest

from penstock.core.findings import Finding, Location, Severity
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.query import PARAMETERS
from penstock.project.checks.kept import query_of
from penstock.project.files.parsed import ReadText
from penstock.project.sql.names import NameResolver, QueryOwner

ALL = frozenset(PARAMETERS)
RUN_DATE = frozenset({"run_date"})
THIS = InputName(InputKind.THIS, "user_stats")
EVENTS = InputName(InputKind.SOURCE, "raw.events")
CUSTOMERS = InputName(InputKind.MODEL, "customers")
BARE = "`penstock:this:user_stats:bare:user_stats`"


def on_line(code, sentence, hint="", severity=Severity.ERROR, *, line=1):
    return Finding(Location("", line), code, sentence, hint, severity)


@pytest.fixture
def ask():
    resolver = NameResolver()
    resolver.add_model("user_stats", TableName("analytics", "user_stats"))
    resolver.add_model("customers", TableName("staging", "customers"))
    resolver.add_source(TableName("raw", "events"))
    reader = QueryOwner("models/user_stats.yml", resolver.model("user_stats"))

    def asked(text, allowed=ALL):
        return query_of(text, reader, resolver, allowed)

    return asked


def texts(read):
    return (read.value.text, read.value.inputs, read.problems)


@pytest.mark.parametrize(
    "written",
    ["{destination}", "`{destination}`", "analytics.user_stats", "`analytics.user_stats`"],
)
def test_three_ways_to_write_the_own_table(ask, written):
    text = f"select region from {written} where date = @partition_date"
    expected = f"select region from {BARE} where date = `penstock:param:partition_date`"

    assert texts(ask(text)) == (expected, (THIS,), ())


def test_strings_and_comments_are_untouched(ask):
    text = "select '@partition_date {x}' -- {y}"
    problem = on_line(
        "parameter-in-string",
        "@partition_date is inside a string and stays text",
        "a parameter is a typed value: write it without quotes",
        Severity.WARNING,
    )

    assert texts(ask(text)) == (f"{text}\n", (), (problem,))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("select {destination}.a from {destination}", f"select `user_stats`.a from {BARE}"),
        ("select d.a from {destination} d", "select d.a from `penstock:this:user_stats` d"),
        (
            "with x as (select * from {destination}) select * from x",
            f"with x as (select * from {BARE}) select * from x",
        ),
        ("select ${destination}, '{destination}'", "select ${destination}, '{destination}'"),
        ('select "{destination}" /* {a} */', 'select "{destination}" /* {a} */'),
        ("select `a {b} c`, r'\\{d}'", "select `a {b} c`, r'\\{d}'"),
        ("from {destination} |> where a", f"from {BARE} |> where a"),
    ],
)
def test_only_tokens_are_placeholders(ask, text, result):
    assert ask(text).value.text == result


def test_the_tables_are_those_of_the_project(ask):
    text = "select * from `raw.events` e join staging.customers on true join {destination} on true"

    assert ask(text).value.inputs == (EVENTS, CUSTOMERS, THIS)


def test_a_query_that_the_parser_cannot_read_keeps_its_placeholders(ask):
    read = ask("select a from {destination} where d = @run_date and e={'a':1}")

    assert (
        read.value.text
        == f"select a from {BARE} where d = `penstock:param:run_date` and e={{'a':1}}"
    )
    assert [(p.code, p.hint, p.severity) for p in read.problems] == [
        (
            "unparsed-sql",
            "penstock then knows only {destination} and the parameters in it",
            Severity.WARNING,
        )
    ]


@pytest.mark.parametrize(
    ("text", "sentence", "line"),
    [
        ("DELETE FROM t", "one query is expected; this begins with DELETE", 0),
        ("\ninsert into t values (1)", "one query is expected; this begins with INSERT", 1),
        ("select 1\n; select 2", "one query is expected; another statement follows", 1),
        ("{destination}", "one query is expected; this begins with {destination}", 0),
        (" ", "there is no query", 0),
    ],
)
def test_what_is_no_query_is_said(ask, text, sentence, line):
    hint = "a check reads the rows of a SELECT"

    assert ask(text) == ReadText(None, (on_line("not-a-query", sentence, hint, line=line + 1),))


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("{table}", "did you mean {destination}?"),
        ("{Destination}", "did you mean {destination}?"),
        ("{end_date}", "did you mean @end_date?"),
        ("{column}", "{column} is known in the `check` of a column_check: write the column's name"),
    ],
)
def test_other_placeholders_are_unknown(ask, word, hint):
    problem = on_line("unknown-placeholder", f"unknown placeholder {word}", hint, line=2)

    found = ask(f"select 1\nfrom {word}").problems

    assert [p for p in found if p.code == "unknown-placeholder"] == [problem]


def test_an_unknown_parameter_has_a_nearest_name(ask):
    hint = "did you mean '@partition_date'?"
    problem = on_line("unknown-parameter", "unknown parameter '@partition_day'", hint)

    assert ask("select @partition_day") == ReadText(None, (problem,))


def test_a_parameter_without_a_value_here_is_an_error(ask):
    problem = on_line(
        "parameter-without-partition",
        "@end_date is that of a partition, and the model has none",
        "name a partition field, or write @run_date",
        line=2,
    )

    assert ask("select @run_date,\n@end_date", RUN_DATE) == ReadText(None, (problem,))
    assert ask("select @run_date", RUN_DATE).problems == ()


def test_a_table_of_the_project_that_is_not_there_is_told(ask):
    [problem] = ask("select 1\nfrom staging.custmers").problems

    assert problem == on_line(
        "external-table",
        "table staging.custmers is not a model or source, though the project builds its schema",
        "did you mean 'customers'?",
        Severity.WARNING,
        line=2,
    )
