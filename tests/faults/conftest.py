"""Real processes, really killed: each cell starts `penstock run` and kills it at a fault point.

Most of them work in the JVM of the tests, which outlives them; a start of a JVM for each would
cost most of the time. Where the end of the JVM is the point they start one of their own.
"""

import shutil
from pathlib import Path

import pytest

from fakes.built_once import built_once
from fakes.command import Command, kill_at
from fakes.history_place import CK, COLUMNS, EV, TS, HistoryPlace
from fakes.history_story import T1
from fakes.kill_project import PROJECT

EVENTS = "{{ source('raw', 'events') }}"


class Crash:
    """A project with one model per strategy, loaded once, with a second delivery waiting."""

    def __init__(self, place: HistoryPlace) -> None:
        self.place = place

    def moved(self, root: Path) -> HistoryPlace:
        """Move the project's folder; give the place where it is now."""
        shutil.move(self.place.root, root)
        return HistoryPlace(root, self.place.spark)

    def start(
        self, *words: str, fault: str = "", own_jvm: bool = False, within: tuple[str, ...] = ()
    ) -> Command:
        """Start a command in a process of its own, `within` another one if that is asked for."""
        spark = None if own_jvm else self.place.spark
        return Command(self.place.root, *words, spark=spark, fault=fault, within=within)

    def kill(self, model: str, point: str, *words: str, own_jvm: bool = False) -> None:
        """Run a model, or what the words say of it, until the fault point kills the process."""
        spark = None if own_jvm else self.place.spark
        asked = (*(words or ("run",)), "--select", model)
        kill_at(f"{point}:1", self.place.root, *asked, spark=spark)


@pytest.fixture(scope="session")
def loaded(tmp_path_factory, spark):
    def build(folder):
        place = HistoryPlace(folder, spark)
        place.write("penstock.yml", PROJECT)
        place.source("events", "id INT, ts TIMESTAMP, amount INT")
        place.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 2)")
        query = f"select id, ts, amount from {EVENTS}"
        place.model("log", query, materialized="append", time_column="ts")
        place.model("users", query, materialized="merge", unique_key="id")
        counted = f"select count(*) n, sum(amount) s from {EVENTS}"
        place.model("totals", counted, materialized="table")
        assert place.run().succeeded
        place.insert("events", "(3, '2024-01-03', 3)")
        place.sql(f"UPDATE {place.landing('events')} SET amount = 20 WHERE id = 2")

    return built_once(tmp_path_factory, "loaded", build)


@pytest.fixture(scope="session")
def loaded_histories(tmp_path_factory, spark):
    """One history table per cell of the matrix, loaded at T1, with what T2 will find."""

    def build(folder):
        place = HistoryPlace(folder, spark)
        place.write("penstock.yml", PROJECT)
        for name in ("people", "changes"):
            place.source(name, COLUMNS, feed=True)
        place.has("people", "1 a 01-05", "2 b 01-06")
        place.has("changes", "1 a 01-10", "1 b 02-10")
        place.snapshot("by_time", **TS)
        place.snapshot("by_value", **CK, hard_deletes="invalidate")
        place.snapshot("fed", **CK, hard_deletes="invalidate", change_feed=True)
        place.snapshot("placed", "changes", **EV)
        place.snapshot("marked", **CK, hard_deletes="new_record")
        place.snapshot("pruned", **TS, retention={"keep_last": 1})
        assert place.snap(T1).succeeded
        place.has("people", "1 A 02-01", "4 d 02-02")
        place.has("changes", "1 x 01-20", "2 n 03-01")

    return built_once(tmp_path_factory, "loaded-histories", build)


@pytest.fixture
def crash(loaded, spark, tmp_path):
    return copied(loaded, spark, tmp_path / "shop")


@pytest.fixture
def crashed_history(loaded_histories, spark, tmp_path):
    return copied(loaded_histories, spark, tmp_path / "shop")


def copied(loaded, spark, root: Path) -> Crash:
    shutil.copytree(loaded, root)
    place = HistoryPlace(root, spark)
    place.write("penstock.yml", PROJECT)
    return Crash(place)
