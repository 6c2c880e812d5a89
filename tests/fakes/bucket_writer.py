"""A Spark of its own that appends rows to a table in a bucket, one commit a row.

Words: endpoint, folder of the log, table, which is there, first row, number of rows. Prints which
class keeps the log of each scheme, then `ready`, waits for a line, and prints `done`.
"""

import os
import sys
from pathlib import Path

from penstock.core.project import SparkSettings
from penstock.core.storage import StoreAccess
from penstock.engine.launch import LaunchSettings, launch

CONF = {
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


def append(endpoint, folder, table, first, count):
    credentials = {"access_key_id": "AKIDOFTESTS", "secret_access_key": "secret-of-tests"}
    access = StoreAccess(endpoint, "us-east-1", **credentials, allow_http=True)
    log = Path(folder, "logs", f"{first}.log")
    settings = LaunchSettings(
        SparkSettings("local[1]", "512m", CONF), table, log, storage={"s3://": access}
    )
    spark = launch(settings, os.environ)
    java = spark._jvm
    for uri in (table, table.replace("s3:", "s3a:")):
        store = java.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, uri).store()
        kept = store.getDelegate(java.org.apache.hadoop.fs.Path(uri)).logStoreImpl()
        say(kept.getClass().getName())
    say("ready")
    sys.stdin.readline()
    for number in range(int(first), int(first) + int(count)):
        spark.sql(f"INSERT INTO delta.`{table}` VALUES ({number})")
    say("done")


def say(text):
    print(text, flush=True)  # noqa: T201  read by who started it


if __name__ == "__main__":
    append(*sys.argv[1:])
