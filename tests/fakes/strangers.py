"""What somebody else may do to a table: commits of rows and of none, by Spark or without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.functions import col, lit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Deed = Callable[["SparkSession", Path, str, str], None]
"""Does something to a table, by its key and by another column of it."""
OTHER = 99


def same_key(spark: SparkSession, table: Path, key: str, column: str) -> None:
    """Insert a row that is there once more."""
    _insert(spark, table, key, OTHER, same=True)


def other_key(spark: SparkSession, table: Path, key: str, column: str) -> None:
    """Insert a row with a key that no step has made."""
    _insert(spark, table, key, OTHER, same=False)


def _insert(spark: SparkSession, table: Path, key: str, number: int, *, same: bool) -> None:
    rows = spark.read.format("delta").load(str(table)).where(col(key) == 1).limit(1)
    rows = rows if same else rows.withColumn(key, lit(number).cast(rows.schema[key].dataType))
    rows.localCheckpoint().write.format("delta").mode("append").save(str(table))


def updated(spark: SparkSession, table: Path, key: str, column: str) -> None:
    """Change a value."""
    spark.sql(f"UPDATE delta.`{table}` SET {column} = 77 WHERE {key} = 1")


def deleted(spark: SparkSession, table: Path, key: str, column: str) -> None:
    """Delete a row that is there."""
    spark.sql(f"DELETE FROM delta.`{table}` WHERE {key} = 1")


def restored(spark: SparkSession, table: Path, key: str, column: str) -> None:
    """Bring the first version back."""
    spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF 0")


def optimized(spark: SparkSession, table: Path, key: str, column: str) -> None:
    """Write small files together."""
    spark.sql(f"OPTIMIZE delta.`{table}`")


def vacuumed(spark: SparkSession, table: Path, key: str, column: str) -> None:
    """Delete files that no version of late needs."""
    spark.conf.set("spark.databricks.delta.vacuum.logging.enabled", "true")
    spark.sql(f"VACUUM delta.`{table}`")


def described(spark: SparkSession, table: Path, key: str, column: str) -> None:
    """Set a property."""
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('seen_by' = 'eve')")


OF_ROWS: tuple[Deed, ...] = (same_key, other_key, updated, deleted, restored)
OF_NONE: tuple[Deed, ...] = (optimized, vacuumed, described)
