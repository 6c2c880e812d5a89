"""A seed that models of every kind read: by days, through a view, as a table."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from fakes.clock import FixedClock
from fakes.drift_place import DriftPlace
from penstock.app.commands.seed import seed
from penstock.app.run_report import RunReport

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SEED = "seeds/countries.csv"
FILES = {
    "penstock.yml": "name: shop\nmodels: [models]\n",
    SEED: "code,name,since\nDE,Germany,2024-01-01\nFR,France,2024-01-02\n",
    "models/m/daily.yaml": """\
name: daily
destination: {dataset: m, table: daily, partition: {field: day}}
versions:
  - version: 1
    effective_from: 2024-01-01
    sql: |
      SELECT c.since AS day, c.code, c.name FROM shop.countries AS c
      WHERE c.since = @partition_date
    schema:
      - {name: day, type: DATE}
      - {name: code, type: STRING}
      - {name: name, type: STRING}
""",
    "models/m/weekly.yaml": """\
name: weekly
destination: {dataset: m, table: weekly, partition: {field: week, type: WEEK}}
versions:
  - version: 1
    effective_from: 2024-01-01
    sql: |
      SELECT @partition_date AS week, count(*) AS codes FROM m.daily
      WHERE day BETWEEN @partition_date AND date_add(@partition_date, 6)
    schema:
      - {name: week, type: DATE}
      - {name: codes, type: BIGINT}
""",
    "models/m/named.sql": """\
{{ config(materialized='view') }}
select code, name from {{ ref('countries') }}
""",
    "models/m/codes.sql": """\
{{ config(materialized='table') }}
select named.code from {{ ref('named') }} as named
""",
}
MOMENT = dt.datetime(2024, 1, 3, 12, tzinfo=dt.UTC)


def seed_place(root: Path, spark: SparkSession | None = None) -> DriftPlace:
    """Write the project; the partitions are 2024-01-01 to 2024-01-03 and one week."""
    return DriftPlace(root, spark, FILES, FixedClock(MOMENT))


def load(place: DriftPlace) -> RunReport:
    """Run `penstock seed`."""
    return place.with_shop(seed)
