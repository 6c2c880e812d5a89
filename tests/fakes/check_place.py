"""Fixture S and model U in a folder, run in this process.

Sources are written without Spark, so that a folder is ready at once.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from deltalake import write_deltalake

from fakes import delta_tables
from fakes.clock import FixedClock
from fakes.drift_place import DriftPlace
from fakes.requests import ranged
from penstock.app.checking.results import CheckReport
from penstock.app.commands.check import check
from penstock.app.request import CheckRequest, SnapshotRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.core.check_results import CheckRecord, CheckResult, Flag, Quarantine
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.ports.ports import Store
from penstock.core.records import Execution, ModelRecord, PartitionRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENT = dt.datetime(2024, 12, 5, 12, tzinfo=dt.UTC)
P1, P2, P3, P4 = "2024-12-01", "2024-12-02", "2024-12-03", "2024-12-04"
STATS = "analytics/user_stats"
USERS = "staging/users"
STATS_YAML = "models/analytics/user_stats.yml"
STATS_SQL = "models/analytics/user_stats.v1.sql"
SELECT = """\
SELECT DATE(created_at) AS date, region, user_count, revenue
FROM raw.events
WHERE DATE(created_at) = @partition_date
"""
HEAD = """\
name: user_stats
destination: {dataset: analytics, table: user_stats, partition: {field: date, type: DAY}}
versions:
  - version: 1
    effective_from: 2024-12-01
    sql: user_stats.v1.sql
    schema:
      - {name: date, type: DATE}
      - {name: region, type: STRING}
      - {name: user_count, type: BIGINT}
      - {name: revenue, type: DOUBLE}
"""
PROJECT: Mapping[str, str] = {
    "penstock.yml": "name: stats\nmodels: [models]\n",
    "models/sources.yml": """\
sources:
  - name: raw
    tables:
      - {name: events, path: ../lake/events}
      - {name: users, path: ../lake/users}
