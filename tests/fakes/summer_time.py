"""A project by hours and days, run in the hour of a change of the clocks, in a process of its own.

As a script, with TZ of the operating system set: FOLDER INSTANT…, where each instant is a middle of
some change. Prints what tables, partitions and watermarks hold after each run as JSON.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path

from deltalake import DeltaTable

import penstock
from fakes import delta_tables

CHANGES = {
    "Europe/Berlin": ("2025-03-30T01:00", "2025-10-26T01:00"),
    "America/New_York": ("2025-03-09T07:00", "2025-11-02T06:00"),
}
MINUTES = (  # how far each row lies from the change; as a wall clock some are not, or twice
    -150,
    -90,
    -60,
    -30,
    -1,
    0,
    1,
    29,
    30,
    59,
    60,
    61,
    90,
    119,
    120,
    150,
)
LATER = (75, 100, 180)
YAML = """\
name: main
targets:
  dev:
    spark: {master: "local[1]", driver_memory: 1g, conf: {spark.sql.shuffle.partitions: "1"}}
    warehouse: warehouse
"""
SOURCES = "sources: [{{name: raw, tables: [{{name: logs, path: '{}'}}]}}]\n"
PARTITION = """\
{{{{ config(materialized='partition', partition_by='{0}', partition_type='{1}', start='{2}') }}}}
select {3} as {0}, count(*) as n, sum(id) as ids from {{{{ source('raw', 'logs') }}}}
where ts >= @start_date and ts < @end_date group by all
"""
PYTHON = """\
import datetime as dt
from penstock import incremental_table
from pyspark.sql import functions as F

@incremental_table(time_column="ts")
def appended(raw__logs):
    return raw__logs

@incremental_table(time_column="ts", lookback="1 hour")
def again(raw__logs):
    return raw__logs

@incremental_table(time_column="at", window_on={"raw__logs": "ts"}, grain="hour")
def hours(raw__logs):
    return raw__logs.groupBy(F.date_trunc("hour", "ts").alias("at")).agg(F.count("*").alias("n"))

@incremental_table(
    time_column="day", window_on={"raw__logs": "ts"}, partition_by="day", lookback=dt.timedelta(0)
)
def days(raw__logs):
    return raw__logs.groupBy(F.to_date("ts").alias("day")).agg(F.count("*").alias("n"))

@incremental_table(time_column="ts", unique_key="k")
def newest(raw__logs):
    return raw__logs.select((F.col("id") % 3).alias("k"), "id", "ts")
"""
TABLES = ("appended", "again", "hours", "days", "newest", "hourly", "daily")


def instants(change: str, minutes: tuple[int, ...]) -> list[dt.datetime]:
    """Return times in UTC."""
    middle = dt.datetime.fromisoformat(change).replace(tzinfo=dt.UTC)
    return [middle + dt.timedelta(minutes=each) for each in minutes]


def values(times: list[dt.datetime], first: int) -> str:
    """Return rows as VALUES writes them."""
    return ", ".join(f"({n}, '{at:%Y-%m-%dT%H:%M:%SZ}')" for n, at in enumerate(times, first))


def write(root: Path, change: str) -> None:
    """Write the project of one change, and the rows that are there first."""
    path = root / "landing"
    delta_tables.create(str(path), "id BIGINT, ts TIMESTAMP")
    delta_tables.append(str(path), values(instants(change, MINUTES), 1))
    start = dt.date.fromisoformat(change[:10]) - dt.timedelta(1)
    texts = {
        "penstock.yml": YAML,
        "models/sources.yml": SOURCES.format(path),
        "models/main/p.py": PYTHON,
        "models/main/hourly.sql": PARTITION.format(
            "at", "HOUR", f"{start}T20", "date_trunc('HOUR', ts)"
        ),
        "models/main/daily.sql": PARTITION.format("day", "DAY", start, "CAST(ts AS DATE)"),
    }
    for name, text in texts.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def found(root: Path) -> dict[str, object]:
    """Return the rows of every table, and the partitions of one."""
    tables: dict[str, object] = {}
    for name in TABLES:
        rows = delta_tables.rows(f"{root}/warehouse/main/{name}") or []
        tables[name] = sorted([str(value) for value in row.values()] for row in rows)
    tables["partitions"] = sorted(
        str(each) for each in DeltaTable(f"{root}/warehouse/main/days").partitions()
    )
    return tables


def story(root: Path, change: str) -> list[object]:
    """Run the project at the change, and again when more rows came, an hour and a half later."""
    write(root, change)
    middle = dt.datetime.fromisoformat(change)
    told: list[object] = []
    for after, more in ((30, ()), (90, LATER), (150, ())):
        if more:
            times = instants(change, more)
            delta_tables.append(f"{root}/landing", values(times, 100))
        # a run timestamp without a zone is UTC; as a wall clock it may not be, or be twice
        as_of = f"{middle + dt.timedelta(minutes=after):%Y-%m-%dT%H:%M:%S}"
        report = penstock.run(str(root), as_of=as_of)
        rest = penstock.sync(str(root), select=["hourly daily"], cascade=True, as_of=as_of)
        both = (*report.results, *rest.results)
        failed = [str(each.error) for each in both if each.error]
        marks = sorted(f"{r.name} {w}" for r in report.results for w in r.watermarks)
        windows = sorted(f"{r.name} {w.window}" for r in report.results for w in r.windows)
        told.append({"failed": failed, "marks": marks, "windows": windows, **found(root)})
    return told


def told_in(zone: str, root: Path, *changes: str) -> object:
    """Return what a process under a zone tells of some changes."""
    root.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, __file__, str(root), *changes],
        env={**os.environ, "TZ": zone, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    folder, *middles = sys.argv[1:]
    answers = [story(Path(folder) / str(n), each) for n, each in enumerate(middles)]
    sys.stdout.write(f"\n{json.dumps(answers)}\n")
