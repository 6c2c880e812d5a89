"""Attach tests and checks to models, once all names and columns of the project are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from penstock.core.checks.check import Checks, Phase
from penstock.core.findings import Finding, Location, Severity
from penstock.core.graph import reach
from penstock.core.model import Model, Version
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.partition import Grid
from penstock.core.strategy import PartitionSettings
from penstock.project.checks import scene
from penstock.project.checks.attach import Attacher
from penstock.project.checks.kept import Result, order_edges
from penstock.project.files.discovery import decode
from penstock.project.files.nodes import TemplateText
from penstock.project.files.values import switch_of
from penstock.project.linking import LinkedFiles
from penstock.project.models import Draft
from penstock.project.settings.strategy import versioned_strategy
from penstock.project.sql.names import Named, QueryOwner, link
from penstock.project.versioned.given import GivenVersion
from penstock.project.versioned.model import VersionedModel


def attach_tests(files: LinkedFiles) -> LinkedFiles:
    """Attach each test in its own file to the last model it reads, else to a source or seed."""
    first, findings = files.parsed.first, files.parsed.findings
    tests, input_checks = {**files.tests}, {**files.input_checks}
    parents = {name: tuple(each.parents) for name, each in files.built.items()}
    for path in files.parsed.files.tests:
        content = first.content(path)
        text = decode(content, findings) if content is not None else None
        if text is None:
            continue
        file = first.check_template(path, TemplateText.of(text), 1)
        if not file.branches:
            findings += file.findings
            continue
        read = link(file.branches, files.resolver, QueryOwner(path))
        models = {n.name for n in read.inputs if n.kind is InputKind.MODEL} & parents.keys()
        above = {each: reach([each], parents) - {each} for each in models}
        last = models.difference(*above.values())
        others = [n for n in sorted(read.inputs) if n.kind is not InputKind.EXTERNAL]
        if last:
            name = max(last)
            written = scene.written_in_test(file, text, Phase.AFTER)
            tests[name] = scene.both_written(tests.get(name), written)
        elif others:
            written = scene.written_in_test(file, text, Phase.BEFORE)
            known = input_checks.get(others[0])
            input_checks[others[0]] = scene.both_written(known, written)
        elif read.inputs and switch_of(
            file.config.get("enabled", True)
        ):  # what reads nothing at all are rows for unit tests
            findings += read.findings
            hint = "read one with ref(), or declare the table as a source"
            sentence, warning = "the test reads no model, so nothing runs it", Severity.WARNING
            findings.append(Finding(Location(path), "unused-sql", sentence, hint, warning))
    return replace(files, tests=tests, input_checks=input_checks)


def check_packages(files: LinkedFiles) -> LinkedFiles:
    """Check session packages against the columns of their events, and the models they track."""
    parsed = files.parsed
    if parsed.sessions is not None:
        parsed.sessions.check_columns(_Columns(files).of_input, parsed.first.cache)
        parsed.sessions.check_models(files.models)
        parsed.findings.extend(parsed.sessions.findings)
    return files


def attach_checks(files: LinkedFiles) -> LinkedFiles:
    """Attach its checks and its order edges to every model; errors become findings."""
    first, models = files.parsed.first, files.models
    columns, sample = _Columns(files), files.parsed.settings.checks.sample
    tables = cache(columns.of_input)
    attacher = Attacher(files.resolver, first, first.cache, tables, files.input_checks, sample)
    results: dict[str, Result] = {}
    for checked in _checked_models(files, columns):
        result = attacher.read(checked)
        if result is not None:
            results[checked.model.input.name] = result
            first.findings += result.findings
    parents = {name: model.depends_on for name, model in models.items()}
    edges = [edge for name, each in results.items() if name in models for edge in each.edges]
    order, dropped = order_edges(parents, edges)
    first.findings += dropped
    names = [name for name in results if name in models]
    changed = {n: _with_result(models[n], results[n], order.get(n, ())) for n in names}
    return replace(files, models={**models, **changed})


def _checked_models(files: LinkedFiles, columns: _Columns) -> Iterator[scene.CheckedModel]:
    for draft in files.drafts.values():
        if isinstance(draft, VersionedModel):
            stands = _stands(files, draft, columns)
            yield scene.CheckedModel(draft.reference, draft.strategy, [*stands])
        elif draft.enabled:
            built = files.built[draft.name]
            written = draft.checks(files.parsed.first.fill)
            written += (files.tests[draft.name],) if draft.name in files.tests else ()
            slices = built.strategy.reads_slices  # whose columns no file tells
            inputs = _outer(built.model.inputs) if built.model and not slices else None
            known = columns.of_draft(draft) if written else scene.UNKNOWN
            stand = scene.Stand(1, written, known, inputs)
            yield scene.CheckedModel(draft.reference, built.strategy, [stand])
    read = {name for each in files.built.values() if each.model for name in each.model.inputs}
    readers = versioned_strategy("", PartitionSettings("", "date", Grid()))  # may have partitions
    seeds = files.seeds
    tables = {name: each.table for name, each in files.sources.items()}
    tables |= {name: each.table for name, each in seeds.items()}
    for name in (each for each in tables if each in files.input_checks and each not in read):
        # nobody builds from it; what is wrong with its checks is reported all the same
        if name in seeds:
            sentence = f"no model reads seed {name.name}, so its tests are not read"
            hint, code = "read it in a model with ref()", "option-without-effect"
            finding = Finding(seeds[name].where, code, sentence, hint, Severity.WARNING)
            files.parsed.findings.append(finding)
        stand = scene.Stand(1, (), scene.UNKNOWN, (name,))
        yield scene.CheckedModel(Named(name, tables[name]), readers, [stand])


def _stands(files: LinkedFiles, item: VersionedModel, columns: _Columns) -> Iterator[scene.Stand]:
    model = files.built[item.name].model
    versions = {each.number: each for each in model.versions} if model else {}
    for draft in item.draft.versions:
        written = (scene.written_nodes(draft.checks), files.tests.get(item.name))
        version = versions.get(draft.number)
        inputs = None if version is None else _outer(version.body.query.inputs)
        known = columns.of_version(version, draft) if version else scene.UNKNOWN
        yield scene.Stand(draft.number, tuple(w for w in written if w), known, inputs)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of models, seeds and sources, as far as files contain them."""

    files: LinkedFiles

    def of_input(self, name: InputName) -> scene.KnownColumns:
        files = self.files
        if name in files.sources:
            return scene.declared_of(files.sources[name].columns)
        if name in files.seeds:
            return replace(scene.declared_of(files.seeds[name].columns), names=None)
        item = files.drafts.get(name.name) if name.kind is InputKind.MODEL else None
        if item is None:
            return scene.UNKNOWN
        if not isinstance(item, VersionedModel):
            return self.of_draft(item)
        built, draft = files.built[item.name], item.draft.newest
        versions = built.model.versions if built.model else ()
        version = next((v for v in versions if draft and v.number == draft.number), None)
        return self.of_version(version, draft) if version and draft else scene.UNKNOWN

    def of_draft(self, draft: Draft) -> scene.KnownColumns:
        built = self.files.built.get(draft.name)
        model = built.model if built else None
        if built and model and built.strategy.partitioning is not None:
            declared = model.versions[0].schema.columns
            if declared:
                return scene.columns_of_version(model.versions[0], None)
        docs = model.columns if model else draft.config.columns
        return scene.selected(draft.file, docs, built.strategy if built else None)

    def of_version(self, version: Version, draft: GivenVersion) -> scene.KnownColumns:
        return scene.columns_of_version(version, self.files.parsed.gathered.sql[draft.own.sql])


def _outer(inputs: Iterable[InputName]) -> tuple[InputName, ...]:
    return tuple(each for each in inputs if each.kind is not InputKind.THIS)


def _with_result(model: Model, result: Result, order: tuple[str, ...]) -> Model:
    checks = result.checks
    versions = tuple(replace(v, checks=checks.get(v.number, Checks())) for v in model.versions)
    newest = next((v.number for v in versions if v.body.query is model.query), 1)
    own = checks.get(newest, Checks())
    return replace(model, versions=versions, checks=own, order_after=order)