""",
    STATS_YAML: HEAD,
    STATS_SQL: SELECT,
}
USERS_SQL = "SELECT id, email FROM {{ source('raw', 'users') }}\n"

EVENT = pa.schema(
    {
        "created_at": pa.timestamp("us", "UTC"),
        "region": pa.string(),
        "user_count": pa.int64(),
        "revenue": pa.float64(),
    }
)
USER = pa.schema({"id": pa.int64(), "email": pa.string()})
Cells = Sequence[object]
Checks = Mapping[str, Any]
EVENTS: tuple[Cells, ...] = (
    (P1, "eu", 120, 10.0),
    (P1, "us", 80, 20.0),
    (P1, None, None, 5.0),
    (P2, "eu", 150, 12.0),
    (P2, "us", 110, -3.5),
    (P4, "eu", 200, None),
)
OLD_USERS: tuple[Cells, ...] = ((1, "a@x"), (2, "b@x"), (9, None))
NEW_USERS: tuple[Cells, ...] = ((2, "b2@x"), (3, None))
"""What model U is given first, and then as its batch."""

Result = TypeVar("Result")


class CheckPlace(DriftPlace):
    """A project of fixture S; `checks` writes what must hold, `run`, `sync` and `check` look."""

    def __init__(
        self,
        root: Path,
        spark: SparkSession | None = None,
        files: Mapping[str, str] = PROJECT,
        clock: FixedClock | None = None,
    ) -> None:
        super().__init__(root, spark, files, clock or FixedClock(MOMENT))
        self.fault: Callable[[str], None] | None = None

    def services(self) -> Services:
        """Load and wire the project anew; `fault` is called at every fault point of a step."""
        services = super().services()
        if self.fault is not None:
            services.fault = self.fault
        return services

    def land(
        self, name: str, rows: Sequence[Cells], schema: pa.Schema, mode: str = "append"
    ) -> None:
        """Append rows to `lake/NAME`, or with `overwrite` replace them; texts may be times."""
        columns = zip(*rows, strict=True) if rows else [()] * len(schema)
        arrays = [
            pa.array([_timed(cell, field.type) for cell in cells], field.type)
            for cells, field in zip(columns, schema, strict=True)
        ]
        table = pa.table(arrays, schema=schema)
        (self.root / "lake").mkdir(parents=True, exist_ok=True)
        write_deltalake(str(self.root / "lake" / name), table, mode=mode)  # type: ignore[call-overload]  the mode is a word

    def events(self, rows: Sequence[Cells] = EVENTS, mode: str = "append") -> None:  # type: ignore[override]  other rows
        """Land rows of `raw.events`: day or time, region, user_count, revenue."""
        self.land("events", rows, EVENT, mode)

    def users(self, rows: Sequence[Cells] = OLD_USERS, mode: str = "overwrite") -> None:
        """Land rows of `raw.users`: id and email; what was there goes."""
        self.land("users", rows, USER, mode)

    def checks(
        self, *after: Checks, before: Sequence[Checks] = (), on_failure: str = "flag"
    ) -> None:
        """Write the checks of `user_stats`, beside its versions."""
        self.write({STATS_YAML: f"{HEAD}checks: {_checks(after, before, on_failure)}\n"})

    def model(
        self,
        path: str,
        sql: str,
        *after: Checks,
        before: Sequence[Checks] = (),
        on_failure: str = "flag",
        **config: object,
    ) -> None:
        """Write a model without partitions, `staging/users`, and its checks in YAML beside it."""
        settings = ", ".join(f"{key}={value!r}" for key, value in config.items())
        checks, name = _checks(after, before, on_failure), path.rpartition("/")[2]
        self.write(
            {
                f"models/{path}.sql": f"{{{{ config({settings}) }}}}\n{sql}",
                f"models/{path}.yml": f"models: [{{name: {name}, checks: {checks}}}]\n",
            }
        )

    def users_model(self, *after: Checks, **more: Any) -> None:
        """Write model U."""
        self.model(USERS, USERS_SQL, *after, materialized="merge", unique_key="id", **more)

    def check(self, *select: str, **asked: Any) -> CheckReport:
        """Run `penstock check`."""
        request = CheckRequest(select=select, **ranged(asked))
        return self.with_shop(lambda services: check(services, request))

    def snap(self, *select: str) -> RunReport:
        """Run `penstock snapshot run`."""
        return self.run(*select, snapshot=SnapshotRequest())

    def on(self, day: str, **asked: Any) -> RunReport:
        """Run `user_stats` for one day."""
        return self.run("user_stats", **{"first": day, "last": day, **asked})

    def stored(self, read: Callable[[Store], Result]) -> Result:
        """Read something of the state."""
        services = self.services()
        try:
            return read(services.reading)
        finally:
            services.close()

    def partitions(self, model: str = "user_stats") -> dict[str, PartitionRun]:
        """Give what is on record of each partition."""
        runs = self.stored(lambda store: store.records.runs(model)[model])
        grid = Grid(Grain.DAY)
        return {grid.key(n): run for run in runs for n in range(run.low, run.high + 1)}

    def statuses(self, model: str = "user_stats") -> dict[str, str]:
        """Give the status on record of each partition."""
        return {key: str(run.status) for key, run in self.partitions(model).items()}

    def record(self, model: str) -> ModelRecord:
        """Give what is on record of a model without partitions."""
        return self.stored(lambda store: store.records.models()[model])

    def executions(self, model: str = "user_stats") -> tuple[Execution, ...]:
        """Give the history of a model, newest first."""
        return self.stored(lambda store: store.records.history(model, None))

    def flags(self) -> tuple[Flag, ...]:
        return self.stored(lambda store: store.checks.flags())

    def quarantines(self) -> tuple[Quarantine, ...]:
        return self.stored(lambda store: store.checks.quarantines())

    def check_records(self, model: str = "user_stats") -> tuple[CheckRecord, ...]:
        """Give the history of a model's checks, newest first."""
        return self.stored(lambda store: store.checks.checks_of(model))

    def quarantined(self) -> list[tuple[str | None, ...]]:
        """Give the rows of all quarantines, as texts in order."""
        found = [row for each in self.quarantines() for row in self.texts(each.uri)]
        return sorted(found, key=str)

    def texts(self, uri: str, version: int | None = None) -> list[tuple[str | None, ...]]:
        """Give the rows of a Delta table as texts in order."""
        read = delta_tables.rows(uri, version)
        if read is None:
            at = "" if version is None else f" VERSION AS OF {version}"
            rows = self.sql(f"SELECT * FROM delta.`{uri}`{at}")
        else:
            rows = [tuple(row.values()) for row in read]
        found = [tuple(None if v is None else str(v) for v in row) for row in rows]
        return sorted(found, key=str)

    def rows(self, path: str = STATS) -> list[tuple[str | None, ...]]:
        """Give a table's rows in order, as texts."""
        return self.texts(f"{self.root}/warehouse/{path}")

    def staged(self) -> list[str]:
        """Name what lies in the staging folder, quarantines apart."""
        root = self.root / "warehouse" / "penstock_staging"
        kept = {Path(each.uri).name for each in self.quarantines()}
        return sorted(each.name for each in root.glob("*") if each.name not in kept)

    def leases(self) -> int:
        """Count the leases that are taken."""
        return self.stored(lambda store: len(store.leases.taken()))


def said(results: Sequence[CheckResult]) -> dict[str, str]:
    """Give each result as `failed rows 3 < min 5`."""
    return {each.name: f"{each.status} {each.message}".strip() for each in results}


def after(report: RunReport, model: str = "user_stats") -> dict[str, str]:
    """Give what the checks after a model's step said."""
    found = report[model].invariant_report
    return said(found.after) if found else {}


def before(report: RunReport, model: str = "user_stats") -> dict[str, str]:
    """Give what the checks before a model's step said."""
    found = report[model].invariant_report
    return said(found.before) if found else {}


def _checks(after: Sequence[Checks], before: Sequence[Checks], on_failure: str) -> str:
    phases = {"on_failure": on_failure, "before": list(before), "after": list(after)}
    return json.dumps({key: value for key, value in phases.items() if value})


def _timed(cell: object, kind: pa.DataType) -> object:
    if isinstance(cell, str) and pa.types.is_timestamp(kind):
        return dt.datetime.fromisoformat(cell).replace(tzinfo=dt.UTC)
    return cell
