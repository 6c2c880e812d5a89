"""A project of Python files on the command line."""

import json
import re
import subprocess

import pytest

from fakes import delta_tables
from fakes.command import PENSTOCK
from fakes.python_app import COLUMNS, L

pytestmark = pytest.mark.spark

FILE = """\
from penstock import incremental_table, source, table
from pyspark.sql import functions as F

@source(path="landing/raw_logs")
def raw_logs(df):
    return df

@incremental_table(time_column="ts")
def events(raw_logs):
    return raw_logs.select("id", "ts", "amount")

@table
def totals(events):
    return events.agg(F.sum("amount").alias("amount"))
"""


def write(place, text):
    place.write("models/main/pipeline.py", text)


def append(place, *numbers):
    delta_tables.append(f"{place.root}/landing/raw_logs", ", ".join(L[n] for n in numbers))


def ids(place):
    table = f"delta.`{place.root}/warehouse/main/events`"
    return sorted(
        tuple(row) for row in place.spark.sql(f"SELECT id, amount FROM {table}").collect()
    )


def token_of(file):
    actions = (json.loads(line) for line in file.read_text().splitlines())
    (info,) = (each["commitInfo"] for each in actions if "commitInfo" in each)
    return json.loads(info["userMetadata"])


@pytest.fixture
def logs(place, monkeypatch):
    monkeypatch.chdir(place.root)
    delta_tables.create(f"{place.root}/landing/raw_logs", COLUMNS)
    append(place, 1, 2, 3, 4)
    write(place, FILE)
    return place


@pytest.mark.matrix
def test_what_is_shown_and_run_of_python_models(logs, call):
    planned = call("run", "--dry-run")
    fresh = (sorted(logs.root.glob("warehouse/*")), (logs.root / ".penstock/state.db").exists())
    first = call("run")
    append(logs, 5, 6)
    second = call("run", "--dry-run")
    third = call("run", "--json")
    last = call("run")

    assert (planned.code, fresh) == (0, ([], False))
    assert "events" in planned.out
    assert "raw_logs.ts (-∞, 2025-01-16 12:00:00]  4 rows  v0" in first.out
    assert "raw_logs.ts (2025-01-16 12:00:00, max at raw_logs v2]" in second.out
    assert "source changed: landing/raw_logs v1 -> v2" in second.out
    (events,) = (each for each in json.loads(third.out)["models"] if each["model"] == "events")
    assert (events["kind"], events["version"], events["rows"]["inserted"]) == ("forward", 1, 2)
    (window,) = events["windows"]
    assert (window["input"], window["kind"], window["version"]) == ("raw_logs", "forward", 2)
    assert last.out == "nothing to do (3 models up to date)\n"
    token = token_of(logs.root / "warehouse/main/events/_delta_log/00000000000000000001.json")
    assert token["window"]["raw_logs.ts"] == {
        "kind": "forward",
        "type": "TIMESTAMP",
        "low": "2025-01-16T12:00:00.000000Z",
        "low_closed": False,
        "high": "2025-01-17T10:00:00.000000Z",
        "high_closed": True,
        "input_version": 2,
    }
    assert token["watermark"] == {
        "raw_logs.ts": {"type": "TIMESTAMP", "value": "2025-01-17T10:00:00.000000Z"}
    }


@pytest.mark.matrix
def test_a_backfill_of_a_python_table_is_a_rerun(logs, call):
    call("run", "--select", "+events")
    bounds = ("--from", "2025-01-15T12:00:00", "--to", "2025-01-15T18:00:00")

    planned = call("backfill", "events", *bounds, "--dry-run")
    refused = call("backfill", "events", *bounds, "--cascade")
    no_table = call("backfill", "raw_logs", *bounds)
    done = call("backfill", "events", *bounds, "--yes")
    write(logs, FILE.replace('"amount")\n', '"amount", "user")\n', 1))
    failed = call("backfill", "events", *bounds, "--yes")
    told = call("history", "events", "--json")
    write(logs, FILE.replace('select("id", "ts", "amount")', "select(1 / 0)"))
    broken = call("run")

    ends = "[2025-01-15 12:00:00, 2025-01-15 18:00:00]"
    assert planned.code == 0
    assert f"raw_logs.ts {ends}" in planned.out
    assert "append  rerun [2025-01-15T12:00:00.000000Z, " in planned.out
    assert "Nothing was run." in planned.out
    assert (refused.code, "option-conflict" in refused.err) == (2, True)
    assert (no_table.code, "rerun-unsupported" in no_table.err) == (2, True)
    assert (done.code, "1 inserted, 1 deleted" in done.out) == (0, True)
    assert "schema-changed" in failed.out
    assert failed.out.splitlines()[-1].startswith(
        "Resume: penstock backfill events --from 2025-01-15T12:00:00 --to 2025-01-15T18:00:00 "
        "--allow-schema-change --yes"
    )
    triggers = [each["triggered_by"] for each in json.loads(told.out)["executions"]]
    assert triggers == ["rerun", "rerun", "run"]
    assert "model-failed" in broken.out
    assert "Resume: penstock run --select 'events totals'" in broken.out


@pytest.mark.matrix
def test_the_state_for_people_and_a_watermark_that_another_process_sets(logs, call):
    call("run")
    shown = json.loads(call("state", "export", "--models").out)
    words = "watermark set events 2025-01-15T18:00:00Z --column raw_logs.ts --reason again"
    subprocess.run([PENSTOCK, *words.split()], cwd=logs.root, check=True, timeout=120)
    planned, first, second = call("plan"), call("run"), call("run")

    runs = [shown[name].pop("last_run") for name in ("main.events", "main.totals")]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", each) for each in runs)
    assert shown == {
        "main.events": {
            "last_max_value": "2025-01-16 12:00:00",
            "watermarks": {
                "raw_logs.ts": {"type": "TIMESTAMP", "value": "2025-01-16T12:00:00.000000Z"}
            },
        },
        "main.totals": {},
    }
    assert "source changed: the watermark of raw_logs was set back" in planned.out
    assert first.code == 0
    assert [each for each, _ in ids(logs)] == [1, 2, 3, 3, 4, 4]
    assert second.out == "nothing to do (3 models up to date)\n"


@pytest.mark.matrix
def test_changed_code_makes_new_rows_and_leaves_those_before(logs, call):
    call("run")
    write(logs, FILE.replace('"amount")\n', '(F.col("amount") * 2).alias("amount"))\n', 1))
    append(logs, 5)

    status = call("status")
    run = call("run")
    mixed = ids(logs)
    call("run", "--full-refresh")

    assert "sql_changed" in status.out
    assert "rows loaded before keep what the earlier code made" in run.out
    assert mixed == [(1, 10), (2, 20), (3, 30), (4, 40), (5, 100)]
    assert ids(logs) == [(1, 20), (2, 40), (3, 60), (4, 80), (5, 100)]


def test_a_file_that_a_model_depends_on_is_named_when_it_changed(logs, call):
    logs.write("conf/rates.yml", "rate: 1")
    write(logs, FILE.replace("@table\n", "@table(depends_on=['conf/*.yml', 'env:RATE'])\n"))
    assert call("run").code == 0
    before = call("status")

    logs.write("conf/rates.yml", "rate: 2")

    shown, planned = call("status"), call("run", "--dry-run")
    assert "sql_changed" not in before.out
    assert "totals: sql_changed" in shown.out
    assert "conf/rates.yml changed" in shown.out
    assert "conf/rates.yml changed" in planned.out
    assert "totals" in call("run").out
    assert "sql_changed" not in call("status").out
