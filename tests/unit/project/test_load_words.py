"""Findings speak of what the user wrote, and their hints can be followed."""

import pytest

A = {"models/a.sql": "select 1 as id"}
BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{chr(ord(name) - 1)}'] * 9)}]\n" for name in "bcdefgh"
)
UNFOLD = "write out what *aliases repeat, or split the file; no alias may stand inside its &anchor"
UNPARSED = "warning: unparsed-sql: "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "{{ ref('a') }}",
            "error: not-a-query: a model is one query; this begins with the name of a table",
        ),
        ("{{ this }}", "error: not-a-query: a model is one query; this begins with {{ this }}"),
        (
            "select from",
            "warning: unparsed-sql: Expected table name but got its end; Spark may still read it",
        ),
        (
            "select from where x",
            "warning: unparsed-sql: Expected table name but got 'where'; Spark may still read it",
        ),
        (
            "select 1 as id where 1 >",
            f"{UNPARSED}Required keyword: 'expression' is missing; Spark may still read it",
        ),
        ("select {{ target.__class__ }}", "error: template-error: templates may not use __class__"),
        ("select {{ 1 / 0 }}", "error: template-error: division by zero"),
        ("select {{ {}.pop('x') }}", "error: template-error: there is no 'x'"),
    ],
)
def test_a_finding_names_nothing_that_penstock_or_a_library_has_inside(findings, text, said):
    assert findings({**A, "models/b.sql": text}) == [f"models/b.sql:1: {said}"]


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        (
            {"tests/b.sql": "select {{ run_query('select 1') }} as id from {{ ref('a') }}"},
            "write it as a join or subquery of the model, or list its values under vars:",
        ),
        (
            {"models/e.yml": "metrics: []"},
            "delete it, or write a model that computes the metric",
        ),
        (
            {"models/e.yml": "models: [{name: a, config: {persist_docs: {}}}]"},
            "delete it; a model's description and those of its columns are in its table",
        ),
        (
            {"models/e.yml": "models: [{name: a, config: {moon: full}}]"},
            "delete it; penstock schema prints the 72 keys that are known here",
        ),
        (
            {"models/e.yml": BOMB + "models: [*h]"},
            UNFOLD,
        ),
        (
            {"models/e.yml": "models: &m [*m]"},
            UNFOLD,
        ),
        ({"models/a:2.sql": "select 1 as id"}, "use letters, digits, _ and -"),
    ],
)
def test_a_hint_fits_what_was_written(findings, files, hint):
    (said,) = findings({**A, **files}, hints=True)

    assert said.partition("\n  hint: ")[2] == hint
