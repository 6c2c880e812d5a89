"""The use cases `entities list`, `show` and `validate`: entities as the files say them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.app.services.wire import Where, open_project
from penstock.core.entity import Entity
from penstock.core.errors import ProjectError, SelectorError
from penstock.core.findings import Finding
from penstock.project.entities.selection import select_entities
from penstock.project.files.values import did_you_mean

_OF_ENTITIES = ("entities/", "penstock.yml")
_PATH = "($"


def list_entities(where: Where, select: Sequence[str] = ()) -> tuple[Entity, ...]:
    """Give the selected entities in the order of the files; all of them if nothing is asked for."""
    entities = open_project(where).entities
    return select_entities(entities, select) if select else tuple(entities.values())


def show_entity(where: Where, name: str) -> Entity:
    """Give one entity by its id, its name or its model, a disabled one too."""
    entities, wanted = open_project(where).entities, name.lower().removeprefix("entity:")
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
class EntitiesReport:
    """What was found in files of entities; with errors nothing is counted."""

    findings: tuple[Finding, ...] = ()
    entities: int = 0
    disabled: int = 0
    strict: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing was found that counts."""
        counted = (f for f in self.findings if f.is_error or (self.strict and f.is_warning))
        return not any(counted)


def validate_entities(where: Where, *, strict: bool = False) -> EntitiesReport:
    """Load the project and give what is said of its entities alone."""
    try:
        project = open_project(where)
    except ProjectError as error:
        return EntitiesReport(tuple(filter(_is_of_entities, error.findings)), strict=strict)
    entities = project.entities.values()
    disabled = sum(1 for each in entities if not each.enabled)
    findings = tuple(filter(_is_of_entities, project.findings))
    return EntitiesReport(findings, len(entities), disabled, strict)


def _is_of_entities(finding: Finding) -> bool:
    """Whether a finding is of a document, or of a native file, whose sentences have JSON paths."""
    return finding.where.path.startswith(_OF_ENTITIES) or _PATH in finding.sentence
