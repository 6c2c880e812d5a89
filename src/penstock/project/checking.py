"""The checks of all models, now that every name and every column of the project is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from penstock.core.checks import Checks, Phase
from penstock.core.errors import project_error
from penstock.core.findings import Finding, Location, Severity
from penstock.core.graph import find_cycle, reach
from penstock.core.model import Body, Model, Seed, Source, Version
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grid
from penstock.core.project import Project
from penstock.core.strategy import PartitionSettings
from penstock.project.checks import scene
from penstock.project.checks.attach import Attacher
from penstock.project.checks.kept import Edge, Result
from penstock.project.files.discovery import Content, check_name, decode
from penstock.project.files.nodes import TemplateText
from penstock.project.files.parsed import SqlFile, YamlFile
from penstock.project.files.values import Plain
from penstock.project.first_pass import FirstPass, GivenParts
from penstock.project.models import Built, Draft
from penstock.project.settings.project import Settings, YamlEntry, entries, is_uri, seeds_of
from penstock.project.settings.strategy import versioned_strategy
from penstock.project.sql.names import Named, NameResolver, QueryOwner, link
from penstock.project.versioned.gather import Gathered
from penstock.project.versioned.given import GivenVersion
from penstock.project.versioned.model import VersionedModel

if TYPE_CHECKING:
    from penstock.project.entities.load import ReadEntities
    from penstock.project.python.imports import Imported
    from penstock.project.sessions.load import ReadSessions


def order_edges(
    parents: Mapping[str, Sequence[str]], edges: Sequence[Edge]
) -> tuple[dict[str, tuple[str, ...]], list[Finding]]:
    """Return the models to build before each beside `parents`, and say which edges are dropped."""
    new = [e for e in sorted(edges) if e.reads in parents and e.reads not in parents[e.model]]
    if not new or find_cycle(parents):
        return {}, []
    before, wanted = ({name: list(read) for name, read in parents.items()} for _ in range(2))
    for edge in new:
        wanted[edge.model].append(edge.reads)
    is_cyclic = bool(find_cycle(wanted))  # asked once, for it is rare and each edge costs a walk
    found: dict[str, set[str]] = {}
    findings = []
    for edge in new:
        if is_cyclic and edge.model in reach([edge.reads], before):
            late = f"{edge.reads}, which is built after {edge.model}"
            sentence = f'check "{edge.check}" reads {late}: it reads what is there'
            info = Severity.INFO
            findings.append(Finding(edge.where, "check-order-dropped", sentence, severity=info))
        else:
            before[edge.model].append(edge.reads)
            found.setdefault(edge.model, set()).add(edge.reads)
    return {model: tuple(sorted(reads)) for model, reads in found.items()}, findings


_UNREAD = frozenset(
    {"yaml-syntax", "json-syntax", "not-utf8", "empty-file", "file-too-large", "unreadable-file"}
    | {"python-import-failed", "session-needed-at-import", "template-syntax"}
)
"""What is said of files of which nobody knows what they hold."""
_CONSEQUENCES = frozenset(
    {"unknown-reference", "unknown-model", "unknown-name", "external-table"}
    | {"parameter-without-partition", "unused-sql", "unknown-seed"}
)
"""What is said of other files when something is missing that such a file may hold."""
_NAMED = re.compile(r"'([^']+)'|table ([\w.]+)")


def without_consequences(
    findings: Iterable[Finding], contents: Mapping[str, Content | None]
) -> list[Finding]:
    """Leave out what follows from a file that could not be read: its name or text says the name.

    The file itself is an error, so nothing goes on without what is left out.
    """
    said = sorted(set(findings))
    unread = {each.where.path for each in said if each.code in _UNREAD and each.is_error}
    texts = [f"{path}\n{_text_of(contents.get(path))}" for path in sorted(unread)]

    def follows(each: Finding) -> bool:
        if each.code not in _CONSEQUENCES or each.where.path in unread:
            return False
        names = [one or other for one, other in _NAMED.findall(each.sentence)]
        words = {name.rpartition(".")[2] for name in names}
        if each.where.path.endswith(".sql"):  # which a version or a check may name
            words.add(PurePosixPath(each.where.path).name)
        return any(word in text for word in words for text in texts)

    return [each for each in said if not follows(each)] if texts else said


def with_findings(project: Project, parts: ProjectParts, document: YamlFile) -> Project:
    """Return the project with its warnings; raises `ProjectError` where any finding is an error."""
    first = parts.first
    bad = check_name("project", project.name, document.place("name"))
    findings = [*first.findings, *parts.findings, *document.misfits, *([bad] if bad else [])]
    everything = without_consequences(findings, first.contents)
    if document.tree is None:  # nobody knows which variables it has
        everything = [each for each in everything if each.code != "missing-var"]
    if any(finding.is_error for finding in everything):
        error = project_error(tuple(everything))
        error.project = project
        raise error
    return replace(project, findings=_with_models(everything, parts, project.models.values()))


def _with_models(
    findings: Sequence[Finding], parts: ProjectParts, models: Iterable[Model]
) -> tuple[Finding, ...]:
    """Say of warnings which models they are about: those of its file, or that of the entry."""
    by_file: dict[str, set[str]] = {}
    for model in models if findings else ():
        for path in {model.where.path, *(body.where.path for body in bodies_of(model))}:
            by_file.setdefault(path, set()).add(model.name)
    entries_of: dict[str, list[tuple[int, str]]] = {}
    for file, tree in parts.yaml if findings else ():
        for key in ("models", "snapshots", "sources", "seeds"):
            is_of_model = key in ("models", "snapshots")
            found = [(e.where.line, e.name * is_of_model) for e in entries(file, tree, key)]
            entries_of.setdefault(file.path, []).extend(found)

    def about(each: Finding) -> tuple[str, ...]:
        above = [e for e in entries_of.get(each.where.path, ()) if e[0] <= each.where.line]
        name = max(above)[1] if above else ""
        return (name,) if name else tuple(sorted(by_file.get(each.where.path, ())))

    return tuple(f if f.about else replace(f, about=about(f)) for f in findings)


def bodies_of(model: Model) -> Iterator[Body]:
    """Yield the SQL of every version and revision."""
    for version in model.versions:
        yield from (version.body, *version.revisions)


def _text_of(content: Content | None) -> str:
    return content.data.decode("utf-8", "replace") if content else ""


@dataclass(slots=True)
class ProjectParts:
    """Everything that the files of a project say, as far as it is put together.

    `sql` holds model files by their paths and queries of YAML entries by `entry_key`. `tests` are
    those of files of their own, by the model that they are looked at with.
    """

    settings: Settings
    first: FirstPass
    gathered: Gathered
    yaml: Sequence[tuple[YamlFile, Mapping[str, Plain]]] = ()
    sql: Mapping[str, SqlFile] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    versioned: list[VersionedModel] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    source_checks: dict[InputName, scene.WrittenChecks] = field(default_factory=dict)
    tests: dict[str, scene.WrittenChecks] = field(default_factory=dict)
    seeds: list[Seed] = field(default_factory=list)
    built: dict[str, Built] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    python: Imported | None = None
    natives: Sequence[YamlFile] = ()
    entities: ReadEntities | None = None
    sessions: ReadSessions | None = None

    def refuse_remote(self, path: str, where: Location) -> None:
        """Report a place that is not on a local disk; the finding says of the URI but its kind.

        Nothing may ask such a place: without credentials that takes most of a minute to fail.
        """
        if is_uri(path) and not path.lower().startswith("file:/"):
            kind = path.partition(":")[0].lower()
            sentence = f"{kind}: is not supported yet; tables and files are read from local disks"
            self.findings.append(Finding(where, "remote-not-supported", sentence))


def entities_of(
    parts: ProjectParts, found: Sequence[str], given: GivenParts
) -> ReadEntities | None:
    """Read the entities of a project, if there are any, in files that were found or are given."""
    documents = found if given.documents is None else tuple(given.documents)
    if not documents and not parts.natives:
        return None
    from penstock.project.entities.load import read_entities

    over, first = given.environment, parts.first
    entities = read_entities(documents, parts.natives, parts.settings, first, over)
    parts.findings += entities.findings
    return entities


def sessions_of(parts: ProjectParts, paths: Sequence[str]) -> ReadSessions | None:
    """Read the session packages of a project, if there are any."""
    if not paths:
        return None
    from penstock.project.sessions.load import read_sessions

    found = read_sessions(paths, parts.settings, parts.first)
    parts.drafts += found.drafts
    return found


def check_packages(parts: ProjectParts, models: Mapping[str, Model]) -> None:
    """Hold what session packages ask for against their events, and the models that they track."""
    if parts.sessions is not None:
        found, columns = parts.sessions, ProjectColumns.of(parts).of_input
        found.check_columns(columns, parts.first.cache)
        found.check_models(models)
        parts.findings += found.findings


def read_seeds(
    parts: ProjectParts, paths: Sequence[str], described: Mapping[str, YamlEntry]
) -> None:
    """Read the seeds of a project, and the tests of those that YAML describes."""
    first = parts.first
    parts.seeds, findings = seeds_of(first.root, paths, described, parts.settings)
    parts.findings += findings
    for name, entry in described.items():
        written = scene.written_in_yaml(entry.file, entry.path, first.fill)
        parts.source_checks |= {InputName(InputKind.MODEL, name): written} if written else {}


def read_tests(parts: ProjectParts, paths: Sequence[str], resolver: NameResolver) -> None:
    """Attach each test of its own file to the last model it reads, else to a source or seed."""
    parents = {name: tuple(each.parents) for name, each in parts.built.items()}
    for path in paths:
        content = parts.first.content(path)
        text = decode(content, parts.findings) if content is not None else None
        if text is None:
            continue
        file = parts.first.check_template(path, TemplateText.of(text), 1)
        if not file.branches:
            parts.findings += file.findings
            continue
        linked = link(file.branches, resolver, QueryOwner(path))
        models = {n.name for n in linked.inputs if n.kind is InputKind.MODEL} & parts.built.keys()
        above = {each: reach([each], parents) - {each} for each in models}
        last = models.difference(*above.values())
        others = [n for n in sorted(linked.inputs) if n.kind is not InputKind.EXTERNAL]
        if last:
            name = max(last)
            written = scene.written_in_test(file, text, Phase.AFTER)
            parts.tests[name] = scene.both_written(parts.tests.get(name), written)
        elif others:
            written = scene.written_in_test(file, text, Phase.BEFORE)
            known = parts.source_checks.get(others[0])
            parts.source_checks[others[0]] = scene.both_written(known, written)
        elif linked.inputs:  # what reads nothing at all are rows for unit tests
            parts.findings += linked.findings
            hint = "read one with ref(), or declare the table as a source"
            sentence, warning = "the test reads no model, so nothing runs it", Severity.WARNING
            parts.findings.append(Finding(Location(path), "unused-sql", sentence, hint, warning))


def with_checks(
    parts: ProjectParts, models: Mapping[str, Model], resolver: NameResolver
) -> dict[str, Model]:
    """Return every model with its checks and its order edges; all that is wrong is a finding."""
    columns = ProjectColumns.of(parts)
    tables = cache(columns.of_input)
    first, sample = parts.first, parts.settings.checks.sample
    attacher = Attacher(resolver, first, first.cache, tables, parts.source_checks, sample)
    found: dict[str, Result] = {}
    for checked in _checked_models(parts, columns):
        result = attacher.read(checked)
        if result is not None:
            found[checked.model.input.name] = result
            parts.findings += result.findings
    parents = {name: model.depends_on for name, model in models.items()}
    edges = [edge for name, each in found.items() if name in models for edge in each.edges]
    order, dropped = order_edges(parents, edges)
    parts.findings += dropped
    changed = {n: _with_result(models[n], found[n], order.get(n, ())) for n in found if n in models}
    return {**models, **changed}


def _checked_models(parts: ProjectParts, columns: ProjectColumns) -> Iterable[scene.CheckedModel]:
    for draft in parts.drafts:
        if not draft.enabled:
            continue
        built = parts.built[draft.name]
        said = draft.checks(parts.first.fill)
        said += (parts.tests[draft.name],) if draft.name in parts.tests else ()
        slices = built.strategy.reads_slices  # whose columns no file tells
        inputs = _outer(built.model.inputs) if built.model and not slices else None
        known = columns.of_draft(draft) if said else scene.UNKNOWN
        yield scene.CheckedModel(draft.named, built.strategy, [scene.Stand(1, said, known, inputs)])
    for item in parts.versioned:
        yield scene.CheckedModel(item.named, item.strategy, [*_stands(parts, item, columns)])
    read = {name for each in parts.built.values() if each.model for name in each.model.inputs}
    readers = versioned_strategy("", PartitionSettings("", "date", Grid()))  # may have partitions
    tables = {source.input_name: source.table for source in parts.sources}
    seeds = {seed.name: seed for seed in parts.seeds}
    tables |= {InputName(InputKind.MODEL, seed.name): seed.table for seed in parts.seeds}
    for name in (each for each in tables if each in parts.source_checks and each not in read):
        # nobody builds from it; what is wrong with its checks is told all the same
        if name.kind is InputKind.MODEL:
            sentence = f"no model reads seed {name.name}, so nothing looks at its tests"
            hint, where = "read it in a model with ref()", seeds[name.name].where
            code, warning = "option-without-effect", Severity.WARNING
            parts.findings.append(Finding(where, code, sentence, hint, warning))
        stand = scene.Stand(1, (), scene.UNKNOWN, (name,))
        yield scene.CheckedModel(Named(name, tables[name]), readers, [stand])


def _stands(
    parts: ProjectParts, item: VersionedModel, columns: ProjectColumns
) -> Iterable[scene.Stand]:
    model = parts.built[item.name].model
    versions = {each.number: each for each in model.versions} if model else {}
    for given in item.draft.versions:
        written = (scene.written_nodes(given.checks), parts.tests.get(item.name))
        version = versions.get(given.number)
        inputs = None if version is None else _outer(version.body.query.inputs)
        known = columns.of_version(version, given) if version else scene.UNKNOWN
        yield scene.Stand(given.number, tuple(w for w in written if w), known, inputs)


@dataclass(frozen=True, slots=True)
class ProjectColumns:
    """The columns of models, as far as files tell."""

    parts: ProjectParts
    drafts: Mapping[str, Draft]

    @classmethod
    def of(cls, parts: ProjectParts) -> ProjectColumns:
        """Look at all models of a project."""
        return cls(parts, {draft.name: draft for draft in parts.drafts})

    def of_input(self, asked: InputName) -> scene.KnownColumns:
        """Return the columns of a model, a seed or a source."""
        name, parts = asked.name, self.parts
        if asked.kind is InputKind.SOURCE:
            source = next((each for each in parts.sources if each.input_name == asked), None)
            return scene.declared_of(source.columns) if source else scene.UNKNOWN
        seed = next((each for each in parts.seeds if each.name == name), None)
        if asked.kind is not InputKind.MODEL:
            return scene.UNKNOWN
        if seed:
            return replace(scene.declared_of(seed.columns), names=None)
        if name in self.drafts:
            return self.of_draft(self.drafts[name])
        built = parts.built.get(name)
        item = next((each for each in parts.versioned if each.name == name), None)
        given = item.draft.newest if item else None
        versions = built.model.versions if built and built.model else ()
        version = next((v for v in versions if given and v.number == given.number), None)
        return self.of_version(version, given) if version and given else scene.UNKNOWN

    def of_draft(self, draft: Draft) -> scene.KnownColumns:
        """Return the columns of a model of its own file."""
        built = self.parts.built.get(draft.name)
        model = built.model if built else None
        if built and model and built.strategy.partitioning is not None:
            declared = model.versions[0].schema.columns
            if declared:
                return scene.columns_of_version(model.versions[0], None)
        docs = model.columns if model else draft.config.columns
        return scene.selected(draft.file, docs, built.strategy if built else None)

    def of_version(self, version: Version, given: GivenVersion) -> scene.KnownColumns:
        """Return the columns of a version."""
        return scene.columns_of_version(version, self.parts.gathered.sql[given.own.sql])


def _outer(inputs: Iterable[InputName]) -> tuple[InputName, ...]:
    return tuple(each for each in inputs if each.kind is not InputKind.THIS)


def _with_result(model: Model, result: Result, order: tuple[str, ...]) -> Model:
    checks = result.checks
    versions = tuple(replace(v, checks=checks.get(v.number, Checks())) for v in model.versions)
    newest = next((v.number for v in versions if v.body.query is model.query), 1)
    own = checks.get(newest, Checks())
    return replace(model, versions=versions, checks=own, order_after=order)
