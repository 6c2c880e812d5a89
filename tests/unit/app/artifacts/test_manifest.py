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
