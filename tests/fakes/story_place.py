"""Stories of a project: deliveries, edits, foreign commits and commands, and their law.

At every point: what `status` calls current holds the rows that the oracle says. At the end: after
a run and a sync everything is current, and nothing is left to plan.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from fakes.clock import FixedClock
from fakes.requests import a_run
from fakes.story_project import STORY_FILES
from fakes.story_rows import OF_SOURCE, READS, Row, complaint
from penstock.app.commands.run import run
from penstock.app.commands.status import status
from penstock.app.commands.sync import plan_sync, sync
from penstock.app.planning.make_plan import make_plan
from penstock.app.request import RunRequest, StatusRequest, SyncRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services

NOON = dt.datetime(2024, 3, 3, 12, tzinfo=dt.UTC)
HABITS = ("always", "sometimes", "never")
Deed = tuple[Any, ...]
"""What happens: its word, and what it is about."""
Event = tuple[int, int, int]
"""An id, a value, and hours since the first of March."""


class Tables(Protocol):
    """Where a story's tables lie: rows in memory, or Delta on a disk."""

    def services(self, *, anew: bool) -> Services: ...

    def deliver(self, rows: Sequence[tuple[object, ...]]) -> None: ...

    def rows(self, name: str) -> list[Row]: ...

    def meddle(self, model: str) -> None: ...

    def fail(self, model: str) -> None: ...


class Story:
    """One story as it is told: the commands so far, and what they said."""

    def __init__(self, root: Path, tables: Tables, clock: FixedClock) -> None:
        self.root, self.tables, self.clock = root, tables, clock
        self.late: dict[str, int] = {}
        self._plus, self._edited = 0, True

    # --- what happens ---------------------------------------------------------------------------

    def deliver(self, *events: Event) -> None:
        """Append events to the source in one commit."""
        self.tables.deliver([_row(*event) for event in events])

    def edit(self, plus: int) -> None:
        """Let the SQL of the daily sums count other values."""
        file = self.root / "models/m/daily.sql"
        file.write_text(STORY_FILES["models/m/daily.sql"].replace("sum(v)", f"sum(v + {plus})"))
        self._plus, self._edited = plus, True

    def reload(self) -> None:
        """Let the next command read the files anew."""
        self._edited = True

    def meddle(self, model: str) -> None:
        """Let somebody else take a row out of a model's table."""
        self.tables.meddle(model)

    def tomorrow(self) -> None:
        """Let a day pass."""
        self.clock.advance(days=1)

    def run(self, *select: str, **asked: Any) -> RunReport:
        """Run, as of some days ago if that is asked for."""
        request = a_run(select, **{"threads": 1, **self._past(asked)})
        return self._heard(lambda services: run(services, request))

    def sync(self, *select: str, **asked: Any) -> RunReport:
        """Sync, as of some days ago if that is asked for."""
        request = SyncRequest(select=select, **{"threads": 1, **self._past(asked)})
        return self._heard(lambda services: sync(services, request))

    def tell(self, deed: Deed, habit: str) -> None:
        """Let one thing happen; the habit says whether commands are given `--as-of`."""
        word, *rest = deed
        asked: dict[str, Any] = {}
        if word in {"run", "sync"}:
            *rest, days = rest
            if habit == "always" or (habit == "sometimes" and days):
                asked = {"days_ago": days}
        match word:
            case "deliver":
                self.deliver(*rest[0])
            case "run":
                self.run(*_with_parents(rest[0]), **asked)
            case "sync":
                self.sync(*_with_parents(rest[0]), cascade=rest[1], **asked)
            case "edit":
                self.edit(rest[0])
            case "meddle":
                self.meddle(rest[0])
            case "fail":
                self.tables.fail(rest[0])
            case "tomorrow":
                self.tomorrow()

    def end(self) -> None:
        """Bring everything up to date: a run takes what is new, a sync mends what drifted."""
        self.tables.fail("")
        self.run()
        self.sync(everything=True, cascade=True)
        self.run()

    # --- what must hold -------------------------------------------------------------------------

    def complaints(self) -> list[str]:
        """Say of everything that is called current what is wrong with it."""
        report = self._with(lambda services: status(services, StatusRequest()))
        current = [each.model for each in report.models if not each.states]
        found = [self._complaint(name) for name in current if name in READS]
        return [each for each in found if each]

    def states(self) -> dict[str, list[str]]:
        """Give the states of what is not current."""
        report = self._with(lambda services: status(services, StatusRequest()))
        found = {m.model: [f"{s.state} {s.because}" for s in m.states] for m in report.models}
        return {name: states for name, states in found.items() if states}

    def left(self) -> list[str]:
        """Give the steps that the commands would still plan."""
        everything = SyncRequest(everything=True, cascade=True)
        synced = self._with(lambda services: plan_sync(services, everything)).plan
        return [*self.runs_left(), *(f"sync {s.key}: {s.reason}" for s in synced.steps)]

    def runs_left(self, as_of: dt.datetime | None = None) -> list[str]:
        """Give the steps that a run would still plan."""
        made = self._with(lambda services: make_plan(services, RunRequest(as_of=as_of))).plan
        return [f"run {s.key}: {s.reason}" for s in made.steps]

    def _complaint(self, name: str) -> str:
        held, given = self.tables.rows(name), self.tables.rows(READS[name])
        late = self.late.get(name, 0) if name in OF_SOURCE else 0
        return complaint(name, held, given, self.clock.now().date(), late, self._plus)

    # --- how it is done -------------------------------------------------------------------------

    def _past(self, asked: dict[str, Any]) -> dict[str, Any]:
        days = asked.pop("days_ago", None)
        return asked if days is None else {**asked, "as_of": self.ago(days)}

    def ago(self, days: int) -> dt.datetime:
        """Give the time some days ago."""
        return self.clock.now() - dt.timedelta(days)

    def _with(self, use: Any) -> Any:
        self.clock.advance(seconds=1)
        services = self.tables.services(anew=self._edited)
        self._edited = False
        try:
            return use(services)
        finally:
            services.close()

    def _heard(self, command: Any) -> RunReport:
        report: RunReport = self._with(command)
        initial = {step.model for step in report.plan.steps if step.initial}
        for result in report.results:
            assert result.error is None or "disk is full" in str(result.error), result.error
            if not result.ok or result.rows is None:
                continue
            if result.name in initial:
                self.late[result.name] = 0
            self.late[result.name] = self.late.get(result.name, 0) + (result.rows.late or 0)
        return report


def _with_parents(chosen: Sequence[str]) -> tuple[str, ...]:
    """Give one selector of the models and all above them; none for every model."""
    return (" ".join(f"+{name}" for name in chosen),) if chosen else ()


def _row(key: int, value: int, hour: int) -> tuple[object, ...]:
    at = dt.datetime(2024, 3, 1, tzinfo=dt.UTC) + dt.timedelta(hours=hour)
    return key, value, at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), at.date().isoformat()


def write_story(root: Path) -> None:
    """Write the files of the project."""
    for path, text in STORY_FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
