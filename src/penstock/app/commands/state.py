"""The use cases `state`, `unlock` and `watermark`: read and change records by hand."""

from __future__ import annotations

import datetime as dt
import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.execution.recover import recover
from penstock.app.kinds.slices import BRONZE
from penstock.app.services.services import Services, in_one_state, named_model, user_name
from penstock.app.services.wire import version
from penstock.core.columns.typed import TypedValue, is_watermark_type, read_typed
from penstock.core.entities.entity import Entity
from penstock.core.errors import LeaseHeldError, StateError, UsageError
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.ports.ports import Records, inert
from penstock.core.project import Project
from penstock.core.records import Lease, ModelRecord, WatermarkChange
from penstock.core.steps.window import Watermark
from penstock.project.entities.template_functions import BadExpressionError
from penstock.project.entities.templates import low_bound, parse_watermark
from penstock.project.files.parsed import fill_environment
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.settings.project import state_url
from penstock.state.lease import Identity, StoreContext

if TYPE_CHECKING:
    from penstock.state.move import MovedState

Entry = dict[str, str | dict[str, dict[str, str]]]


def export_state(services: Services, *, models: bool = False) -> str:
    """Return the whole store as one JSON document, or the short readable one of its models."""
    if not services.has_state():
        raise StateError(
            "no-state",
            f"target {services.project.target.name!r} has no state yet",
            hint="the first penstock run makes it",
        )
    if models:
        return export_models(services.reading.records, tables_shown(services.project))
    return services.reading.archive.export()


def import_state(services: Services, file: Path) -> None:
    """Replace the whole store by an exported document."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError("unreadable-file", f"{file} cannot be read: {reason}") from error
    services.writing.archive.load(text)


@dataclass(frozen=True, slots=True)
class StateMove:
    """What a move of the state left, and what penstock.yml must say from now on."""

    moved: MovedState
    target: str
    state: str
    """The new value of the target's `state`; "" if penstock.yml has it already."""


def move_state(services: Services, source: str, target: str) -> StateMove:
    """Move the state from one database to another, each written like `state` of a target.

    Variables are filled in as in penstock.yml, so that no password has to be an argument.
    """
    from penstock.state.move import move_store

    project = services.project
    urls = [_url(services, each) for each in (source, target)]
    identity = Identity(project.name, project.target.name, version())
    context = StoreContext(
        identity, services.clock, project.lease, services.fault or inert, services.is_gone
    )
    moved = move_store(urls[0], urls[1], context)
    shown = target if "env_var" in target or "://" not in target else moved.target
    return StateMove(moved, project.target.name, "" if urls[1] == project.target.state else shown)


def _url(services: Services, state: str) -> str:
    """Return the URL of a `state`; raise `missing-env-var` if a variable has no value."""
    calls: list[tuple[tuple[str | int, ...], str, bool]] = []
    filled = str(fill_environment(state, services.environ, calls))
    if unset := [name for _, name, has_value in calls if not has_value]:
        sentence = f"the environment variable {unset[0]} is not set"
        raise UsageError("missing-env-var", sentence, hint=f"set {unset[0]}, or give a default")
    project, name = services.project, services.project.target.name
    is_first = name == next(iter(project.targets), name)
    return state_url(filled, name, Path(project.root), is_first=is_first)


def restore_state(services: Services) -> Path:
    """Replace a damaged SQLite file by its last good copy; return the path of the damaged file."""
    from penstock.state.sql.sqlite import restore

    return restore(services.project.target.state, services.clock.now())


