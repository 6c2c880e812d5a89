"""What projects whose runs are killed have in common: short leases and a small Spark."""

SMALL = """\
lease: {length: 4s, heartbeat: 1s}
targets:
  dev:
    warehouse: warehouse
    spark:
      master: "local[1]"
      driver_memory: 1g
      conf:
        spark.sql.shuffle.partitions: "1"
        spark.databricks.delta.snapshotPartitions: "1"
        spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1
"""
PROJECT = f"name: shop\nversion: 1\n{SMALL}"
