"""A project with one session package over a Delta table of events, run as a user would."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import write_deltalake

from fakes.commits import commits
from fakes.place import Place
from fakes.requests import a_run
from fakes.session_lake import SCHEMA, an_event
from fakes.session_world import at, shown
from penstock.app.commands.rollback import rollback
from penstock.app.commands.sessions import sessions_release
from penstock.app.planning.make_plan import make_plan
from penstock.app.request import RollbackRequest
from penstock.app.run_report import RunReport
from penstock.core.columns.schema import Schema
from penstock.plan.values import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = """\
sources:
  - name: raw
    tables:
      - {name: events, path: ../landing/events}
"""
HEAD = """\
strategy: sessions
name: web
schema: derived
events: raw.events
start_date: 2021-01-01
"""
EVENTS = "{{ ref('web_base_events_this_run') }}"
MERGED = {"materialized": "merge", "unique_key": "event_id", "tags": ["web_incremental"]}
S21 = ("e1 s1 01-01 10:00", "e2 s2 01-01 20:00", "e3 s2 01-02 01:00")
TYPES = {"string": pa.string(), "int": pa.int32(), "timestamp": pa.timestamp("us", "UTC")}


class SessionPlace(Place):
    """Package `web`; events are written `e1 s1 01-01 10:00`, or made by `an_event`."""

    def __init__(self, root: Path, spark: SparkSession | None, keys: str = "", **more: Any) -> None:
        super().__init__(root, spark)
        self.schema: Schema = more.pop("schema", SCHEMA)
        self.write("models/raw.yml", SOURCE)
        self.package(keys)
        self.add()

    def package(self, keys: str) -> None:
        """Write the package anew, with some keys of its own."""
        self.write("sessions/web.yml", HEAD + keys)

    @property
    def landing_events(self) -> str:
        """The folder of the events."""
        return f"{self.root}/landing/events"

    @classmethod
    def at_folder(cls, root: Path, spark: SparkSession | None) -> SessionPlace:
        """Give what a folder holds as it is."""
        found = object.__new__(cls)
        found.root, found.spark, found.schema = root, spark, SCHEMA
        return found

    def copied(self, root: Path) -> SessionPlace:
        """Give a copy that is as this one is now."""
        shutil.copytree(self.root, root)
        return self.at_folder(root, self.spark)

    def tagged(self, name: str) -> None:
        """Write a model of the user that the package tracks."""
        self.model(name, f"select event_id, collector_tstamp as at from {EVENTS}", **MERGED)

    def add(self, *events: str | dict[str, Any]) -> None:
        """Append events in one commit."""
        rows = [self.event(each) for each in events]
        fields = [pa.field(each.name, TYPES[each.type]) for each in self.schema.columns]
        write_deltalake(
            self.landing_events, pa.Table.from_pylist(rows, pa.schema(fields)), mode="append"
        )

    def event(self, written: str | dict[str, Any]) -> dict[str, Any]:
        """Give an event of the notation, or as it was made."""
        return an_event(*written.split(" ", 2)) if isinstance(written, str) else written

    def at(self, now: str, *select: str, **asked: Any) -> RunReport:
        """Run as of a time."""
        return self.run(*(select or ("web",)), as_of=at(now), **asked)

    def plan(self, now: str, *select: str, **asked: Any) -> Plan:
        """Give what a run would do."""
        services = self.services()
        try:
            return make_plan(services, a_run(select or ("web",), as_of=at(now), **asked)).plan
        finally:
            services.close()

    def release(self, *sessions: str) -> None:
        """Ask for sessions to be let out of quarantine, as the command does."""
        services = self.services()
        try:
            sessions_release(services, "web", sessions)
        finally:
            services.close()

    def releases(self) -> tuple[str, ...]:
        """Give the sessions that no run has let out yet."""
        services = self.services()
        try:
            return tuple(each.session for each in services.reading.sessions.releases("web"))
        finally:
            services.close()

    def take_back(self, part: str) -> int:
        """Take the last commit of a table back; give the version that came back."""
        services, model = self.services(), f"web_{part}"
        try:
            steps = services.reading.records.steps_of(model)
            made = (each for each in steps if each.outcome and each.outcome.version is not None)
            last = max(made, key=lambda each: each.intent.step_seq).intent.step
            return rollback(services, RollbackRequest(str(self.root), model, to=last)).version
        finally:
            services.close()

    def windows(self) -> list[str]:
        """Give the limits of all passes as `state lower..upper`, the oldest first."""
        return [
            f"{each.state:d} {shown(each.lower_limit)}..{shown(each.upper_limit)}"
            for each in (known.limits for known in reversed(self.passes()))
        ]

    def passes(self) -> tuple[Any, ...]:
        """Give the passes on record, the newest first."""
        services = self.services()
        try:
            return services.reading.sessions.passes("web")
        finally:
            services.close()

    def manifest(self) -> dict[str, tuple[str | None, ...]]:
        """Give what is on record of each model: LS, CT, AT."""
        services = self.services()
        try:
            rows = services.reading.sessions.manifest("web")
        finally:
            services.close()
        return {
            each.model.removeprefix("web_"): (
                shown(each.last_success),
                shown(each.covered_to),
                shown(each.advanced_to),
            )
            for each in rows
        }

    def folder(self, part: str) -> Path:
        """Give the folder of a table of the package."""
        return self.root / "warehouse" / "derived" / f"web_{part}"

    def stored(self, part: str, *names: str) -> list[Any]:
        """Give columns of a table, sorted; times as `shown` writes them."""
        columns = ", ".join(names)
        found = self.sql(f"SELECT {columns} FROM delta.`{self.folder(part)}`")
        rows = [tuple(_plain(value) for value in row) for row in found]
        rows.sort(key=lambda row: tuple((value is not None, str(value)) for value in row))
        return [row[0] if len(names) == 1 else row for row in rows]

    def commits_of(self, part: str) -> int:
        """Give how many commits a table has."""
        return len(commits(self.folder(part)))


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return shown(value.replace(tzinfo=dt.UTC))
    return str(value) if isinstance(value, dt.date) else value


def problems(report: RunReport) -> list[str]:
    """Give what did not go well, in words."""
    return [
        f"{each.name} {each.status} {each.error.render() if each.error else each.reason}"
        for each in report.results
        if not each.ok
    ]
