"""Snapshot models: the forms in which they are written, and what they mean."""

from __future__ import annotations

import json

import pytest

from penstock.core.findings import Location
from penstock.core.history import (
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    NewerThan,
    Retention,
    SystemColumns,
)
from penstock.core.model import ColumnDoc
from penstock.core.names import TableName
from penstock.core.strategy import Layout
from penstock.project.load import load_project
from penstock.strategies.history.snapshot import Snapshot

CLEAN = {"models/staging/users_clean.sql": "select 1 as user_id"}
HEADER = """{{ config(
    materialized='snapshot',
    snapshot={
        'strategy': 'timestamp',    -- or 'check'
    },
    unique_key='user_id',
    updated_at='signup_date',
) }}

select user_id, email, email_domain, signup_date
from {{ ref('users_clean.ff') }};
"""
ORDERS = {"models/orders.sql": "select 1 as order_id, 2 as status"}
CHECK = "materialized='snapshot', unique_key='id', strategy='check'"


@pytest.fixture
def snapshot(load):
    """Load one snapshot of `id` and `value` with these settings."""

    def loaded(header, project="name: shop\n", select="id, value"):
        text = f"{{{{ config({header}) }}}}\nselect {select} from t"
        return load({"models/s.sql": text, "penstock.yml": project}).models["s"]

    return loaded


def test_the_seeds_header_is_a_snapshot(load):
    long = HEADER.replace("-- or 'check'", "-- " + "so that it is long " * 160)

    short, other = (
        load({**CLEAN, "models/snapshots/users.sql": text}, use_cache=False)
        for text in (HEADER, f"/* one row\n   per user */\n{long}")
    )

    assert len(long) > 3_000
    assert short.findings == other.findings == ()
    for model in (short.models["users"], other.models["users"]):
        assert model.strategy == Snapshot(("user_id",), NewerThan("signup_date"))
        assert model.depends_on == ("users_clean",)
        assert model.table == TableName("snapshots", "users")
        assert model.query.text.strip().endswith(
            "from `penstock:model:users_clean:bare:users_clean`"
        )
    assert [short.models["users"].fingerprint.canonical] == [
        other.models["users"].fingerprint.canonical
    ]


def test_one_name_is_a_list_of_one_wherever_it_stands(load):
    models = [
        load(
            {
                "models/s.sql": "{{ config(materialized='snapshot', unique_key='id',"
                f" {settings}) }}}}\nselect id, value from t"
            }
        ).models["s"]
        for settings in (
            "strategy='check', check_cols='value'",
            "strategy='check', check_cols=['value']",
            "snapshot={'strategy': 'check', 'check_cols': 'value'}",
            "snapshot={'strategy': 'check'}, check_columns=['value', 'VALUE']",
        )
    ]

    assert models[0].strategy == Snapshot(("id",), ColumnsDiffer(("value",)))
    assert [m.strategy for m in models] == [models[0].strategy] * 4
    assert [m.fingerprint.settings for m in models] == [models[0].fingerprint.settings] * 4
    assert models[:3] == [models[0]] * 3


@pytest.mark.parametrize(
    ("settings", "strategy"),
    [
        ("check_cols='all'", Snapshot(("id",), ColumnsDiffer(None))),
        ("check_cols=['Value', 'value']", Snapshot(("id",), ColumnsDiffer(("Value",)))),
        (
            "check_cols='value', row_hash=true",
            Snapshot(("id",), HashDiffers("_ps_row_hash", ("value",))),
        ),
        (
            (
                "check_cols='value', hard_deletes='new_record', null_keys='match',"
                " allow_empty=true, retention={'keep_last': 3, 'keep_days': 30}, layout='plain'"
            ),
            Snapshot(
                ("id",),
                ColumnsDiffer(("value",)),
                hard_deletes=HardDeletes.NEW_RECORD,
                match_null_keys=True,
                allow_empty=True,
                retention=Retention(3, 30),
                by_current=False,
            ),
        ),
        (
            "check_cols='value', invalidate_hard_deletes=true, retention={'keep_days': 1}",
            Snapshot(
                ("id",),
                ColumnsDiffer(("value",)),
                hard_deletes=HardDeletes.INVALIDATE,
                retention=Retention(None, 1),
            ),
        ),
    ],
)
def test_the_settings_of_a_checked_snapshot(snapshot, settings, strategy):
    assert snapshot(f"{CHECK}, {settings}").strategy == strategy


