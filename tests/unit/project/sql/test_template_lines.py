from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.sql.sql_file import parse_sql_files

HERE = RenderContext({"SCHEMA": "s"}, {"start": "2024-01-01", "n": 3}, TargetView("dev", "", "d_"))


def parse(text, macros=None):
    return parse_sql_files({"models/m.sql": text}, macros or {}, HERE)["models/m.sql"]


def rendered(text, macros=None):
    return [branch.text for branch in parse(text, macros).branches]


def test_a_header_keeps_its_lines():
    text = "{{ config(\n  materialized='table',\n\n  tags=['a'],\n) }}\nselect 1"

    assert rendered(text) == ["\n\n\n\n\nselect 1"]


def test_comments_stand_in_a_header():
    header = "{{ config(\n  materialized='table', -- or 'view'\n  alias='a -- b#c', # it's\n) }}"
    text = f"{header}\nselect 1"

    assert parse(text).config == {"materialized": "table", "alias": "a -- b#c"}


def test_any_number_of_headers_stand_anywhere():
    file = parse("select 1\n{{ config(alias='a') }}\n-- x\n{{ config(tags='t') }}")

    assert (file.config, file.config_line) == ({"alias": "a", "tags": "t"}, 2)


def test_a_branch_that_vanishes_leaves_its_lines():
    text = "select 1\n{% if is_incremental() %}\nwhere a\n  > 1\n{% endif %}\n-- line 6\nlimit 1"

    assert rendered(text) == [
        "select 1\n\n\n\n\n-- line 6\nlimit 1",
        "select 1\n\nwhere a\n  > 1\n\n-- line 6\nlimit 1",
    ]


def test_stripped_space_moves_no_line():
    text = "select 1 as a_\n\n{{- 'b' -}}\n\n_c\n, 2"

    assert rendered(text) == ["select 1 as a_b_c\n\n\n\n\n, 2"]


@given(
    st.lists(
        st.sampled_from(
            [
                "{# one\ntwo #}",
                "{{ config(\n) }}",
                "{% set x = [\n1,\n2] %}",
                "{%- if is_incremental() -%}\n\n, 8\n{% endif %}",
                "{{- 'x' -}} \n\n",
                "{% set y %}\n\nz{% endset %}",
                "\n",
                "{% raw %}\n{% endraw %}",
            ]
        ),
        max_size=6,
    )
)
def test_the_last_line_stays_where_it_was(pieces):
    text = "select 1 as a\n" + "\n-- x\n".join(pieces) + "\n-- y\n, 2 as last"
    expected = text.count("\n", 0, text.index("2 as last"))

    for shown in rendered(text):
        assert shown.count("\n", 0, shown.index("2 as last")) == expected
