"""Bringing a history table up to date, beside the statements that dbt sends to Spark for it.

    python history_dbt.py [--keys N] [--repeat N] [--closed N]

One key in a hundred changes each round, in a source of ten columns that is written anew; then the
same rows are written once more, and every contender finds nothing to do. Each works on a table of
its own, in one session and in turn; the first two rounds are left out. Prints medians and ratios.

- `timestamp`, `check`: `penstock snapshot run`, with validation, metrics, lease and record.
- `dbt timestamp`, `dbt check`: a temporary view of what changed and the MERGE that reads it, as
  dbt-spark 1.9 makes them of its snapshots; without the time that dbt itself takes.
- `by hand`: the usual MERGE: changed rows come twice, once with a NULL merge key.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from history import COLUMNS, FIRST, MERGE, ROW, SYSTEM
from place import Place, start_spark

NAMES = COLUMNS.split(", ")
SOURCES = "sources:\n  - name: raw\n    tables: [{name: rows, path: ../landing/rows}]\n"
MODEL = """\
{{{{ config(materialized='snapshot', unique_key='id',
            snapshot={{'strategy': '{by}'{more}}}{time}) }}}}
select * from {{{{ source('raw', 'rows') }}}}
"""
MODELS = {
    "timestamp": MODEL.format(by="timestamp", more="", time=", updated_at='updated_at'"),
    "check": MODEL.format(by="check", more=", 'check_cols': 'all'", time=""),
}
_CHANGED = {
    "timestamp": "snap.dbt_valid_from < src.updated_at",
    "check": " OR ".join(
        f"snap.{name} != src.{name} OR (snap.{name} IS NULL) != (src.{name} IS NULL)"
        for name in NAMES
    ),
}
_AT = {"timestamp": "updated_at", "check": "{now}"}
STAGING = """\
CREATE OR REPLACE TEMP VIEW dbt_staging AS
WITH snapshot_query AS (SELECT * FROM {source}),
snapshotted_data AS (SELECT *, id AS dbt_unique_key FROM {table} WHERE dbt_valid_to IS NULL),
insertions_source_data AS (
  SELECT *, id AS dbt_unique_key, {at} AS dbt_updated_at, {at} AS dbt_valid_from,
    nullif({at}, {at}) AS dbt_valid_to,
    md5(coalesce(CAST(id AS STRING), '') || '|' || coalesce(CAST({at} AS STRING), ''))
      AS dbt_scd_id
  FROM snapshot_query),
updates_source_data AS (
  SELECT *, id AS dbt_unique_key, {at} AS dbt_updated_at, {at} AS dbt_valid_from,
    {at} AS dbt_valid_to FROM snapshot_query),
insertions AS (
  SELECT 'insert' AS dbt_change_type, src.* FROM insertions_source_data src
  LEFT OUTER JOIN snapshotted_data snap ON snap.dbt_unique_key = src.dbt_unique_key
  WHERE snap.dbt_unique_key IS NULL OR (snap.dbt_unique_key IS NOT NULL AND ({changed}))),
updates AS (
  SELECT 'update' AS dbt_change_type, src.*, snap.dbt_scd_id FROM updates_source_data src
  JOIN snapshotted_data snap ON snap.dbt_unique_key = src.dbt_unique_key WHERE ({changed}))
SELECT * FROM insertions UNION ALL SELECT * FROM updates
"""
DBT_MERGE = """\
MERGE INTO {table} AS t USING dbt_staging AS s ON s.dbt_scd_id = t.dbt_scd_id
WHEN MATCHED AND t.dbt_valid_to IS NULL AND s.dbt_change_type IN ('update', 'delete')
  THEN UPDATE SET dbt_valid_to = s.dbt_valid_to
WHEN NOT MATCHED AND s.dbt_change_type = 'insert' THEN INSERT *
"""
FIRST_TIME = """\
CREATE TABLE {table} USING delta AS SELECT *,
  md5(coalesce(CAST(id AS STRING), '') || '|' || coalesce(CAST({at} AS STRING), '')) AS dbt_scd_id,
  {at} AS dbt_updated_at, {at} AS dbt_valid_from, nullif({at}, {at}) AS dbt_valid_to
