"""The checks of all models, now that every name and every column of the project is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError
from typing import Protocol

from penstock.core.checks import Checks
from penstock.core.findings import Finding, Severity
from penstock.core.graph import find_cycle, ordered, reach
from penstock.core.model import Model, Seed, Source, Version
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grid
from penstock.core.strategy import PartitionSettings
from penstock.project.checks.attach import Attacher
from penstock.project.checks.kept import Edge, Result
from penstock.project.checks.scene import (
    UNKNOWN,
    CheckedModel,
    KnownColumns,
    Stand,
    WrittenChecks,
    columns_of_tables,
    columns_of_version,
    selected,
    written_in_header,
    written_in_yaml,
    written_nodes,
)
from penstock.project.files.cache import ParseCache
from penstock.project.files.references import Files
from penstock.project.files.values import Plain
from penstock.project.models import Built, Draft
from penstock.project.settings.sources import column_docs
from penstock.project.settings.strategy import versioned_strategy
from penstock.project.sql.names import Named, NameResolver
from penstock.project.versioned.gather import Gathered
from penstock.project.versioned.given import GivenVersion
from penstock.project.versioned.model import VersionedModel


def order_edges(
    parents: Mapping[str, Sequence[str]], edges: Sequence[Edge]
) -> tuple[dict[str, tuple[str, ...]], list[Finding]]:
    """Give the models to build before each, and say which edges are dropped.

    `parents` are what models read by themselves; an edge that repeats one of those is none.
    """
    new = [e for e in sorted(edges) if e.reads in parents and e.reads not in parents[e.model]]
    if not new or find_cycle(parents):
        return {}, []
    both = {name: list(read) for name, read in parents.items()}
    for edge in new:
        both[edge.model].append(edge.reads)
    findings: list[Finding] = []
    try:
        ordered(both)
    except CycleError:
        new, findings = _without_cycles(parents, new)
    found: dict[str, dict[str, None]] = {}
    for edge in new:
        found.setdefault(edge.model, {})[edge.reads] = None
    return {model: tuple(sorted(reads)) for model, reads in found.items()}, findings


def _without_cycles(
    parents: Mapping[str, Sequence[str]], edges: Sequence[Edge]
) -> tuple[list[Edge], list[Finding]]:
    both = {name: list(read) for name, read in parents.items()}
    kept, findings = [], []
    for edge in edges:
        if edge.model in reach([edge.reads], both):
            findings.append(_dropped(edge))
        else:
            kept.append(edge)
            both[edge.model].append(edge.reads)
    return kept, findings


def _dropped(edge: Edge) -> Finding:
    sentence = (
        f'check "{edge.check}" reads {edge.reads}, which is built after {edge.model}: '
        "it reads what is there"
    )
    code, info = "check-order-dropped", Severity.INFO
    return Finding(edge.where, code, sentence, severity=info)


class Texts(Files, Protocol):
    """The files of a project, and the environment that fills them."""

    def fill(self, tree: Plain) -> Plain:
        """Fill the environment's values into a tree."""


