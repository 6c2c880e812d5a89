"""Appending one part in a hundred to a table of a Python function, against a bare append.

The baseline knows which rows are new and appends them with a DataFrame; ours loads the project,
finds its window, compares schemas, guards the time of the rows and records the step. Then our
append of as many rows onto a tenth of the table: what is there already should cost nothing.

python bench/python_append.py [ROWS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from place import Place, start_spark
from timing import side_by_side, tell

import penstock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROUNDS, WARM = 7, 2
COLUMNS = """\
id, timestamp'2024-01-01' + make_interval(0, 0, 0, id DIV {day}, 0, 0, id % {day} * 80000 DIV {day})
AS ts, id % 1000 AS user, id * 2 AS amount, id * 1.5D AS price, id % 7 AS kind,
date_add(date'2024-01-01', CAST(id DIV {day} AS INT)) AS day, concat('name', id % 10000) AS name,
CAST(id % 3 AS STRING) AS land, id % 2 = 0 AS sold, id DIV 10 AS cart, 'web' AS origin"""


class Appending:
    """A source and tables of `rows` rows on both sides; a delivery is a day of `day` rows more."""

    def __init__(self, spark: SparkSession, rows: int, day: int) -> None:
        self.place, self.day, self.next = Place(spark), day, rows
        self.is_fresh = False
        self.app = app = penstock.conf(root=self.place.root, spark=spark)

        @app.source(path="landing/logs")
        def logs(df: DataFrame) -> DataFrame:
            return df

        @app.incremental_table(time_column="ts")
        def events(logs: DataFrame) -> DataFrame:
            return logs

        for path in ("landing/logs", "bare"):
            self._append(self._rows(0, rows), path)
        app.run()

    def _session(self) -> SparkSession:
        assert self.place.spark is not None
        return self.place.spark.newSession()

    def _rows(self, first: int, last: int) -> DataFrame:
        columns = COLUMNS.format(day=self.day)
        return self._session().sql(f"SELECT {columns} FROM range({first}, {last})")

    def _append(self, rows: DataFrame, path: str) -> None:
        rows.write.format("delta").mode("append").save(f"{self.place.root}/{path}")

    def deliver(self) -> None:
        """Append a day to the source, unless ours has one to take in."""
        if not self.is_fresh:
            self._append(self._rows(self.next, self.next + self.day), "landing/logs")
            self.next += self.day
            self.is_fresh = True

    def ours(self) -> None:
        """Let penstock take the day in."""
        rows = self.app.run()["events"].rows
        assert rows is not None
        assert rows.inserted == self.day
        self.is_fresh = False

    def bare(self) -> None:
        """Append the newest day with a DataFrame."""
        logs = self._session().read.format("delta").load(f"{self.place.root}/landing/logs")
        day = (self.next - 1) // self.day
        since = f"timestamp'2024-01-01' + make_interval(0, 0, 0, {day})"
        self._append(logs.where(f"ts >= {since}"), "bare")


def main(rows: int) -> None:
    """Measure appends of one part in a hundred."""
    spark, day = start_spark(Path(tempfile.mkdtemp())), rows // 100
    large = Appending(spark, rows, day)
    pair = side_by_side(large.ours, large.bare, ROUNDS, large.deliver, WARM)
    tell(f"append {day:,} to {rows:,} rows: bare append", pair, "<= 1.2")
    small = Appending(spark, rows // 10, day)

    def deliver() -> None:
        large.deliver()
        small.deliver()

    pair = side_by_side(large.ours, small.ours, ROUNDS, deliver, WARM)
    tell(f"append {day:,} to {rows:,} rows: to {rows // 10:,}", pair, "<= 1.15")
    large.place.close()
    small.place.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10_000_000)
