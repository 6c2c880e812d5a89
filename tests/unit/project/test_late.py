from __future__ import annotations

import json

import pytest

from penstock.core.errors import UsageError
from penstock.core.names import InputKind, InputName
from penstock.project import json_schemas, parse_user_query

FILES = {
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
    assert parse_user_query(load(FILES), sql).text == text


def test_other_tables_are_external(load):
    query = parse_user_query(load(FILES), "select * from a.b join c")

    assert query.inputs == (
        InputName(InputKind.EXTERNAL, "a.b"),
        InputName(InputKind.EXTERNAL, "c"),
    )


def test_only_queries_are_asked(load):
    with pytest.raises(UsageError, match="one query is expected; this begins with DROP"):
        parse_user_query(load(FILES), "drop table staging.users")


def test_editors_get_a_schema_of_each_file():
    schemas = {name: json.loads(text) for name, text in json_schemas().items()}

    assert sorted(schemas) == [
        "models.schema.json",
        "penstock.schema.json",
        "unit_tests.schema.json",
        "versioned.schema.json",
    ]
    assert sorted(schemas["models.schema.json"]["properties"]) == [
        "models",
        "seeds",
        "snapshots",
        "sources",
        "unit_tests",
        "version",
    ]
    assert schemas["penstock.schema.json"]["additionalProperties"] is False
    assert "patternProperties" in schemas["penstock.schema.json"]["$defs"]["DefaultsShape"]


def test_a_typed_query_has_no_parameters(load):
    with pytest.raises(UsageError, match="@run_date has no value here") as caught:
        parse_user_query(load(FILES), "select @run_date")

    assert caught.value.code == "parameter-without-partition"
