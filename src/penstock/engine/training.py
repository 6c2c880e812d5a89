"""Run a short session with every kind of statement, to archive the classes that it loads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from penstock.core.project import SparkSettings
from penstock.engine.launch import LaunchSettings, launch

_ROWS = "SELECT id, CAST(id % 7 AS INT) AS k, CAST(id AS STRING) AS s FROM range(1000)"
_PROPERTIES = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
_CLAUSES = "WHEN MATCHED THEN UPDATE SET t.s = 'x' WHEN NOT MATCHED THEN INSERT *"


def train(archive: Path) -> None:
    """Run a little of everything that runs use, then wait for the JVM to write the archive."""
    folder = archive.parent
    options = f"-XX:ArchiveClassesAtExit={archive} -XX:TieredStopAtLevel=1"
    spark = SparkSettings("local[2]", conf={"spark.driver.extraJavaOptions": options})
    settings = LaunchSettings(spark, str(folder / "warehouse"), folder / "log.txt")
    root = launch(settings, dict(os.environ))
    gateway = root.sparkContext._gateway  # noqa: SLF001  # to wait for its end
    session = root.newSession()
    table = f"delta.`{folder}/warehouse/s/t`"
    session.sql(_ROWS).write.csv(f"{folder}/csv", header=True)
    rows = session.read.csv(f"{folder}/csv", header=True, schema="id BIGINT, k INT, s STRING")
    rows.persist().createOrReplaceTempView("q")
    for statement in (
        f"CREATE OR REPLACE TABLE {table} USING delta {_PROPERTIES} AS SELECT * FROM q",
        f"INSERT INTO {table} BY NAME SELECT id + 1000 AS id, k, s FROM q",
        f"MERGE INTO {table} t USING q s ON t.id = s.id AND t.k = 1 {_CLAUSES}",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('a' = 'b')",
    ):
        session.sql(statement)
    reader = session.read.format("delta").option("versionAsOf", 1)
    reader.load(f"{folder}/warehouse/s/t").createOrReplaceTempView("t")
    session.sql(
        "SELECT k, count(*) AS n, max(timestamp_seconds(id)) AS m, avg(id) AS a FROM (SELECT t.*, "
        "count(*) OVER (PARTITION BY t.id) AS c FROM t LEFT JOIN q ON t.id <=> q.id) "
        "GROUP BY k ORDER BY n DESC LIMIT 5"
    ).collect()
    root.stop()
    if gateway is not None:
        gateway.proc.stdin.close()
        gateway.proc.wait()


if __name__ == "__main__":
    train(Path(sys.argv[1]))
