"""The versions of all inputs that a step reads, and how each is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.app.observation.observe import ObservedTables, is_as_left, version_known
from penstock.app.services.services import Services
from penstock.core.errors import TableError
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, shown_name
from penstock.core.project import Project, read_uri
from penstock.core.records import ModelRecord
from penstock.core.sessions.options import SessionTable
from penstock.core.steps.inputs import (
    CatalogRead,
    DeferredInput,
    DeltaPin,
    DeltaRead,
    FilesRead,
    InputPin,
    NoPin,
    Pin,
    QueryRead,
    Read,
    ViewPin,
)
from penstock.strategies.relations import input_tables, query_tables
from penstock.strategies.sessions.this_run import limits_view


@dataclass(frozen=True, slots=True)
class Inputs:
    """How to read every input that is not a view, and all pins, including those of views.

    `deferred` are the inputs that are read from another target.
    """

    reads: Mapping[InputName, Read]
    pins: tuple[InputPin, ...]
    deferred: tuple[DeferredInput, ...] = ()


def pin_inputs(
    services: Services, model: Model, records: Mapping[str, ModelRecord], view: ObservedTables
) -> Inputs:
    """Pin the version of every input: sources as planned, models at their current version.

    Models of another target have the version that the plan saw, like sources.
    """
    return pin_names(services, model, input_tables(services.project, model), records, view)


def pin_names(  # the sides of one step
    services: Services,
    model: Model,
    names: tuple[InputName, ...],
    records: Mapping[str, ModelRecord],
    view: ObservedTables,
) -> Inputs:
    """Pin the version of some inputs of a model; views come before their inputs."""
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
                    reads |= limits_read(services, name)
                    continue
                pin = _deferred_pin(view, name) or table_pin(services, name, record)
                reads[name] = DeltaRead(
                    _table_uri(services, name), pin.version, tombstone_column(services, name)
                )
            case InputKind.EXTERNAL:
                pin = NoPin()
                reads[name] = CatalogRead(shown_name(name.name))
            case InputKind.THIS:
                reads[name] = DeltaRead(services.project.uri_of(model.table))
                continue
        pins.append(InputPin(name.name, pin))
    found = (view.now.deferred.get(each.input) for each in pins)
    return Inputs(reads, tuple(pins), tuple(each.source for each in found if each is not None))


def _deferred_pin(view: ObservedTables, name: InputName) -> DeltaPin | None:
    """Return the planned version of a table in another target; None for a table of this one."""
    other = view.now.deferred.get(name.name)
    return other.pin if other is not None and other.reads else None


def limits_read(services: Services, name: InputName) -> dict[InputName, Read]:
    """Return how to read the view of a package's limits: those of the last pass; {} for others."""
    own = services.project.package_of(name.name)
    view = own.model(SessionTable.LIMITS) if own else None
    if own is None or view is None or view.name != name.name:
        return {}
    last = next(iter(services.reading.sessions.passes(own.name, 1)), None)
    return {name: QueryRead(limits_view(last.limits, last.run) if last else limits_view(None))}


def _table_uri(services: Services, name: InputName) -> str:
    return read_uri(services.project, name)


def tombstone_column(services: Services, name: InputName) -> str:
    """Return the column that marks deleted keys, "" for a table without one."""
    model = services.project.models.get(name.name)
    if model is None or model.history is None:
        return ""
    facts = services.log.facts(_table_uri(services, name))
    column = facts.schema.find(model.history.columns.is_deleted) if facts else None
    return column.name if column else ""


def table_pin(services: Services, name: InputName, record: ModelRecord | None) -> DeltaPin:
    """Return the newest version of a model's or seed's table."""
    uri = _table_uri(services, name)
    head = services.log.head(uri, version_known(record))
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
    """Return how to read a source at its pin."""
    source = project.sources[name.name]
    if isinstance(pin, DeltaPin):
        return DeltaRead(source.path, pin.version)
    if isinstance(pin, NoPin):
        return CatalogRead(shown_name(name.name))
    columns = tuple((column.name, column.type) for column in source.columns if column.type)
    files = view.listings[name.name].files
    return FilesRead(source.format, source.path, files, source.options, columns)


def version_read(project: Project, model: Model, pins: Iterable[InputPin], name: str) -> int | None:
    """Return the version of the single Delta table below an input; None if there is not one."""
    below = query_tables(project, tuple(each for each in model.query.inputs if each.name == name))
    known = {each.input: each.pin for each in pins}
    tables = [pin for each in below if not isinstance(pin := known.get(each.name), ViewPin)]
    only = tables[0] if len(tables) == 1 else None
    return only.version if isinstance(only, DeltaPin) else None
