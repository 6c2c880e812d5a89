"""Twenty independent tables of ten rows on four threads, against plain writes on four threads."""

from __future__ import annotations

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
TABLES, THREADS = 20, 4


class Tables:
    """Tables of penstock that read nothing, and bare ones of the same rows."""

    def __init__(self, spark: SparkSession) -> None:
        self.place, self.spark = Place(spark), spark
        self.app = app = penstock.conf(root=self.place.root, spark=spark, threads=THREADS)
        for number in range(TABLES):

            @app.table(name=f"t{number}")
            def table(spark: SparkSession, number: int = number) -> DataFrame:
                return spark.range(10).selectExpr("id", f"{number} AS number")

    def ours(self) -> None:
        """Make all tables anew with penstock, records and all."""
        self.app.run(full_refresh=True)

    def bare(self) -> None:
        """Write all tables on threads."""
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self._write, range(TABLES)))

    def _write(self, number: int) -> None:
        rows = self.spark.newSession().range(10).selectExpr("id", f"{number} AS number")
        rows.write.format("delta").mode("overwrite").save(f"{self.place.root}/bare/t{number}")


def main() -> None:
    """Measure whole rebuilds."""
    tables = Tables(start_spark(Path(tempfile.mkdtemp())))
    pair = side_by_side(tables.ours, tables.bare, ROUNDS, warm=WARM)
    tell(f"{TABLES} tables of 10 rows: plain writes on {THREADS} threads", pair, "<= 1.25")
    tables.place.close()


if __name__ == "__main__":
    main()
