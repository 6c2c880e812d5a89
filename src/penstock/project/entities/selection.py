"""Select entities by id, name, group and connection, in any letter case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from penstock.core.entities.entity import Entity
from penstock.core.errors import ConnectionNotFoundError, EntityNotFoundError, SelectorError
from penstock.core.project import SelectorTerm
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.selectors import OF_ENTITIES, disabled, parse_terms

Entities = Mapping[str, Entity]
_WORDS: Mapping[str, Callable[[Entity], Iterable[str]]] = {
    **OF_ENTITIES,
    "kind": lambda _: ("entity",),
    "tag": lambda each: each.tags,
    "strategy": lambda each: (each.process,),
    "": lambda each: (each.model, str(each.table), each.name),
}
"""The values of an entity for each selector method."""
_EXACT = ("", "entity")


def select_entities(entities: Entities, include: Sequence[str]) -> tuple[Entity, ...]:
    """Return the selected entities in order; by default all that are enabled.

    Several values intersect. Raises `SelectorError` if one matches nothing, `entity-disabled` for
    an exact name of a disabled entity.
    """
    chosen = {name for name, each in entities.items() if each.enabled}
    for value in include:
        chosen &= _united(entities, value)
    if include and not chosen:
        sentence = "no entity is in all of the given --select"
        raise SelectorError("empty-selection", sentence, hint="penstock entities list")
    return tuple(each for name, each in entities.items() if name in chosen)


def _united(entities: Entities, value: str) -> set[str]:
    found: set[str] = set()
    for terms in parse_terms(value):
        found |= set.intersection(*(_find(entities, term) for term in terms))
    return found


def _find(entities: Entities, term: SelectorTerm) -> set[str]:
    words = _WORDS.get(term.method)
    if words is None:
        known = [word for word in _WORDS if word]
        hint = did_you_mean(term.method, known) or f"methods: {some_of(known)}"
        sentence = f"{term.method!r} is not a selector method of entities"
        raise SelectorError("bad-selector", sentence, hint=hint)
    said = {name: [word.lower() for word in words(e) if word] for name, e in entities.items()}
    wanted = term.value.lower()
    found = {name for name, own in said.items() if any(fnmatchcase(w, wanted) for w in own)}
    if not found:
        existing = {word for own in said.values() for word in own}
        hint = did_you_mean(wanted, existing) or f"there are: {some_of(existing)}"
        raise SelectorError("no-match", f"{term.text!r} matches no entity", hint=hint)
    enabled = {name for name in found if entities[name].enabled}
    if not enabled and term.method in _EXACT:
        raise disabled(entities[min(found)])
    return enabled


def entity_by_id(entities: Entities, number: int) -> Entity:
    """Return the entity with an id; raise `EntityNotFoundError`."""
    found = next((each for each in entities.values() if each.id == number), None)
    if found is None:
        known = some_of(str(each.id) for each in entities.values() if each.id is not None)
        sentence = f"no entity has the id {number}"
        raise EntityNotFoundError("entity-not-found", sentence, hint=f"there are: {known}")
    return found


def entities_by_id(entities: Entities, numbers: Iterable[int]) -> tuple[Entity, ...]:
    """Return the entities with some ids in the order of the ids, without unknown ones."""
    known = {each.id: each for each in entities.values() if each.id is not None}
    return tuple(known[number] for number in numbers if number in known)


def entities_of_group(entities: Entities, group: str) -> tuple[Entity, ...]:
    """Return the entities of a group, in any letter case; may be empty."""
    return tuple(each for each in entities.values() if each.group == group.lower())


def entities_of_connection_group(entities: Entities, group: str) -> tuple[Entity, ...]:
    """Return the entities of a connection group, in any letter case; may be empty."""
    return tuple(each for each in entities.values() if each.connection_group == group.lower())


def entities_of_connection(entities: Entities, name: str) -> tuple[Entity, ...]:
    """Return the entities of a connection; raise `ConnectionNotFoundError`."""
    found = tuple(each for each in entities.values() if each.connection == name)
    if not found:
        known = {each.connection for each in entities.values() if each.connection}
        hint = did_you_mean(name, known) or f"there are: {some_of(known)}"
        sentence = f"no entity has the connection {name!r}"
        raise ConnectionNotFoundError("connection-not-found", sentence, hint=hint)
    return found
