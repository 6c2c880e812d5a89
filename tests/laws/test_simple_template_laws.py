"""A template that is read without Jinja gives what Jinja gives: text, calls, settings, lines."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.sql.simple_template import simple_template
from penstock.project.sql.template import Renderer

VALUES = st.recursive(
    st.sampled_from(["'a'", '"b c"', "'é'", "'it''", "7", "0", "07", "true", "False", "none", "x"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda each: f"[{', '.join(each)}]"),
    max_leaves=4,
)
SPACES = st.sampled_from(["", " ", "\n", "\n  ", " \t"])
KEYS = st.sampled_from(["materialized=", "tags=", "unique_key =\n", "schema=", ""])


@st.composite
def calls(draw):
    name = draw(st.sampled_from(["config", "ref", "source", "var", "is_incremental", "nope"]))
    a, b = draw(SPACES), draw(SPACES)
    keys = KEYS if name == "config" else st.just("")
    values = draw(st.lists(st.tuples(keys, VALUES).map("".join), max_size=3))
    return f"{{{{{a}{name}{b}({a}{f',{b}'.join(values)}{b}){a}}}}}"


TEXTS = st.sampled_from(
    ["select 1", "\n", "  \n\nfrom t", " ", "-- {x}\n", "}}", "a\r b", "\n\n\n", "{", "%}", "#}"]
)
TAGS = st.sampled_from(
    [
        "{{ this }}",
        "{{this}}",
        "{% if is_incremental() %}",
        "{% if not is_incremental() %}",
        "{% if is_incremental()\n %}",
        "{% else %}",
        "{% endif %}",
        "{%- endif %}",
        "{# a\nb #}",
        "{# a -#}",
        "{#- a #}",
        "{{ ref('a') | upper }}",
        "{{ var('list') }}",
        "{{ var('template') }}",
        "{{ var('nothing') }}",
        "{{ var('gone') }}",
        "{{ ref('a', v=2) }}",
        "{{ config(a='1', a='2') }}",
        "{{ config(\n  tags=['a',\n 'b'],\n  schema='s',\n) }}",
        "{% set x = 1 %}",
        "{{ ref('a')",
    ]
)
SOURCES = st.lists(st.one_of(TEXTS, TAGS, calls()), max_size=8).map("".join)
CONTEXT = RenderContext(
    {"HOME_": "h"},
    {"a": "A", "list": [1, "x"], "template": "{{ env_var('HOME_') }}", "nothing": None, "b c": 2},
    TargetView("dev"),
    "shop",
)
OURS, JINJA = Renderer({}, CONTEXT), Renderer({}, CONTEXT)
JINJA._needs_jinja = True


@settings(max_examples=300, deadline=None)
@given(SOURCES, st.booleans())
def test_without_jinja_a_template_renders_to_the_same(source, incremental):
    ours, theirs = (
        each.render("models/m.sql", source, incremental=incremental) for each in (OURS, JINJA)
    )

    assert ours == theirs


def test_the_law_speaks_of_templates_that_need_no_jinja():
    header = "{{ config(\n  tags=['a',\n 'b'],\n  schema='s',\n) }}\n"
    source = header + "select *\nfrom {{ ref('a') }}{% if is_incremental() %}\nwhere x{% endif %}"

    assert simple_template(source) is not None
    assert simple_template("{{ ref('a') | upper }}") is None
    assert simple_template("{%- if is_incremental() %}{% endif %}") is None
