"""Rows in files of their own between two writes: read once, so written as cheaply as can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.folders import filesystem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONFS = {
    # Spark's default is a form of timestamps that other readers take for older than it is.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_PLAIN = {
    "compression": "none",
    "parquet.enable.dictionary": "false",
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
}


def write_files(frame: DataFrame, folder: str) -> DataFrame:
    """Write a frame's rows to Parquet files; give a frame that reads them.

    It has the same columns, whatever their names: in the files they are called by their places.
    Files that lie in the folder already go.
    """
    placed = frame.toDF(*[f"c{place}" for place in range(len(frame.columns))])
    placed.write.mode("overwrite").options(**_PLAIN).parquet(folder)
    reader = frame.sparkSession.read.schema(placed.schema)
    return reader.parquet(folder).toDF(*frame.columns)


def count_rows(folder: str) -> int:
    """Count the rows of a folder's Parquet files, by what stands at their ends."""
    from pyarrow import fs
    from pyarrow import parquet as pq

    system, path = filesystem(folder)
    found = system.get_file_info(fs.FileSelector(path))
    names = (info.path for info in found if info.base_name.endswith(".parquet"))
    return sum(pq.read_metadata(name, filesystem=system).num_rows for name in names)
