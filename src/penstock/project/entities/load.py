"""The entities of a project: documents and native files, combined and checked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.entities.entity import Entity, EntityEnvironment, EntityScope
from penstock.core.findings import Finding, Location
from penstock.project.checks.phases import NONE, Phases
from penstock.project.entities.columns import Expressions
from penstock.project.entities.definition import (
    EntityScene,
    ReadEntity,
    document_entity,
    native_entity,
)
from penstock.project.entities.environment import (
    connections_of,
    environment_of,
    overrides,
    read_documents,
)
from penstock.project.entities.models import EntityDraft, draft_of
from penstock.project.entities.parts import Findings
from penstock.project.files.discovery import PROJECT_FILE
from penstock.project.files.nodes import file_node
from penstock.project.files.parsed import YamlFile, place_key
from penstock.project.files.values import Plain, digest
from penstock.project.first_pass import FirstPass
from penstock.project.settings.project import Settings

_CACHE = place_key(("entities", "expressions"))
_FORM = "3"


@dataclass(slots=True)
class ReadEntities:
    """The entities of a project by their models, in the order of the files."""

    environment: EntityEnvironment = EntityEnvironment()
    entities: dict[str, Entity] = field(default_factory=dict)
    checks: dict[str, Phases] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    secrets: frozenset[str] = frozenset()

    def drafts(self, settings: Settings) -> list[EntityDraft]:
        """Return every entity as a draft of a model."""
        prefix = settings.target.schema_prefix
        pairs = ((each, self.checks.get(name, NONE)) for name, each in self.entities.items())
        drafts = [draft_of(entity, phases, prefix) for entity, phases in pairs]
        return [replace(each, secrets=self.secrets) for each in drafts]


def read_entities(
    documents: Sequence[str],
    natives: Sequence[YamlFile],
    settings: Settings,
    first: FirstPass,
    keys: Mapping[str, Plain],
) -> ReadEntities:
    """Read the documents and native files of a project; `environment` may be passed in."""
    findings, target = Findings(), settings.target
    project = _file(PROJECT_FILE, first)
    files = [*map(first.yaml_file, documents)]
    broken = {finding.where.path for finding in first.findings}
    read_files = [e for e in files if e.tree is not None or e.path not in broken]
    written = [file_node(file, first.filled(file.path)) for file in read_files]
    above = [*overrides(project, first.filled(PROJECT_FILE) if project.tree else None, target.name)]
    above += [file_node(YamlFile("Environment"), keys)] if keys else []
    said = read_documents(written, above, findings)
    environment = environment_of(said, project, first.root, findings)
    connections = connections_of(said, findings)
    kept = first.cache.recall(_CACHE, digest(_FORM), Expressions)
    expressions = Expressions(kept.earlier if kept else {})
    scene = EntityScene(
        first.root, environment, connections, target.catalog, target.schema_prefix, expressions
    )
    whole = [file_node(file, first.filled(file.path)) for file in natives]
    own = {part.where: Findings() for part in (*said.entities, *whole)}
    read = [document_entity(part, scene, own[part.where]) for part in said.entities]
    read += [native_entity(part, scene, own[part.where]) for part in whole]
    if expressions.current:
        first.cache.keep(_CACHE, digest(_FORM), Expressions, Expressions(expressions.current))
    found = _side_by_side([each for each in read if each is not None], findings)
    findings_of_all = [*_about(found, findings, own)]
    if len(written) < len(files):  # what is missing may stand in a file that cannot be read
        findings_of_all = [*_certain(findings_of_all, environment.section.node.where)]
    return ReadEntities(
        environment.facts,
        {each.entity.model: each.entity for each in found},
        {each.entity.model: each.checks for each in found if each.checks},
        findings_of_all,
        frozenset(first.secrets),
    )


def _about(
    read: Sequence[ReadEntity], every: Findings, own: Mapping[Location, Findings]
) -> Iterator[Finding]:
    """Add to each finding the affected models: its own entity's, or all of them."""
    names = {each.part.where: each.entity.model for each in read}
    yield from (replace(each, about=tuple(names.values())) for each in every)
    for where, its in own.items():
        yield from (replace(each, about=(names.get(where, ""),)) for each in its)


def _certain(findings: Sequence[Finding], where: Location) -> Iterator[Finding]:
    """Return only certain findings: without missing keys and names that may exist."""
    lost = (("unknown-connection", None), ("missing-key", where))
    for finding in findings:
        if not any(finding.code == code and at in (None, finding.where) for code, at in lost):
            yield finding


def _file(path: str, first: FirstPass) -> YamlFile:
    return first.yaml_file(path) if first.has(path) else YamlFile(path)


def _side_by_side(read: Sequence[ReadEntity], findings: Findings) -> list[ReadEntity]:
    """Report duplicate ids and tables; entities that share a table get their scopes."""
    ids: dict[int, ReadEntity] = {}
    tables: dict[str, list[ReadEntity]] = defaultdict(list)
    for each in read:
        number = each.entity.id
        first = each if number is None else ids.setdefault(number, each)
        if first is not each:
            sentence = f"id {number} is that of two entities, here and at {first.part.where}"
            part = each.part.members["id"]
            findings.report(part, "duplicate-entity-id", sentence, "give one of them another id")
        tables[each.entity.table.folded].append(each)
    shared = {name: [*_scoped(group, findings)] for name, group in tables.items()}
    left = {name: iter(group) for name, group in shared.items()}
    return [next(left[each.entity.table.folded]) for each in read]


def _scoped(group: Sequence[ReadEntity], findings: Findings) -> Iterator[ReadEntity]:
    """Yield entities of one table, each with the condition of its rows."""
    first = group[0].entity
    if len(group) == 1:
        yield group[0]
        return
    columns = first.partition_columns if all(map(_fits, group, [first] * len(group))) else ()
    for column in columns:
        literals = [_literal(each.entity, column) for each in group]
        values = {value for value, _ in literals}
        if len(values) == len(group) and "" not in values:
            for each, (_, text) in zip(group, literals, strict=True):
                yield _renamed(each, EntityScope(column, text))
            return
    yield _renamed(group[0], None)
    for each in group[1:]:
        where = group[0].part.where
        sentence = f"{each.entity.table} is the table of two entities, here and at {where}"
        hint = "they may share it if each calculates a partition column from a literal of its own"
        findings.report(each.part, "duplicate-destination", sentence, hint)
        yield _renamed(each, None)


def _fits(each: ReadEntity, first: Entity) -> bool:
    """Return whether an entity writes its rows like another one of the same table."""

    def how(entity: Entity) -> tuple[object, ...]:
        named = (entity.business_keys, entity.partition_columns)
        keys, partitions = ([name.lower() for name in names] for names in named)
        return entity.process, keys, partitions, entity.path

    return each.entity.id is not None and how(each.entity) == how(first)


def _literal(entity: Entity, column: str) -> tuple[str, str]:
    """Return the value of a column's literal, and its SQL; "" if it has no literal."""
    found = (each for each in entity.columns if each.final_name.lower() == column.lower())
    return next(((each.literal, each.expression) for each in found), ("", ""))


def _renamed(each: ReadEntity, scope: EntityScope | None) -> ReadEntity:
    """Return an entity with a unique name among the entities of its table."""
    number = each.entity.id
    model = each.entity.model if number is None else f"{each.entity.model}@{number}"
    return replace(each, entity=replace(each.entity, model=model, scope=scope))
