from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.core.errors import UsageError
from penstock.core.names import InputKind, InputName
from penstock.project.editor_schemas import json_schemas
from penstock.project.first_pass import parse_user_query
from penstock.project.load import load_project

FILES = {
    "penstock.yml": "name: shop\nvars: {v: 1}\ntargets: {dev: {}, prod: {}}\n",
    "models/a.sql": "select '{{ env_var(\"WHO\", \"x\") }}' as w, {{ var('v') }} as v",
    "models/b.sql": "select * from {{ ref('a') }}",
    "models/m.yml": (
        "models: [{name: a, description: d}]\nsources: [{name: raw, tables: [{name: t}]}]\n"
    ),
    "macros/m.sql": "{% macro one() %}1{% endmacro %}",
}


ENVIRON = {"WHO": "me", "PW": "hunter2"}


@pytest.fixture
def again(load, tmp_path):
    """Load once, then give a function that loads again with the cache."""
    load(FILES, use_cache=True, environ=ENVIRON)
    return lambda **how: load_project(tmp_path, **{"environ": ENVIRON, **how})


@pytest.fixture
def parsed(monkeypatch):
    """Collect the model files that are parsed anew."""
    from penstock.project.sql import sql_file

    seen = []
    original = sql_file.parse_sql_files

    def spy(texts, macros, render_context):
        seen.extend(texts)
        return original(texts, macros, render_context)

    monkeypatch.setattr(sql_file, "parse_sql_files", spy)
    return seen


def stored(root: Path) -> Path:
    return root / ".penstock/cache/parse.jsonl"


def test_a_second_load_parses_nothing_and_is_equal(again, parsed, tmp_path):
    cold = load_project(tmp_path, environ=ENVIRON, use_cache=False)
    parsed.clear()

    assert again() == cold
    assert parsed == []


@pytest.mark.parametrize(
    ("change", "files"),
    [
        ({"environ": {**ENVIRON, "WHO": "you"}}, ["models/a.sql"]),
        ({"environ": {}}, ["models/a.sql"]),
        ({"vars": {"v": "2"}}, ["models/a.sql"]),
        ({"target": "prod"}, []),
        ({"environ": {**ENVIRON, "OTHER": "1"}}, []),
    ],
)
def test_only_files_that_read_what_changed_are_parsed_again(again, parsed, change, files):
    again(**change)

    assert parsed == files


def test_a_changed_file_is_parsed_again(again, parsed, tmp_path):
    (tmp_path / "models/b.sql").write_text("select 2 as two")

    assert again().models["b"].query.text == "select 2 as two"
    assert parsed == ["models/b.sql"]


def test_a_changed_macro_parses_all_again(again, parsed, tmp_path):
    (tmp_path / "macros/m.sql").write_text("{% macro one() %}2{% endmacro %}")

    again()

    assert parsed == ["models/a.sql", "models/b.sql"]


def test_no_password_is_kept(load, tmp_path):
    project = (
        "name: shop\ntargets:\n  dev:\n    state: {}\n    spark: {{conf: {{fs.secret.key: {}}}}}\n"
    )
    outside = project.format("\"{{ env_var('URL') }}\"", "\"{{ env_var('PW') }}\"")
    inside = project.format("postgresql://me:hunter2@db/x", "hunter2")
    environ = {"PW": "hunter2", "URL": "postgresql://me:hunter2@db/x"}

    from_outside = load({"penstock.yml": outside}, environ=environ, use_cache=True)
    kept = stored(tmp_path).read_text()
    from_inside = load({"penstock.yml": inside, "models/a.sql": "select 1"}, use_cache=True)

    assert from_outside.target == from_inside.target
    assert "hunter2" not in kept + stored(tmp_path).read_text()
    assert "penstock.yml" in kept
    assert "penstock.yml" not in stored(tmp_path).read_text()


def test_what_was_rendered_with_a_secret_is_in_no_cache(load, tmp_path):
    files = {
        **FILES,
        "models/b.sql": "select '{{ env_var(\"DBT_ENV_SECRET_B\") }}' as b",
        "models/c.sql": "select '{{ var(\"word\") }}' as c",
        "models/d.sql": "select '{{ env_var(\"API_TOKEN\") }}' as d",
        "penstock.yml": "name: shop\nvars: {v: 1, word: \"{{ env_var('PENSTOCK_SECRET_C') }}\"}\n",
    }
    environ = {**ENVIRON, "DBT_ENV_SECRET_B": "bravo-1", "PENSTOCK_SECRET_C": "charlie-2"}

    cold = load(files, environ={**environ, "API_TOKEN": "delta-3"}, use_cache=True)
    warm = load_project(tmp_path, environ={**environ, "API_TOKEN": "delta-3"})

    kept = stored(tmp_path).read_text()
    assert not any(word in kept for word in ("bravo-1", "charlie-2", "delta-3"))
    names = [json.loads(line)[0] for line in kept.split("\n")[1:]]
    assert [name for name in names if name.endswith(".sql")] == ["models/a.sql"]
    assert stored(tmp_path).stat().st_mode & 0o777 == 0o600
    assert warm == cold
    assert warm.models["b"].query.text == "select 'bravo-1' as b"


