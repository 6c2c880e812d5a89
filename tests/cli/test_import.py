"""`penstock import dbt`: from a dbt project to one that validates, by the command line."""

import json

from fakes.dbt_shop import TOKEN, write_dbt


def test_an_imported_project_has_no_findings(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_dbt(tmp_path / "shop")

    done = call("import", "dbt", "shop")

    assert done.code == 0, done.err
    assert done.out.endswith(f"Next: penstock validate {tmp_path / 'shop-penstock'}\n")
    checked = call("validate", "shop-penstock")
    assert checked.out == "no findings: 12 models, 2 sources, 2 seeds\n"
    listed = call("list", "shop-penstock", "--json")
    tables = {each["model"]: each["table"] for each in json.loads(listed.out)["models"]}
    assert tables["customers"] == "analytics_finance.dim_customers"
    assert tables["stg_orders"] == "analytics_staging.stg_orders"
    assert tables["orders_history"] == "history.orders_history"


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
    write_dbt(tmp_path / "shop")
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
    write_dbt(tmp_path / "shop")

    done = call("validate", "--project-dir", "shop")

    assert done.err.endswith(f"  hint: penstock import dbt {tmp_path / 'shop'}\n")
