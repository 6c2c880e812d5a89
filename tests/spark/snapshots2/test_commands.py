"""`snapshot run` and `run` in one project."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.history_place import CK, COLUMNS, TS, HistoryPlace
from fakes.history_story import T1, T2
from fakes.place import statuses
from penstock.app.services import wire
from penstock.ui.cli.main import main

NO_JAVA = {"PATH": "/nowhere", "HOME": os.environ.get("HOME", "/")}
PENSTOCK = str(Path(sys.executable).with_name("penstock"))
TAG = "tag:example:snapshot_demo"
COUNTED = ("source_rows", "opened_new", "opened_changed", "closed", "unchanged", "deleted")


@pytest.fixture(scope="module")
def shared(tmp_path_factory, spark):
    """Two snapshots and a mart on one; `run`, `snapshot run`, `run` again, new rows."""
    place = HistoryPlace(tmp_path_factory.mktemp("commands"), spark)
    place.source("people", COLUMNS)
    place.has("people", "1 a 01-05", "2 b 01-06")
    place.snapshot("users_clean_snapshot", **TS, tags=["example:snapshot_demo"])
    place.snapshot("prices_snapshot", **CK)
    query = "select id, value from {{ ref('users_clean_snapshot') }} where _ps_is_current = true"
    place.model("dim_users", query, materialized="table")
    place.model("other", "select 1 as id", materialized="table")
    place.before = place.run()
    place.snap(T1)
    place.after = place.run("+dim_users")
    place.dim, place.made = place.rows("dim_users"), place.version("users_clean_snapshot")
    place.has("people", "1 A 02-01", "2 b 01-06", "3 c 02-02")
    return place


@pytest.mark.matrix
def test_run_leaves_snapshots_out_and_a_mart_on_one_without_a_table_fails(shared) -> None:
    report = shared.before

    assert statuses(report) == {"dim_users": "failed", "other": "success"}
    assert report["dim_users"].error.render() == (
        "models/m/dim_users.sql:1: snapshot-not-built: model 'dim_users' reads snapshot "
        "'users_clean_snapshot', which has no table yet\n"
        "  hint: penstock snapshot run --select users_clean_snapshot"
    )
    assert report.notes == ("2 snapshot models not run; use 'penstock snapshot run'",)
    assert not report.succeeded


def test_upstream_snapshots_of_a_selection_are_left_as_they_are(shared) -> None:
    report = shared.after

    assert statuses(report) == {"dim_users": "success"}
    assert report.notes == ("1 snapshot model not run; use 'penstock snapshot run'",)
    assert report.succeeded
    assert shared.dim == [(1, "a"), (2, "b")]
    assert shared.made == 0


@pytest.mark.matrix
def test_json_is_one_document_and_a_second_run_needs_no_java(shared, monkeypatch, capfd) -> None:
    real = wire.open_services
    monkeypatch.setattr(wire, "open_services", lambda where, _: real(where, shared.spark))
    monkeypatch.chdir(shared.root)
    words = ["snapshot", "run", ".", "--env", "dev", "--select", TAG, "--json"]

    code = main(words)
    printed = json.loads(capfd.readouterr().out)
    again = subprocess.run(
        [PENSTOCK, *words[:-1]],
        cwd=shared.root,
        env=NO_JAVA,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    (model,) = printed["models"]
    assert code == 0
    assert (model["model"], model["status"], model["version"]) == (
        "users_clean_snapshot",
        "success",
        1,
    )
    assert {name: model["metrics"][name] for name in COUNTED} == {
        "source_rows": 3,
        "opened_new": 1,
        "opened_changed": 1,
        "closed": 1,
        "unchanged": 1,
        "deleted": 0,
    }
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.splitlines()[-2].split()[0] == "users_clean_snapshot"
    assert again.stdout.splitlines()[-2].endswith("  up to date")
    assert again.stdout.splitlines()[-1] == "1 snapshot: 1 without change"


@pytest.fixture(scope="module")
def broken(tmp_path_factory, spark):
    """Snapshots whose tables are gone, damaged, somebody else's or in the way."""
    place = HistoryPlace(tmp_path_factory.mktemp("broken"), spark)
    place.source("people", COLUMNS)
    place.source("twice", COLUMNS)
    place.has("people", "1 a 01-05", "2 b 01-06")
    place.has("twice", "1 a 01-05", "1 b 01-06", "2 c 01-07")
    place.snapshot("gone", **TS)
    place.snapshot("damaged", **TS)
    place.snapshot("copied", "twice", **TS)
    place.model("clean", "select 1 as id, 'a' as value", materialized="table")
    place.model("early", "select * from {{ ref('clean') }}", materialized="snapshot", **CK)
    place.report = place.snap(T1)
    place.snapshot("cluttered", **TS)
    place.snapshot("foreign", **TS)
    warehouse = place.root / "warehouse" / "m"
    shutil.copytree(place.root / "landing" / "people", warehouse / "foreign")
    (warehouse / "cluttered").mkdir()
    (warehouse / "cluttered" / "part-0.parquet").write_bytes(b"PAR1")
    shutil.rmtree(warehouse / "gone")
    log = warehouse / "damaged" / "_delta_log" / f"{0:020d}.json"
    log.write_text(log.read_text()[:100])
    return place


def test_of_three_snapshots_the_good_one_is_updated_and_the_last_line_resumes(broken) -> None:
    report = broken.report

    assert statuses(report) == {
        "copied": "failed",
        "damaged": "success",
        "early": "failed",
        "gone": "success",
    }
    assert report["copied"].error.code == "duplicate-keys"
    assert report["early"].error.code == "upstream-not-built"
    assert report["early"].error.hint == "run: penstock run --select clean"
    assert report.resume == "penstock snapshot run --select 'early copied' --as-of 2024-05-01"


def test_what_is_no_history_table_of_ours_is_never_taken_for_a_first_run(broken) -> None:
    before = broken.tree()

    report = broken.snap(T2, "gone cluttered foreign damaged")

    assert {name: result.error.code for name, result in report.items()} == {
        "cluttered": "target-not-delta",
        "damaged": "target-unreadable",
        "foreign": "foreign-table",
        "gone": "history-missing",
    }
    assert report["foreign"].error.hint == (
        "to take it over: penstock snapshot migrate foreign --adopt"
    )
    assert str(report["damaged"].error.where) == "models/m/damaged.sql:1"
    warehouse = {name for name in before if name.startswith("warehouse")}
    assert {n: t for n, t in broken.tree().items() if n.startswith("warehouse")} == {
        name: before[name] for name in warehouse
    }


def test_files_that_a_failed_first_run_left_are_not_in_the_way(broken) -> None:
    folder = broken.root / "warehouse" / "m" / "copied"
    folder.mkdir(exist_ok=True)
    (folder / "part-left.parquet").write_bytes(b"PAR1")
    broken.has("twice", "1 a 01-05", "2 c 01-07")

    report = broken.snap(T2, "copied")

    assert statuses(report) == {"copied": "success"}
    assert broken.versions("copied") == ["1 a 01-05 [T2, )", "2 c 01-07 [T2, )"]


def test_a_first_run_without_rows_makes_the_empty_table_and_warns(broken) -> None:
    broken.snapshot("nobody", where="where false", **TS)

    result = broken.snap(T1, "nobody")["nobody"]

    assert (result.status, result.version) == ("success", 0)
    assert result.notes == ("the source has no rows: the table is empty",)
    assert broken.versions("nobody") == []
