"""The use cases `entities list`, `show`, `validate`, and `slices`: the state of each slice."""

from __future__ import annotations

import datetime as dt
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.app.observation.observe import slices_now
from penstock.app.services.services import Services, in_one_state, user_name
from penstock.app.services.wire import Where, open_project
from penstock.core.entities.entity import Entity
from penstock.core.entities.slices import ListedSlice, SliceId
from penstock.core.errors import ProjectError, SelectorError, UsageError
from penstock.core.findings import Finding
from penstock.core.project import Project
from penstock.core.records import SliceRecord, SliceSkip, Status
from penstock.plan.slices import full_slice_name, unmatched_note
from penstock.project.entities.places import bronze_folder
from penstock.project.entities.selection import select_entities
from penstock.project.files.values import did_you_mean
from penstock.strategies.entities.strategy import strategy_of_entity

_OF_ENTITIES = ("entities/", "penstock.yml")
_PATH = "($"
_NOT_OPEN = {
    "success": "was processed",
    "changed": "was processed",
    "gone": "is not in bronze any more",
    "running": "is being processed",
}


def list_entities(where: Where, select: Sequence[str] = ()) -> tuple[Entity, ...]:
    """Return the selected entities in file order; all of them without a selection."""
    entities = open_project(where).entities
    return select_entities(entities, select) if select else tuple(entities.values())


def show_entity(where: Where, name: str) -> Entity:
    """Return one entity by id, name or model, even if it is disabled."""
    return named_entity(open_project(where), name)


def named_entity(project: Project, name: str) -> Entity:
    """Return the entity with an id, name or model; raise `no-match` or `ambiguous-entity`."""
    entities, wanted = project.entities, name.lower().removeprefix("entity:")
    words = {key: _words(each) for key, each in entities.items()}
    found = [key for key, own in words.items() if wanted in own]
    if len(found) == 1:
        return entities[found[0]]
    if found:
        sentence = f"{name!r} names {len(found)} entities"
        raise SelectorError("ambiguous-entity", sentence, hint=f"one of {', '.join(found)}")
    near = did_you_mean(wanted, [word for own in words.values() for word in own])
    raise SelectorError(
        "no-match", f"{name!r} matches no entity", hint=near or "penstock entities list"
    )


def _words(entity: Entity) -> tuple[str, ...]:
    own = (entity.model, entity.name, "" if entity.id is None else str(entity.id))
    return tuple(word.lower() for word in own if word)


@dataclass(frozen=True, slots=True)
class SliceLine:
    """One slice: what is in bronze, and the result of its last step or of a manual decision.

    `status` is waiting, incomplete, failed, running, success or skipped; changed if the slice in
    bronze differs from the processed one, gone if it is no longer there. `metrics` are those of the
    summary.
    """

    id: SliceId
    status: str
    moment: dt.datetime | None = None
    step: str = ""
    metrics: Mapping[str, int] = field(default_factory=dict)
    why: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class SlicesReport:
    """Slices of an entity, in bronze and on record, in their order.

    `notes` are about files that belong to no slice.
    """

    model: str
    slices: tuple[SliceLine, ...]
    notes: tuple[str, ...] = ()


@in_one_state
def list_slices(services: Services, name: str) -> SlicesReport:
    """Return the state of every slice of an entity."""
    entity = named_entity(services.project, name)
    folder = bronze_folder(entity, services.clock.now())
    if folder is None:
        sentence = f"{entity.model} reads its source as a whole: it has no slices"
        raise UsageError("no-slices", sentence, hint="penstock status says whether it is current")
    recorded = services.reading.slices.recorded(entity.model)
    now = slices_now(services, folder).on_record(recorded)
    there = {each.id.name: each for each in now.there}
    known = {each.id.name: each for each in recorded}
    lines = (_line(entity, there.get(each), known.get(each)) for each in {*there, *known})
    note, ordering = unmatched_note(now), folder.ordering
    ordered = sorted(lines, key=lambda line: ordering.key(line.id) or ((), line.id.name))
    return SlicesReport(entity.model, tuple(ordered), (note,) if note else ())


def _line(entity: Entity, there: ListedSlice | None, record: SliceRecord | None) -> SliceLine:
    if record is None:
        if there is None:
            raise ValueError("a slice that is neither there nor on record")
        return SliceLine(there.id, "incomplete" if there.is_incomplete else "waiting")
    status = str(record.status).lower()
    if there is None:
        status = "gone" if record.status in (Status.SUCCESS, Status.FAILED) else status
    elif record.status is Status.SUCCESS:
        status = "changed" if record.id != there.id else status
    elif record.status is Status.FAILED and there.is_incomplete:
        status = "incomplete"
    return SliceLine(
        id=there.id if there else record.id,
        status=status,
        moment=record.moment,
        step=record.step,
        metrics=strategy_of_entity(entity).counts(record.metrics) if record.metrics else {},
        why=record.why,
        who=record.who,
    )


def skip_slice(
    services: Services, name: str, called: str, reason: str, *, skips: bool = True
) -> SlicesReport:
    """Record that runs skip a slice, or no longer skip it; return its state."""
    found = list_slices(services, name)
    lines = {line.id.name: line for line in found.slices}
    wanted = full_slice_name(found.model, lines, called)
    status = lines[wanted].status
    if skips and status in _NOT_OPEN:
        sentence = f"slice {wanted} of {found.model} {_NOT_OPEN[status]}"
        hint = "a skip takes nothing out of the table: penstock rollback does"
        raise UsageError("slice-not-open", sentence, hint=hint)
    if not skips and status != str(Status.SKIPPED).lower():
        sentence = f"slice {wanted} of {found.model} is not skipped"
        raise UsageError("slice-not-skipped", sentence, hint=f"it is {status}")
    who = f"{user_name()}@{socket.gethostname()}"
    skip = SliceSkip(found.model, wanted, skips, reason, who, services.clock.now())
    services.writing.slices.skip(skip)
    after = list_slices(services, name)
    return replace(after, slices=tuple(e for e in after.slices if e.id.name == wanted))


@dataclass(frozen=True, slots=True)
class EntitiesReport:
    """The findings in files of entities; with errors there are no counts."""

    findings: tuple[Finding, ...] = ()
    entities: int = 0
    disabled: int = 0
    strict: bool = False

    @property
    def passed(self) -> bool:
        """Whether there is no finding that counts."""
        counted = (f for f in self.findings if f.is_error or (self.strict and f.is_warning))
        return not any(counted)


def validate_entities(where: Where, *, strict: bool = False) -> EntitiesReport:
    """Load the project and return the findings of its entities alone."""
    try:
        project = open_project(where)
    except ProjectError as error:
        return EntitiesReport(tuple(filter(_is_of_entities, error.findings)), strict=strict)
    entities = project.entities.values()
    disabled = sum(1 for each in entities if not each.enabled)
    findings = tuple(filter(_is_of_entities, project.findings))
    return EntitiesReport(findings, len(entities), disabled, strict)


def _is_of_entities(finding: Finding) -> bool:
    """Return whether a finding is about a document, or a file with JSON paths in messages."""
    return finding.where.path.startswith(_OF_ENTITIES) or _PATH in finding.sentence
