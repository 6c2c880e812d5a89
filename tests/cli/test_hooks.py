"""Hooks, exposures and groups as commands show them, none of which starts Spark."""

import json

SECRET = "hunter2-of-the-lake"  # noqa: S105  no real one
ORDERS = (
    "{{ config(materialized='table', pre_hook=\"set a = '{{ env_var('PENSTOCK_SECRET_A') }}'\", "
    "post_hook='optimize {{ this }}') }}\nselect 1 as id\n"
)
AROUND = """
groups: [{name: finance, owner: {name: Ann}}]
models: [{name: orders, group: finance, access: private}]
exposures:
  - {name: weekly, type: dashboard, owner: {name: Ann}, depends_on: [ref('users_clean')]}
"""
FILES = {
    "models/marts/orders.sql": ORDERS,
    "models/marts/around.yml": AROUND,
}


def test_a_plan_shows_the_hooks_of_each_step_and_no_secret(services, call, monkeypatch):
    monkeypatch.setenv("PENSTOCK_SECRET_A", SECRET)
    services(**FILES)

    plan = call("plan", "--select", "orders").out
    (model,) = json.loads(call("plan", "--select", "orders", "--json").out)["models"]

    expected = ["before: set a = '***'", "after: optimize marts.orders"]
    assert [line.strip() for line in plan.splitlines()[2:4]] == expected
    assert model["plan"]["hooks"] == expected


def test_show_names_hooks_group_access_and_exposures_of_a_model(services, call, monkeypatch):
    monkeypatch.setenv("PENSTOCK_SECRET_A", SECRET)
    services(**FILES)

    orders, users = call("show", "orders").out, call("show", "users_clean").out
    document = json.loads(call("show", "orders", "--json").out)

    assert SECRET not in orders
    assert "Hooks:\n  before: set a = '***'\n  after: optimize marts.orders\n" in orders
    assert (document["group"], document["access"], document["exposures"]) == (
        "finance",
        "private",
        [],
    )
    assert "exposures" in users
    assert "weekly" in users


def test_an_exposure_selects_what_it_reads_and_is_a_leaf_of_the_graph(services, call, monkeypatch):
    monkeypatch.setenv("PENSTOCK_SECRET_A", SECRET)
    services(**FILES)

    listed = json.loads(call("list", "--select", "+exposure:weekly", "--json").out)["models"]

    assert [model["model"] for model in listed] == ["users_clean"]
    assert "├── exposure:weekly" in call("graph").out
