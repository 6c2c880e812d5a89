"""Fixture F in a folder of its own, run in this process: files, events, and every command."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fakes import delta_tables, stranger
from fakes.clock import FixedClock
from fakes.commits import commits
from fakes.fixture_f import EVENTS, EVENTS_PATH, FIXTURE_F
from fakes.requests import a_run, ranged
from penstock.app.commands.audit import audit
from penstock.app.commands.diff import diff
from penstock.app.commands.history import history
from penstock.app.commands.rollback import RollbackReport, rollback
from penstock.app.commands.run import run
from penstock.app.commands.status import status
from penstock.app.commands.sync import Ask, preview_sync, sync
from penstock.app.read_requests import DiffRequest, HistoryRequest
from penstock.app.reports import AuditReport, DiffReport, HistoryReport, StatusReport
from penstock.app.request import (
    AuditRequest,
    BackfillRequest,
    RollbackRequest,
    StatusRequest,
    SyncRequest,
)
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.app.services.wire import wired
from penstock.project.load import load_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENT = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
DAILY_TABLE = "analytics/daily_user_stats"
WEEKLY_TABLE = "analytics/weekly_summary"
MONTHLY_TABLE = "reporting/monthly_report"
Rows = list[tuple[object, ...]]
Result = TypeVar("Result")


def yes(_: object) -> bool:
    """Confirm everything."""
    return True


class DriftPlace:
    """Writes files of a project, runs commands at a fixed time, and reads tables back."""

    def __init__(
        self,
        root: Path,
        spark: SparkSession | None = None,
        files: Mapping[str, str] = FIXTURE_F,
        clock: FixedClock | None = None,
    ) -> None:
        self.root = root
        self.spark = spark
        self.clock = clock or FixedClock(MOMENT)
        self.write(files)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files below the project."""
        for path, text in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text of a file, which must hold it."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text, f"{path} does not hold {old!r}"
        (self.root / path).write_text(text.replace(old, new), encoding="utf-8")

    def events(self, rows: tuple[tuple[str | None, str], ...] = EVENTS) -> None:
        """Append events, one file each; the first ones make the table."""
        for user, when in rows:
            stranger.append_event(self.root, user, when)

    @property
    def source(self) -> str:
        """SQL for raw.events."""
        return f"delta.`{self.root}/{EVENTS_PATH}`"

    def table(self, path: str) -> str:
        """Give SQL for a table of the warehouse."""
        return f"delta.`{self.root}/warehouse/{path}`"

    def sql(self, text: str) -> Rows:
        """Run SQL as somebody else would: without a step's token."""
        assert self.spark is not None
        return [tuple(row) for row in self.spark.newSession().sql(text).collect()]

    def rows(self, path: str) -> list[tuple[str | None, ...]]:
        """Give a table's rows in order, as texts."""
        uri = f"{self.root}/warehouse/{path}"
        found = delta_tables.rows(uri)
        if found is None:
            in_order = self.sql(f"SELECT * FROM {self.table(path)} ORDER BY 1, 2")
        else:
            in_order = delta_tables.in_order(found)
        return [tuple(None if v is None else str(v) for v in row) for row in in_order]

    def version(self, path: str) -> int:
        """Give the version that a table would have without fences, -1 without a table."""
        return len(commits(self.root / "warehouse" / path)) - 1

    def services(self) -> Services:
        """Load and wire the project anew, as the next command would."""
        return wired(load_project(self.root, environ={}), self.clock, self.spark)

    def with_shop(self, use: Callable[[Services], Result]) -> Result:
        """Do something with a shop and let go of it; the clock moves on by a second."""
        self.clock.advance(seconds=1)
        services = self.services()
        try:
            return use(services)
        finally:
            services.close()

    def status(self, *select: str, **asked: Any) -> StatusReport:
        request = StatusRequest(select=select, **ranged(asked))
        return self.with_shop(lambda services: status(services, request))

    def states(self, *select: str, **asked: Any) -> dict[str, list[str]]:
        """Give what `status` says as lines: `sql_changed 2024-12-02..2024-12-16`."""
        report = self.status(*select, **asked)
        return {each.model: [_line(state) for state in each.states] for each in report.models}

    def sync(self, *select: str, ask: Ask = yes, **asked: Any) -> RunReport:
        request = SyncRequest(select=select, **{"threads": 1, **ranged(asked)})
        return self.with_shop(lambda services: sync(services, request, ask=ask))

    def preview(self, *select: str, **asked: Any) -> RunReport:
        request = SyncRequest(select=select, dry_run=True, **ranged(asked))
        return self.with_shop(lambda services: preview_sync(services, request).report)

    def backfill(self, model: str, first: str, last: str, **asked: Any) -> RunReport:
        request = BackfillRequest(".", model, from_=first, to=last, **{"threads": 1, **asked})
        return self.with_shop(lambda services: sync(services, request))

    def run(self, *select: str, **asked: Any) -> RunReport:
        request = a_run(select, **{"threads": 1, **asked})
        return self.with_shop(lambda services: run(services, request))

    def diff(self, *asked: Any) -> DiffReport:
        request = DiffRequest(".", *asked)
        return self.with_shop(lambda services: diff(services, request))

    def history(
        self, model: str, partition: str | None = None, limit: int = 20, **more: Any
    ) -> HistoryReport:
        request = HistoryRequest(".", model, partition=partition, limit=limit, **more)
        return self.with_shop(lambda services: history(services, request))

    def audit(self, **asked: Any) -> AuditReport:
        return self.with_shop(lambda services: audit(services, AuditRequest(**asked)))

    def rollback(self, model: str, step: str, **asked: Any) -> RollbackReport:
        request = RollbackRequest(".", model, to=step, **asked)
        return self.with_shop(lambda services: rollback(services, request))


def _line(state: Any) -> str:
    ranges = ",".join(low if low == high else f"{low}..{high}" for low, high in state.ranges)
    also = f" also {','.join(state.also)}" if state.also else ""
    return f"{state.state}{' pending' if state.pending else ''} {ranges}{also}"
