"""What catalogues read of models that no run has touched."""

from pathlib import Path

from penstock.app.artifacts.manifest import manifest
from penstock.app.services.wire import Where, open_project

SHOP = {
    "penstock.yml": "name: shop\nversion: 1\ntargets: {dev: {}}\n",
    "models/orders.sql": "{{ config(meta={'owner': 'ana', 'sla': {'hours': 4}}) }} select 1 as id",
    "models/models.yml": """
models:
  - name: orders
    columns: [{name: id, tags: [key], meta: {unit: none}}]
""",
    "models/stats.yaml": """
name: stats
meta: {cost: low}
destination: {dataset: marts, table: stats, partition: {field: day, type: DAY}}
versions:
  - {version: 1, effective_from: 2024-01-01, sql: stats.sql, schema: [{name: day, type: DATE}]}
""",
    "models/stats.sql": "select cast(@partition_date as date) as day",
    "models/sources.yml": """
sources:
  - name: raw
    tables: [{name: events, path: raw/events, format: parquet}]
""",
    "sessions/web.yml": """
strategy: sessions
name: web
events: raw.events
start_date: 2024-01-01
meta: {team: web}
""",
}


def nodes_of(root):
    for name, text in SHOP.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return manifest(open_project(Where(Path(root))), {})["nodes"]


def test_meta_of_every_kind_of_model_is_in_the_manifest(tmp_path):
    nodes = nodes_of(tmp_path)

    orders = nodes["model.shop.orders"]
    assert orders["meta"] == orders["config"]["meta"] == {"owner": "ana", "sla.hours": "4"}
    assert nodes["model.shop.stats"]["meta"] == {"cost": "low"}
    assert nodes["model.shop.web_sessions"]["meta"] == {"team": "web"}


def test_tags_and_meta_of_columns_are_in_the_manifest(tmp_path):
    (column,) = nodes_of(tmp_path)["model.shop.orders"]["columns"].values()

    assert (column["tags"], column["meta"]) == (["key"], {"unit": "none"})


AROUND = {
    "models/revenue.sql": (
        "{{ config(materialized='table', pre_hook='set a = 1', post_hook='optimize {{ this }}', "
        "grants={'select': ['ann']}) }} select 1 as id from {{ ref('orders') }}"
    ),
    "models/around.yml": """
groups: [{name: finance, owner: {name: Ann, email: ann@example.com}, description: Money.}]
models: [{name: revenue, group: finance, access: private}]
exposures:
  - name: weekly
    type: dashboard
    label: Weekly
    url: https://bi.example.com
    owner: {name: Ann}
    depends_on: [ref('orders'), "source('raw', 'events')"]
    tags: [daily]
    meta: {tool: Superset}
""",
}


def test_hooks_grants_groups_and_exposures_are_in_the_manifest(tmp_path):
    for name, text in AROUND.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    nodes_of(tmp_path)
    found = manifest(open_project(Where(Path(tmp_path))), {})

    node = found["nodes"]["model.shop.revenue"]
    assert (node["group"], node["access"], node["config"]["grants"]) == (
        "finance",
        "private",
        {"select": ["ann"]},
    )
    hooks = [hook["sql"] for key in ("pre-hook", "post-hook") for hook in node["config"][key]]
    assert hooks == ["set a = 1", "optimize shop.revenue"]
    assert found["group_map"] == {"finance": ["model.shop.revenue"]}
    assert found["groups"]["group.shop.finance"]["owner"] == {
        "name": "Ann",
        "email": "ann@example.com",
    }
    exposure = found["exposures"]["exposure.shop.weekly"]
    assert exposure["depends_on"] == {
        "macros": [],
        "nodes": ["model.shop.orders", "source.shop.raw.events"],
    }
    assert (exposure["type"], exposure["label"], exposure["tags"], exposure["meta"]) == (
        "dashboard",
        "Weekly",
        ["daily"],
        {"tool": "Superset"},
    )
    assert found["parent_map"]["exposure.shop.weekly"] == exposure["depends_on"]["nodes"]
    assert "exposure.shop.weekly" in found["child_map"]["model.shop.orders"]
