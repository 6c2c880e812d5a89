"""A model of three days whose SQL reads no table, so that a step of it is quick."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from fakes.clock import FixedClock
from fakes.drift_place import DriftPlace

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FILE = "queries/m.yaml"
TABLE = "a/m"
SELECT = "SELECT d, n, s, b"
SMALL = f"""\
name: m
destination: {{dataset: a, table: m, partition: {{field: d}}}}
versions:
  - version: 1
    effective_from: 2024-11-30
    sql: |
      {SELECT} FROM VALUES
        (DATE'2024-11-30', 1, 1S, 1L), (DATE'2024-12-01', 2, 2S, 2L), (DATE'2024-12-02', 3, 3S, 3L)
        AS t(d, n, s, b) WHERE d = @partition_date
    schema:
      - {{name: d, type: DATE}}
      - {{name: n, type: INT}}
      - {{name: s, type: SMALLINT}}
      - {{name: b, type: BIGINT}}
"""
MOMENT = dt.datetime(2024, 12, 2, 12, tzinfo=dt.UTC)


def small_place(root: Path, spark: SparkSession | None = None) -> DriftPlace:
    """Write the project; its partitions are 2024-11-30 to 2024-12-02."""
    files = {"penstock.yml": "name: small\nmodels: [queries]\n", FILE: SMALL}
    return DriftPlace(root, spark, files, FixedClock(MOMENT))


def add_version(place: DriftPlace, number: int, since: str, schema: str, sql: str) -> None:
    """Append a version to the file."""
    file = place.root / FILE
    text = f"""
  - version: {number}
    effective_from: {since}
    sql: {sql}
    schema: {schema}
"""
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")
