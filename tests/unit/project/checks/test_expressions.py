"""Conditions of checks as they are read: parameters, placeholders, aggregates, faults."""

from __future__ import annotations

import pytest

from penstock.core.checks.check_type import Condition
from penstock.core.findings import Finding, Location, Severity
from penstock.project.checks.kept import condition_of
from penstock.project.checks.scene import ConditionKind
from penstock.project.files.parsed import ReadText

ALL = frozenset({"partition_date", "start_date", "end_date", "run_date"})
RUN_DATE = frozenset({"run_date"})


def check(text, column="revenue", allowed=ALL):
    return condition_of(text, ConditionKind.CHECK, column=column, allowed=allowed)


def where(text, allowed=ALL):
    return condition_of(text, ConditionKind.WHERE, allowed=allowed)


def on_line(code, sentence, hint="", severity=Severity.ERROR, *, line=1):
    return Finding(Location("", line), code, sentence, hint, severity)


def bad(sentence, line_offset=0, hint="use a sql check"):
    return ReadText(None, (on_line("bad-check-expression", sentence, hint, line=line_offset + 1),))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{column} >= 0", Condition("`revenue` >= 0")),
        ("`{column}` >= 0", Condition("`revenue` >= 0")),
        ("MIN({column}) >= 0", Condition("MIN(`revenue`) >= 0", ("MIN(`revenue`)",))),
        (
            "min({column}) >= 0 and max(`b`) < min(`revenue`)",
            Condition(
                "min(`revenue`) >= 0 and max(`b`) < min(`revenue`)",
                ("min(`revenue`)", "max(`b`)"),
            ),
        ),
        ("every(a > 0)", Condition("every(a > 0)", ("every(a > 0)",))),
        ("any(a) = some (b)", Condition("any(a) = some (b)", ("any(a)", "some (b)"))),
        ("`MIN`(a) > 0", Condition("`MIN`(a) > 0", ("`MIN`(a)",))),
        ("max(sum(a)) > 0", Condition("max(sum(a)) > 0", ("max(sum(a))",))),
        (
            "first(a) ignore nulls > mode() within group (order by b)",
            Condition(
                "first(a) ignore nulls > mode() within group (order by b)",
                ("first(a) ignore nulls", "mode() within group (order by b)"),
            ),
        ),
        ("a like any ('x', '{b}')", Condition("a like any ('x', '{b}')")),
        ("a = 'max(b)' -- {c}", Condition("a = 'max(b)'")),
        ("schema.max(a) > 0", Condition("schema.max(a) > 0")),
        ("a is not distinct from 1;", Condition("a is not distinct from 1")),
    ],
)
def test_a_condition_is_read(text, result):
    assert check(text) == ReadText(result)


@pytest.mark.parametrize("column", ["a.b", "order", "a`b", "a b"])
def test_the_column_is_quoted_whatever_its_name(column):
    name = "`" + column.replace("`", "``") + "`"

    assert check("max({column}) > 1", column) == ReadText(
        Condition(f"max({name}) > 1", (f"max({name})",))
    )


@pytest.mark.parametrize(
    ("text", "aggregates"),
    [
        ("count(distinct a) > 1", ("count(distinct a)",)),
        ("sum(a) filter (where b) > 1", ("sum(a) filter (where b)",)),
        (
            "mode() within group (order by a) filter (where b) > 1",
            ("mode() within group (order by a) filter (where b)",),
        ),
    ],
)
def test_distinct_and_filtered_aggregates_are_not_observable(text, aggregates):
    assert check(text) == ReadText(Condition(text, aggregates, observable=False))


def test_parameters_are_tokens():
    assert check("max(a) < @end_date") == ReadText(
        Condition("max(a) < `penstock:param:end_date`", ("max(a)",))
    )
    assert where("d >= @start_date and d = @run_date") == ReadText(
        Condition("d >= `penstock:param:start_date` and d = `penstock:param:run_date`")
    )


def test_a_parameter_inside_of_an_aggregate_is_a_token_of_its_text():
    text = "sum(case when d = `penstock:param:run_date` then 1 end)"

    assert check("sum(case when d = @run_date then 1 end) > 0") == ReadText(
        Condition(f"{text} > 0", (text,))
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "MIN(revenue) > user_count",
            "the condition mixes MIN(revenue) with bare columns: user_count",
        ),
        ("(select 1) = 1", "the condition holds a subquery"),
        ("a in (select b from c)", "the condition holds a subquery"),
        ("rand() > 0.5", "the condition calls rand, which gives another value each time"),
    ],
)
def test_a_condition_that_only_a_sql_check_can_express(text, sentence):
    assert check(text) == bad(sentence)


