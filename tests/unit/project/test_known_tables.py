"""What a template knows of tables, and that a change of it is a change of the model."""

import pytest

MACROS = {
    "macros/names.sql": "{% macro names(t) %}{% set n = [] %}"
    "{% for c in adapter.get_columns_in_relation(t) %}{% do n.append(c.quoted) %}{% endfor %}"
    "{{ return(n | join(', ')) }}{% endmacro %}"
}
A = {"models/s/a.sql": "{{ config(materialized='table', alias='aa') }}select 1 as id, 2 as b"}


def text_of(project, name):
    return project.models[name].query.text


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("{{ ref('a').schema }}.{{ ref('a').identifier }}.{{ ref('a').name }}", "s.aa.aa"),
        ("{{ ref('a').type }} {{ ref('a').is_view }} {{ ref('a').is_table }}", "table False True"),
        ("{{ this.schema }}.{{ this.table }} {{ this.is_view }}", "s.m True"),
        ("{{ source('raw', 'o').schema }}", "raw"),
        ("{{ ref('a').include(schema=false) }}", "`aa`"),
        ("{{ model.alias }} {{ model.schema }}", "m s"),
        ("{{ graph.nodes | join(' ') }}", "model.shop.a model.shop.m"),
        ("{{ graph.nodes.values() | map(attribute='alias') | join(' ') }}", "aa m"),
        ("{{ graph.sources | length }}", "1"),
        ("{{ config.get('tags')[0] }}", "x"),
        ("{{ ref('a') == ref('a') }} {{ ref('a') == this }}", "True False"),
    ],
)
def test_the_parts_of_a_table_are_texts(load, text, sql):
    files = {
        "models/s/m.sql": f"select '{text}' as x from {{{{ ref('a') }}}}",
        "models/s.yml": "sources: [{name: raw, tables: [{name: o}]}]\n"
        "models: [{name: m, config: {tags: [x]}}]",
    }

    assert text_of(load({**A, **files}), "m").startswith(f"select '{sql}' as x")


def test_an_entry_of_yaml_knows_its_own_name(load):
    entry = "sql: \"select 1 as id, '{{ model.name }} {{ this.schema }}' as x\""
    keys = "unique_key: id, strategy: check, check_cols: all"
    files = {"models/s/e.yml": f"snapshots:\n- name: h\n  config: {{{keys}}}\n  {entry}\n"}

    assert "'h s' as x" in text_of(load(files), "h")


def test_columns_come_from_queries_seeds_and_yaml(load):
    files = {
        **A,
        **MACROS,
        "seeds/e.csv": "k,v\n1,2\n",
        "models/s/b.sql": "select *, 3 as c from {{ ref('a') }}",
        "models/s/x.sql": "select {{ names(ref('b')) }} from {{ ref('b') }}",
        "models/s/y.sql": "select {{ names(ref('x')) }}, {{ names(ref('e')) }} from {{ ref('e') }}",
        "models/s/z.sql": "select {{ names(source('raw', 'o')) }} from {{ source('raw', 'o') }}",
        "models/s.yml": "sources: [{name: raw, tables: [{name: o, columns: [{name: q}]}]}]",
    }

    project = load(files)

    assert text_of(project, "x").startswith("select `id`, `b`, `c` from")
    assert text_of(project, "y").startswith("select `id`, `b`, `c`, `k`, `v` from")
    assert text_of(project, "z").startswith("select `q` from")


def test_a_new_column_changes_the_models_that_list_it_also_with_a_cache(load):
    reader = {"models/s/m.sql": "select {{ names(ref('a')) }} from {{ ref('a') }}", **MACROS}
    first = load({**A, **reader}, use_cache=True)
    again = load({}, use_cache=True)

    second = load({"models/s/a.sql": "select 1 as id, 2 as z"}, use_cache=True)

    assert text_of(again, "m") == text_of(first, "m")
    assert text_of(second, "m").startswith("select `id`, `z` from")
    assert text_of(load({}, use_cache=True), "m") == text_of(second, "m")
    assert text_of(load({}), "m") == text_of(second, "m")


