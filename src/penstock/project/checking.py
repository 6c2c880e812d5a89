"""The checks of all models, now that every name and every column of the project is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.core.checks import Checks
from penstock.core.findings import Finding
from penstock.core.model import Model, Seed, Source, Version
from penstock.core.names import InputKind, InputName
from penstock.core.partition import Grid
from penstock.core.strategy import PartitionSettings
from penstock.project.book import Book, Named
from penstock.project.cache import ParseCache
from penstock.project.checks.attach import Attacher
from penstock.project.checks.kept import Result
from penstock.project.checks.order import order_edges
from penstock.project.checks.scene import UNKNOWN, Columns
from penstock.project.checks.subjects import (
    Stand,
    Subject,
    Written,
    written_in_header,
    written_in_yaml,
    written_nodes,
)
from penstock.project.checks.tables import Tables, columns_of_version, selected
from penstock.project.drafts import Draft
from penstock.project.models import Built
from penstock.project.sources import column_docs
from penstock.project.strategy import versioned_strategy
from penstock.project.trees.references import Files
from penstock.project.values import Plain
from penstock.project.versioned.gather import Gathered
from penstock.project.versioned.given import GivenVersion
from penstock.project.versioned.model import VersionedModel


class Texts(Files, Protocol):
    """The files of a project, and the environment that fills them."""

    def fill(self, tree: Plain) -> Plain:
        """Fill the environment's values into a tree."""


@dataclass(frozen=True, slots=True)
class Checking:
    """Everything that checks may speak of. `built` holds what became of each draft, by name."""

    drafts: Sequence[Draft]
    versioned: Sequence[VersionedModel]
    built: Mapping[str, Built]
    sources: Mapping[str, Source]
    seeds: Mapping[str, Seed]
    source_checks: Mapping[str, Written]
    gathered: Gathered
    texts: Texts

    def attached(
        self, models: Mapping[str, Model], book: Book, cache: ParseCache, *, sample: bool
    ) -> tuple[dict[str, Model], list[Finding]]:
        """Give every model with its checks and its order edges, and all that is wrong."""
        by_name = {draft.name: draft for draft in self.drafts}
        tables = Tables(lambda name: self._columns(name, by_name), self.sources, self.seeds)
        shared = {
            InputName(InputKind.SOURCE, name): each for name, each in self.source_checks.items()
        }
        attacher = Attacher(book, self.texts, cache, tables, shared, sample)
        found: dict[str, Result] = {}
        for subject in self._subjects(shared):
            result = attacher.read(subject)
            if result is not None:
                found[subject.model.input.name] = result
        findings = [finding for each in found.values() for finding in each.findings]
        parents = {name: model.depends_on for name, model in models.items()}
        edges = [e for n, each in found.items() if n in models for e in each.edges]
        order, dropped = order_edges(parents, edges)
        changed = {n: _with_checks(models[n], found[n], order) for n in found if n in models}
        return {**models, **changed}, [*findings, *dropped]

    def _subjects(self, shared: Mapping[InputName, Written]) -> Iterable[Subject]:
        for draft in self.drafts:
            if draft.enabled:
                yield self._of_draft(draft)
        for item in self.versioned:
            yield Subject(item.named, item.strategy, [*self._stands(item)])
        read = {name for each in self.built.values() for name in _inputs(each)}
        yield from (_unread(self.sources[each.name]) for each in shared if each not in read)

    def _of_draft(self, draft: Draft) -> Subject:
        built = self.built[draft.name]
        written = [written_in_header(draft.file)]
        if draft.entry:
            entry = draft.entry
            written.append(written_in_yaml(entry.file, entry.path, self.texts.fill))
        said = tuple(each for each in written if each is not None)
        inputs = tuple(_inputs(built)) if built.model else None
        columns = self._of_model(draft) if said else UNKNOWN
        return Subject(draft.named, built.strategy, [Stand(1, said, columns, inputs)])

    def _stands(self, item: VersionedModel) -> Iterable[Stand]:
        model = self.built[item.name].model
        versions = {each.number: each for each in model.versions} if model else {}
        for given in item.draft.versions:
            written = written_nodes(given.checks)
            version = versions.get(given.number)
            inputs = None if version is None else _outer(version.body.query.inputs)
            columns = self._of_version(version, given) if version else UNKNOWN
            yield Stand(given.number, (written,) if written else (), columns, inputs)

    def _columns(self, name: str, drafts: Mapping[str, Draft]) -> Columns:
        if name in drafts:
            return self._of_model(drafts[name])
        built = self.built.get(name)
        item = next((each for each in self.versioned if each.name == name), None)
        given = item.draft.newest if item else None
        versions = built.model.versions if built and built.model else ()
        version = next((v for v in versions if given and v.number == given.number), None)
        return self._of_version(version, given) if version and given else UNKNOWN

    def _of_model(self, draft: Draft) -> Columns:
        built = self.built.get(draft.name)
        model = built.model if built else None
        if built and model and built.strategy.partitioning is not None:
            declared = model.versions[0].schema.columns
            if declared:
                return columns_of_version(model.versions[0], None)
        docs = model.columns if model else column_docs(draft.columns)
        return selected(draft.file, docs, built.strategy if built else None)

    def _of_version(self, version: Version, given: GivenVersion) -> Columns:
        sql = given.own.sql
        return columns_of_version(version, self.gathered.sql.get((sql.path, sql.line)))


def _unread(source: Source) -> Subject:
    """Give a subject that nobody builds, so that checks of a source are looked at all the same."""
    name = source.input_name
    readers = versioned_strategy("", PartitionSettings("", "date", Grid()))  # may have partitions
    return Subject(Named(name, source.table), readers, [Stand(1, (), UNKNOWN, (name,))])


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
