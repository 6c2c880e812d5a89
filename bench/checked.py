"""A model of one day with or without checks, on rows that take some work to make.

The day holds the latest row per key of more rows than that, joined to another table; ten columns.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from place import Place, start_spark

from penstock.app.commands.sync import sync
from penstock.app.request import BackfillRequest
from penstock.app.services.wire import Where, open_services
from penstock.core.check_results import CheckStatus

DAY = "2024-03-01"
OBSERVABLE = (
    "{type: row_count, min: 1}",
    "{type: not_null, columns: [id, at]}",
    "{type: null_percentage, column: note, max_percentage: 60}",
    "{type: null_percentage, column: city, max_percentage: 60}",
    "{type: value_range, column: amount, min: 0}",
    "{type: value_range, column: price, min: 0, max: 1000000}",
    "{type: value_range, column: quantity, min: 0}",
    "{type: accepted_values, column: kind, values: [a, b, c, d]}",
    '{name: positive, type: column_check, column: amount, check: "{column} >= 0"}',
    '{name: bounded, type: column_check, column: price, check: "MAX({column}) < 1000000"}',
    '{name: some_quantity, type: column_check, column: quantity, check: "SUM({column}) >= 0"}',
    "{type: freshness, column: at, max_age: 40 days}",
)
SCANNED = (
    "{type: unique, columns: [id]}",
    "{type: distinct_count, column: kind, min: 1, max: 10}",
)
_SQL = """\
select e.date, e.id, e.at, e.kind, e.amount, e.quantity, e.price, e.note, d.city, d.segment
from (
    select *, row_number() over (partition by id order by at desc) as newest
    from raw.events
    where date >= @start_date and date < @end_date
) e
left join raw.places d on e.id % {places} = d.place_id
where e.newest = 1
"""
_SOURCES = """\
sources:
  - name: raw
    tables: [{name: events, path: ../lake/events}, {name: places, path: ../lake/places}]
"""
_MODEL = """\
name: {name}
destination:
  dataset: stats
  table: {name}
  partition: {{field: date, type: DAY}}