def test_where_looks_at_one_row():
    assert where("max(revenue) > 1") == bad("where reads one row, max(revenue) at many")
    assert where("a > (select 1)") == bad("the condition holds a subquery")
    assert where("sum(a) over () > 1") == bad("the condition holds a window function")


@pytest.mark.parametrize(
    "text",
    [
        "now() > a",
        "a < current_date",
        "a < CURRENT_TIMESTAMP()",
        "uuid() = a",
        "unix_timestamp()>a",
    ],
)
def test_volatile_functions_are_refused(text):
    [problem] = check(text).problems

    assert problem.code == "bad-check-expression"


@pytest.mark.parametrize(
    "text", ["a = 'now()'", "`now` > 1", "unix_timestamp(a) > 1", "t.current_date > `current_date`"]
)
def test_what_only_looks_volatile_is_not(text):
    assert check(text) == ReadText(Condition(text))


def test_where_may_be_volatile_but_is_not_observed():
    assert where("a > now()") == ReadText(Condition("a > now()", observable=False))


@pytest.mark.parametrize(
    "text",
    [
        "timestampdiff(HOUR, max(a), @end_date) < 2",
        "exists(collect_list(a), x -> x > 1)",
        "extract(year from max(a)) = 2024",
        "max(a)::date > date '2024-01-01' + interval 1 day",
    ],
)
def test_units_lambdas_and_types_are_no_bare_columns(text):
    assert check(text).problems == ()


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("a >\n1 b", "Invalid expression / Unexpected token, near 'b'", 1),
        ("\n\na >\n1 b", "Invalid expression / Unexpected token, near 'b'", 3),
        ("sum(a", "Expecting ), near 'a'", 0),
        ("a > 0, b", "Invalid expression / Unexpected token, near ','", 0),
        ("1) = (1", "Invalid expression / Unexpected token, near ')'", 0),
        ("1; 2", "one condition is expected", 0),
        ("a > 'x", "Error tokenizing 'a > ''", 0),
    ],
)
def test_what_cannot_be_parsed_is_said_in_the_words_of_the_parser(text, said, line):
    hint = "write one condition, such as amount >= 0"

    assert check(text) == bad(f"the condition cannot be read: {said}", line, hint=hint)


@pytest.mark.parametrize("text", ["", " \n", "-- a > 1"])
def test_an_empty_condition_is_bad(text):
    assert check(text) == bad("the condition is empty", hint="write what must hold: {column} >= 0")


@pytest.mark.parametrize(
    ("kind", "column", "text", "word", "hint"),
    [
        (ConditionKind.CHECK, "a", "{table} > 0", "table", "did you mean {column}?"),
        (ConditionKind.CHECK, "a", "`{table}` > 0", "table", "did you mean {column}?"),
        (ConditionKind.CHECK, "a", "a > {run_date}", "run_date", "did you mean @run_date?"),
        (ConditionKind.WHERE, "", "{table} > 0", "table", "name columns as they are"),
    ],
)
def test_other_placeholders_are_unknown(kind, column, text, word, hint):
    problem = on_line("unknown-placeholder", f"unknown placeholder {{{word}}}", hint)

    assert condition_of(text, kind, column=column, allowed=ALL) == ReadText(None, (problem,))


def test_the_column_is_no_placeholder_of_where():
    read = condition_of("a = 1\nand {column} = 1", ConditionKind.WHERE, column="a", allowed=ALL)

    assert [(p.code, p.sentence, p.where.line) for p in read.problems] == [
        ("unknown-placeholder", "unknown placeholder {column}", 2)
    ]


def test_a_parameter_without_a_value_here_is_an_error():
    assert where("a > 1\nand d = @start_date", RUN_DATE) == ReadText(
        None,
        (
            on_line(
                "parameter-without-partition",
                "@start_date is that of a partition, and the model has none",
                "name a partition field, or write @run_date",
                line=2,
            ),
        ),
    )


def test_an_unknown_parameter_has_a_nearest_name():
    assert where("d = @partition_day") == ReadText(
        None,
        (
            on_line(
                "unknown-parameter",
                "unknown parameter '@partition_day'",
                "did you mean '@partition_date'?",
            ),
        ),
    )


def test_a_parameter_in_a_string_is_told_and_stays():
    assert where("a = '@partition_date {x}' -- {y}") == ReadText(
        Condition("a = '@partition_date {x}'"),
        (
            on_line(
                "parameter-in-string",
                "@partition_date is inside a string and stays text",
                "a parameter is a typed value: write it without quotes",
                Severity.WARNING,
            ),
        ),
    )
