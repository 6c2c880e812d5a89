"""`penstock import dbt`: from a dbt project to one that validates, by the command line."""

import json

from fakes.dbt_shop import FILES, TOKEN, write_dbt

PLAIN = {
    "dbt_project.yml": """\
name: shop
profile: shop
vars: {least: 0}
models:
  shop:
    staging: {+schema: staging, +tags: [staging]}
    marts: {+materialized: table, +file_format: delta}
seeds: {shop: {+schema: seeds}}
""",
    "profiles.yml": FILES["profiles.yml"],
    "models/docs.md": FILES["models/docs.md"],
    "models/marts/unit_tests.yml": FILES["models/marts/unit_tests.yml"],
    "models/staging/sources.yml": FILES["models/staging/sources.yml"],
    "macros/cents.sql": FILES["macros/cents.sql"],
    "macros/tests.sql": FILES["macros/tests.sql"],
    "seeds/countries.csv": FILES["seeds/countries.csv"],
    "seeds/raw_orders.csv": FILES["seeds/raw_orders.csv"],
    "seeds/seeds.yml": FILES["seeds/seeds.yml"],
    "tests/no_refunds.sql": FILES["tests/no_refunds.sql"],
    "models/staging/stg_orders.sql": FILES["models/staging/stg_orders.sql"].replace(
        "min_amount", "least"
    ),
    "models/staging/stg_clicks.sql": FILES["models/staging/stg_clicks.sql"],
    "models/staging/big_orders.sql": FILES["models/staging/big_orders.sql"],
    "models/marts/orders.sql": """\
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order_id') }}
select * from {{ ref('stg_orders') }}
""",
    **{
        f"models/marts/{name}.sql": FILES[f"models/marts/{name}.sql"]
        for name in ("clicks_log", "daily_amounts", "customers", "clicks_by_day", "big_countries")
    },
    "models/marts/marts.yml": """\
models:
  - name: orders
    description: "{{ doc('orders') }}"
    columns:
      - name: order_id
        data_tests: [unique, not_null]
      - name: country
        data_tests:
          - relationships: {to: ref('countries'), field: code}
  - name: clicks_log
    columns: [{name: clicked_on, data_type: date}]
    config: {event_time: clicked_on}
    data_tests: [{at_least: {column_name: id, least: 0}}]
""",
}


def test_an_imported_project_has_no_findings(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_dbt(tmp_path / "shop", PLAIN)

    done = call("import", "dbt", "shop")

    assert done.code == 0, done.err
    assert "To do by hand" not in done.out
    assert done.out.endswith(f"Next: penstock validate {tmp_path / 'shop-penstock'}\n")
    checked = call("validate", "shop-penstock")
    assert checked.out == "no findings: 9 models, 2 sources, 2 seeds\n"
    listed = call("list", "shop-penstock", "--json")
    tables = {each["name"]: each["table"] for each in json.loads(listed.out)["models"]}
    assert tables["customers"] == "analytics_finance.dim_customers"
    assert tables["stg_orders"] == "analytics_staging.stg_orders"
    assert tables["orders"] == "analytics.orders"


def test_the_document_has_every_part_and_no_token(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_dbt(tmp_path / "shop")

    done = call("import", "dbt", "shop", "--dry-run", "--json")

    document = json.loads(done.out)
    assert document["written"] is False
    assert document["counts"]["snapshot"] == {"changed": 1}
    assert TOKEN not in done.out + done.err
    assert not (tmp_path / "shop-penstock").exists()


def test_edits_by_hand_are_shown_and_kept(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_dbt(tmp_path / "shop", PLAIN)
    call("import", "dbt", "shop")
    edited = tmp_path / "shop-penstock/models/marts/orders.sql"
    edited.write_text("select 7 as order_id\n")

    done = call("import", "dbt", "shop")

    assert done.code == 1
    assert "-select 7 as order_id\n" in done.out
    assert done.out.endswith("Nothing was written: --force overwrites them.\n")
    assert edited.read_text() == "select 7 as order_id\n"


def test_the_error_in_a_dbt_project_names_the_import(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_dbt(tmp_path / "shop", PLAIN)

    done = call("validate", "--project-dir", "shop")

    assert done.err.endswith(f"  hint: penstock import dbt {tmp_path / 'shop'}\n")
