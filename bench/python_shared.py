"""One frame that takes five seconds and feeds three tables, against one persisted by hand.

python bench/python_shared.py [ROWS]
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from place import Place, start_spark
from timing import side_by_side, tell

import penstock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROUNDS, WARM = 7, 2
PARTS = (0, 1, 2)
HARD = "sha2(sha2(sha2(sha2(CAST(id AS STRING), 512), 512), 512), 512)"


def hard(spark: SparkSession, rows: int) -> DataFrame:
    """Give the frame: long to make, and short."""
    made = spark.range(rows).selectExpr("id % 3000 AS id", f"{HARD} AS text")
    return made.groupBy("id").agg({"text": "max"}).toDF("id", "text")


class Sharing:
    """Three tables of penstock above one model, and three bare ones."""

    def __init__(self, spark: SparkSession, rows: int) -> None:
        self.place, self.rows, self.spark = Place(spark), rows, spark
        self.app = app = penstock.conf(root=self.place.root, spark=spark)

        @app.model
        def slow(spark: SparkSession) -> DataFrame:
            return hard(spark, rows)

        for part in PARTS:

            @app.table(name=f"part{part}")
            def table(slow: DataFrame, part: int = part) -> DataFrame:
                return slow.where(f"id % 3 = {part}")

    def ours(self) -> None:
        """Make the tables anew with penstock."""
        self.app.run(full_refresh=True)

    def bare(self) -> None:
        """Persist the frame and write the tables one after the other."""
        self._bare(1)

    def at_once(self) -> None:
        """Persist the frame and write the tables on threads."""
        self._bare(len(PARTS))

    def _bare(self, threads: int) -> None:
        frame = hard(self.spark.newSession(), self.rows).persist()
        try:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda part: self._write(frame, part), PARTS))
        finally:
            frame.unpersist()

    def _write(self, frame: DataFrame, part: int) -> None:
        rows = frame.where(f"id % 3 = {part}")
        rows.write.format("delta").mode("overwrite").save(f"{self.place.root}/bare/part{part}")


def main(rows: int) -> None:
    """Measure beside writes in turn, and beside writes at once."""
    sharing = Sharing(start_spark(Path(tempfile.mkdtemp())), rows)
    pair = side_by_side(sharing.ours, sharing.bare, ROUNDS, warm=WARM)
    tell("a model that feeds 3 tables: persisted, 3 writes", pair, "<= 1.2")
    pair = side_by_side(sharing.ours, sharing.at_once, ROUNDS, warm=WARM)
    tell("the same: persisted, 3 writes at once", pair, "none")
    sharing.place.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 6_000_000)