FROM {source}
"""
DBT_COLUMNS = "dbt_scd_id, dbt_updated_at, dbt_valid_from, dbt_valid_to"


class Contenders:
    """One source, and a history table of it for each contender."""

    def __init__(self, keys: int, closed: int) -> None:
        self.place = Place(start_spark(Path(tempfile.mkdtemp()), "4g"))
        self.keys, self.round = keys, 0
        self.place.write("models/sources.yml", SOURCES)
        for name, text in MODELS.items():
            self.place.write(f"models/m/{name}.sql", text)
        self.deliver()
        self.place.run(snapshot=True, as_of=FIRST)
        for by in MODELS:
            self.place.sql(self.filled(FIRST_TIME, by, f"dbt_{by}"))
        self.place.sql(
            f"CREATE TABLE {self.table('by_hand')} USING delta AS SELECT * FROM "
            f"{self.place.delta('warehouse/m/timestamp')}"
        )
        for number in range(closed):
            self.add_closed(number + 1)

    def deliver(self) -> None:
        """Write the whole source as of this round."""
        salt = f"if(id % 100 BETWEEN 1 AND {self.round}, id % 100, 0)"
        row = ROW.format(salt=salt, days=f"CAST({salt} AS INT)")
        table = self.place.delta("landing/rows")
        self.place.sql(
            f"CREATE OR REPLACE TABLE {table} USING delta AS SELECT {row} FROM range({self.keys})"
        )

    def add_closed(self, back: int) -> None:
        """Give every key a version that ended before the first run, in every table."""
        row = ROW.format(salt=back, days=f"-30 * {back}")
        ends = f"TIMESTAMP'2022-01-01' + make_dt_interval(-30 * {back - 1})"
        for table in ("warehouse/m/timestamp", "warehouse/m/check", "by_hand/by_hand"):
            self.place.sql(
                f"INSERT INTO {self.place.delta(table)} ({COLUMNS}, {SYSTEM}) "
                f"SELECT {COLUMNS}, updated_at, {ends}, false FROM "
                f"(SELECT {row} FROM range({self.keys}))"
            )
        for by in MODELS:
            self.place.sql(
                f"INSERT INTO {self.table(f'dbt_{by}')} ({COLUMNS}, {DBT_COLUMNS}) SELECT "
                f"{COLUMNS}, md5(concat(id, '|', updated_at)), updated_at, updated_at, {ends} FROM "
                f"(SELECT {row} FROM range({self.keys}))"
            )

    @property
    def now(self) -> str:
        """The moment of this round, as SQL."""
        return f"TIMESTAMP'2022-01-01' + make_dt_interval({self.round})"

    def table(self, name: str) -> str:
        """Give SQL for a table that is not penstock's."""
        return self.place.delta(f"by_hand/{name}")

    def filled(self, statement: str, by: str, name: str) -> str:
        """Give a statement with its tables."""
        at = _AT[by].format(now=self.now)
        source = self.place.delta("landing/rows")
        changed = _CHANGED[by]
        return statement.format(
            table=self.table(name), source=source, at=at, changed=changed, now=self.now
        )

    def dbt(self, by: str) -> None:
        """Bring a table up to date as dbt does."""
        assert self.place.spark is not None
        session = self.place.spark.newSession()
        session.sql(self.filled(STAGING, by, f"dbt_{by}"))
        session.sql(self.filled(DBT_MERGE, by, f"dbt_{by}"))

    def penstock(self, by: str) -> None:
        """Let penstock bring one table up to date; each run has its own moment."""
        import datetime as dt

        moment = FIRST + dt.timedelta(days=self.round, seconds=self.runs())
        self.place.run(select=(by,), snapshot=True, as_of=moment)

    def runs(self) -> int:
        """Give a number that grows."""
        self.run_number = getattr(self, "run_number", 0) + 1
        return self.run_number

    def work(self) -> dict[str, Callable[[], object]]:
        """Give every contender."""
        return {
            "timestamp": lambda: self.penstock("timestamp"),
            "dbt timestamp": lambda: self.dbt("timestamp"),
            "check": lambda: self.penstock("check"),
            "dbt check": lambda: self.dbt("check"),
            "by hand": lambda: self.place.sql(self.filled(MERGE, "timestamp", "by_hand")),
        }


def main(keys: int, repeat: int, closed: int) -> None:
    """Measure every contender in turn, then all of them with equal rows."""
    made = Contenders(keys, closed)
    seconds: dict[str, list[float]] = defaultdict(list)
    try:
        for number in range(repeat + 2):
            made.round += 1
            for kind in ("", ", equal rows"):
                made.deliver()
                work = list(made.work().items())
                start = number % len(work)
                for name, act in work[start:] + work[:start]:
                    started = time.perf_counter()
                    act()
                    took = time.perf_counter() - started
                    print(f"{number} {name + kind:<28} {took:6.2f} s", flush=True)
                    if number > 1:
                        seconds[name + kind].append(took)
    finally:
        made.place.close()
    for kind in ("", ", equal rows"):
        for ours, theirs in (
            ("timestamp", "dbt timestamp"),
            ("check", "dbt check"),
            ("timestamp", "by hand"),
            ("check", "by hand"),
        ):
            a, b = seconds[ours + kind], seconds[theirs + kind]
            ratios = [x / y for x, y in zip(a, b, strict=True)]
            print(
                f"{ours + kind:<24} {statistics.median(a):6.2f} s  {theirs:<14} "
                f"{statistics.median(b):6.2f} s  ratio {statistics.median(ratios):.2f} "
                f"({min(ratios):.2f} to {max(ratios):.2f})"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5, help="rounds after two to warm up")
    parser.add_argument("--closed", type=int, default=0, help="closed versions of each key")
    asked = parser.parse_args()
    main(asked.keys, asked.repeat, asked.closed)
