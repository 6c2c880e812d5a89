"""The targets dev and prod of one project, over one lake in memory, without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fakes.workshop import Workshop
from penstock.app.commands.status import status
from penstock.app.events import Listener, silent
from penstock.app.planning.make_plan import Planned
from penstock.app.reports import StatusReport
from penstock.app.request import StatusRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.core.errors import UsageError
from penstock.core.model import Model, Source
from penstock.core.project import Target
from penstock.core.records import StepRecord


class OneTarget(Workshop):
    """A workshop with a warehouse of its own, that knows other targets by name."""

    def __init__(self, name: str, parts: Sequence[Model | Source]) -> None:
        super().__init__(*parts)
        self.name = name
        self.project = replace(self.project, target=Target(name, f"/{name}", "sqlite://"))
        self.others: dict[str, OneTarget] = {}
        self.has_state = True
        self.notes: list[str] = []
        self._defer_to = self._compared_with = ""

    def services(self) -> Services:
        services = super().services()
        services.other_target = self._open
        services.defer_to, services.compared_with = self._defer_to, self._compared_with
        services.has_state = lambda: self.has_state
        services.note = self.notes.append
        return services

    def _open(self, name: str) -> Services:
        if name not in self.others:
            raise UsageError("unknown-target", f"no target is called {name!r}")
        return self.others[name].services()

    def asked(self, defer_to: str = "", compared_with: str = "") -> None:
        """Set what the next commands are given as --defer-to and --state."""
        self._defer_to, self._compared_with = defer_to, compared_with or defer_to

    def run(self, *select: str, listener: Listener = silent, **asked: Any) -> RunReport:
        self.asked(asked.pop("defer_to", ""), asked.pop("state", ""))
        self.lake.signature = self.signature
        report = super().run(*select, listener=listener, **asked)
        self.asked()
        return report

    def plan(self, *select: str, **asked: Any) -> Planned:
        self.asked(asked.pop("defer_to", ""), asked.pop("state", ""))
        try:
            return super().plan(*select, **asked)
        finally:
            self.asked()

    def status(self, *, defer_to: str = "") -> StatusReport:
        self.asked(defer_to)
        report = status(self.services(), StatusRequest())
        self.asked()
        return report

    def states(self, **asked: Any) -> dict[str, str]:
        """Give the states of each model as `status` names them."""
        return {
            each.model: ", ".join(str(found.state) for found in each.states) or "current"
            for each in self.status(**asked).models
        }

    def last_step(self, model: str) -> StepRecord:
        return self.store.records.steps_of(model)[-1]

    def uri(self, model: str) -> str:
        return f"/{self.name}/s/{model}"


def two_targets(*parts: Model | Source) -> tuple[OneTarget, OneTarget]:
    """Give dev and prod, which share a lake and know each other."""
    dev, prod = OneTarget("dev", parts), OneTarget("prod", parts)
    dev.lake, dev.clock = prod.lake, prod.clock
    dev.others, prod.others = {"prod": prod, "dev": dev}, {"dev": dev, "prod": prod}
    return dev, prod
