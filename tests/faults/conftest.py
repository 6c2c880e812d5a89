"""Real processes, really killed: each cell starts `penstock run` and kills it at a fault point."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.place import Place

PROJECT = """\
name: shop
version: 1
lease: {length: 4s, heartbeat: 1s}
targets:
  dev:
    warehouse: warehouse
    spark:
      master: "local[1]"
      driver_memory: 1g
      conf:
        spark.sql.shuffle.partitions: "1"
        spark.databricks.delta.snapshotPartitions: "1"
        spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1
"""
PENSTOCK = Path(sys.executable).with_name("penstock")
EVENTS = "{{ source('raw', 'events') }}"


class Crash:
    """A project with one model per strategy, loaded once, with a second delivery waiting."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def start(self, model: str, fault: str) -> subprocess.Popen[str]:
        """Start `penstock run --select MODEL` in a process of its own."""
        return subprocess.Popen(
            [str(PENSTOCK), "run", "--select", model],
            cwd=self.place.root,
            env=os.environ | {"PENSTOCK_FAULT": fault},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kill(self, model: str, point: str) -> None:
        """Run until the fault point kills the process."""
        process = self.start(model, f"{point}:1")
        told, _ = process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, told


@pytest.fixture(scope="session")
def loaded(tmp_path_factory, spark):
    place = Place(tmp_path_factory.mktemp("loaded"), spark)
    place.write("penstock.yml", PROJECT)
    place.source("events", "id INT, ts TIMESTAMP, amount INT")
    place.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 2)")
    query = f"select id, ts, amount from {EVENTS}"
    place.model("log", query, materialized="append", time_column="ts")
    place.model("users", query, materialized="merge", unique_key="id")
    place.model("totals", f"select count(*) n, sum(amount) s from {EVENTS}", materialized="table")
    assert place.run().succeeded
    place.insert("events", "(3, '2024-01-03', 3)")
    place.sql(f"UPDATE {place.landing('events')} SET amount = 20 WHERE id = 2")
    return place


@pytest.fixture
def crash(loaded, tmp_path):
    root = tmp_path / "shop"
    shutil.copytree(loaded.root, root)
    place = Place(root, loaded.spark)
    place.write("penstock.yml", PROJECT)
    return Crash(place)
