"""`modules` and the time of the run: no clock, and always an end."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.query import at, run_word
from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.sql.sql_file import parse_sql_files

HERE = RenderContext({}, {}, TargetView("dev", "", ""), "shop")
NESTED = "{% set a = [1] %}" + "{% set a = [a, a] %}" * 60
NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)


def parse(text):
    return parse_sql_files({"models/m.sql": f"select {text}"}, {}, HERE)["models/m.sql"]


def printed(text):
    file = parse(text)
    assert file.findings == ()
    return file.branches[0].text.removeprefix("select ")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("{{ modules.datetime.date(2024, 2, 28) + modules.datetime.timedelta(days=2) }}", None),
        ("'{{ modules.datetime.datetime(2024, 1, 2).strftime('%d.%m.%Y') }}'", "'02.01.2024'"),
        (
            "'{{ modules.datetime.datetime.strptime('2024-01-02', '%Y-%m-%d').isoformat() }}'",
            "'2024-01-02T00:00:00'",
        ),
        (
            (
                "'{{ modules.pytz.timezone('Europe/Paris').localize("
                "modules.datetime.datetime(2024, 7, 1)).isoformat() }}'"
            ),
            "'2024-07-01T00:00:00+02:00'",
        ),
        ("'{{ modules.re.sub('[^a-z]+', '_', 'a b--c') }}'", "'a_b_c'"),
        ("'{{ modules.re.match('(a)(b)', 'ab').group(2) }}'", "'b'"),
        ("'{{ modules.re.search('x', 'ab') }}'", "'None'"),
        ("'{{ modules.re.compile('b+').findall('abbab') | join(' ') }}'", "'bb b'"),
        ("'{{ modules.re.split(',', 'a,b') | length }}'", "'2'"),
        ("'{{ modules.itertools.product([1, 2], 'ab') | length }}'", "'4'"),
        ("'{{ modules.itertools.chain([1], [2]) | join }}'", "'12'"),
    ],
)
def test_modules_work_as_in_python(text, sql):
    assert sql is None or printed(text) == sql


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{{ modules.datetime.datetime.now() }}", "template-error"),
        ("{{ modules.datetime.datetime.utcnow() }}", "template-error"),
        ("{{ modules.datetime.date.today() }}", "template-error"),
        ("{{ fromyaml('2024-01-01').today() }}", "template-error"),
        ("{{ modules.pytz.timezone('Mars/Base') }}", "template-error"),
        ("{{ modules.re.match('(a+)+$', 'a' * 40 ~ 'b') }}", "template-budget"),
        ("{{ modules.re.match('(ab|ab)*$', 'ab' * 60 ~ 'b') }}", "template-budget"),
        ("{{ modules.re.match('a?' * 60 ~ 'a' * 60, 'a' * 60) }}", "template-budget"),
        ("{{ modules.re.search('.*.*.*x', 'a' * 9000) }}", "template-budget"),
        ("{{ modules.re.sub('a', 'b' * 9999, 'a' * 9999) }}", "template-budget"),
        ("{{ modules.itertools.product(range(900), repeat=90) }}", "template-budget"),
        ("{{ modules.itertools.repeat(1, 10 ** 9) }}", "template-budget"),
        ("{{ modules.itertools.permutations(range(99)) }}", "template-budget"),
        ("{{ fromyaml('[&a [x], *a]') }}", "template-budget"),
        ("{% set a = ['x' * 9] %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}", "template-budget"),
        ("{% set a = [1] %}" + "{% set a = [a, a] %}" * 60 + "{{ tojson(a) }}", "template-budget"),
        (NESTED + "{{ a | tojson }}", "template-budget"),
        (NESTED + "{{ a | upper }}", "template-budget"),
        (NESTED + "{{ '%s' % a }}", "template-budget"),
        (NESTED + "{{ '{}'.format(a) }}", "template-budget"),
        ("{{ modules.os }}", "unknown-name"),
        ("{{ modules.re.compile }}{{ modules.itertools.count() }}", "unknown-name"),
        ("{{ run_started_at.year }}", "unknown-name"),
        ("{% if run_started_at.strftime('%d') == '01' %}{% endif %}", "template-error"),
        ("{{ run_started_at.strftime('%d') | int }}", "template-error"),
        ("{{ run_started_at.strftime('%b') | upper }}", "template-error"),
        ("{{ run_started_at.strftime('%Y')[:2] }}", "template-error"),
        ("{{ run_started_at > modules.datetime.datetime(2024, 1, 1) }}", "template-error"),
    ],
)
def test_a_template_ends_and_knows_no_clock(text, code):
    assert [each.code for each in parse(text).findings] == [code]


def test_the_time_of_the_run_is_text_that_each_run_fills_in():
    text = printed(
        "'{{ run_started_at }}', {{ run_started_at.strftime('%Y%m%d') }}, "
        "'{{ (run_started_at - modules.datetime.timedelta(days=1)).date() }}', "
        "'{{ run_started_at.astimezone(modules.pytz.timezone('Europe/Paris')).isoformat() }}'"
    )

    assert "2024" not in text
    assert at(text, NOON) == (
        "'2024-03-01 12:00:00+00:00', 20240301, '2024-02-29', '2024-03-01T13:00:00+01:00'"
    )


def test_the_id_of_a_run_is_made_from_its_time():
    text = printed("'{{ invocation_id }}'")

    assert re.fullmatch("'[0-9a-f-]{36}'", at(text, NOON))
    assert at(text, NOON) == at(text, NOON) != at(text, NOON + dt.timedelta(seconds=1))


@given(st.datetimes(timezones=st.just(dt.UTC)), st.text(max_size=9))
def test_a_word_of_the_run_holds_any_format(moment, form):
    word = run_word(form)

    assert re.fullmatch(r"\w+", word)
    try:
        wanted = moment.strftime(form) if form else moment.isoformat(" ")
    except (ValueError, UnicodeError):  # which no template can print either
        return
    assert at(word, moment) == wanted
