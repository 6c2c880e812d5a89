"""A source with some rows for every day, and models of it by day, for backfills on Spark."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from place import Place, start_spark

from penstock.app.commands.sync import sync
from penstock.app.request import BackfillRequest
from penstock.app.run_report import RunReport
from penstock.app.services.wire import Where, open_services

FIRST = dt.date(2024, 1, 1)
ROWS_A_DAY = 20

RANGE_SQL = """\
select date(at) as date, user_id, count(*) as events
from raw.events
where at >= @start_date and at < @end_date
group by date(at), user_id
"""
SINGLE_SQL = """\
select date(at) as date, user_id, count(*) as events
from raw.events
where date(at) = @partition_date
group by date(at), user_id
"""


class Backfills:
    """One project on one Spark session; rows of all days are there before anything is built."""

    def __init__(self, days: int) -> None:
        self.place = Place(start_spark(Path(tempfile.mkdtemp())))
        self.days = days
        self.place.write("penstock.yml", _PROJECT)
        self.place.write("queries/sources.yml", _SOURCES)
        self.place.sql(
            f"CREATE TABLE {self.place.delta('lake/events')} USING delta AS SELECT "
            f"timestamp'{FIRST}' + make_interval(0, 0, 0, cast(id % {days} AS INT), 9) AS at, "
            f"id % 7 AS user_id FROM range({days * ROWS_A_DAY})"
        )

    def model(self, name: str, sql: str, first: dt.date = FIRST) -> None:
        """Write a model of the days from a first one on."""
        self.place.write(f"queries/{name}.sql", sql)
        self.place.write(f"queries/{name}.yaml", _MODEL.format(name=name, first=first))

    def day(self, number: int) -> dt.date:
        """Give a day by its number."""
        return FIRST + dt.timedelta(days=number)

    def backfill(
        self, name: str, first: dt.date, last: dt.date, batch_size: int | None = None
    ) -> RunReport:
        """Run `penstock backfill NAME --from FIRST --to LAST [--batch-size N]`."""
        services = open_services(Where(self.place.root), self.place.spark)
        try:
            days = {"from_": first.isoformat(), "to": last.isoformat()}
            request = BackfillRequest(".", name, **days, batch_size=batch_size)
            report = sync(services, request)
        finally:
            services.close()
        assert report.succeeded, [result.error for result in report.results]
        return report

    def rows(self, name: str) -> list[tuple[object, ...]]:
        """Give all rows of a model, in order."""
        assert self.place.spark is not None
        table = self.place.delta(f"warehouse/stats/{name}")
        found = self.place.spark.sql(f"SELECT * FROM {table} ORDER BY ALL").collect()
        return [tuple(row) for row in found]

    def commits(self, name: str) -> list[list[dict[str, Any]]]:
        """Give the actions of each commit that changed rows."""
        log = self.place.root / "warehouse/stats" / name / "_delta_log"
        files = sorted(log.glob("*.json"))
        told = [[json.loads(line) for line in each.read_text().splitlines()] for each in files]
        return [actions for actions in told if any("add" in a or "remove" in a for a in actions)]

    def jobs(self, work: Callable[[], object]) -> int:
        """Count the jobs that Spark runs while something is done."""
        assert self.place.spark is not None
        scheduler: Any = self.place.spark.sparkContext._jsc.sc().dagScheduler()  # noqa: SLF001
        before = int(scheduler.numTotalJobs())
        work()
        return int(scheduler.numTotalJobs()) - before

    def close(self) -> None:
        """Remove the project."""
        self.place.close()


_PROJECT = """\
name: bench
models: [queries]
targets:
  dev: {warehouse: warehouse}
"""

_SOURCES = """\
sources:
  - name: raw
    tables: [{name: events, path: ../lake/events}]
"""

_MODEL = """\
name: {name}
destination:
  dataset: stats
  table: {name}
  partition: {{field: date, type: DAY}}
versions:
  - version: 1
    effective_from: {first}
    sql: {name}.sql
    schema:
      - {{name: date, type: DATE}}
      - {{name: user_id, type: INT64}}
      - {{name: events, type: INT64}}
"""
