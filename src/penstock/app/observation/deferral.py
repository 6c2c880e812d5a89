"""Models that are not built in this target, and the tables that another target has of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.app.observation.observe import is_as_left, version_known
from penstock.app.services.services import Services
from penstock.core.errors import PenstockError, StateError, TableError, UsageError
from penstock.core.findings import some
from penstock.core.names import InputKind, InputName
from penstock.core.records import (
    DeferredModel,
    ModelRecord,
    PartitionRun,
    PartitionsRecord,
    Status,
    upstream_records,
)
from penstock.core.steps.inputs import DeferredInput, DeltaPin
from penstock.plan.cascade import direct_parents
from penstock.plan.changes import with_view_inputs
from penstock.state.patience import Patience

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Deferral:
    """What is read from other targets; `parts` are the records of tables with partitions."""

    models: Mapping[str, DeferredModel] = field(default_factory=dict)
    parts: Mapping[str, PartitionsRecord] = field(default_factory=dict)
    others: Mapping[str, Services] = field(default_factory=dict)

    def runs(self, name: str) -> tuple[PartitionRun, ...]:
        """Return the partitions of a model in the target that it is read from."""
        other = self.others[self.models[name].source.target]
        return other.reading.records.runs(name)[name]

    def upstreams(self, records: Mapping[str, ModelRecord]) -> Mapping[str, ModelRecord]:
        """Return the records of models as their readers see them."""
        return upstream_records(records, self.models)

    @property
    def uris(self) -> dict[str, str]:
        """The folders of the tables by model or seed."""
        return {name: each.source.uri for name, each in self.models.items() if each.source.uri}


def read_deferral(
    services: Services,
    names: Collection[str],
    building: Collection[str],
    records: Mapping[str, ModelRecord],
) -> Deferral:
    """Return which inputs of the models are read from another target.

    These are models and seeds that have no rows here and that the command does not build. With
    `--defer-to` they are read there. Without it they are only compared, if a step has read them
    there before.
    """
    known = (records[name] for name in names if name in records)
    recorded = {each.input: each.target for record in known for each in record.deferred}
    asked = services.defer_to
    if asked == services.project.target.name:
        sentence, hint = f"--defer-to {asked} is the target itself", "name another target"
        raise UsageError("option-conflict", sentence, hint=hint)
    if not asked and not recorded:
        return Deferral()
    built = {name for name, record in records.items() if record.succeeded_once}
    wanted: dict[str, set[str]] = {asked: set()} if asked else {}
    for name in _inputs_of(services, names) - built - {*building}:
        if target := asked or recorded.get(name):
            wanted.setdefault(target, set()).add(name)
    return _read_all(services, wanted)


def _inputs_of(services: Services, names: Iterable[str]) -> set[str]:
    """Return the models and seeds that some models read, also through views."""
    project = services.project
    parents = {up for name in names for up in direct_parents(project.models[name])}
    direct = (InputName(InputKind.MODEL, name) for name in parents)
    read = with_view_inputs(project, direct)
    return {each.name for each in read if each.kind is InputKind.MODEL}


def _read_all(services: Services, wanted: Mapping[str, set[str]]) -> Deferral:
    models: dict[str, DeferredModel] = {}
    parts: dict[str, PartitionsRecord] = {}
    others: dict[str, Services] = {}
    for target, names in wanted.items():
        asked = target == services.defer_to
        try:
            other = target_records(services, target, "--defer-to", waits=asked)
            models |= dict(_deferred(services, other, names, reads=asked))
            parts |= {n: p for n, p in other.reading.records.partitions().items() if n in models}
        except PenstockError as error:
            if asked:
                raise
            services.note(f"target {target} cannot be read, so changes there are unknown: {error}")
            models |= {name: _unknown(name, target) for name in names}
            continue
        others[target] = other
    return Deferral(models, parts, others)


def _unknown(name: str, target: str) -> DeferredModel:
    """Return a model of a target that cannot be read: it counts as unchanged."""
    record = ModelRecord(name, Status.SUCCESS, 0)
    return DeferredModel(DeferredInput(name, target), record, reads=False)


def target_records(services: Services, target: str, flag: str, *, waits: bool = True) -> Services:
    """Return the services of another target, to read its records.

    Raises `unknown-target`, and `no-state` if nothing was ever built there. Without `waits`, a
    state store that does not answer is an error at once.
    """
    other = services.target(target)
    if not waits:
        other.patience = Patience(0)
    if not other.patience.repeat(other.has_state):
        raise StateError(
            "no-state",
            f"{flag}: target {target!r} has no state",
            hint=f"build it first: penstock run --target {target}",
        )
    return other


def _deferred(
    services: Services, other: Services, names: Iterable[str], *, reads: bool
) -> Iterator[tuple[str, DeferredModel]]:
    """Yield what the other target has built of some models and seeds."""
    target = other.project.target.name
    records = other.reading.records.models(*names) if names else {}
    for name, record in records.items():
        inner = other.project.models.get(name) or other.project.seeds.get(name)
        if inner is None or not record.succeeded_once:
            continue
        if name in other.project.models and other.project.models[name].is_view:
            yield name, DeferredModel(DeferredInput(name, target), record, reads=reads)
            continue
        uri = other.project.uri_of(inner.table)
        pin = _version_of(services, uri, record)
        if pin is not None:
            yield name, DeferredModel(DeferredInput(name, target, uri), record, pin, reads)


def _version_of(services: Services, uri: str, record: ModelRecord) -> DeltaPin | None:
    """Return the newest version of a table in another target; None without a table."""
    try:
        head = services.log.head(uri, version_known(record))
        if head is not None and is_as_left(head, record):
            return DeltaPin(record.table_id, head.version)
        facts = services.log.facts(uri) if head is not None else None
    except (TableError, OSError) as error:
        services.note(f"{uri} cannot be read: {error}")
        return None
    return facts.pin if facts is not None else None


def deferred_lines(deferred: Iterable[DeferredModel]) -> tuple[str, ...]:
    """Return a line per target that steps read: `read from target prod: users v3, orders v1`."""
    named: dict[str, list[str]] = {}
    for each in deferred:
        version = str(each.pin) if each.pin else "(a view)"
        named.setdefault(each.source.target, []).append(f"{each.source.input} {version}")
    lines = ((target, some(names, _SHOWN)) for target, names in sorted(named.items()))
    return tuple(f"read from target {target}: {names}" for target, names in lines)
