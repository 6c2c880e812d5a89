from __future__ import annotations

import pytest

from penstock.core.names import InputKind, InputName
from penstock.project.sql.canonical import canonical_sql

BASE = {
    "models/staging/users.sql": "select 1 as id",
    "models/staging/orders.sql": "select 1 as id",
    "models/sources.yml": "sources: [{name: raw, tables: [{name: events}]}]",
}
USERS = InputName(InputKind.MODEL, "users")
ORDERS = InputName(InputKind.MODEL, "orders")
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


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (
            "select * from {{ ref('users') }}",
            "select * from `penstock:model:users:bare:users`",
        ),
        ("select * from {{ ref('users') }} u", "select * from `penstock:model:users` u"),
        ("select * from {{ ref('users') }} as u", "select * from `penstock:model:users` as u"),
        (
            "select users.id from staging.users",
            "select users.id from `penstock:model:users:bare:users`",
        ),
        (
            "select id from `Staging.USERS`, `staging`.`orders` o",
            "select id from `penstock:model:users:bare:users`, `penstock:model:orders` o",
        ),
        (
            "select staging.users.id, staging.users.* from staging.users",
            "select `users`.id, `users`.* from `penstock:model:users:bare:users`",
        ),
        (
            "select {{ ref('users') }}.id from {{ ref('users') }}",
            "select `users`.id from `penstock:model:users:bare:users`",
        ),
        (
            "select users.address.city from {{ ref('users') }}",
            "select users.address.city from `penstock:model:users:bare:users`",
        ),
        (
            "with users as (select * from {{ ref('users') }}) select * from users",
            "with users as (select * from `penstock:model:users:bare:users`) select * from users",
        ),
        (
            "select * from staging.users tablesample (10 percent) s",
            "select * from `penstock:model:users` tablesample (10 percent) s",
        ),
        (
            "select * from raw.events version as of 3",
            "select * from `penstock:source:raw.events` version as of 3",
        ),
        (
            "select 'staging.users', `staging.users x` as x -- staging.users\nfrom raw.events",
            (
                "select 'staging.users', `staging.users x` as x -- staging.users\n"
                "from `penstock:source:raw.events:bare:events`"
            ),
        ),
        (
            (
                "select 1 where exists (select 1 from staging.users "
                "where id in (select id from raw.events))"
            ),
            (
                "select 1 where exists (select 1 from `penstock:model:users:bare:users` "
                "where id in (select id from `penstock:source:raw.events:bare:events`))"
            ),
        ),
        (
            "select * from range(10) r, lateral explode(array(1)) x",
            "select * from range(10) r, lateral explode(array(1)) x",
        ),
        (
            "select max(id) from mart.m union all select max(id) from {{ this }}",
            (
                "select max(id) from `penstock:this:m:bare:m` union all "
                "select max(id) from `penstock:this:m:bare:m`"
            ),
        ),
        (
            "select * from other.table_a join plain join c.s.t",
            (
                "select * from `penstock:external:other.table_a:bare:table_a` "
                "join `penstock:external:plain:bare:plain` join `penstock:external:c.s.t:bare:t`"
            ),
        ),
    ],
)
def test_tables_become_tokens(query, text, tokens):
    assert query("{{ config(materialized='append', window='none') }}" + text).text == tokens


def test_a_cte_hides_a_table_only_where_it_is_in_scope(query):
    text = (
        "with a as (select * from b), b as (select * from a)\n"
        "select * from b join (with c as (select 1) select * from c) join c"
    )

    externals = {i.name for i in query(text).inputs}

    assert externals == {"b", "c"}


def test_a_recursive_cte_reads_itself(query):
    assert (
        query(
            "with recursive n as (select 1 as i union all select i + 1 from n) select * from n"
        ).inputs
        == ()
    )


def test_inputs_come_from_calls_and_plain_names_and_depends_on(query):
    text = "{{ config(depends_on=['orders']) }}select 1 from raw.events -- {{ ref('users') }}"

    assert query(text).inputs == (EVENTS, USERS, ORDERS)


def test_a_reference_that_is_not_printed_is_still_an_input(query):
    assert query("{% set u = ref('users') %}select 1").inputs == (USERS,)


def test_files_read_by_path_are_left_alone_with_a_warning(load):
    project = load({"models/m.sql": "select * from parquet.`/data/x`"})

    assert project.models["m"].query.text == "select * from parquet.`/data/x`"
    assert [f.code for f in project.findings] == ["external-path"]


def test_an_incremental_model_has_both_branches_and_both_count_in_its_fingerprint(load):
    text = (
        "{{ config(materialized='append', time_column='t') }}select t from raw.events"
        "{% if is_incremental() %} where t > 'LOW'{% endif %}"
    )

    one = load({**BASE, "models/m.sql": text}).models["m"]
    two = load({**BASE, "models/m.sql": text.replace("LOW", "HIGH")}).models["m"]

    assert one.query.text == "select t from `penstock:source:raw.events:bare:events`"
    assert one.query.incremental == one.query.text + " where t > 'LOW'"
    assert one.query.text == two.query.text
    assert one.fingerprint.sql != two.fingerprint.sql
    assert one.fingerprint.canonical != two.fingerprint.canonical


def test_a_view_is_never_incremental(load):
    text = "select 1 as t{% if is_incremental() %} from {{ this }}{% endif %}"

    model = load({"models/m.sql": text}).models["m"]

    assert (model.query.incremental, model.query.inputs) == ("select 1 as t", ())


def test_a_table_in_unparsed_sql_gets_an_alias_only_where_it_has_none(query):
    text = "select a:b.c from {{ ref('users') }} join {{ ref('orders') }} o on true"

    assert query(text).text == (
        "select a:b.c from `penstock:model:users:bare:users` join `penstock:model:orders` o on true"
    )


def test_a_query_that_the_parser_stumbles_over_still_loads(load):
    project = load({"models/m.sql": f"select {'(' * 3000}1{')' * 3000} as x"})

    assert [f.code for f in project.findings] == ["unparsed-sql"]
    assert project.models["m"].query.parsed is False
