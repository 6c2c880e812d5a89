"""What all steps of one run share, and the pins that each takes of its inputs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock

from penstock.app.observation.observe import ObservedTables, is_as_left
from penstock.app.services.services import Services
from penstock.core.check_results import InvariantReport
from penstock.core.errors import TableError
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, shown_name
from penstock.core.partitions.ranges import Ranges, union
from penstock.core.project import Project
from penstock.core.records import Holder, ModelRecord
from penstock.core.steps.inputs import (
    CatalogRead,
    DeltaPin,
    DeltaRead,
    FilesRead,
    InputPin,
    NoPin,
    Pin,
    Read,
    ViewPin,
)
from penstock.core.steps.step import Intent
from penstock.plan.values import Options, Step
from penstock.strategies.relations import leaves, leaves_of


@dataclass(frozen=True, slots=True)
class Inputs:
    """How every input that is no view is read, and all pins, views included."""

    reads: dict[InputName, Read]
    pins: tuple[InputPin, ...]


def pin_inputs(
    services: Services, model: Model, records: dict[str, ModelRecord], view: ObservedTables
) -> Inputs:
    """Fix the version of every input: sources as planned, models as they stand now."""
    return pin_names(services, model, leaves(services.project, model), records, view)


def pin_names(  # the sides of one step
    services: Services,
    model: Model,
    names: tuple[InputName, ...],
    records: dict[str, ModelRecord],
    view: ObservedTables,
) -> Inputs:
    """Fix the version of some inputs of a model; views stand among them before what they read."""
    reads: dict[InputName, Read] = {}
    pins: list[InputPin] = []
    for name in names:
        match name.kind:
            case InputKind.SOURCE:
                pin = view.now.sources[name.name]
                reads[name] = source_read(services.project, name, pin, view)
            case InputKind.MODEL:
                record = records.get(name.name)
                inner = services.project.models.get(name.name)
                if inner is not None and inner.is_view:
                    pins.append(InputPin(name.name, ViewPin(record.step_seq if record else 0)))
                    continue
                pin = table_pin(services, name, record)
                reads[name] = DeltaRead(
                    _uri(services, name), pin.version, tombstones_of(services, name)
                )
            case InputKind.EXTERNAL:
                pin = NoPin()
                reads[name] = CatalogRead(shown_name(name.name))
            case InputKind.THIS:
                reads[name] = DeltaRead(services.project.uri_of(model.table))
                continue
        pins.append(InputPin(name.name, pin))
    return Inputs(reads, tuple(pins))


def _uri(services: Services, name: InputName) -> str:
    return services.project.uri_of(services.project.table_of(name))


def tombstones_of(services: Services, name: InputName) -> str:
    """Give the column that marks deleted keys, "" for a table that has none."""
    model = services.project.models.get(name.name)
    if model is None or model.history is None:
        return ""
    facts = services.log.facts(_uri(services, name))
    column = facts.schema.find(model.history.columns.is_deleted) if facts else None
    return column.name if column else ""


def table_pin(services: Services, name: InputName, record: ModelRecord | None) -> DeltaPin:
    """Give the newest version of a model's or seed's table."""
    uri = _uri(services, name)
    head = services.log.head(uri)
    if head is not None and record is not None and is_as_left(head, record):
        return DeltaPin(record.table_id, head.version)
    facts = services.log.facts(uri)
    model = services.project.models.get(name.name)
    if facts is None and model is not None and model.strategy.command != "run":
        raise TableError(
            "snapshot-not-built",
            f"snapshot {model.name!r} has no table yet",
            hint=f"penstock snapshot run --select {model.name}",
        )
    if facts is None:
        how = "seed" if name.name in services.project.seeds else "run"
        raise TableError(
            "upstream-not-built",
            f"{name} has no table at {uri}",
            hint=f"run: penstock {how} --select {name}",
        )
    return facts.pin


def source_read(project: Project, name: InputName, pin: Pin, view: ObservedTables) -> Read:
    """Say how a source is read at its pin."""
    source = project.sources[name.name]
    if isinstance(pin, DeltaPin):
        return DeltaRead(source.path, pin.version)
    if isinstance(pin, NoPin):
        return CatalogRead(shown_name(name.name))
    columns = tuple((column.name, column.type) for column in source.columns if column.type)
    files = view.listings[name.name].files
    return FilesRead(source.format, source.path, files, source.options, columns)


def version_read(project: Project, model: Model, pins: Iterable[InputPin], name: str) -> int | None:
    """Give the version of the one Delta table that an input comes down to; None of none or many."""
    below = leaves_of(project, tuple(each for each in model.query.inputs if each.name == name))
    known = {each.input: each.pin for each in pins}
    tables = [pin for each in below if not isinstance(pin := known.get(each.name), ViewPin)]
    only = tables[0] if len(tables) == 1 else None
    return only.version if isinstance(only, DeltaPin) else None


@dataclass(frozen=True, slots=True)
class ViewVersion:
    """A view as a step reads it: its name, and the versions of the tables below it."""

    view: str
    pins: frozenset[InputPin]


@dataclass(frozen=True, slots=True)
class ViewReport:
    """What the checks of a view said when a step was about to read it."""

    view: str
    report: InvariantReport
    duration: float = 0.0


@dataclass(slots=True)
class ViewReports:
    """The reports of one run; steps on several threads share them.

    `reports_of` are those that a step was the first to ask for, by the key of the step.
    """

    _known: dict[ViewVersion, InvariantReport] = field(default_factory=dict)
    _message: dict[str, list[ViewReport]] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=dict)

    def keep(self, version: ViewVersion, report: InvariantReport) -> None:
        """Remember what the view's own step has found."""
        self._known[version] = report

    def once(
        self, version: ViewVersion, step: str, look: Callable[[], ViewReport]
    ) -> InvariantReport:
        """Give what was said of a version of a view; look only where nobody has yet.

        A second step that reads it waits for the first to have looked.
        """
        with self._locks.setdefault(version.view, Lock()):
            if version not in self._known:
                found = look()
                self._known[version] = found.report
                self._message.setdefault(step, []).append(found)
            return self._known[version]

    def reports_of(self, step: str) -> tuple[ViewReport, ...]:
        """Give the reports that a step was the first to ask for, each once."""
        return tuple(self._message.pop(step, ()))