@pytest.mark.parametrize(
    ("settings", "strategy"),
    [
        (
            "primary_key=['id', 'Id'], updated_at_columns=['value']",
            Snapshot(("id",), NewerThan("value")),
        ),
        (
            (
                "unique_key='id', updated_at_column='value', compare_rows=true,"
                " null_updated_at='ignore_row'"
            ),
            Snapshot(("id",), NewerThan("value", compare_rows=True), ignore_null_time=True),
        ),
        (
            "snapshot={'primary_key': 'id', 'updated_at': 'value', 'valid_from': 'updated_at'}",
            Snapshot(("id",), NewerThan("value"), event_time=True),
        ),
    ],
)
def test_the_settings_of_a_snapshot_by_time(snapshot, settings, strategy):
    header = f"materialized='snapshot', strategy='timestamp', {settings}"

    assert snapshot(header).strategy == strategy


def test_all_as_a_list_is_a_column_of_that_name(snapshot):
    model = snapshot(f"{CHECK}, check_cols=['all']", select="id, all")

    assert model.strategy.change == ColumnsDiffer(("all",))


def test_snapshots_of_yaml_are_models_of_their_own(load):
    text = """snapshots:
  - name: orders_snapshot
    relation: ref('orders')
    config: {strategy: check, unique_key: [order_id], check_cols: all, hard_deletes: invalidate}
  - name: prices_snapshot
    description: Prices
    tags: [daily]
    columns: [{name: sku, description: what}]
    sql: |
      select sku, price, changed_at
      from {{ ref('orders') }}
    config: {strategy: timestamp, unique_key: sku, updated_at: changed_at}
"""

    models = load({**ORDERS, "models/history/s.yml": text}).models

    orders, prices = models["orders_snapshot"], models["prices_snapshot"]
    assert (orders.table, orders.where) == (
        TableName("history", "orders_snapshot"),
        Location("models/history/s.yml", 2),
    )
    assert orders.strategy == Snapshot(
        ("order_id",), ColumnsDiffer(None), hard_deletes=HardDeletes.INVALIDATE
    )
    assert orders.query.text.strip() == "select * from `penstock:model:orders:bare:orders`"
    assert prices.strategy == Snapshot(("sku",), NewerThan("changed_at"))
    assert (prices.description, prices.tags) == ("Prices", ("daily",))
    assert prices.columns == (ColumnDoc("sku", "what"),)
    assert (orders.depends_on, prices.depends_on) == (("orders",), ("orders",))


def test_the_lines_of_a_query_in_yaml_are_those_of_the_file(load):
    text = (
        "snapshots:\n  - name: s\n    config: {strategy: check, unique_key: id, check_cols: all}\n"
        "    sql: |\n      select id,\n        value\n      from raw.t\n"
    )

    query = load({"models/s.yml": text}).models["s"].query.text

    assert query.splitlines()[3:] == [
        "",
        "select id,",
        "  value",
        "from `penstock:external:raw.t:bare:t`",
    ]


@pytest.mark.parametrize(
    "relation", ["source('raw', 't')", "\"{{ source('raw', 't') }}\"", "raw.t"]
)
def test_a_relation_is_a_call_or_a_table(load, relation):
    text = (
        "sources: [{name: raw, tables: [{name: t}]}]\n"
        f"snapshots:\n  - name: s\n    relation: {relation}\n"
        "    config: {strategy: check, unique_key: id, check_cols: all}\n"
    )

    query = load({"models/s.yml": text}).models["s"].query

    assert query.text.strip() == "select * from `penstock:source:raw.t:bare:t`"


def test_the_header_wins_over_yaml(load):
    files = {
        "models/s.sql": (
            "{{ config(strategy='check', check_cols='value') }}\nselect id, value from t"
        ),
        "models/s.yml": (
            "models:\n  - name: s\n    config: {materialized: snapshot, unique_key: id,"
            " snapshot: {strategy: timestamp}}\n"
        ),
    }

    project = load(files)

    assert project.findings == ()
    assert project.models["s"].strategy == Snapshot(("id",), ColumnsDiffer(("value",)))


