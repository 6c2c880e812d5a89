"""What dbt's templates can call: values, errors, packages, and what none of them may do."""

from __future__ import annotations

import pytest

from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.sql.sql_file import parse_sql_files

HERE = RenderContext(
    {}, {"n": 3, "days": ["a", "b"]}, TargetView("dev", "main", "d_"), "shop", 4, {"x": "Words."}
)


def parse(text, macros=None):
    return parse_sql_files({"models/m.sql": text}, macros or {}, HERE)["models/m.sql"]


def printed(text, macros=None):
    file = parse(f"select {text}", macros)
    assert file.findings == ()
    return file.branches[0].text.removeprefix("select ").strip()


def said(text, macros=None):
    return [f.render().partition("\n")[0] for f in parse(f"select {text}", macros).findings]


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("{% set l = [] %}{% do l.append(1) %}{{ l[0] }}", "1"),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1"),
        ("{% set d = {'a': 1} %}{% if d.b or d['c'] %}2{% else %}{{ d.a }}{% endif %}", "1"),
        ("{% if this is mapping and this.get('metadata', {}).get('type') %}1{% endif %}", "1"),
        ("{{ log('x', info=true) }}{{ print('x') }}1", "1"),
        ("{% if execute %}1{% endif %}", "1"),
        ("'{{ target.schema }} {{ target.type }} {{ target['threads'] }}'", "'d_shop spark 4'"),
        ("'{{ target.database }} {{ target.profile_name }}'", "'main shop'"),
        ("{{ var.has_var('n') }}, {{ var.has_var('o') }}", "True, False"),
        ("'{{ tojson({'b': [1, none], 'a': true}, sort_keys=true) }}'", None),
        ("{{ fromjson('[1, 2]')[1] }}, {{ fromjson('[', 5) }}", "2, 5"),
        ("{{ fromyaml('a: [1, 2]').a | sum }}, {{ fromyaml('{', 5) }}", "3, 5"),
        ("'{{ toyaml({'a': 1}) | trim }}'", "'a: 1'"),
        ("{{ set([3, 1, 3, 2]) | join(', ') }}", "3, 1, 2"),
        ("{{ (set([3, 1]) | list + set(['x']).union([1]) | list) | join }}", "31x1"),
        ("{{ set(5, 'no') }}, {{ zip(5, default=1) }}", "no, 1"),
        ("{% for a, b in zip([1, 2], ['x', 'y']) %}{{ a }}{{ b }}{% endfor %}", "1x2y"),
        ("{{ '1' | as_number }}, {{ 'true' | as_bool }}, {{ 'a' | as_text }}", "1, true, a"),
        ("'{{ local_md5('a') }}'", "'0cc175b9c0f1b6a831c399e269772661'"),
        ("{{ adapter.quote('a b') }}", "`a b`"),
        ("'{{ adapter.type() }} {{ project_name }}'", "'spark shop'"),
        ("'{{ model.name }} {{ model.unique_id }} {{ model['path'] }}'", None),
        ("'{{ flags.WHICH }}'", "'run'"),
        ("'{{ doc('x') }} {{ doc('shop', 'x') }}'", "'Words. Words.'"),
        ("'{{ api.Column('a', 'varchar(3)').is_string() }}'", "'True'"),
        ("{{ api.Column('a', 'int').data_type }}", "int"),
        ("{{ builtins.config(alias='z') }}1", "1"),
        ("'{{ config.get('alias', 'no') }}' {{ config(alias='z') }}", None),
    ],
)
def test_the_words_of_dbt(text, sql):
    file = parse(f"select {text}")

    assert file.findings == ()
    if sql is not None:
        assert file.branches[0].text.removeprefix("select ").strip() == sql


OVEN = {"n": 3, "table": "{{ 'bread' ~ var('n') }}", "oven": {"n": 7, "own": 1}}


