"""A project under a Hive metastore: names, places, drops by hand, and a state that is lost."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from fakes.command import PENSTOCK
from fakes.metastore import metastore
from fakes.place import Place

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

PROJECT = """\
name: shop
version: 1
targets:
  dev:
    warehouse: warehouse
    catalog: spark_catalog
    spark:
      master: "local[2]"
      driver_memory: 1g
      conf:
        spark.sql.catalogImplementation: hive
        spark.hadoop.hive.metastore.uris: {uri}
        spark.sql.shuffle.partitions: "1"
        spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1
"""
LOG = "select id, at, amount from {{ source('raw', 'orders') }}"
TABLES = ("log", "best", "daily", "people", "totals")
SNAPSHOT = {"strategy": "check", "unique_key": "id", "check_cols": ["amount"]}
DAILY = "select date(at) as day, count(*) as n from {{ source('raw', 'orders') }} "
DAILY += "where date(at) = @partition_date group by 1"
BY_DAY = {"materialized": "partition", "partition_by": "day", "start": "2024-01-01"}
AS_OF = ("--as-of", "2024-01-02T12:00:00Z")


@pytest.fixture
def place(tmp_path):
    with metastore(tmp_path) as uri:
        made = Place(tmp_path / "shop")
        made.uri = uri
        made.write("penstock.yml", PROJECT.format(uri=uri))
        made.source("orders", "id INT, at TIMESTAMP, amount INT")
        made.insert("orders", "(1, '2024-01-01 10:00', 5), (2, '2024-01-02 10:00', 7)")
        made.model("log", LOG, materialized="append", time_column="at", description="Orders")
        made.model("best", LOG, materialized="merge", unique_key="id")
        made.model("daily", DAILY, **BY_DAY)
        made.model("people", LOG, materialized="snapshot", **SNAPSHOT)
        made.model("totals", "select count(*) as n from {{ ref('log') }}", materialized="table")
        made.model("seen", "select id from {{ ref('log') }}", materialized="view")
        yield made


def penstock(place, *words, code=0):
    done = subprocess.run(
        [PENSTOCK, *words],
        cwd=place.root,
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


THEIRS = """\
sources:
  - name: theirs
    tables:
      - name: mine
        columns: [{name: id, type: INT}]
"""
COUNTED = "select count(*) as n from {{ source('theirs', 'mine') }}"
OTHER = """\
import json, os, sys
from pathlib import Path
from penstock.core.project import SparkSettings
from penstock.engine.launch import LaunchSettings, launch
uri, folder, *statements = sys.argv[1:]
conf = {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": uri}
settings = LaunchSettings(SparkSettings("local[1]", "1g", conf), folder, Path(folder, "other.log"))
spark = launch(settings, os.environ)
for each in statements:
    print(json.dumps([row.asDict() for row in spark.sql(each).collect()], default=str))
"""


def another(place, *statements):
    """Run SQL in a Spark of somebody else under the same catalog; return the rows of each."""
    folder = str(place.root.parent / "other")
    done = subprocess.run(
        [sys.executable, "-P", "-c", OTHER, place.uri, folder, *statements],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def test_tables_are_in_the_catalog_and_what_is_done_there_by_hand_is_seen(place):
    penstock(place, "run", *AS_OF)
    penstock(place, "snapshot", "run", *AS_OF)

    tables, described, seen, *_ = another(
        place,
        "SHOW TABLES IN m",
        "DESCRIBE TABLE EXTENDED m.log",
        "SELECT id FROM m.seen ORDER BY id",
        "DROP TABLE m.best",
        f"CREATE TABLE m.mine (id INT) USING delta LOCATION '{place.root.parent}/mine'",
        "INSERT INTO m.mine VALUES (7)",
    )
    told = {each["col_name"]: each["data_type"] for each in described}
    assert sorted(each["tableName"] for each in tables) == sorted([*TABLES, "seen"])
    assert (told["Location"], told["Comment"]) == (f"file:{place.root}/warehouse/m/log", "Orders")
    assert seen == [{"id": 1}, {"id": 2}]

    shutil.rmtree(place.root / ".penstock")
    shutil.rmtree(place.root / "warehouse/m/daily")
    penstock(place, "state", "rebuild", "--yes")
    place.insert("orders", "(3, '2024-01-02 11:00', 9)")
    place.model("mine", LOG, materialized="append", time_column="at")
    refused = penstock(place, "run", *AS_OF, code=1)
    penstock(place, "sync", "--select", "daily", "--yes", *AS_OF)

    assert "foreign-table: `spark_catalog`.`m`.`mine` is another table in the catalog" in refused
    tables, best, days, mine = another(
        place,
        "SHOW TABLES IN m",
        "SELECT id, amount FROM m.best ORDER BY id",
        "SELECT cast(day as string) as day, n FROM m.daily ORDER BY day",
        "SELECT id FROM m.mine",
    )
    assert sorted(each["tableName"] for each in tables) == sorted([*TABLES, "seen", "mine"])
    assert best == [{"id": 1, "amount": 5}, {"id": 2, "amount": 7}, {"id": 3, "amount": 9}]
    assert days == [{"day": "2024-01-01", "n": 1}, {"day": "2024-01-02", "n": 2}]
    assert mine == [{"id": 7}]
    assert [row[0] for row in place.rows("log")] == [1, 2, 3]


def test_a_table_that_only_the_catalog_names_is_pinned_by_runs_and_queries(place):
    place.write("models/theirs.yml", THEIRS)
    place.model("copied", "select id from {{ source('theirs', 'mine') }}", materialized="table")
    mine = f"{place.root.parent}/mine"
    another(
        place,
        "CREATE DATABASE theirs",
        f"CREATE TABLE theirs.mine (id INT) USING delta LOCATION '{mine}'",
        "INSERT INTO theirs.mine VALUES (7)",
    )

    asked = penstock(place, "query", COUNTED, "--json")
    penstock(place, "run", "--select", "copied", *AS_OF)
    history = penstock(place, "history", "copied", "--json")
    (step,) = json.loads(history[history.index("{") :])["executions"]

    assert json.loads(asked[asked.index("{") :])["rows"] == [["1"]]
    assert "without a version" not in asked
    assert [each["version"] for each in step["inputs"]] == ["v1"]
    assert "up to date" in penstock(place, "plan", "--select", "copied", *AS_OF)
    another(place, "INSERT INTO theirs.mine VALUES (8)")
    assert "source changed: theirs.mine v1 -> v2" in penstock(
        place, "plan", "--select", "copied", *AS_OF
    )
