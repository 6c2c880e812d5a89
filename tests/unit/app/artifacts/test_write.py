"""manifest.json and run_results.json in dbt's shapes, on small projects."""

import dataclasses
import datetime as dt
import json

import pytest

from fakes.builders import NOON, a_model, a_project, a_source
from fakes.entity_files import entity, files
from fakes.reports import a_plan, a_report, a_result
from fakes.services import a_shop
from penstock.app.artifacts.write import write_artifacts
from penstock.core.errors import QueryError
from penstock.core.model import ColumnDoc
from penstock.core.steps.step import RowCounts
from penstock.project.load import load_project
from penstock.strategies.merge import Merge


@pytest.fixture
def written(tmp_path):
    def write(*results, parts=None, text="select 1"):
        parts = parts or (a_source("events"), a_model("a", "raw.events"), a_model("b", "a"))
        project = dataclasses.replace(a_project(*parts), root=str(tmp_path))
        (tmp_path / "models").mkdir(exist_ok=True)
        for model in project.models:
            (tmp_path / "models" / f"{model}.sql").write_text(text)
        write_artifacts(a_shop(project), a_report(a_plan(), *results))
        folder = tmp_path / ".penstock" / "target"
        assert {path.name for path in folder.iterdir()} == {"manifest.json", "run_results.json"}
        return [
            json.loads((folder / name).read_text())
            for name in ("manifest.json", "run_results.json")
        ]

    return write


def test_the_manifest_says_who_wrote_it_for_which_project(written):
    manifest, _ = written()

    assert manifest["metadata"] | {"env": {}} == {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "dbt_version": "1.8.0",
        "generated_at": "2024-03-01T12:00:00.000000Z",
        "invocation_id": "0190a3c4",
        "env": {},
        "project_name": "shop",
        "adapter_type": "spark",
    }


def test_the_manifest_has_every_part_that_version_12_requires(written):
    manifest, _ = written()

    assert set(manifest) == {
        *("metadata", "nodes", "sources", "macros", "docs", "exposures", "metrics", "groups"),
        *("selectors", "disabled", "parent_map", "child_map", "group_map", "saved_queries"),
        *("semantic_models", "unit_tests"),
    }


def test_parents_and_children_mirror_each_other(written):
    manifest, _ = written()

    assert manifest["parent_map"] == {
        "model.shop.a": ["source.shop.raw.events"],
        "model.shop.b": ["model.shop.a"],
        "source.shop.raw.events": [],
    }
    assert manifest["child_map"] == {
        "model.shop.a": ["model.shop.b"],
        "model.shop.b": [],
        "source.shop.raw.events": ["model.shop.a"],
    }


def test_a_merge_is_an_incremental_node_with_its_key_and_columns(written):
    merge = a_model(
        "users",
        "raw.events",
        strategy=Merge(("id",), None),
        tags=("daily",),
        description="One row per user",
        columns=(ColumnDoc("id", "The key", "BIGINT"),),
    )

    manifest, _ = written(parts=(a_source("events"), merge))

    assert manifest["nodes"]["model.shop.users"] == {
        "database": None,
        "schema": "s",
        "name": "users",
        "alias": "users",
        "resource_type": "model",
        "package_name": "shop",
        "path": "users.sql",
        "original_file_path": "models/users.sql",
        "unique_id": "model.shop.users",
        "fqn": ["shop", "users"],
        "relation_name": "delta.`/w/s/users`",
        "checksum": {"name": "sha256", "checksum": "sql-users"},
        "group": None,
        "access": "protected",
        "config": {
            "enabled": True,
            "materialized": "incremental",
            "schema": "s",
            "alias": "users",
            "tags": ["daily"],
            "meta": {},
            "on_schema_change": "append",
            "pre-hook": [],
            "post-hook": [],
            "group": None,
            "access": "protected",
            "grants": {},
            "incremental_strategy": "merge",
            "unique_key": ["id"],
        },
        "tags": ["daily"],
        "meta": {},
        "description": "One row per user",
        "columns": {
            "id": {
                "name": "id",
                "description": "The key",
                "data_type": "BIGINT",
                "meta": {},
                "tags": [],
            }
        },
        "raw_code": "select 1",
        "language": "sql",
        "refs": [],
        "sources": [["raw", "events"]],
        "depends_on": {"macros": [], "nodes": ["source.shop.raw.events"]},
        "compiled": True,
        "compiled_code": "select * from raw.events",
    }


def test_run_results_tell_what_became_of_each_model(written):
    _, results = written(
        a_result("a", started=NOON, duration=1.5, rows=RowCounts(inserted=3), version=2),
        a_result(
            "b",
            "failed",
            started=NOON + dt.timedelta(seconds=2),
            duration=1.0,
            error=QueryError("spark-error", "no column x"),
        ),
    )

    assert results["metadata"]["dbt_schema_version"] == (
        "https://schemas.getdbt.com/dbt/run-results/v6.json"
    )
    assert (results["elapsed_time"], results["args"]) == (3.0, {"which": "run", "target": "dev"})
    assert [(r["unique_id"], r["status"], r["message"]) for r in results["results"]] == [
        ("model.shop.a", "success", "success: never_run"),
        ("model.shop.b", "error", "no column x"),
    ]
    assert results["results"][0] | {"compiled_code": ""} == {
        "status": "success",
        "timing": [
            {
                "name": "execute",
                "started_at": "2024-03-01T12:00:00.000000Z",
                "completed_at": "2024-03-01T12:00:01.500000Z",
            }
        ],
        "thread_id": "main",
        "execution_time": 1.5,
        "adapter_response": {"_message": "success", "rows_affected": 3, "delta_version": 2},
        "message": "success: never_run",
        "failures": None,
        "unique_id": "model.shop.a",
        "compiled": True,
        "compiled_code": "",
        "relation_name": "delta.`/w/s/a`",
    }


def test_no_password_reaches_an_artifact(written, tmp_path):
    error = QueryError("spark-error", "cannot reach postgresql://me:hunter2@db/x")

    written(a_result("a", "failed", error=error), text="-- postgresql://me:hunter2@db\nselect 1")

    for path in (tmp_path / ".penstock" / "target").iterdir():
        assert "hunter2" not in path.read_text()
        assert path.stat().st_mode & 0o777 == 0o600


def test_an_entity_is_a_node_with_its_definition_and_no_setting_of_users(tmp_path):
    said = entity(settings={"sql_password": "s3cret", "bronze_table": "raw.x"})
    reader = {"models/m.sql": "select ID from silver_aw.x"}
    for name, text in {"penstock.yml": "name: shop\n", **files(said), **reader}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shop = a_shop(load_project(tmp_path, environ={}))

    write_artifacts(shop, a_report(a_plan()))

    text = (tmp_path / ".penstock" / "target" / "manifest.json").read_text()
    manifest = json.loads(text)
    node = manifest["nodes"]["model.shop.silver_aw.x"]
    assert (node["name"], node["schema"], node["alias"]) == ("silver_aw.x", "silver_aw", "x")
    assert (node["language"], node["config"]["unique_key"]) == ("sql", ["ID"])
    assert node["config"]["materialized"] == "incremental"
    assert node["config"]["incremental_strategy"] == "merge"
    assert (
        node["raw_code"] == node["compiled_code"] == shop.project.models["silver_aw.x"].query.text
    )
    assert "s3cret" not in text
    assert manifest["parent_map"] == {
        "model.shop.m": ["model.shop.silver_aw.x"],
        "model.shop.silver_aw.x": ["source.shop.raw.x"],
        "source.shop.raw.x": [],
    }
