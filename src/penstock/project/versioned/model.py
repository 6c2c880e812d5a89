"""Build models from drafts, once all names of the project are known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.findings import Finding, Location, Severity
from penstock.core.model import Body, ColumnDoc, Model, Version
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.partitions.mapping import Calendar, Everything, RangeMapping, Same, Trailing
from penstock.core.partitions.partition import Grain
from penstock.core.query import Query
from penstock.core.strategy import Strategy
from penstock.project.files.kinds import word
from penstock.project.files.nodes import Broken, YamlNode, excerpt
from penstock.project.files.parsed import SqlFile
from penstock.project.files.sections import read_section
from penstock.project.files.values import did_you_mean, digest
from penstock.project.input_ranges.inputs import Declared
from penstock.project.models import Built, Draft
from penstock.project.settings.config import shown_config
from penstock.project.settings.strategy import StrategyConfig, versioned_strategy
from penstock.project.sql.bodies import fingerprint_of_settings, linked_body
from penstock.project.sql.names import Named, NameResolver, QueryOwner
from penstock.project.versioned.gather import Gathered
from penstock.project.versioned.given import GivenRevision, GivenVersion, VersionedDraft
from penstock.project.versioned.schema import schema_of, schema_text
from penstock.project.versioned.sections import RANGES, UNITS, DependencySection, TrailingSection

_PARTITIONS = word(RANGES)
_FINER: Mapping[str, tuple[str, tuple[Grain, ...]]] = {
    "DAY": ("midnights", (Grain.HOUR,)),
    "WEEK": ("Mondays", (Grain.HOUR, Grain.DAY)),
    "MONTH": ("the first days of months", (Grain.HOUR, Grain.DAY, Grain.WEEK)),
    "YEAR": ("the first days of years", (Grain.HOUR, Grain.DAY, Grain.WEEK, Grain.MONTH)),
}
"""For every unit, the partitions that hold rows, and the types with larger units."""


def _declared_of(
    node: YamlNode, reader: Named, resolver: NameResolver, findings: list[Finding]
) -> Declared | None:
    """Read an entry; an unknown name is a finding."""
    if isinstance(node.value, Broken):
        return None
    if isinstance(node.value, str):
        found = _find(node.value, node.where, reader, resolver, findings)
        return Declared(found, None, "", node.where) if found else None
    if not isinstance(node.value, Mapping):
        value = excerpt("depends_on", node.value)
        sentence = f"depends_on holds {value}; it must be a name or a mapping with model"
        findings.append(Finding(node.where, "bad-value", sentence))
        return None
    before = len(findings)
    section = read_section(DependencySection, node, "depends_on", findings)
    name, mapping = section.model, _mapping(section)
    found = _find(name, section.place("model"), reader, resolver, findings) if name else None
    is_whole = len(findings) == before
    return Declared(found, mapping, section.column, node.where) if found and is_whole else None


def _mapping(section: DependencySection) -> RangeMapping | None:
    node = section.partitions
    if node is not None and isinstance(node.value, Mapping):
        above = section.dotted("partitions")
        count = read_section(TrailingSection, node, above, section.findings).trailing
        return Trailing(count) if count else None
    named = section.read("partitions", _PARTITIONS)
    if named in UNITS:
        return Calendar(named)
    others: dict[str, RangeMapping] = {"same": Same(), "all": Everything()}
    return others.get(named)


def _find(
    name: str, where: Location, reader: Named, resolver: NameResolver, findings: list[Finding]
) -> InputName | None:
    """Find a model by name, `dataset.name` or `dataset.table`, a seed or a source."""
    found = resolver.ref(name) or resolver.table(tuple(name.split(".")))
    if found.input.kind is InputKind.EXTERNAL:
        schema, _, last = name.rpartition(".")
        named = resolver.model(last)
        own = (key for key, each in resolver.tables.items() if named and each.input == named.input)
        if named is None or schema.lower() not in (key.rpartition(".")[0] for key in own):
            everything = (*resolver.models.values(), *resolver.tables.values())
            known = {str(each.input.name) for each in everything}.union(resolver.tables)
            hint = did_you_mean(name, known) or resolver.model_hint(last)
            sentence = f'depends_on "{name}" is not a model, seed or source'
            findings.append(Finding(where, "unknown-reference", sentence, hint))
            return None
        found = named
    is_self = found.input == reader.input
    return InputName(InputKind.THIS, reader.input.name) if is_self else found.input


@dataclass(slots=True)
class VersionedModel(Draft):
    """A versioned file with its table; SQL files are shown relative to the model `folders`."""

    draft: VersionedDraft = field(kw_only=True)
    gathered: Gathered = field(kw_only=True)
    folders: Sequence[str] = field(kw_only=True)

    @property
    def place(self) -> str:
        """The place of its definition, for messages."""
        return self.file.path

    @property
    def immutable(self) -> bool | None:
        """Whether SQL that has built partitions is fixed; None uses the project's setting."""
        return self.draft.section.immutable

    @property
    def strategy(self) -> Strategy:
        """How its rows reach the table."""
        return versioned_strategy(self.draft.word, self.draft.partition)

    def link(self, resolver: NameResolver) -> Built:
        """Link every SQL and combine the versions."""
        builder = _Builder(self, self.gathered, resolver, Built(self.strategy))
        built = builder.built
        built.declared = builder.declared()
        built.findings += builder.sparse()
        versions = tuple(filter(None, map(builder.version, self.draft.versions)))
        built.model = builder.model(versions) if versions else None
        return built