@pytest.mark.parametrize(
    ("path", "asked", "sql"),
    [
        ("models/m.sql", frozenset(), "3, 0, bread3"),
        ("models/packages/mill/m.sql", frozenset(), "3, 0, bread3"),
        ("models/packages/oven/m.sql", frozenset(), "7, 1, bread7"),
        ("models/packages/oven/m.sql", frozenset(["n"]), "3, 1, bread3"),
    ],
)
def test_files_of_a_package_have_its_vars_unless_the_command_sets_them(path, asked, sql):
    context = RenderContext({}, OVEN, command_vars=asked)
    text = "select {{ var('n') }}, {{ var('own', 0) }}, {{ var('table') }}"

    file = parse_sql_files({path: text}, {}, context)[path]

    assert (file.findings, file.branches[0].text) == ((), f"select {sql}")


def test_a_file_depends_on_the_vars_of_its_package():
    path = "models/packages/oven/m.sql"
    file = parse_sql_files({path: "select {{ var('n') }}"}, {}, RenderContext({}, OVEN))[path]

    assert RenderContext({}, {**OVEN, "n": 4}).agrees(file.reads)
    assert not RenderContext({}, {**OVEN, "oven": {"n": 8}}).agrees(file.reads)
    assert not RenderContext({}, OVEN, command_vars=frozenset(["n"])).agrees(file.reads)


def test_a_var_that_prints_itself_is_a_finding():
    file = parse_sql_files(
        {"models/m.sql": "select {{ var('x') }}"}, {}, RenderContext({}, {"x": "{{ var('x') }}"})
    )["models/m.sql"]

    assert [each.code for each in file.findings] == ["template-budget"]


def test_a_package_may_have_macros_with_an_underscore_in_front():
    macros = {"packages/oven/macros/a.sql": "{% macro _heat() %}220{% endmacro %}"}

    assert printed("{{ oven._heat() }}", macros) == "220"
    assert said("{{ oven._macros }}", macros)[0].startswith(
        "models/m.sql:1: error: template-error: templates may not use _macros"
    )


def test_what_a_mapping_lacks_cannot_be_printed():
    assert said("{% set d = {'a': 1} %}{{ d.b }}") == [
        "models/m.sql:1: error: unknown-name: 'dict object' has no attribute 'b'"
    ]


def test_a_macro_returns_a_value_and_not_text():
    macros = {
        "macros/a.sql": "{% macro days() %}text{% do return(['a', 'b']) %}{% endmacro %}"
        "{% macro first() %}{{ return(days()[0]) }}{% endmacro %}"
    }

    assert printed("{% for d in days() %}'{{ d }}', {% endfor %}'{{ first() }}'", macros) == (
        "'a', 'b', 'a'"
    )
    assert said("{{ return(1) }}") == [
        "models/m.sql:1: error: template-error: return stands outside of a macro"
    ]


def test_a_call_block_has_a_caller_that_may_return():
    macros = {"macros/a.sql": "{% macro twice() %}{{ caller() }}{{ caller() }}{% endmacro %}"}

    assert printed("{% call twice() %}1{% endcall %}", macros) == "11"


def test_a_block_becomes_a_value():
    assert printed("{% set x %}a{{ 1 }}{% endset %}'{{ x }}'") == "'a1'"


def test_macros_have_namespaces():
    macros = {
        "macros/own.sql": "{% macro one() %}1{% endmacro %}",
        "packages/tools/macros/deep/t.sql": (
            "{% macro two() %}{{ _two() }}{% endmacro %}{% macro _two() %}2{% endmacro %}"
            "{% macro one() %}{{ two() }}-{{ tools.two() }}{% endmacro %}"
        ),
        "packages/dbt_utils/macros/d.sql": "{% macro star() %}*{% endmacro %}",
    }

    text = "'{{ one() }} {{ shop.one() }} {{ tools.one() }} {{ dbt_utils.star() }}'"

    assert printed(text, macros) == "'1 1 2-2 *'"
    assert said("{{ tools.three() }}", macros) == [
        "models/m.sql:1: error: unknown-name: this namespace of macros has no attribute 'three'"
    ]
    assert said("{{ two() }}", macros) == [
        "models/m.sql:1: error: unknown-name: 'two' is undefined"
    ]