def test_the_cache_keeps_snapshots_of_yaml(load, tmp_path):
    text = (
        "snapshots:\n  - name: s\n    sql: select id, now() as value from t\n"
        "    config: {strategy: check, unique_key: id, check_cols: all}\n"
    )

    first = load({"models/s.yml": text}, use_cache=True)
    again = load_project(tmp_path, environ={})

    assert again == first
    assert [f.code for f in first.findings] == ["volatile-change-column"]
    lines = (tmp_path / ".penstock/cache/parse.jsonl").read_text().split("\n")[1:]
    assert sorted(json.loads(line)[0] for line in lines) == [
        "models/s.yml",
        "models/s.yml\nsnapshots\n0",
        "penstock.yml",
    ]


PASCAL = "system_columns={'prefix': 'dlf_', 'case': 'pascal'}"


def test_the_names_of_the_system_columns(snapshot):
    project = "name: shop\nsystem_columns: {prefix: _ff_}\n"

    ff = snapshot(f"{CHECK}, check_cols='all'", project).strategy.columns
    dlf = snapshot(f"{CHECK}, check_cols='all', {PASCAL}", project).strategy.columns

    assert ff == SystemColumns(
        "_ff_valid_from", "_ff_valid_to", "_ff_is_current", "_ff_is_deleted", "_ff_row_hash"
    )
    assert dlf == SystemColumns(
        "dlf_ValidFrom", "dlf_ValidTo", "dlf_IsCurrent", "dlf_IsDeleted", "dlf_RowHash"
    )


@pytest.mark.parametrize(
    ("settings", "layout"),
    [
        ("", Layout(("_ps_is_current",))),
        ("partition_by='day'", Layout(("_ps_is_current", "day"))),
        ("cluster_by=['id', 'day']", Layout((), ("_ps_valid_to", "id", "day"))),
        ("layout='plain', partition_by='day'", Layout(("day",))),
        ("layout='plain', cluster_by='day'", Layout((), ("day",))),
        ("layout='plain', table_properties={'a': 1}", Layout((), (), {"a": "1"})),
        ("partition_by='_PS_IS_CURRENT'", Layout(("_ps_is_current",))),
    ],
)
def test_current_and_closed_versions_lie_apart(snapshot, settings, layout):
    assert snapshot(f"{CHECK}, check_cols='all', {settings}").layout == layout


@pytest.mark.parametrize(
    "change",
    [
        "check_cols=['value', 'id']",
        "hard_deletes='invalidate'",
        "null_keys='match'",
        "allow_empty=true",
        "row_hash=true",
        "retention={'keep_last': 2}",
        "system_columns={'prefix': 'x_'}",
    ],
)
def test_every_setting_is_part_of_the_fingerprint(snapshot, change):
    settings = "" if change.startswith("check_cols") else "check_cols='value', "
    before = snapshot(f"{CHECK}, check_cols='value'").fingerprint

    assert snapshot(f"{CHECK}, {settings}{change}").fingerprint.settings != before.settings


def test_the_layout_is_part_of_the_layouts_checksum_alone(snapshot):
    before = snapshot(f"{CHECK}, check_cols='value'").fingerprint
    after = snapshot(f"{CHECK}, check_cols='value', layout='plain'").fingerprint

    assert after.settings == before.settings
    assert after.layout != before.layout


def test_order_and_case_of_names_are_no_change_of_settings(snapshot):
    one = snapshot(f"{CHECK}, check_cols=['value', 'id']").fingerprint
    other = snapshot(f"{CHECK}, check_cols=['ID', 'Value']").fingerprint

    assert one.settings == other.settings


def test_layout_dbt_has_the_columns_of_dbt(snapshot):
    timed = snapshot(
        "materialized='snapshot', unique_key='id', strategy='timestamp', updated_at='value', "
        "layout='dbt', dbt_valid_to_current=\"to_date('9999-12-31')\""
    )
    checked = snapshot(
        f"{CHECK}, check_cols='all', layout='dbt', "
        "snapshot_meta_column_names={'dbt_valid_from': 'since'}"
    )

    columns = timed.history.columns
    assert columns.names == (
        *("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted"),
    )
    assert columns.current_end == "CAST(to_date('9999-12-31') AS TIMESTAMP)"
    assert (timed.history.event_time, checked.history.event_time) == (True, False)
    assert (timed.layout, checked.layout) == (Layout(), Layout())
    assert checked.history.columns.valid_from == "since"