start: {start}
{checks}
versions:
  - version: 1
    effective_from: {start}
    sql: {name}.sql
    schema:
{schema}"""
_COLUMNS = {
    "date": "DATE",
    "id": "INT64",
    "at": "TIMESTAMP",
    "kind": "STRING",
    "amount": "FLOAT64",
    "quantity": "INT64",
    "price": "NUMERIC(12, 2)",
    "note": "STRING",
    "city": "STRING",
    "segment": "INT64",
}
_COPY = """\
select date, id, at, kind, amount, quantity, price, note, kind as city, id % 7 as segment
from raw.events
where date >= @start_date and date < @end_date
"""


class Checked:
    """One project on one Spark session, with rows of `days` days."""

    def __init__(self, rows: int, days: int = 1) -> None:
        self.place = Place(start_spark(Path(tempfile.mkdtemp())))
        self.rows, self.days = rows, days
        self.place.write("penstock.yml", _PROJECT)
        self.place.write("models/sources.yml", _SOURCES)
        keys, all_rows = rows * days, rows * days * 6 // 5
        self.place.sql(
            f"CREATE TABLE {self.place.delta('lake/events')} USING delta AS "
            f"SELECT date_add(DATE '{DAY}', cast(id % {days} AS INT)) AS date, "
            f"id % {keys} AS id, "
            f"timestamp_seconds(1709251200 + (id % {days}) * 86400 + id % 80000) AS at, "
            f"element_at(array('a','b','c','d'), cast(id % 4 AS INT) + 1) AS kind, "
            f"cast(id % 1000 AS double) AS amount, cast(id % 50 AS int) AS quantity, "
            f"cast(id % 100000 AS decimal(12,2)) AS price, "
            f"if(id % 3 = 0, null, concat('note ', id % 977)) AS note FROM range({all_rows})"
        )
        self.places = max(1, rows // 5)
        self.place.sql(
            f"CREATE TABLE {self.place.delta('lake/places')} USING delta AS "
            f"SELECT id AS place_id, concat('city ', id % 500) AS city, id % 7 AS segment "
            f"FROM range({self.places})"
        )
        self.jvm = Jvm(self.place)

    def model(
        self, name: str, checks: tuple[str, ...] = (), mode: str = "flag", *, copies: bool = False
    ) -> None:
        """Write a model of the day with some checks; with `copies` rows take no work to make."""
        lines = "".join(f"    - {check}\n" for check in checks)
        written = f"invariants:\n  on_failure: {mode}\n  after:\n{lines}" if checks else ""
        sql = _COPY if copies else _SQL.format(places=self.places)
        self.place.write(f"models/{name}.sql", sql)
        columns = (f"      - {{name: {c}, type: '{kind}'}}\n" for c, kind in _COLUMNS.items())
        text = _MODEL.format(name=name, start=DAY, checks=written, schema="".join(columns))
        self.place.write(f"models/{name}.yaml", text)

    def build(self, name: str, *, batch_size: int | None = None) -> None:
        """Make its days anew; every check must hold."""
        services = open_services(Where(self.place.root), self.place.spark)
        try:
            last = f"2024-03-{self.days:02}"
            asked = BackfillRequest(".", name, from_=DAY, to=last, batch_size=batch_size)
            report = sync(services, asked)
        finally:
            services.close()
        for result in report.results:
            told = result.invariant_report.all if result.invariant_report else ()
            assert all(each.status is CheckStatus.PASSED for each in told), told
            assert result.error is None, result.error

    def close(self) -> None:
        """Remove the project."""
        self.place.close()


class Jvm:
    """How much of the processors Spark has used."""

    def __init__(self, place: Place) -> None:
        assert place.spark is not None
        handle = place.spark._jvm.java.lang.ProcessHandle  # noqa: SLF001  there is no other way
        self._stat = Path(f"/proc/{handle.current().pid()}/stat")

    def seconds(self) -> float:
        """Give its processor time so far."""
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@dataclass(frozen=True)
class Cost:
    """Wall and processor seconds, round by round."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]


def compared(
    jvm: Jvm, ours: Callable[[], object], baseline: Callable[[], object], rounds: int = 5
) -> tuple[Cost, Cost]:
    """Run both once to warm up, then in turn; who goes first changes every round."""
    seen: dict[str, list[tuple[float, float]]] = {"ours": [], "baseline": []}
    for number in range(rounds + 1):
        order = [("ours", ours), ("baseline", baseline)]
        for name, work in order if number % 2 else reversed(order):
            clock, before = time.perf_counter(), jvm.seconds()
            work()
            seen[name].append((time.perf_counter() - clock, jvm.seconds() - before))
    first, second = (_cost(seen[name][1:]) for name in ("ours", "baseline"))
    return first, second


def _cost(rounds: list[tuple[float, float]]) -> Cost:
    return Cost(tuple(wall for wall, _ in rounds), tuple(cpu for _, cpu in rounds))


def told(what: str, ours: Cost, baseline: Cost, bar: float) -> None:
    """Print medians and ratios; the bar is one of processor time."""
    wall = statistics.median(a / b for a, b in zip(ours.wall, baseline.wall, strict=True))
    cpu = statistics.median(a / b for a, b in zip(ours.cpu, baseline.cpu, strict=True))
    print(
        f"{what:<44} wall {statistics.median(ours.wall):7.2f} s / "
        f"{statistics.median(baseline.wall):7.2f} s = {wall:4.2f}   "
        f"cpu {statistics.median(ours.cpu):7.2f} s / {statistics.median(baseline.cpu):7.2f} s = "
        f"{cpu:4.2f}  (aim <= {bar})",
        flush=True,
    )


_PROJECT = """\
name: bench
checks: {sample: true}
targets:
  dev: {warehouse: warehouse}
"""
