"""A project over a lake and a store in memory, run in this process without a JVM."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fakes.builders import a_project
from fakes.clock import FixedClock
from fakes.flaky import FlakyStore
from fakes.folders import FakeFolders
from fakes.kept_rows import FakeRows
from fakes.lake import FakeLake
from fakes.places import FakePlaces
from fakes.requests import a_run
from fakes.services import an_intent
from penstock.app.checking.results import CheckReport
from penstock.app.commands.check import check
from penstock.app.commands.run import run
from penstock.app.events import Listener, silent
from penstock.app.planning.make_plan import Planned, make_plan
from penstock.app.request import CheckRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.core.model import Model, Source
from penstock.core.records import Holder, Lease, ModelRecord
from penstock.core.steps.inputs import InputPin
from penstock.core.steps.step import Intent, StepKind
from penstock.core.steps.token import write_fence, write_token
from penstock.state.memory import MemoryStore

ELSEWHERE = Holder("run-other", "host-b", 22, "bob")
DEAD = Holder("run-dead", socket.gethostname(), 33, "eve")


class Workshop:
    """Changes the project, runs it, and shows what the lake and the store hold then."""

    def __init__(self, *parts: Model | Source, clock: FixedClock | None = None) -> None:
        self.clock = clock or FixedClock()
        self.artifacts: list[str] = []
        self.project = a_project(*parts)
        self.is_gone: Callable[[Lease], bool] = lambda lease: lease.pid == DEAD.pid
        self.store = FlakyStore(MemoryStore(self.clock, self.project.lease, is_gone=self.is_gone))
        self.lake = FakeLake(self.signature)
        for source in self.project.sources.values():
            self.lake.land(source.path, "id int, n int", n="1")

    def has(self, *models: Model) -> None:
        """Put models into the project, in place of those of their names."""
        known = dict(self.project.models) | {model.name: model for model in models}
        self.project = replace(self.project, models=known)

    def services(self) -> Services:
        """Wire it anew, as the next command would."""
        return Services(
            project=self.project,
            log=self.lake.log,
            places=FakePlaces(self.lake),
            folders=FakeFolders(),
            engine=self.lake.engine,
            clock=self.clock,
            open_reading=lambda: self.store,
            open_writing=lambda: self.store,
            has_state=lambda: True,
            is_gone=self.is_gone,
            fences=self.lake.fences,
            kept_rows=FakeRows(),
            fence_token=lambda intent: write_fence(intent, *self.signature()),
        )

    def run(self, *select: str, listener: Listener = silent, **asked: Any) -> RunReport:
        self.clock.advance(seconds=1)
        return run(self.services(), a_run(select, **asked), listener)

    def check(self, *select: str, **asked: Any) -> CheckReport:
        """Run `penstock check`; `artifacts` are then the files that it has written."""
        self.clock.advance(seconds=1)
        with TemporaryDirectory() as root:
            services = self.services()
            services.project = replace(services.project, root=root)
            report = check(services, CheckRequest(select=select, **asked))
            self.artifacts = sorted(each.name for each in Path(root).rglob("*.json"))
        return report

    def plan(self, *select: str, **asked: Any) -> Planned:
        return make_plan(self.services(), a_run(select, **asked))

    def begin(self, holder: Holder, model: str, step: str = "step-other", **changes: Any) -> Intent:
        """Begin a step of a model as another run would; it reads the sources as they are now."""
        made = self.project.models[model]
        read = [self.project.sources.get(name.name) for name in made.query.inputs]
        pins = [(str(each.table), self.lake.log.facts(each.path)) for each in read if each]
        intent = replace(
            an_intent(made),
            step=step,
            run=holder.run,
            inputs=tuple(InputPin(name, facts.pin) for name, facts in pins if facts),
            **changes,
        )
        begun = self.store.journal.begin(intent, {}, holder, None)
        return replace(intent, step_seq=begun.step_seq, epoch=begun.epoch)

    def commit(self, intent: Intent) -> int:
        """Commit a step as its run would."""
        token = write_token(intent, *self.signature())
        version = self.lake.land(intent.uri, "id int, n int", token)
        if intent.kind is StepKind.BUILD:
            self.lake.tables[intent.uri].transactions[intent.transaction] = intent.step_seq
        return version

    def signature(self) -> tuple[str, str, str]:
        return "0.1.0", self.store.archive.store_id(), self.project.name

    def records(self) -> dict[str, ModelRecord]:
        return dict(self.store.records.models())

    def uri(self, model: str) -> str:
        return f"/w/s/{model}"

    def operations(self, model: str) -> list[str]:
        """Give what happened to a model's table, oldest first."""
        return [commit.operation for commit in self.lake.tables[self.uri(model)].commits]
