"""Where the suite of the Engine runs: real Spark over folders, and the lake, which is told."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

from contracts.store_cases import intent
from fakes.lake import FakeLake, FakeLog
from penstock.core.names import InputKind, InputName
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.window import Window
from penstock.engine.disk.disks import DiskFolders
from penstock.engine.log.delta_log import DeltaLog

SLOW = "SELECT sum(a.id * b.id % 7) AS n FROM range(10000000) a CROSS JOIN range(10000000) b"
BAD = "SELECT 1 AS n\nFROM nowhere"
EVENTS = InputName(InputKind.SOURCE, "raw.events")


class LakeWorld:
    """The lake in memory, told what the queries of the suite give."""

    def __init__(self) -> None:
        self.lake = FakeLake(lambda: ("0.1.0", "store-1", "shop"))
        self.log: DeltaLog | FakeLog = self.lake.log
        self.engine = self.lake.engine
        self.uri = "/w/s/orders"
        self.events = "/landing/events"
        self.staging = "/w/staging"
        self.folders = self.lake.folders
        self.lake.gives("2 AS n", "n int")
        self.lake.gives("AS id, 'x' AS name", "id int, name string")
        self.lake.answers("2 AS n", {"n": 2})
        self.lake.answers("count(*) AS rows FROM in_1", {"rows": 2})
        self.lake.answers("count(*) AS rows FROM in_1_window", {"rows": 1})
        numbers = count()
        self.lake.answers("uuid()", lambda: {"u": f"u{next(numbers)}"})
        self.lake.answers("max(u) AS u", lambda: {"u": f"u{next(numbers)}"})
        self.lake.answers("FROM `passed` WHERE n > 3", {"rows": 5, "odd": 3})
        self.lake.answers("count(*) AS kept FROM `kept`", {"kept": 2})
        self.lake.answers("max(u) AS u FROM `kept`", {"u": "u0"})
        self.lake.answers("range(10000000)", self._wait)
        self.lake.answers("explode(array(1, 2))", ({"n": 1}, {"n": 2}))
        self.lake.answers("SELECT 7 AS id", {"_ps_n": 1, "top": 7})
        self.lake.answers("max(u) AS u FROM `fed`", {"u": "u0"})
        self.lake.answers("count(*) AS few FROM `new`", {"few": 1})
        self._runs = threading.Event()

    def deliver(self) -> None:
        self.lake.land(self.events, "id bigint")

    def starts(self) -> int:
        return sum(1 for _, word, _ in self.lake.ran if word == "session")

    def wait_for_job(self) -> None:
        assert self._runs.wait(20)

    def _wait(self) -> dict[str, int]:
        self._runs.set()
        assert self.lake.cancelled.wait(20)
        return {"n": 0}


class SparkWorld:
    """Real Spark: the session of the suite, which counts as taken when the engine asks for it."""

    def __init__(self, spark, folder: Path, monkeypatch) -> None:
        from penstock.core.project import SparkSettings
        from penstock.engine import spark_engine
        from penstock.engine.launch import LaunchSettings

        self.spark = spark
        self.log = DeltaLog()
        self.uri, self.events = f"{folder}/orders", f"{folder}/events"
        self.staging = f"{folder}/staging"
        self.folders = DiskFolders()
        self._started = 0

        def take(settings, environ):
            self._started += 1
            return spark

        monkeypatch.setattr(spark_engine.SPARK, "take", take)
        monkeypatch.setattr(spark_engine.SPARK, "give_back", lambda: None)
        self.engine = spark_engine.SparkEngine(
            LaunchSettings(SparkSettings(), str(folder), folder / "log"),
            {},
            lambda: ("0.1.0", "store-1", "shop"),
            lambda _: None,
        )

    def deliver(self) -> None:
        self.spark.range(1, 3).write.format("delta").save(self.events)

    def starts(self) -> int:
        return self._started

    def wait_for_job(self) -> None:
        tracker = self.spark.sparkContext.statusTracker()
        until = time.monotonic() + 60
        while not tracker.getActiveJobsIds():
            assert time.monotonic() < until
            time.sleep(0.05)


def events_read(world, window: Window | None = None) -> Relation:
    view = "in_1_window" if window else "in_1"
    return Relation(EVENTS, view, DeltaRead(world.events, 0), window)


def a_step(world, step: str = "step-1", step_seq: int = 1, base: int | None = None) -> Intent:
    return replace(intent(step), uri=world.uri, step_seq=step_seq, base_version=base)


def create(world) -> str:
    return f"CREATE OR REPLACE TABLE delta.`{world.uri}` USING delta AS SELECT 1 AS id"