@dataclass(slots=True)
class ProjectParts:
    """Everything that the files of a project say, as far as it is put together.

    `built` holds what became of each draft, by name.
    """

    drafts: list[Draft] = field(default_factory=list)
    versioned: list[VersionedModel] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    source_checks: dict[str, WrittenChecks] = field(default_factory=dict)
    seeds: list[Seed] = field(default_factory=list)
    built: dict[str, Built] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Checking:
    """Gives the models of a project their checks."""

    parts: ProjectParts
    gathered: Gathered
    texts: Texts

    def attached(
        self,
        models: Mapping[str, Model],
        resolver: NameResolver,
        cache: ParseCache,
        *,
        sample: bool,
    ) -> tuple[dict[str, Model], list[Finding]]:
        """Give every model with its checks and its order edges, and all that is wrong."""
        by_name = {draft.name: draft for draft in self.parts.drafts}
        sources = {str(source.table): source for source in self.parts.sources}
        seeds = {seed.name: seed for seed in self.parts.seeds}
        tables = columns_of_tables(lambda name: self._columns(name, by_name), sources, seeds)
        shared = {
            InputName(InputKind.SOURCE, name): each
            for name, each in self.parts.source_checks.items()
        }
        attacher = Attacher(resolver, self.texts, cache, tables, shared, sample)
        found: dict[str, Result] = {}
        for checked in self._checked_models(shared):
            result = attacher.read(checked)
            if result is not None:
                found[checked.model.input.name] = result
        findings = [finding for each in found.values() for finding in each.findings]
        parents = {name: model.depends_on for name, model in models.items()}
        edges = [e for n, each in found.items() if n in models for e in each.edges]
        order, dropped = order_edges(parents, edges)
        changed = {n: _with_checks(models[n], found[n], order) for n in found if n in models}
        return {**models, **changed}, [*findings, *dropped]

    def _checked_models(self, shared: Mapping[InputName, WrittenChecks]) -> Iterable[CheckedModel]:
        for draft in self.parts.drafts:
            if draft.enabled:
                yield self._of_draft(draft)
        for item in self.parts.versioned:
            yield CheckedModel(item.named, item.strategy, [*self._stands(item)])
        read = {name for each in self.parts.built.values() for name in _inputs(each)}
        sources = (each for each in self.parts.sources if each.input_name in shared)
        yield from (_unread(each) for each in sources if each.input_name not in read)

    def _of_draft(self, draft: Draft) -> CheckedModel:
        built = self.parts.built[draft.name]
        written = [written_in_header(draft.file)]
        if draft.entry:
            entry = draft.entry
            written.append(written_in_yaml(entry.file, entry.path, self.texts.fill))
        said = tuple(each for each in written if each is not None)
        inputs = tuple(_inputs(built)) if built.model else None
        columns = self._of_model(draft) if said else UNKNOWN
        return CheckedModel(draft.named, built.strategy, [Stand(1, said, columns, inputs)])

    def _stands(self, item: VersionedModel) -> Iterable[Stand]:
        model = self.parts.built[item.name].model
        versions = {each.number: each for each in model.versions} if model else {}
        for given in item.draft.versions:
            written = written_nodes(given.checks)
            version = versions.get(given.number)
            inputs = None if version is None else _outer(version.body.query.inputs)
            columns = self._of_version(version, given) if version else UNKNOWN
            yield Stand(given.number, (written,) if written else (), columns, inputs)

    def _columns(self, name: str, drafts: Mapping[str, Draft]) -> KnownColumns:
        if name in drafts:
            return self._of_model(drafts[name])
        built = self.parts.built.get(name)
        item = next((each for each in self.parts.versioned if each.name == name), None)
        given = item.draft.newest if item else None
        versions = built.model.versions if built and built.model else ()
        version = next((v for v in versions if given and v.number == given.number), None)
        return self._of_version(version, given) if version and given else UNKNOWN

    def _of_model(self, draft: Draft) -> KnownColumns:
        built = self.parts.built.get(draft.name)
        model = built.model if built else None
        if built and model and built.strategy.partitioning is not None:
            declared = model.versions[0].schema.columns
            if declared:
                return columns_of_version(model.versions[0], None)
        docs = model.columns if model else column_docs(draft.columns)
        return selected(draft.file, docs, built.strategy if built else None)

    def _of_version(self, version: Version, given: GivenVersion) -> KnownColumns:
        sql = given.own.sql
        return columns_of_version(version, self.gathered.sql.get((sql.path, sql.line)))


def _unread(source: Source) -> CheckedModel:
    """Give a subject that nobody builds, so that checks of a source are looked at all the same."""
    name = source.input_name
    readers = versioned_strategy("", PartitionSettings("", "date", Grid()))  # may have partitions
    return CheckedModel(Named(name, source.table), readers, [Stand(1, (), UNKNOWN, (name,))])


def _inputs(built: Built) -> tuple[InputName, ...]:
    return _outer(built.model.inputs) if built.model else ()


def _outer(inputs: Iterable[InputName]) -> tuple[InputName, ...]:
    return tuple(each for each in inputs if each.kind is not InputKind.THIS)


def _with_checks(model: Model, result: Result, order: Mapping[str, tuple[str, ...]]) -> Model:
    checks = result.checks
    versions = tuple(
        replace(each, checks=checks.get(each.number, Checks())) for each in model.versions
    )
    numbers = [each.number for each in versions if each.body.query is model.query]
    newest = numbers[0] if numbers else 1
    return replace(
        model,
        versions=versions,
        checks=checks.get(newest, Checks()),
        order_after=order.get(model.name, ()),
    )