@dataclass(frozen=True, slots=True)
class Context:
    """One run: who it is, when, what it saw when it planned, what it remembers of models.

    `records` is brought up to date as steps end, so that later steps pin what earlier ones made.
    `changed` are the partitions whose rows steps of this run changed, `failed` those that it could
    not make, by model. `bases` are the versions that tables of one partition had before.
    `views` is what checks said of the views that its steps read.
    """

    holder: Holder
    run_timestamp: dt.datetime
    project: Project
    view: ObservedTables
    records: dict[str, ModelRecord]
    as_of: dt.datetime | None = None
    wait_seconds: float = 0.0
    triggered_by: str = "run"
    options: Options = Options()
    changed: dict[str, Ranges] = field(default_factory=dict)
    failed: dict[str, Ranges] = field(default_factory=dict)
    bases: dict[str, int] = field(default_factory=dict)
    views: ViewReports = field(default_factory=ViewReports)

    def change(self, intent: Intent) -> None:
        """Remember that a step changed its partitions."""
        self.changed[intent.model] = union(self.changed.get(intent.model, ()), intent.ords)
        if intent.grid.is_whole and intent.base_version is not None:
            self.bases.setdefault(intent.model, intent.base_version)

    def fail(self, step: Step) -> None:
        """Remember that a step did not make its partitions."""
        self.failed[step.model] = union(self.failed.get(step.model, ()), step.partitions)
