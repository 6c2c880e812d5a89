"""Templates that use dbt's words, from the command line and without Java."""

import json


def test_a_project_with_packages_columns_and_docs_is_shown_as_it_runs(services, call, monkeypatch):
    services(
        **{
            "packages/tools/macros/star.sql": """\
                {% macro star(from, except=[]) %}
                {{ return(adapter.dispatch('star', 'tools')(from, except)) }}
                {% endmacro %}
                {% macro default__star(from, except) %}
                {%- for c in adapter.get_columns_in_relation(from) if c.name not in except -%}
                {{ c.quoted }}{{ ', ' if not loop.last }}
                {%- endfor %}
                {% endmacro %}
                """,
            "models/words.md": "{% docs counts %}Users by mail.{% enddocs %}\n",
            "models/docs.yml": """\
                models:
                  - {name: daily, description: "{{ doc('counts') }}"}
                """,
            "models/marts/daily.sql": """\
                select {{ tools.star(ref('users_clean'), except=['id']) }}
                from {{ ref('users_clean') }}
                """,
        }
    )
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    shown = call("show", "daily", "--json")
    again = call("show", "daily", "--json")
    validated = call("validate")

    assert (shown.code, validated.code) == (0, 0)
    assert "select `email`" in json.loads(shown.out)["sql"]
    assert shown.out == again.out
    assert "Users by mail." in shown.out


def test_an_undeclared_table_that_a_template_reads_is_named(services, call):
    services(
        **{
            "macros/values.sql": """\
                {% macro values_of(table) %}
                {% set rows = run_query('select distinct x from ' ~ table) %}
                {% endmacro %}
                """,
            "models/marts/daily.sql": "select 1 as x {{ values_of(ref('users_clean')) }}\n",
            "models/marts/other.sql": "select 1 as x {{ values_of('some.table') }}\n",
        }
    )

    answer = call("validate")

    assert answer.code == 1
    assert answer.out.count("template-reads-table") == 1
    assert (
        "models/marts/other.sql:1: error: template-reads-table: the template reads rows of "
        "some.table, which is not declared" in answer.out
    )
