"""One look at models, tables and inputs: what plans and reports are decided from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.app.observation.detect_drift import DriftDetection
from penstock.app.observation.log_reader import changed_below, open_log_reader
from penstock.app.observation.observe import ObservedTables, not_read, observe
from penstock.app.services.services import Services, in_one_state
from penstock.core.errors import PenstockError, TableError
from penstock.core.graph import ordered
from penstock.core.model import Model
from penstock.core.partitions.ranges import Ranges, difference
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.core.steps.inputs import FilesPin
from penstock.plan.cascade import cascaded, parents_of
from penstock.plan.detect_drift import detect_table_drift
from penstock.plan.resolve import dated
from penstock.plan.values import State, Versions
from penstock.plan.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ProjectState:
    """What one command sees.

    `project` has the SQL of the run date, `names` are the models in topological order.
    """

    project: Project
    names: tuple[str, ...]
    view: ObservedTables
    records: dict[str, ModelRecord]
    detection: DriftDetection
    run_timestamp: dt.datetime

    def gap(self, name: str) -> Versions | None:
        """Give what the log of a model lost after the last success."""
        return self.verdict(name).gap

    def verdict(self, name: str) -> Verdict:
        """Say which partitions of a model drifted; those of a table without any are `*`."""
        model = self.project.models[name]
        if model.partition is not None:
            return self.detection.verdict(name)
        return detect_table_drift(self.project, model, self.records, self.view.now)

    def files_lines(self, name: str) -> tuple[str, ...]:
        """Say which inputs of files of a model changed; nobody knows for which partitions."""
        parts = self.detection.parts.get(name)
        files = {
            source: now
            for source, now in self.detection.sources.items()
            if isinstance(now, FilesPin) and parts and source in parts.pins
        }
        if not files:  # most models: their steps need not be looked at
            return ()
        pins = self.detection.services.reading.records.step_pins(name)
        return tuple(
            f"{source}: files changed, partitions unknown; "
            f"penstock sync --full-refresh or backfill {name}"
            for source, now in files.items()
            if any(step.get(source) not in (None, now) for step in pins.values())
        )


@in_one_state
def look(services: Services, names: Iterable[str], run_timestamp: dt.datetime) -> ProjectState:
    """Look at some models; tables are opened only where something happened."""
    project = dated_project(services, run_timestamp)
    records = dict(services.reading.records.models())
    wanted = set(names)
    parents = {name: parents_of(project, project.models[name]) for name in wanted}
    chosen = tuple(ordered(parents))
    view = observe(services, chosen, records, run_timestamp)
    reading = services.reading.records
    detection = DriftDetection(
        services,
        project,
        records,
        view.now.sources,
        open_log_reader(services),
        run_timestamp,
        reading.partitions(),
        reading.fingerprints(),
        view.now.broken,
    )
    below, unreadable = _below(detection, chosen)
    unreadable |= view.now.unreadable
    now = replace(view.now, meaning=detection.meaning, below=below, unreadable=unreadable)
    return ProjectState(project, chosen, replace(view, now=now), records, detection, run_timestamp)


def _below(
    detection: DriftDetection, names: Iterable[str]
) -> tuple[dict[str, frozenset[str]], dict[str, PenstockError]]:
    """Give the changes that windows have passed, and the readers of logs that cannot be read."""
    found: dict[str, frozenset[str]] = {}
    unreadable: dict[str, PenstockError] = {}
    for name in names:
        try:
            found |= changed_below(
                detection.project, (name,), detection.records, detection.log_reader
            )
        except (TableError, OSError) as error:
            unreadable[name] = not_read(detection.project.models[name], error)
    return found, unreadable


def dated_project(services: Services, run_timestamp: dt.datetime) -> Project:
    """Give the project with the SQL that counts at a time, and keep it in the shop."""
    models = dated(services.project.models, run_timestamp.date())
    services.project = replace(services.project, models=models)
    return services.project


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Every model that was looked at: partitions that drifted, and those that wait for them."""

    project_state: ProjectState
    verdicts: Mapping[str, Verdict]
    pending: Mapping[str, Ranges] = field(default_factory=dict)

    def runs(self, name: str) -> bool:
        """Whether something of a model drifted by itself."""
        return name in self.verdicts and bool(self.verdicts[name].drifted)

    def stale_above(self, model: Model) -> tuple[str, ...]:
        """Name the models above one that drifted or wait for one that did."""
        above = parents_of(self.project_state.project, model)
        return tuple(name for name in above if name in self.pending or self.runs(name))

    def states(self, name: str) -> frozenset[str]:
        """Give every state that a model or a partition of it is in, and `drifted` if one counts."""
        verdict = self.verdicts[name]
        if verdict.whole is not None:
            return frozenset({str(verdict.whole), "drifted"})
        found = {str(state) for piece in verdict.pieces for state in piece.states}
        if name in self.pending and not verdict.of_table:
            found.add(str(State.UPSTREAM_CHANGED))
        if verdict.drifted:
            found.add("drifted")
        return frozenset(found or {str(State.CURRENT)})


def detect_drift(project_state: ProjectState) -> DriftReport:
    """Judge every model of a look, and what would follow from running what drifted."""
    project = project_state.project
    verdicts = {name: project_state.verdict(name) for name in project_state.names}
    start = {
        name: () if project.models[name].keeps_history else verdict.drifted
        for name, verdict in verdicts.items()
    }
    if not any(start.values()):
        return DriftReport(project_state, verdicts)
    todo = cascaded(
        project,
        start,
        lambda name: verdicts[name].segments if name in verdicts else (),
        lambda model: model.name in verdicts and not model.is_view,
    )
    pending = {name: difference(ranges, start.get(name, ())) for name, ranges in todo.items()}
    return DriftReport(project_state, verdicts, {n: r for n, r in pending.items() if r})