def export_models(records: Records, tables: Mapping[str, str]) -> str:
    """Return the short readable file: one object per model that ever succeeded.

    It is listed under the name of its table, or its own name if it is no longer in the project; a
    model whose table is "" is omitted. It contains the last run (UTC), the watermarks and the
    greatest of them, which is omitted if they cannot be compared. Keys are sorted.
    """
    document = {
        tables.get(name, name): _entry(record, record.executed_at)
        for name, record in records.models().items()
        if record.executed_at is not None and tables.get(name, name)
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def tables_shown(project: Project) -> dict[str, str]:
    """Return the tables of seeds and models; "" for a frame of a function, which has no table."""
    found = {each.name: str(each.table) for each in project.seeds.values()}
    for each in project.models.values():
        hidden = each.is_view and not each.strategy.is_written
        found[each.name] = "" if hidden else str(each.table)
    return found


def _entry(record: ModelRecord, ran: dt.datetime) -> Entry:
    entry: Entry = {"last_run": ran.replace(tzinfo=None).isoformat(timespec="microseconds")}
    if not record.watermarks:
        return entry
    if (greatest := last_max_value(record)) is not None:
        entry["last_max_value"] = greatest
    entry["watermarks"] = {
        watermark.key: {"type": watermark.value.type, "value": watermark.value.text}
        for watermark in record.watermarks
    }
    return entry


def last_max_value(record: ModelRecord) -> str | None:
    """Return the greatest watermark; None if there is none, or they cannot be compared.

    A time is written as `2025-11-05 23:00:00`, with a fraction only if there is one.
    """
    try:
        greatest = max(watermark.value for watermark in record.watermarks)
    except (TypeError, ValueError):
        return None
    return str(greatest.key) if isinstance(greatest.key, dt.datetime) else greatest.text


def lease_of(services: Services, target: str) -> Lease | None:
    """Return the lease of a target, by its table or its model; None if the target is free.

    Raises `unknown-table` for a name that is not a model, a seed, or a leased table.
    """
    project = services.project
    named = {name.lower(): str(model.table) for name, model in project.models.items()}
    named |= {name.lower(): str(seed.table) for name, seed in project.seeds.items()}
    leases = services.reading.leases.taken() if services.has_state() else ()
    tables = {table.lower() for table in named.values()} | {each.target.lower() for each in leases}
    if target.lower() not in named and target.lower() not in tables:
        hint = did_you_mean(target, (*named, *tables)) or "penstock list shows the models"
        raise UsageError("unknown-table", f"no target is called {target!r}", hint=hint)
    wanted = {target.lower(), named.get(target.lower(), "").lower()}
    return next((lease for lease in leases if lease.target.lower() in wanted), None)


def unlock(services: Services, lease: Lease) -> tuple[str, ...]:
    """Drop the lease and settle the step that holds it; return the result.

    If its run is alive after all, it finds its step fenced: its writes no longer count.
    """
    services.writing.leases.unlock(lease.target, lease.token)
    return recover(services).messages_by_step


@dataclass(frozen=True, slots=True)
class WatermarkReport:
    """The newest change of each watermark, and every change if requested.

    For entities, `lows` are the current low bounds of a run, one per change, and `slices` those
    that steps read.
    """

    current: tuple[WatermarkChange, ...] = ()
    history: tuple[WatermarkChange, ...] | None = None
    lows: Mapping[WatermarkChange, str] = field(default_factory=dict)
    slices: Mapping[str, str] = field(default_factory=dict)


@in_one_state
def show_watermarks(
    services: Services, name: str = "", *, history: bool = False
) -> WatermarkReport:
    """Return the watermarks of one model, or of all."""
    names = [named_model(services, name).name] if name else list(services.project.models)
    of_model = services.reading.records.watermark_history
    changes = [change for each in names for change in of_model(each)]
    newest: dict[tuple[str, str, str], WatermarkChange] = {}
    for change in changes:
        newest.setdefault((change.model, change.input, change.column), change)
    current = tuple(change for _, change in sorted(newest.items()) if change.value is not None)
    entities = {each: e for each in names if (e := services.project.models[each].entity)}
    lows = {
        change: low
        for change in current
        if change.model in entities
        and (low := _next_low(entities[change.model], change, services.clock.now()))
    }
    recorded = (each for of in entities for each in services.reading.slices.recorded(of))
    slices = {each.step: each.id.name for each in recorded}
    return WatermarkReport(current, tuple(changes) if history else None, lows, slices)


def _next_low(entity: Entity, change: WatermarkChange, now: dt.datetime) -> str:
    """Return the current low bound of a run, "" if the expression has none."""
    for entry in entity.watermark:
        if entry.column.lower() == change.column.lower():
            with suppress(UsageError, BadExpressionError):
                stored = read_typed(change.value or "")
                return low_bound(
                    parse_watermark(entry.expression), stored, now, entity.timezone
                ).text
    return ""


def set_watermark(
    services: Services,
    name: str,
    value: str,
    *,
    column: str = "",
    type_: str = "",
    reason: str = "",
) -> WatermarkChange:
    """Set a watermark by hand, lower or higher; its history records who and why.

    `column` is `input.column`, its last part, or "" if there is only one.
    """
    model = named_model(services, name)
    known = watermarks_of(services, model)
    given, column = _column(model, column, known)
    old = known.get(f"{given}.{column}")
    type_ = type_.upper() or (old.value.type if old else _declared(services, given, column, model))
    if not is_watermark_type(type_.replace(" ", "")):
        wrong = f"{type_!r} cannot carry a watermark" if type_ else ""
        sentence = wrong or f"the type of {column} is not known"
        hint = "say it with --type, for example --type TIMESTAMP"
        raise UsageError("watermark-type", sentence, hint=hint)
    return _write(services, model, (given, column), str(TypedValue.parse(type_, value)), reason)


@in_one_state
def watermarks_to_reset(services: Services, name: str, column: str = "") -> tuple[Watermark, ...]:
    """Return the watermarks that a reset would remove; raise if there are none."""
    model = named_model(services, name)
    known = watermarks_of(services, model)
    if not known:
        raise UsageError("no-watermark", f"{model.name} has no watermark")
    if not column:
        return tuple(known.values())
    given, column = _column(model, column, known)
    if (watermark := known.get(f"{given}.{column}")) is not None:
        return (watermark,)
    sentence = f"{model.name} has no watermark on {given}.{column}"
    raise UsageError("no-watermark", sentence, hint=f"it has: {some_of(known)}")


def reset_watermarks(
    services: Services, name: str, watermarks: tuple[Watermark, ...], reason: str = ""
) -> tuple[WatermarkChange, ...]:
    """Remove watermarks: the next run reads these inputs from the start."""
    model = named_model(services, name)
    return tuple(_write(services, model, (w.input, w.column), None, reason) for w in watermarks)


def watermarks_of(services: Services, model: Model) -> dict[str, Watermark]:
    """Return a model's watermarks by `input.column`; before its first build the manual ones."""
    record = services.reading.records.models().get(model.name)
    if record is not None:
        return {watermark.key: watermark for watermark in record.watermarks}
    found = {}
    for change in show_watermarks(services, model.name).current:
        type_, _, value = (change.value or "").partition(" ")
        watermark = Watermark(change.input, change.column, TypedValue.parse(type_, value))
        found[watermark.key] = watermark
    return found


def _column(model: Model, name: str, watermarks: Mapping[str, Watermark]) -> tuple[str, str]:
    """Return the `input.column` that matches."""
    keys = {key: (watermark.input, watermark.column) for key, watermark in watermarks.items()}
    settings = model.strategy.window
    if settings is not None and (name or not keys):  # which of them exist only Spark can tell
        for read in model.query.inputs:
            column = settings.on.get(read.name, settings.time_column)
            if column is not None and read.kind is not InputKind.THIS:
                keys[f"{read.name}.{column}"] = (read.name, column)
    for each in model.entity.watermark if model.entity else ():
        keys[f"{BRONZE}.{each.column}"] = (BRONZE, each.column)
    if not keys:
        sentence = f"{model.name} is a {model.shown_strategy} model without a time_column"
        raise UsageError("no-watermark", sentence)
    folded = name.lower()
    found = [key for key in keys if not name or key.lower() == folded]
    found = found or [key for key in keys if key.lower().endswith(f".{folded}")]
    if len(found) == 1:
        return keys[found[0]]
    if not found:
        hint = did_you_mean(name, keys) or f"there are: {some_of(keys)}"
        raise UsageError("unknown-column", f"{model.name} has no window on {name!r}", hint=hint)
    hint = f"add --column with one of: {some_of(found)}"
    if model.entity is not None and not name:
        sentence = f"{model.name} has more than one watermark column"
        raise UsageError("column-required", sentence, hint=hint)
    sentence = f"{model.name} has more than one windowed input"
    raise UsageError("ambiguous-column", sentence, hint=hint)


def _declared(services: Services, text: str, column: str, model: Model) -> str:
    """Return the type from a source's declaration or a table's log; "" if neither has one.

    A view has the columns of its inputs, unless it changes their type. Watermarks of an entity are
    those of its own table.
    """
    if text == BRONZE and model.entity is not None:
        docs = {doc.name.lower(): doc.type.upper() for doc in model.columns}
        return docs.get(column.lower()) or _stored(services, model, column)
    source = services.project.sources.get(text)
    for doc in source.columns if source else ():
        if doc.name.lower() == column.lower() and doc.type:
            return doc.type.upper()
    upstream = services.project.models.get(text)
    uri = source.path if source and source.is_delta else ""
    if upstream is not None and upstream.is_view:
        below = (_declared(services, each.name, column, model) for each in upstream.query.inputs)
        return next(filter(None, below), "")
    if upstream is not None:
        return _stored(services, upstream, column)
    return _in_log(services, uri, column)


def _stored(services: Services, model: Model, column: str) -> str:
    return _in_log(services, services.project.uri_of(model.table), column)


def _in_log(services: Services, uri: str, column: str) -> str:
    facts = services.log.facts(uri) if uri else None
    found = facts.schema.find(column) if facts else None
    return found.type.upper() if found else ""


def _write(
    services: Services, model: Model, key: tuple[str, str], value: str | None, why: str
) -> WatermarkChange:
    store, now = services.writing, services.clock.now()
    for lease in store.leases.taken():
        if lease.target == str(model.table) and lease.expires > now:
            raise LeaseHeldError(lease, hint="wait until that run has ended")
    change = WatermarkChange(
        model=model.name,
        input=key[0],
        column=key[1],
        value=value,
        set_at=now,
        who=f"{user_name()}@{socket.gethostname()}",
        why=why,
    )
    store.records.change_watermark(change)
    return change
