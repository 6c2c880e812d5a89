"""What the site is made from, read once: code, tables, records and runs."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from penstock.app.artifacts.manifest import Json
from penstock.app.flags import command_words
from penstock.app.observation.project_state import ProjectState, survey
from penstock.app.planning.selection import DriftReport, drift_report
from penstock.app.read_requests import ServeRequest, SiteRequest
from penstock.app.services.services import Services
from penstock.app.site.cache import SiteCache
from penstock.app.site.model_documents import InputVersion
from penstock.app.site.tasks import Task
from penstock.core.errors import PenstockError
from penstock.core.facts import Head
from penstock.core.masking import mask
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.project import Project
from penstock.core.records import PartitionCounts, PartitionRun, Run, SliceRecord, StepRecord
from penstock.core.steps.inputs import InputPin
from penstock.plan.values import State

MOST_RUNS = 300
"""How many runs the site has, newest first."""
NO_STATE = "the state cannot be opened, so nothing is known of what was built"
_DATED = ("run", "sync", "snapshot")
_PLACE = ("target", "variables")
MOST_EXECUTIONS = 100
"""How many executions the page of a model has, newest first."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """The columns of a table with their types, its rows and its bytes; None if unknown."""

    columns: tuple[tuple[str, str], ...]
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class SiteInputs:
    """Everything that documents are computed from."""

    services: Services
    cache: SiteCache
    names: tuple[str, ...]
    drift: DriftReport
    partitions: Mapping[str, tuple[PartitionRun, ...]]
    written: Mapping[str, PartitionCounts]
    steps: Mapping[str, tuple[StepRecord, ...]]
    """By model, and by run, in the order of their numbers."""
    slices: Mapping[str, tuple[SliceRecord, ...]]
    runs: tuple[Run, ...]
    now: Mapping[str, str]
    """The versions of inputs that are there now."""
    request: SiteRequest | ServeRequest = SiteRequest()
    has_state: bool = True

    @property
    def state(self) -> ProjectState:
        """The compared models."""
        return self.drift.project_state

    @property
    def project(self) -> Project:
        """The project with the SQL of the run date."""
        return self.drift.project_state.project

    def command(self, *words: str) -> str:
        """Return a command as it is typed, with the flags of the site."""
        return mask(shlex.join(["penstock", *words, *self.flags(dated=words[0] in _DATED)]))

    def flags(self, *, dated: bool) -> list[str]:
        """Return the target and the variables of the site, and its date for commands with one."""
        return command_words(self.request, ("as_of", *_PLACE) if dated else _PLACE)

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
            InputVersion(self.node(each.input), str(each.pin), self.now.get(each.input, ""))
            for each in pins
        )

    def code_lines(self, text: str, language: str) -> tuple[str, ...]:
        """Return highlighted code, a line of HTML each."""
        return tuple(cast("list[str]", self.cache.computed(*code_task(language, text))))

    def markdown(self, text: str) -> str:
        """Return a description as HTML."""
        return str(self.cache.computed("markdown", mask(text))) if text.strip() else ""

    def shape_of(self, node: str) -> TableShape | None:
        """Return the shape of a model's table, or of a Delta source; None without a table."""
        source = self.project.sources.get(node.removeprefix(f"{InputKind.SOURCE}:"))
        try:
            if node in self.project.models:
                model = self.model(node)
                if model.is_view:
                    return None
                head, uri = head_of(self.state, model), self.project.uri_of(model.table)
            elif source is not None and source.is_delta and source.path:
                head, uri = self.services.log.head(source.path), source.path
            else:
                return None
            return None if head is None else self._shape(uri, head)
        except (PenstockError, OSError):
            return None

    def _shape(self, uri: str, head: Head) -> TableShape | None:
        def read() -> Json:
            facts = self.services.log.facts(uri, counts=True)
            if facts is None:
                return None
            columns: list[Json] = [[each.name, each.type] for each in facts.schema.columns]
            return [columns, facts.rows, facts.size_bytes]

        found = self.cache.of(read, "table", uri, head.version, head.step)
        if not isinstance(found, list):
            return None
        columns, rows, size = cast("tuple[list[tuple[str, str]], int | None, int | None]", found)
        return TableShape(tuple((name, kind) for name, kind in columns), rows, size)


def read_site(
    services: Services,
    names: tuple[str, ...],
    run_timestamp: dt.datetime,
    cache: SiteCache | None = None,
    request: SiteRequest | ServeRequest | None = None,
) -> SiteInputs:
    """Compare the models with their tables, and read what built them."""
    project_state = survey(services, services.project.models, run_timestamp, building=())
    records = services.reading.records
    split = [n for n in names if project_state.project.models[n].partition is not None]
    partitions = records.runs(*split)
    built_by = {run.step_seq for each in partitions.values() for run in each if run.step_seq}
    built_by |= {each.step_seq for each in project_state.records.values() if each.step_seq}
    runs = services.reading.runs.latest_runs(MOST_RUNS)
    ran = [run.id for run in runs]
    steps: dict[str, list[StepRecord]] = {}
    for step in services.reading.runs.steps_of(names, MOST_EXECUTIONS, ran, built_by):
        for of in (step.intent.model, step.intent.run):
            steps.setdefault(of, []).append(step)
    return SiteInputs(
        services=services,
        cache=cache or SiteCache(),
        request=request or SiteRequest(),
        names=names,
        drift=drift_report(project_state),
        partitions=partitions,
        written=services.reading.runs.written(split),
        slices=services.reading.slices.recorded_of(names),
        steps={of: tuple(each) for of, each in steps.items()},
        runs=runs,
        now=dict(_versions(project_state)),
    )


def head_of(state: ProjectState, model: Model) -> Head | None:
    """Return the newest version of a model's table, None without one."""
    uri, record = state.project.uri_of(model.table), state.records.get(model.name)
    return state.log_reader.head(uri, str(model.table), record)


def _versions(state: ProjectState) -> Iterator[tuple[str, str]]:
    """Yield the models with tables, then the sources, with their versions now."""
    for name, model in state.project.models.items():
        head = None if model.is_view else head_of(state, model)
        if head is not None:
            yield name, f"v{head.version}"
    yield from ((name, str(pin)) for name, pin in state.view.now.sources.items())


def code_task(language: str, text: str) -> Task:
    """Return what highlights a text; it is masked before, while it is one."""
    return "code", language, mask(text)


def without_state(inputs: SiteInputs) -> SiteInputs:
    """Return the inputs of a project whose state cannot be opened: no partition is compared."""
    verdicts = {
        name: replace(each, whole=State.UNREADABLE, pieces=(), lines=(NO_STATE,), owner=None)
        for name, each in inputs.drift.verdicts.items()
    }
    drift = replace(inputs.drift, verdicts=verdicts, pending={})
    return replace(inputs, drift=drift, has_state=False)


def utc(moment: dt.datetime | None) -> str:
    """Return a time as a text that sorts; "" for none.

    >>> utc(dt.datetime(2024, 1, 2, 10, tzinfo=dt.UTC))
    '2024-01-02T10:00:00Z'
    """
    if moment is None:
        return ""
    return moment.astimezone(dt.UTC).isoformat(timespec="auto").replace("+00:00", "Z")