def versioned_models(
    gathered: Gathered, prefix: str, folders: Sequence[str]
) -> Iterator[VersionedModel]:
    """Yield a model for every draft that has a name and a table."""
    for draft in gathered.drafts:
        name, to = draft.section.name, draft.destination
        if name and to.dataset and to.table:
            yield VersionedModel(
                name,
                draft.where,
                name,
                SqlFile(draft.path),
                StrategyConfig({}, {}, draft.where, name),
                TableName(prefix + to.dataset, to.table),
                TableName(to.dataset, to.table),
                draft=draft,
                gathered=gathered,
                folders=folders,
            )


@dataclass(slots=True)
class _Builder:
    item: VersionedModel
    gathered: Gathered
    resolver: NameResolver
    built: Built

    def declared(self) -> tuple[Declared, ...]:
        nodes, findings = self.item.draft.section.depends_on, self.built.findings
        read = (_declared_of(node, self.item.reference, self.resolver, findings) for node in nodes)
        found = tuple(filter(None, read))
        for each in found:
            self.note(each.input, each.where.line)
        return found

    def note(self, name: InputName, line: int) -> None:
        is_self = name.kind is InputKind.THIS and self.built.strategy.is_view
        if name.kind is InputKind.MODEL or is_self:
            self.built.parents.setdefault(name.name, line)

    def version(self, draft: GivenVersion) -> Version | None:
        fields = draft.fields or ()
        text = schema_text(fields)
        own = self.body(draft, draft.own, text)
        revisions = tuple(filter(None, (self.body(draft, r, text) for r in draft.revisions)))
        return Version(draft.number, own, schema_of(fields), text, revisions) if own else None

    def body(self, version: GivenVersion, revision: GivenRevision, schema: str) -> Body | None:
        branches = self.gathered.sql[revision.sql].branches
        if not branches:
            return None
        draft, strategy, where = self.item.draft, self.built.strategy, revision.section.node.where
        fingerprint = replace(
            fingerprint_of_settings(strategy, draft.lies, draft.section.description, _docs(draft)),
            version=version.number,
            revision=revision.number,
            effective_from=revision.effective_from,
            schema=digest(schema) if schema else "",
            yaml=draft.yaml,
        )
        body, linked = linked_body(
            Body(
                Query("", "", "", ()),
                fingerprint,
                revision.sql.text,
                _source(revision, self.item.folders),
                where,
                backfill_since=revision.backfill_since,
                description=revision.section.description,
                reason=revision.section.reason,
            ),
            branches[0],
            QueryOwner(revision.sql.path, self.item.reference),
            self.resolver,
            has_partition=bool(draft.field) and draft.word != "table",
        )
        self.built.findings += linked.findings
        line = where.line if where.path == draft.path else draft.where.line
        for name in linked.inputs:
            self.note(name, line)
        inputs = dict.fromkeys((*body.query.inputs, *(each.input for each in self.built.declared)))
        return replace(body, query=replace(body.query, inputs=tuple(inputs)))

    def model(self, versions: tuple[Version, ...]) -> Model:
        draft, parents = self.item.draft, self.built.parents
        newest = max(versions, key=lambda version: version.effective_from or dt.date.min)
        return Model(
            name=draft.section.name,
            table=self.item.table,
            where=draft.where,
            strategy=self.built.strategy,
            query=newest.body.query,
            fingerprint=newest.body.fingerprint,
            depends_on=tuple(sorted(name for name in parents if name in self.resolver.built)),
            layout=draft.lies,
            columns=_docs(draft),
            description=draft.section.description,
            tags=draft.section.tags,
            config=shown_config(draft.settings),
            versions=versions,
        )

    def sparse(self) -> list[Finding]:
        """Return a message if no version can fill every partition."""
        draft, units = self.item.draft, set()
        for version in draft.versions:
            branches = self.gathered.sql[version.own.sql].branches
            columns = branches[0].outputs.columns if branches else ()
            units.add(
                {each.name.lower(): each.unit for each in columns}.get(draft.field.lower(), "")
            )
        unit = units.pop() if len(units) == 1 else ""
        holding, finer = _FINER.get(unit, ("", ()))
        partition = draft.destination.partition
        if draft.word != "partition" or not partition or draft.grid.grain not in finer:
            return []
        sentence = f"only {holding} can hold rows; write type: {unit}"
        hint = f'"{draft.field}" is truncated to its {unit.lower()}'
        return [
            Finding(partition.place("type"), "sparse-partitions", sentence, hint, Severity.WARNING)
        ]


def _docs(draft: VersionedDraft) -> tuple[ColumnDoc, ...]:
    fields = (draft.newest.fields or ()) if draft.newest else ()
    return tuple(ColumnDoc(each.name, each.description, str(each.type)) for each in fields)


def _source(revision: GivenRevision, folders: Sequence[str]) -> str:
    above = (f"{folder.rstrip('/')}/" for folder in folders)
    folder = next((each for each in above if revision.sql.file.startswith(each)), "")
    return revision.sql.file.removeprefix(folder) or revision.sql.text
