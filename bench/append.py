"""Appending a delivery, against a bare DataFrame append of the same rows.

The baseline knows which rows are new and writes them; ours finds its window, checks the schema,
records the step and counts late rows as well.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from place import Place, start_spark
from timing import side_by_side, tell

COLUMNS = (
    "id, date'2024-01-01' + {day} AS day, "
    "timestamp'2024-01-01' + make_interval(0, 0, 0, {day}) AS ts, id * 2 AS a, 'x' AS b"
)
SOURCES = """\
sources:
  - name: raw
    tables: [{name: events, path: ../landing/events}]
"""
MODEL = """\
{{{{ config(materialized='append', time_column='{column}') }}}}
select * from {{{{ source('raw', 'events') }}}}
"""


class Appending:
    """A source that gets a day of `rows` rows before every round."""

    def __init__(self, place: Place, rows: int, column: str) -> None:
        self.place = place
        self.rows = rows
        self.day = 0
        place.write("models/sources.yml", SOURCES)
        place.write("models/m/log.sql", MODEL.format(column=column))
        place.sql(f"CREATE TABLE {place.delta('landing/events')} USING delta AS {self._day()}")
        place.run()
        place.sql(f"CREATE TABLE {place.delta('bare')} USING delta AS {self._day()}")

    def _day(self) -> str:
        return f"SELECT {COLUMNS.format(day=self.day)} FROM range({self.rows})"

    def deliver(self) -> None:
        """Append the next day to the source."""
        self.day += 1
        self.place.sql(f"INSERT INTO {self.place.delta('landing/events')} {self._day()}")

    def ours(self) -> None:
        """Let penstock take the day in."""
        self.place.run()

    def bare(self) -> None:
        """Append the day with a DataFrame."""
        assert self.place.spark is not None
        spark = self.place.spark.newSession()
        events = spark.read.format("delta").load(f"{self.place.root}/landing/events")
        day = events.where(f"ts > timestamp'2024-01-01' + make_interval(0, 0, 0, {self.day - 1})")
        day.write.format("delta").mode("append").save(f"{self.place.root}/bare")


def main(rows: int, rounds: int) -> None:
    """Measure days of `rows` rows."""
    spark = start_spark(Path(tempfile.mkdtemp()))
    for column in ("day", "ts"):
        place = Place(spark)
        appending = Appending(place, rows, column)
        pair = side_by_side(appending.ours, appending.bare, rounds, appending.deliver)
        kind = "DATE" if column == "day" else "TIMESTAMP"
        tell(f"append {rows:,} rows by {kind}: bare DataFrame", pair, "<= 1.2")
        place.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000, 5)