def test_models_that_ask_each_other_for_columns_are_a_finding(findings):
    files = {
        **MACROS,
        "models/s/a.sql": "select {{ names(ref('b')) }} from {{ ref('b') }}",
        "models/s/b.sql": "select {{ names(ref('a')) }} from {{ ref('a') }}",
    }

    assert any("dependency-cycle" in each for each in findings(files))


def test_a_header_that_depends_on_a_table_is_a_finding(findings):
    files = {
        **A,
        "models/s/m.sql": "{{ config(alias=ref('a').schema ~ '_m') }}\nselect 1 as x",
    }

    assert "models/s/m.sql:1: error: bad-value: the config header depends on a table, or on " in (
        "".join(findings(files))
    )


def test_the_table_of_a_model_exists_in_its_incremental_query(load):
    text = (
        "{{ config(materialized='append', window='none') }}select 1 as x "
        "{% if load_relation(this) is not none and "
        "adapter.get_relation(this.database, this.schema, this.table) %}, 2 as y{% endif %}"
    )

    query = load({"models/s/m.sql": text}).models["m"].query

    assert (query.text.rstrip(), query.incremental.rstrip()) == (
        "select 1 as x",
        "select 1 as x , 2 as y",
    )


def test_an_undeclared_table_has_no_columns(findings):
    files = {
        **MACROS,
        "models/s/m.sql": "select {{ names(api.Relation.create(schema='a', identifier='b')) }}",
        "models/s/n.sql": "select {{ names('a.b') }}",
    }

    assert [each.partition(": error: ")[2][:22] for each in findings(files)] == [
        "template-reads-table: ",
        "template-reads-table: ",
    ]


def test_descriptions_are_blocks_of_markdown(load, findings):
    files = {
        **A,
        "models/words.md": "{% docs a %}\nAll of *a*.\n{% enddocs %}",
        "models/a.yml": "models:\n- name: a\n  description: \"{{ doc('a') }}\"\n  columns:\n"
        "  - {name: id, description: \"No. {{ doc('shop', 'a') }}\"}\n",
    }

    model = load(files).models["a"]

    assert model.description == "All of *a*."
    assert [each.description for each in model.columns] == ["No. All of *a*."]
    assert findings({"models/a.yml": "models: [{name: a, description: \"{{ doc('b') }}\"}]"}) == [
        "models/a.yml:1:33: error: unknown-docs: no docs block is called 'b'"
    ]


def test_a_generic_test_of_a_package_is_called_with_its_namespace(load):
    files = {
        **A,
        "packages/p/macros/t.sql": "{% test at_least(model, column_name, n) %}"
        "select * from {{ model }} where {{ column_name }} < {{ n }}{% endtest %}",
        "models/a.yml": "models:\n- name: a\n  columns:\n  - name: id\n    tests:\n"
        "    - p.at_least: {n: 3}\n",
    }

    check = load(files).models["a"].all_checks[0]

    assert "where id < 3" in str(check)


def test_a_source_that_is_a_seed_has_the_columns_of_its_file(load):
    files = {
        **MACROS,
        "seeds/e.csv": "k,v\n1,2\n",
        "seeds/e.yml": "seeds: [{name: e, config: {schema: raw}}]",
        "models/s/m.sql": "select {{ names(source('raw', 'e')) }} from {{ source('raw', 'e') }}",
        "models/s.yml": "sources: [{name: raw, tables: [{name: e}]}]",
    }

    assert text_of(load(files), "m") == "select `k`, `v` from `penstock:source:raw.e:bare:e`"


def test_get_relation_gives_tables_of_the_project(load):
    found = "adapter.get_relation(schema=ref('a').schema, identifier='aa')"
    files = {**A, "models/s/m.sql": f"select * from {{{{ {found} }}}}"}

    assert load(files).models["m"].depends_on == ("a",)


def test_a_model_of_a_package_calls_the_macros_of_its_package_by_their_names(load):
    files = {
        "packages/oven/macros/heat.sql": "{% macro heat() %}220{% endmacro %}",
        "models/packages/oven/m.sql": "select {{ heat() }} as celsius",
    }

    assert text_of(load(files), "m") == "select 220 as celsius"
