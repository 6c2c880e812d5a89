"""What the site is made from, read once: code, tables, records and runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.selection import DriftReport, drift_report
from penstock.app.services.services import Services
from penstock.app.site.documents import InputVersion
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project
from penstock.core.records import PartitionRun, Run, StepRecord
from penstock.core.steps.inputs import InputPin

MOST_RUNS = 1_000
"""How many runs the site has, newest first."""


@dataclass(frozen=True, slots=True)
class SiteInputs:
    """Everything that documents are computed from."""

    services: Services
    names: tuple[str, ...]
    drift: DriftReport
    partitions: Mapping[str, tuple[PartitionRun, ...]]
    steps: Mapping[str, tuple[StepRecord, ...]]
    runs: tuple[Run, ...]

    @property
    def state(self) -> ProjectState:
        """The compared models."""
        return self.drift.project_state

    @property
    def project(self) -> Project:
        """The project with the SQL of the run date."""
        return self.drift.project_state.project

    def model(self, name: str) -> Model:
        """Return a model with the SQL of the run date."""
        return self.project.models[name]

    def node(self, name: str) -> str:
        """Return the node of an input by its name in records."""
        is_source = name not in self.project.models and name in self.project.sources
        return f"{InputKind.SOURCE}:{name}" if is_source else name

    def node_of(self, name: InputName) -> str:
        """Return the node of an input."""
        return f"{name.kind}:{name.name}" if name.kind is not InputKind.MODEL else name.name

    def input_versions(self, pins: tuple[InputPin, ...]) -> tuple[InputVersion, ...]:
        """Return what a step read of each input, and what is there now."""
        return tuple(
            InputVersion(self.node(each.input), str(each.pin), self._now(each.input))
            for each in pins
        )

    def _now(self, name: str) -> str:
        now = self.state.view.now
        if name in now.sources:
            return str(now.sources[name])
        model = self.project.models.get(name)
        if model is None or model.is_view:
            return ""
        uri, record = self.project.uri_of(model.table), self.state.records.get(name)
        head = self.state.log_reader.head(uri, str(model.table), record)
        return f"v{head.version}" if head else ""


def read_site(services: Services, names: tuple[str, ...], run_timestamp: dt.datetime) -> SiteInputs:
    """Compare the models with their tables, and read what built them."""
    project_state = survey(services, services.project.models, run_timestamp, building=())
    records = services.reading.records
    split = [n for n in names if project_state.project.models[n].partition is not None]
    return SiteInputs(
        services=services,
        names=names,
        drift=drift_report(project_state),
        partitions=records.runs(*split),
        steps=records.steps_of_models(*names),
        runs=records.latest_runs(MOST_RUNS),
    )


def utc(moment: dt.datetime | None) -> str:
    """Return a time as a text that sorts; "" for none.

    >>> utc(dt.datetime(2024, 1, 2, 10, tzinfo=dt.UTC))
    '2024-01-02T10:00:00Z'
    """
    if moment is None:
        return ""
    return moment.astimezone(dt.UTC).isoformat(timespec="auto").replace("+00:00", "Z")
