"""100 unit tests of a merge, against the same tables written, merged and read by bare PySpark.

Both sides run one test after the other on one Spark; ours plans, records and compares besides.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from place import Place, start_spark

from penstock.app.commands.test import run_tests
from penstock.app.request import UnitTestRequest
from penstock.app.services.wire import Where, open_services

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BAR = 2.0
SOURCES = """\
sources:
  - name: raw
    tables:
      - name: users
        path: ../landing/users
        columns:
          - {name: id, type: BIGINT}
          - {name: email, type: STRING}
          - {name: updated_at, type: TIMESTAMP}
"""
MODEL = """\
{{ config(materialized='merge', unique_key='id', time_column='updated_at') }}
select id, email, updated_at from {{ source('raw', 'users') }}
"""
TEST = """\
  - name: newer_email_wins_{n}
    model: users
    as_of: 2024-06-02
    given:
      inputs:
        raw.users:
          rows:
            - {{id: 1, email: new{n}@x, updated_at: 2024-06-01 10:00:00}}
            - {{id: 3, email: c@x, updated_at: 2024-06-01 11:00:00}}
      target:
        rows:
          - {{id: 1, email: old@x, updated_at: 2024-05-01 00:00:00}}
          - {{id: 2, email: b@x, updated_at: 2024-05-02 00:00:00}}
    expect:
      rows:
        - {{id: 1, email: new{n}@x, updated_at: 2024-06-01 10:00:00}}
        - {{id: 2, email: b@x, updated_at: 2024-05-02 00:00:00}}
        - {{id: 3, email: c@x, updated_at: 2024-06-01 11:00:00}}
"""
COLUMNS = "id BIGINT, email STRING, updated_at TIMESTAMP"


class Side:
    """The tests on one side or the other."""

    def __init__(self, place: Place, tests: int) -> None:
        self.place = place
        self.tests = tests
        self.round = 0
        place.write("models/sources.yml", SOURCES)
        place.write("models/m/users.sql", MODEL)
        written = "".join(TEST.format(n=n) for n in range(tests))
        place.write("tests/users.yml", f"unit_tests:\n{written}")

    def ours(self) -> None:
        """Run them as `penstock test --threads 1` does."""
        services = open_services(Where(self.place.root), self.place.spark)
        try:
            report = run_tests(services, UnitTestRequest(threads=1))
        finally:
            services.close()
        assert report.ok, [result.lines for result in report.results if not result.passed][:1]

    def bare(self) -> None:
        """Write, merge and read the same tables, each test in a session of its own."""
        self.round += 1
        for number in range(self.tests):
            self._one(f"bare/{self.round}/{number}", number)
        shutil.rmtree(self.place.root / "bare")

    def _one(self, folder: str, number: int) -> None:
        assert self.place.spark is not None
        spark = self.place.spark.newSession()
        source, target = (self.place.delta(f"{folder}/{each}") for each in ("source", "target"))
        batch = [(1, f"new{number}@x", "2024-06-01 10:00:00"), (3, "c@x", "2024-06-01 11:00:00")]
        rows = [(1, "old@x", "2024-05-01 00:00:00"), (2, "b@x", "2024-05-02 00:00:00")]
        for table, values in ((source, batch), (target, rows)):
            listed = ", ".join(f"({i}L, '{e}', timestamp'{t}')" for i, e, t in values)
            spark.sql(
                f"CREATE TABLE {table} USING delta TBLPROPERTIES "
                "('delta.enableDeletionVectors' = 'true') AS SELECT * FROM "
                f"VALUES {listed} AS t(id, email, updated_at)"
            )
        spark.sql(
            f"MERGE INTO {target} t USING {source} s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        found = {row["id"]: row["email"] for row in spark.sql(f"SELECT * FROM {target}").collect()}
        assert found == {1: f"new{number}@x", 2: "b@x", 3: "c@x"}


def cpu_seconds(spark: SparkSession) -> float:
    """Give the CPU time that the JVM has used, as Linux tells it."""
    pid = spark.sparkContext._gateway.proc.pid  # noqa: SLF001  there is no public way
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(spark: SparkSession, work: Callable[[], None]) -> tuple[float, float]:
    """Give wall and CPU seconds of some work."""
    wall, cpu = time.perf_counter(), cpu_seconds(spark)
    work()
    return time.perf_counter() - wall, cpu_seconds(spark) - cpu


def main(tests: int, rounds: int) -> int:
    """Run both sides in turn after a warm-up; end with 1 if the bar is missed."""
    spark = start_spark(Path(tempfile.mkdtemp()), "2g")
    place = Place(spark)
    side = Side(place, tests)
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
    for number in range(rounds + 1):
        order = [("ours", side.ours), ("bare", side.bare)]
        for name, work in order if number % 2 else reversed(order):
            times[name].append(measured(spark, work))
            wall, cpu = times[name][-1]
            print(f"  round {number} {name:<4} {wall:8.2f} s, CPU {cpu:8.2f} s", flush=True)
    place.close()
    ratios = []
    for at, what in enumerate(("wall", "CPU")):
        ours, bare = ([pair[at] for pair in times[name][1:]] for name in ("ours", "bare"))
        ratios.append(statistics.median(a / b for a, b in zip(ours, bare, strict=True)))
        print(
            f"{tests} merge tests, {what:<4}  {statistics.median(ours):8.2f} s "
            f"{statistics.median(bare):8.2f} s  ratio {ratios[-1]:5.2f}  (aim <= {BAR})",
            flush=True,
        )
    return int(ratios[-1] > BAR)


if __name__ == "__main__":
    asked = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(asked or (100, 5))))
