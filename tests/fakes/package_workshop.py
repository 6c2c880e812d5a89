"""A project with session packages over a lake in memory: the whole of a run, without a JVM.

Of an event only its time counts. What the SQL of a pass would find is told by this workshop.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fakes.flaky import FlakyStore
from fakes.session_files import EVENTS
from fakes.session_world import at, shown
from fakes.workshop import Workshop
from penstock.app.commands.status import status
from penstock.app.commands.sync import sync
from penstock.app.request import StatusRequest, SyncRequest
from penstock.app.run_report import RunReport
from penstock.core.ports.sessions import SessionPass
from penstock.plan.values import Plan, State
from penstock.project.load import load_project
from penstock.state.memory import MemoryStore

RAW = "models/raw.yml"
WEB = "sessions/web.yml"
SOURCE = "sources: [{name: raw, tables: [{name: events, path: ../landing/events}]}]\n"
HEAD = (
    "strategy: sessions\nname: web\nschema: derived\nevents: raw.events\nstart_date: 2021-01-01\n"
)
EVENTS_OF_RUN = "{{ ref('web_base_events_this_run') }}"
COLUMNS = ", ".join(EVENTS.splitlines()[:-1])
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class PackageWorkshop(Workshop):
    """Package `web` over `raw.events`; `greatest` is the time of the newest event of a window."""

    def __init__(self, root: Path, keys: str = "", **more: str) -> None:
        super().__init__()
        self.root, self.greatest, self.later = root, "01-01 20:00", 0
        self.has_files(
            {"penstock.yml": "name: shop\nthreads: 1\n", RAW: SOURCE, WEB: HEAD + keys, **more}
        )
        self.append()
        self.lake.gives("raw_events", COLUMNS)
        self.lake.answers("verdict = 'kept'", self._events)
        self.lake.answers("LIMIT 1)", lambda: {"n": self.later})
        held = {"rows_changed": 1, "dates_changed": "", "dates": "2021-01-01"}
        self.lake.answers("_all", held)  # what a stage counts as its rows pass

    def _events(self) -> dict[str, Any]:
        if not self.greatest:
            return {"greatest": None}
        return {"greatest": (at(self.greatest) - _EPOCH) // dt.timedelta(microseconds=1)}

    def has_files(self, files: Mapping[str, str]) -> None:
        """Write files and load the project anew."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.project = load_project(self.root, environ={}, use_cache=False)

    def tagged(self, name: str, read: str = EVENTS_OF_RUN) -> None:
        """Write a model of the user that the package tracks."""
        config = "materialized='merge', unique_key='event_id', tags=['web_incremental']"
        text = f"{{{{ config({config}) }}}} select event_id from {read}\n"
        self.has_files({f"models/{name}.sql": text})

    def append(self) -> None:
        """Append events."""
        self.lake.land(self.project.sources["raw.events"].path, COLUMNS)

    def at(self, now: str, *select: str, **asked: Any) -> RunReport:
        """Run as of a time."""
        return self.run(*select, as_of=at(now), **asked)

    def sync(self, *select: str, **asked: Any) -> RunReport:
        """Sync what is selected."""
        return sync(self.services(), SyncRequest(select=select, **asked))

    def states(self) -> dict[str, list[State]]:
        """Give the states of each model that has any but `current`."""
        found = status(self.services(), StatusRequest()).models
        named = {one.model: [each.state for each in one.states] for one in found}
        return {name: states for name, states in named.items() if states}

    def plan_at(self, now: str, *select: str, **asked: Any) -> Plan:
        """Plan as of a time."""
        return self.plan(*select, as_of=at(now), **asked).plan

    def forget_state(self) -> None:
        """Lose the store; the logs of the tables stay."""
        self.store = FlakyStore(MemoryStore(self.clock, self.project.lease, is_gone=self.is_gone))

    def of(self, model: str) -> str:
        """Give the folder of a model's table."""
        return self.project.uri_of(self.project.models[model].table)

    @property
    def passes(self) -> tuple[SessionPass, ...]:
        return self.store.sessions.passes("web")

    def windows(self) -> list[str]:
        """Give the limits of all passes as `state lower..upper`, the oldest first."""
        found = [(each.kind, each.limits) for each in reversed(self.passes)]
        return [
            f"{kind} {each.state:d} {shown(each.lower_limit)}..{shown(each.upper_limit)}"
            for kind, each in found
        ]

    def manifest(self) -> dict[str, tuple[str | None, ...]]:
        """Give what is on record of each model: LS, CT, AT."""
        return {
            row.model.removeprefix("web_"): (
                shown(row.last_success),
                shown(row.covered_to),
                shown(row.advanced_to),
            )
            for row in self.store.sessions.manifest("web")
        }