def test_dispatch_prefers_spark_then_databricks_then_default():
    macros = {
        "packages/p/macros/a.sql": (
            "{% macro a() %}{{ return(adapter.dispatch('a', 'p')()) }}{% endmacro %}"
            "{% macro default__a() %}d{% endmacro %}{% macro databricks__a() %}b{% endmacro %}"
            "{% macro b() %}{{ return(adapter.dispatch('b', 'p')()) }}{% endmacro %}"
            "{% macro default__b() %}d{% endmacro %}"
        ),
        "macros/b.sql": "{% macro spark__b() %}own{% endmacro %}",
    }

    assert printed("'{{ p.a() }} {{ p.b() }}'", macros) == "'b own'"
    assert said("{{ adapter.dispatch('c', 'p')() }}", macros) == [
        "models/m.sql:1: error: unknown-name: no macro is called spark__c or default__c"
    ]


def test_an_error_in_a_macro_of_a_package_names_its_line():
    macros = {"packages/p/macros/a.sql": "{% macro f() %}\n{{ 1 / 0 }}\n{% endmacro %}"}

    assert said("\n{{ p.f() }}", macros) == [
        "models/m.sql:2: error: template-error: division by zero (in packages/p/macros/a.sql:2)"
    ]


def test_a_template_can_fail_and_warn():
    assert said("{{ exceptions.raise_compiler_error('no such day') }}") == [
        "models/m.sql:1: error: template-raised: no such day"
    ]
    assert said("{{ exceptions.warn('old macro') }}1") == [
        "models/m.sql:1: warning: template-warning: old macro"
    ]


def test_blocks_without_effect_are_warnings():
    text = "{% materialization x, adapter='spark' %}{{ y }}{% endmaterialization %}"

    found = parse("select 1", {"macros/m.sql": f"\n{text}"}).findings

    assert [each.render() for each in found] == [
        (
            "macros/m.sql:2: warning: not-taken-over: {% materialization x %} has no effect "
            "in this file\n"
            "  hint: set materialized= to a strategy of penstock, or register one of your own"
        )
    ]


def test_config_has_all_its_forms():
    text = (
        "{{ config({'alias': 'a', 'meta': {'owner': 'me'}}, tags=['t']) }}"
        "select '{{ config.get('alias') }} {{ config.meta_get('owner') }} "
        "{{ config.require('tags')[0] }} {{ model.tags[0] }}'"
    )

    file = parse(text)

    assert file.config == {"alias": "a", "meta": {"owner": "me"}, "tags": ["t"]}
    assert file.branches[0].text == "select 'a me t t'"


def test_a_setting_cannot_depend_on_the_run():
    assert said("{{ config(alias=run_started_at.strftime('%Y')) }}1")[0].startswith(
        "models/m.sql:1: error: bad-value: config: alias cannot depend on the run"
    )


def test_ref_names_a_package_or_a_version():
    refs = (
        parse("select * from {{ ref('p', 'a') }}, {{ ref('b', v=2) }}, {{ ref('c', 1) }}")
        .branches[0]
        .refs
    )

    assert [each.names for each in refs] == [("a",), ("b", "2"), ("c", "1")]


def test_tables_print_inside_of_other_text():
    text = "* from {{ ref('a') }} x {% set q = 'union all select * from ' ~ ref('b') %}{{ q }}"

    assert [each.names for each in parse(f"select {text}").branches[0].refs] == [("a",), ("b",)]


@pytest.mark.parametrize(
    "text",
    [
        "{{ ref.__self__ }}",
        "{{ config._now }}",
        "{{ target._find }}",
        "{{ dbt._macros }}",
        "{{ modules._parts }}",
        "{{ modules.datetime.datetime.__subclasses__() }}",
        "{{ this._key }}",
        "{{ adapter.dispatch.__globals__ }}",
    ],
)
def test_nothing_inside_is_reachable(text):
    assert said(text)[0].startswith("models/m.sql:1: error: template-error: templates may not use")
