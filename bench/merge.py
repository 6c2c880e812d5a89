"""Merging 1% into a table, against MERGE statements written by hand.

Two baselines: the shortest MERGE (`UPDATE SET *`, no guard against duplicate keys, rewrites rows
that did not change), and one that does what penstock does (refuses duplicate and NULL keys, writes
only what changed).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from place import Place, start_spark
from timing import side_by_side, tell

COLUMNS = (
    "id, concat('name', id % 1000, '-', {salt}) AS name, id % 1000 AS grp, "
    "id * 1.5D + {salt} AS amount, date'2024-01-01' AS day, CAST(id % 7 AS STRING) AS cat"
)
DIFFERS = " OR ".join(f"NOT (t.{c} <=> s.{c})" for c in ("name", "grp", "amount", "day", "cat"))


class Merging:
    """A table of `rows` rows on each side, and batches of 1%: nine tenths changed, one new."""

    def __init__(self, place: Place, rows: int) -> None:
        self.place = place
        self.rows = rows
        self.batch = 0
        place.write("models/sources.yml", SOURCES)
        place.write("models/m/target.sql", MODEL)
        self.deliver(f"SELECT {COLUMNS.format(salt=0)} FROM range({rows})")
        place.run()
        place.sql(
            f"CREATE TABLE {place.delta('hand')} USING delta TBLPROPERTIES "
            "('delta.enableDeletionVectors' = 'true') AS "
            f"SELECT * FROM {place.delta('landing/batch')}"
        )
        self.next_batch()

    def deliver(self, query: str) -> None:
        """Replace the source's rows."""
        self.place.sql(
            f"CREATE OR REPLACE TABLE {self.place.delta('landing/batch')} USING delta AS {query}"
        )

    def next_batch(self) -> None:
        """Deliver the next 1%."""
        self.batch += 1
        part = self.rows // 100
        ids = f"SELECT (id * 111 + {self.batch}) % {self.rows} AS id FROM range({part * 9 // 10})"
        new = f"SELECT {self.rows + self.batch * part} + id AS id FROM range({part // 10})"
        self.deliver(f"SELECT {COLUMNS.format(salt=self.batch)} FROM ({ids} UNION ALL {new})")

    def ours(self) -> None:
        """Let penstock take the batch in."""
        self.place.run()

    def by_hand(self) -> None:
        """Merge the batch, whatever is in it."""
        self.place.sql(
            f"MERGE INTO {self.place.delta('hand')} t USING {self.place.delta('landing/batch')} s "
            "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def by_careful_hand(self) -> None:
        """Merge the batch with the guarantees that penstock gives."""
        batch = self.place.delta("landing/batch")
        bad = (
            self.place.spark.newSession()
            .sql(f"SELECT count(*) - count(DISTINCT id) + count_if(id IS NULL) FROM {batch}")
            .collect()[0][0]
        )
        assert bad == 0
        self.place.sql(
            f"MERGE INTO {self.place.delta('hand')} t USING {batch} s ON t.id = s.id "
            f"WHEN MATCHED AND ({DIFFERS}) THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )


SOURCES = """\
sources:
  - name: raw
    tables: [{name: batch, path: ../landing/batch}]
"""
MODEL = """\
{{ config(materialized='merge', unique_key='id') }}
select * from {{ source('raw', 'batch') }}
"""


def main(rows: int, rounds: int) -> None:
    """Measure against both baselines; every round takes in a batch of its own."""
    place = Place(start_spark(Path(tempfile.mkdtemp())))
    merging = Merging(place, rows)
    for name, baseline, aim in (
        ("shortest MERGE by hand", merging.by_hand, "<= 1.1"),
        ("MERGE by hand with the same guarantees", merging.by_careful_hand, "<= 1.1"),
    ):
        pair = side_by_side(merging.ours, baseline, rounds, merging.next_batch)
        tell(f"merge 1% into {rows:,} rows: {name}", pair, aim)
    place.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, 5)