QUERIED = {
    "penstock.yml": "name: shop\ntargets: {dev: {schema_prefix: d_}}\n",
    "models/staging/users.sql": "select 1 as id",
    "models/s.yml": "sources: [{name: raw, tables: [{name: events}]}]",
}


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("select * from users", "select * from `penstock:model:users:bare:users`"),
        ("select * from staging.Users u", "select * from `penstock:model:users` u"),
        ("select * from d_staging.users u;", "select * from `penstock:model:users` u"),
        ("select * from raw.events", "select * from `penstock:source:raw.events:bare:events`"),
        (
            "with users as (select 1) select * from users",
            "with users as (select 1) select * from users",
        ),
    ],
)
def test_a_user_names_tables_and_models(load, sql, text):
    assert parse_user_query(load(QUERIED), sql, {}).text == text


def test_other_tables_are_external(load):
    query = parse_user_query(load(QUERIED), "select * from a.b join c", {})

    assert query.inputs == (
        InputName(InputKind.EXTERNAL, "a.b"),
        InputName(InputKind.EXTERNAL, "c"),
    )


TEMPLATED = QUERIED | {
    "penstock.yml": "name: shop\nvars: {days: 3}\n",
    "macros/some.sql": "{% macro few(n) %}limit {{ n }}{% endmacro %}",
    "models/staging/kept.sql": (
        "{{ config(materialized='snapshot', unique_key='id', strategy='check', check_cols='all') }}"
        "select * from {{ source('raw', 'events') }}"
    ),
}


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("select 1 from {{ ref('users') }}", "select 1 from `penstock:model:users:bare:users`"),
        (
            "select 1 from {{ source('raw', 'events') }} {{ few(var('days')) }}",
            "select 1 from `penstock:source:raw.events:bare:events` limit 3",
        ),
        ("select '{{ env_var('CITY') }}' {# why #}", "select 'Bonn'"),
        (
            "select 1 from {{ as_of(ref('kept'), '2024-03-01') }}",
            (
                "select 1 from (select * from `penstock:model:kept:bare:kept` where "
                "`_ps_valid_from` <= TIMESTAMP '2024-03-01T00:00:00.000000Z' and (`_ps_valid_to` "
                "is null or `_ps_valid_to` > TIMESTAMP '2024-03-01T00:00:00.000000Z') and "
                "`penstock:present:model:kept`)"
            ),
        ),
    ],
)
def test_a_query_with_braces_is_a_template(load, sql, text):
    assert parse_user_query(load(TEMPLATED), sql, {"CITY": "Bonn"}).text == text


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "select 1 from {{ ref('user') }}",
            "query:1: unknown-reference: no model is called 'user'",
        ),
        ("select\n{{ var('day') }}", "query:2: missing-var: no var is called 'day'"),
        ("select {{ few( }}", "query:1: template-syntax: "),
        (
            "select * from {{ as_of(ref('users'), '2024-03-01') }}",
            "query:1: not-a-history-model: as_of reads history tables, and 'users' is none",
        ),
    ],
)
def test_what_is_wrong_with_a_template_is_told_at_its_line(load, sql, said):
    with pytest.raises(UsageError) as caught:
        parse_user_query(load(TEMPLATED), sql, {})

    assert caught.value.render().startswith(said)


def test_only_queries_are_asked(load):
    with pytest.raises(UsageError, match="one query is expected; this begins with DROP"):
        parse_user_query(load(QUERIED), "drop table staging.users", {})


def test_editors_get_a_schema_of_each_file():
    schemas = {name: json.loads(text) for name, text in json_schemas().items()}

    assert sorted(schemas) == [
        "entities.schema.json",
        "entity.schema.json",
        "models.schema.json",
        "penstock.schema.json",
        "sessions.schema.json",
        "unit_tests.schema.json",
        "versioned.schema.json",
    ]
    assert sorted(schemas["models.schema.json"]["properties"]) == [
        "exposures",
        "groups",
        "models",
        "seeds",
        "snapshots",
        "sources",
        "unit_tests",
        "version",
    ]
    assert schemas["penstock.schema.json"]["additionalProperties"] is False
    assert "patternProperties" in schemas["penstock.schema.json"]["$defs"]["defaults"]


def test_a_typed_query_has_no_parameters(load):
    with pytest.raises(UsageError, match="@run_date has no value here") as caught:
        parse_user_query(load(QUERIED), "select @run_date", {})

    assert caught.value.code == "parameter-without-partition"
