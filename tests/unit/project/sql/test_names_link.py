from __future__ import annotations

import hashlib

import pytest

from penstock.core.names import InputKind, InputName
from penstock.project.sql.canonical import canonical_sql


def test_an_unknown_reference_names_the_nearest_model(findings):
    files = {
        "models/users_clean.sql": "select 1 as id",
        "models/daily.sql": "select *\nfrom {{\n  ref('user_clean')\n}}",
    }

    assert findings(files, hints=True) == [
        (
            "models/daily.sql:3: error: unknown-reference: no model is called 'user_clean'\n"
            "  hint: did you mean 'users_clean'?"
        )
    ]


def test_an_unknown_table_in_a_schema_of_the_project_is_a_warning(findings):
    files = {
        "models/staging/users.sql": "select 1 as id",
        "models/mart/a.sql": "select * from staging.user\njoin other.thing",
    }

    assert findings(files, hints=True) == [
        (
            "models/mart/a.sql:1: warning: external-table: "
            "table staging.user is not a model or source, though the project builds its schema\n"
            "  hint: did you mean 'users'?"
        )
    ]


BASE = {
    "models/staging/users.sql": "select 1 as id",
    "models/staging/orders.sql": "select 1 as id",
    "models/sources.yml": "sources: [{name: raw, tables: [{name: events}]}]",
}


USERS = InputName(InputKind.MODEL, "users")


EVENTS = InputName(InputKind.SOURCE, "raw.events")


@pytest.fixture
def query(load):
    def parsed(text):
        project = load({**BASE, "models/mart/m.sql": text})
        model = project.models["m"]
        shown = project.shown_sql(model)
        if model.query.parsed:
            assert model.query.canonical == canonical_sql(shown)
        return model.query

    return parsed


def test_names_with_other_characters_are_shown_quoted(load):
    project = load(
        {
            "models/s/my-users.sql": "select 1",
            "models/s/m.sql": "select * from {{ ref('my-users') }}",
        }
    )

    assert project.shown_sql(project.models["m"]) == "select * from s.`my-users`"


def test_the_schema_prefix_is_no_part_of_what_users_write(load):
    files = {
        **BASE,
        "penstock.yml": "name: shop\ntargets: {dev: {schema_prefix: dev_}}\n",
        "models/mart/m.sql": "select staging.users.id from staging.users join raw.events",
    }

    project = load(files)

    assert project.models["m"].query.inputs == (USERS, EVENTS)
    assert project.shown_sql(project.models["m"]) == (
        "select `users`.id from dev_staging.users join raw.events"
    )


def test_tables_of_one_name_in_two_schemas_stay_apart(query):
    text = "select staging.users.id, other.users.id from staging.users join other.users"

    one = query(text)
    two = query(text.replace("other.users.id", "staging.users.id"))

    assert one.text == (
        "select `staging__users`.id, `other__users`.id "
        "from `penstock:model:users:bare:staging__users` "
        "join `penstock:external:other.users:bare:other__users`"
    )
    assert one.canonical != two.canonical


def test_the_checksum_is_that_of_the_shown_text(load):
    project = load({**BASE, "models/m.sql": "select * from {{ ref('users') }} join raw.events e"})
    model = project.models["m"]

    shown = project.shown_sql(model)

    assert shown == "select * from staging.users join raw.events e"
    assert model.fingerprint.sql == hashlib.sha256(shown.encode()).hexdigest()
    assert model.fingerprint.canonical == hashlib.sha256(model.query.canonical.encode()).hexdigest()
