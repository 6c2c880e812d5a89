from __future__ import annotations

import pytest

from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.sql.sql_file import parse_sql_files

HERE = RenderContext({"SCHEMA": "s"}, {"start": "2024-01-01", "n": 3}, TargetView("dev", "", "d_"))


def parse(text, macros=None):
    return parse_sql_files({"models/m.sql": text}, macros or {}, HERE)["models/m.sql"]


def rendered(text, macros=None):
    return [branch.text for branch in parse(text, macros).branches]


def said(text, macros=None):
    return [f.render().partition("\n")[0] for f in parse(text, macros).findings]


def test_true_false_and_null_are_literals():
    assert parse(
        "{{ config(enabled=true, string_watermark=false, alias=null) }} select 1"
    ).config == {
        "enabled": True,
        "string_watermark": False,
        "alias": None,
    }


def test_a_setting_in_two_headers_is_a_finding():
    assert said("{{ config(alias='a') }}\nselect 1\n{{ config(alias='b') }}") == [
        "models/m.sql:3: error: duplicate-key: 'alias' is set in two config headers"
    ]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("select 1\n, {{ nothing }}", "2: error: unknown-name: 'nothing' is undefined"),
        ("select 1\n, {{ confg() }}", "2: error: unknown-name: 'confg' is undefined"),
        ("select {{ ref }", "1: error: template-syntax: unexpected '}'"),
        ("select\n{{ var('nope') }}", "2: error: missing-var: no var is called 'nope'"),
        (
            "select\n\n{{ env_var('NOPE') }}",
            "3: error: missing-env-var: the environment variable NOPE is not set",
        ),
        ("select {{ 1 / 0 }}", "1: error: template-error: division by zero"),
        (
            "select {{ ''.__class__.mro() }}",
            "1: error: template-error: templates may not use __class__",
        ),
        (
            "select {{ run_timestamp[:4] }}",
            "1: error: template-error: a table or time in a template is not subscriptable",
        ),
        ("select {{ ref() }}", "1: error: bad-value: ref needs names"),
        ("{{ config(2) }} select 1", "1: error: bad-value: config takes settings by name"),
        (
            "select * from {{ as_of('a', '2024-01-01') }}",
            "1: error: not-a-history-model: as_of reads history tables, and",
        ),
    ],
)
def test_a_template_mistake_is_a_finding_with_its_line(text, finding):
    assert said(text)[0].startswith(f"models/m.sql:{finding}")


def test_the_words_of_templates():
    text = (
        "select '{{ var(\"start\") }}', {{ var('n') + 1 }}, {{ var('x', 5) }}, "
        "'{{ env_var('SCHEMA') }}{{ env_var('NO', 'd') }}', "
        "'{{ target.name }}{{ target.schema_prefix }}', "
        "{{ run_timestamp }}"
    )

    assert rendered(text) == ["select '2024-01-01', 4, 5, 'sd', 'devd_', penstock__run_timestamp"]


def test_macros_are_available_everywhere_and_call_each_other():
    macros = {
        "macros/a.sql": "{% macro cents(c) %}({{ c }} * {{ factor() }}){% endmacro %}",
        "macros/b.sql": "{% macro factor() %}100{% endmacro %}",
    }

    assert rendered("select {{ cents('x') }} from t\n", macros)[0].startswith(
        "select (x * 100) from "
    )


def test_macro_files_can_be_imported():
    macros = {"macros/a.sql": "{% macro one() %}1{% endmacro %}"}

    assert rendered("{% import 'a.sql' as m %}select {{ m.one() }}", macros) == ["select 1"]


def test_a_broken_macro_file_is_reported_once_under_its_own_name():
    files = {"models/a.sql": "select 1", "models/b.sql": "select 1"}

    parsed = parse_sql_files(files, {"macros/x.sql": "\n{% macro %}"}, HERE)

    assert [f.render() for file in parsed.values() for f in file.findings] == [
        (
            "macros/x.sql:2: error: template-syntax: "
            "expected token 'name', got 'end of statement block'\n"
            "  hint: close what is opened: {{ with }}, {% if %} with {% endif %}, and quotes"
        )
    ]
