"""Templates that would go on for ever, or make what no memory holds, end in one finding."""

from __future__ import annotations

import pytest

from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.sql.sql_file import parse_sql_files

HERE = RenderContext({}, {}, TargetView("dev", "", ""))
TURNS = "rendering takes more than 100,000 turns of loops and calls"
CHARACTERS = "rendering gives more than 1,000,000 characters"
PARTS = "rendering makes a value of more than 1,000,000 parts"
DEEP = "macros or files nest too deep"


def parsed(text, macros=None):
    return parse_sql_files({"models/m.sql": text}, macros or {}, HERE)["models/m.sql"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}", TURNS),
        ("{% set l = [1] %}{% for x in l %}{% set _ = l.append(1) %}{% endfor %}", TURNS),
        ("{% for a in range(2000) %}{{ 'x' * 1000 }}{% endfor %}", CHARACTERS),
        ("{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", DEEP),
        ("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", DEEP),
        ("{{ 'x' * 999999999 }}", PARTS),
        ("{{ 9 ** (9 ** 9) }}", PARTS),
        ("{{ 'x'.ljust(999999999) }}", PARTS),
        ("{{ '{:999999999}'.format(1) }}", PARTS),
        ("{{ '%999999999d' % 1 }}", PARTS),
        ("{{ 'x' | center(999999999) }}", PARTS),
        ("{% set x = 'xxxxxxxx' %}" + "{% set x = x ~ x %}" * 40 + "{{ x }}", PARTS),
        ("{{ ('x' * 1000).replace('x', 'y' * 100000) }}", PARTS),
        ("{{ (['a'] * 5000) | join('b' * 5000) }}", PARTS),
    ],
)
def test_a_template_without_an_end_is_one_finding_with_its_line(text, sentence):
    found = parsed(f"select 1\n{text}").findings

    assert [(each.code, each.sentence, str(each.where)) for each in found] == [
        ("template-budget", sentence, "models/m.sql:2")
    ]
    assert found[0].hint


def test_files_that_include_themselves_twice_end():
    macros = {
        "macros/i.sql": "{% set n = n + 1 %}{% if n < 40 %}"
        "{% include 'i.sql' %}{% include 'i.sql' %}{% endif %}"
    }

    found = parsed("{% set n = 0 %}{% include 'i.sql' %}", macros).findings

    assert [each.sentence for each in found] == [f"{TURNS} (in macros/i.sql:1)"]


def test_what_templates_usually_do_costs_little():
    text = (
        "select {% for n in range(1000) %}{{ n * 2 }} as c{{ loop.index }}"
        "{{ ',' if not loop.last }}{% endfor %} -- {{ ['a', 'b'] | join(', ') }}"
        " {{ 'x' ~ 1 ~ none }} {{ '%05d' % 7 }}"
        " {{ 'aXb'.replace('X', '--') }} {{ '{:>5}'.format(1) }} {{ 2 ** 10 }}"
        " {{ 'ab' | center(6) }}"
    )

    file = parsed(text)

    assert file.findings == ()
    assert "1998 as c1000 -- a, b x1None 00007 a--b     1 1024   ab" in file.branches[0].text


def test_each_file_begins_with_a_budget_of_its_own():
    loop = "select {% for n in range(60000) %}{% endfor %}1 as one"

    files = parse_sql_files({"models/a.sql": loop, "models/b.sql": loop}, {}, HERE)

    assert [file.findings for file in files.values()] == [(), ()]
