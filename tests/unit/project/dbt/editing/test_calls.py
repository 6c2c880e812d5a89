"""Headers change argument by argument."""

import pytest

from penstock.project.dbt.editing.calls import HeaderChange, config_calls, with_settings

LONG = """\
{{
    config(
        materialized = 'incremental',
        unique_key = ['a', "b"],
        file_format='delta'
    )
}}
{%- set x = 1 -%}
select 1
"""


def test_arguments_have_their_text_and_line():
    (call,) = config_calls(LONG)

    assert [(each.name, each.value, each.line) for each in call.arguments] == [
        ("materialized", "'incremental'", 3),
        ("unique_key", "['a', \"b\"]", 4),
        ("file_format", "'delta'", 5),
    ]


@pytest.mark.parametrize(
    ("text", "change", "wanted"),
    [
        ("{{ config(a=1, b=2) }}x", HeaderChange(frozenset("a")), "{{ config(b=2) }}x"),
        ("{{ config(a=1, b=2) }}x", HeaderChange(frozenset("b")), "{{ config(a=1) }}x"),
        ("{{ config(a=1) }}\nx", HeaderChange(frozenset("a")), "x"),
        ("{{config(a = 1)}}", HeaderChange(rename={"a": "b"}), "{{config(b=1)}}"),
        (
            "{{ config({'a': 1}) }}",
            HeaderChange(values={"c": "d"}),
            "{{ config({'a': 1, 'c': 'd'}) }}",
        ),
        ("{% do config(a=1) %}", HeaderChange(values={"a": True}), "{% do config(a=true) %}"),
        ("select 1", HeaderChange(values={"a": "b"}), "{{ config(a='b') }}\n\nselect 1"),
        (
            "{{ config(a=x('b', 1), c=[1, 2]) }}",
            HeaderChange(frozenset("c")),
            "{{ config(a=x('b', 1)) }}",
        ),
        (
            "{# config(a=1) #}{{ other.config(a=1) }}",
            HeaderChange(frozenset("a")),
            "{# config(a=1) #}{{ other.config(a=1) }}",
        ),
        (
            "{{ config(a=1,\n    b=2,\n) }}",
            HeaderChange(frozenset("a")),
            "{{ config(\n    b=2,\n) }}",
        ),
    ],
)
def test_a_header_changes_where_it_must(text, change, wanted):
    assert with_settings(text, change) == wanted


def test_lines_of_other_arguments_stay():
    change = HeaderChange(frozenset({"file_format"}), values={"unique_key": "z"})

    assert with_settings(LONG, change) == LONG.replace("['a', \"b\"]", "z").replace(
        "unique_key = z", "unique_key='z'"
    ).replace(",\n        file_format='delta'", "")
