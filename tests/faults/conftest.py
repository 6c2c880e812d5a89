"""Real processes, really killed: each cell starts `penstock run` and kills it at a fault point."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.history_place import CK, COLUMNS, EV, TS, HistoryPlace
from fakes.history_story import T1
from fakes.kill_project import PROJECT

PENSTOCK = Path(sys.executable).with_name("penstock")
EVENTS = "{{ source('raw', 'events') }}"


class Crash:
    """A project with one model per strategy, loaded once, with a second delivery waiting."""

    def __init__(self, place: HistoryPlace) -> None:
        self.place = place

    command = (str(PENSTOCK),)

    def moved(self, root: Path) -> HistoryPlace:
        """Move the project's folder; give the place where it is now."""
        shutil.move(self.place.root, root)
        return HistoryPlace(root, self.place.spark)

    def start(
        self, model: str, fault: str, *words: str, within: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        """Start `penstock run --select MODEL`, or another command, in a process of its own."""
        asked = (*(words or ("run",)), "--select", model)
        return self.started(*asked, fault=fault, within=within)

    def started(
        self, *words: str, fault: str, within: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        """Start a command in a process of its own, `within` another one if that is asked for."""
        return subprocess.Popen(
            [*within, *self.command, *words],
            cwd=self.place.root,
            env=os.environ | {"PENSTOCK_FAULT": fault},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kill(self, model: str, point: str, *words: str) -> None:
        """Run until the fault point kills the process."""
        process = self.start(model, f"{point}:1", *words)
        told, _ = process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, told


@pytest.fixture(scope="session")
def loaded(tmp_path_factory, spark):
    place = HistoryPlace(tmp_path_factory.mktemp("loaded"), spark)
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


@pytest.fixture(scope="session")
def loaded_histories(tmp_path_factory, spark):
    """One history table per cell of the matrix, loaded at T1, with what T2 will find."""
    place = HistoryPlace(tmp_path_factory.mktemp("histories"), spark)
    place.write("penstock.yml", PROJECT)
    for name in ("people", "changes"):
        place.source(name, COLUMNS)
    place.has("people", "1 a 01-05", "2 b 01-06")
    place.has("changes", "1 a 01-10", "1 b 02-10")
    place.snapshot("by_time", **TS)
    place.snapshot("by_value", **CK, hard_deletes="invalidate")
    place.snapshot("placed", "changes", **EV)
    place.snapshot("marked", **CK, hard_deletes="new_record")
    place.snapshot("pruned", **TS, retention={"keep_last": 1})
    assert place.snap(T1).succeeded
    place.has("people", "1 A 02-01", "4 d 02-02")
    place.has("changes", "1 x 01-20", "2 n 03-01")
    return place


@pytest.fixture
def crash(loaded, tmp_path):
    return copied(loaded, tmp_path / "shop")


@pytest.fixture
def crashed_history(loaded_histories, tmp_path):
    return copied(loaded_histories, tmp_path / "shop")


def copied(loaded: HistoryPlace, root: Path) -> Crash:
    shutil.copytree(loaded.root, root)
    place = HistoryPlace(root, loaded.spark)
    place.write("penstock.yml", PROJECT)
    return Crash(place)
