"""Link parsed files: every name gets its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from penstock.core.beside.exposures import Exposure, ModelGroup
from penstock.core.beside.hooks import Hooks
from penstock.core.findings import Finding, Location
from penstock.core.graph import find_cycle
from penstock.core.model import Body, Model, Seed, Source
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import Target
from penstock.core.query import Query
from penstock.core.storage import same_place
from penstock.project.checks.scene import WrittenChecks, written_in_yaml
from penstock.project.files.discovery import Discovery, entry_key
from penstock.project.files.parsed import SqlFile, YamlFile
from penstock.project.files.values import Plain, did_you_mean, mapping_of
from penstock.project.first_pass import FirstPass
from penstock.project.known_tables import ProjectTables
from penstock.project.model_versions import model_versions
from penstock.project.models import SNAPSHOTS, Built, Draft, draft
from penstock.project.outside import Outside
from penstock.project.settings.project import (
    Settings,
    YamlEntry,
    entries,
    refuse_remote,
    seeds_of,
    sources_of,
)
from penstock.project.sql.names import NameResolver
from penstock.project.versioned.gather import Gathered
from penstock.project.versioned.model import versioned_models

if TYPE_CHECKING:
    from penstock.project.entities.load import ReadEntities
    from penstock.project.python.imports import Imported
    from penstock.project.python.models import PythonDraft
    from penstock.project.sessions.load import ReadSessions


@dataclass(frozen=True, slots=True)
class ParsedFiles:
    """The content of each file of a project."""

    settings: Settings
    first: FirstPass
    """Reads files, and collects the findings of all phases."""
    files: Discovery
    document: YamlFile
    """penstock.yml."""
    gathered: Gathered
    yaml: Sequence[tuple[YamlFile, Mapping[str, Plain]]]
    sql: Mapping[str, SqlFile]
    """Model files by their paths, and queries of YAML entries by `entry_key`."""
    entities: ReadEntities | None = None
    sessions: ReadSessions | None = None
    functions: Imported | None = None

    @property
    def findings(self) -> list[Finding]:
        """The findings so far."""
        return self.first.findings

    def entries(self, key: str) -> Iterator[YamlEntry]:
        """Yield the items of a top-level list of all YAML files."""
        for file, tree in self.yaml:
            yield from entries(file, tree, key)

    def described(self, key: str) -> dict[str, YamlEntry]:
        """Return the items of a top-level list by name; a duplicate name is a finding."""
        result: dict[str, YamlEntry] = {}
        for entry in self.entries(key):
            first = result.setdefault(entry.name, entry)
            if first is not entry:
                sentence = f"{entry.name!r} is described here and in {first.where}"
                self.findings.append(Finding(entry.where, "duplicate-key", sentence))
        return result


@dataclass(frozen=True, slots=True)
class LinkedFiles:
    """A project in which names have tables, and models are built."""

    parsed: ParsedFiles
    target: Target
    """The target, including the folders of tables with their own location."""
    drafts: Mapping[str, Draft]
    sources: Mapping[InputName, Source]
    seeds: Mapping[InputName, Seed]
    resolver: NameResolver
    built: Mapping[str, Built]
    models: Mapping[str, Model]
    input_checks: Mapping[InputName, WrittenChecks]
    """The checks of sources and seeds: their readers run them."""
    tests: Mapping[str, WrittenChecks]
    """Tests in their own files, by the model with which they run."""
    hooks: Hooks = Hooks()
    exposures: Mapping[str, Exposure] = field(default_factory=dict)
    groups: Mapping[str, ModelGroup] = field(default_factory=dict)


def _settle(
    parsed: ParsedFiles,
    resolver: NameResolver,
    drafts: Sequence[Draft],
    seeds: Sequence[Seed],
    sources: Sequence[Source],
) -> None:
    """Render the templates again that ask for tables."""
    models, files = {each.name: each for each in drafts}, {each.name: each for each in seeds}
    read, catalog = {each.table.folded: each for each in sources}, parsed.settings.target.catalog
    ProjectTables(parsed.first, resolver, {**parsed.sql}, models, files, read, catalog).settle()


def link(parsed: ParsedFiles) -> LinkedFiles:
    """Assign tables to names, and inputs to models."""
    settings, findings = parsed.settings, parsed.findings
    descriptions = parsed.described("models")
    drafts, declared = _drafts(parsed, descriptions)
    findings += (finding for each in drafts for finding in each.findings)
    sources, checks = _sources(parsed, declared)
    documented = parsed.described("seeds")
    seeds = seeds_of(parsed.first.root, parsed.files.seeds, documented, settings, findings)
    for name, entry in documented.items():
        written = written_in_yaml(entry.file, entry.path, parsed.first.fill)
        checks |= {InputName(InputKind.MODEL, name): written} if written else {}
    _check_described(parsed, drafts, descriptions)
    drafts += versioned_models(parsed.gathered, settings.target.schema_prefix, settings.folders)
    drafts = _check_names(parsed, drafts, seeds)
    _check_tables(parsed, drafts, sources, seeds)
    enabled = [each for each in drafts if each.enabled]
    target = _with_places(parsed, drafts)
    resolver = _resolver(drafts, seeds, sources, target)
    for each in enabled:  # what entities read and nobody has declared
        if (source := each.made_source(resolver, target)) is not None:
            _check_place(source, source.where, parsed)
            resolver.add_source(source.table, source.path)
            sources.append(source)
    if parsed.sessions:
        parsed.sessions.link(resolver)
    _settle(parsed, resolver, enabled, seeds, sources)
    built = {each.name: each.link(resolver) for each in enabled}
    return LinkedFiles(
        parsed,
        target,
        {each.name: each for each in drafts},
        {each.input_name: each for each in sources},
        {InputName(InputKind.MODEL, each.name): each for each in seeds},
        resolver,
        built,
        _models(parsed, enabled, built),
        checks,
        {},
    )


def _drafts(
    parsed: ParsedFiles, descriptions: dict[str, YamlEntry]
) -> tuple[list[Draft], list[Source]]:
    """Return every model except versioned ones, and sources that functions declare.

    Descriptions that belong to one are removed from the list.
    """
    settings = parsed.settings
    drafts: list[Draft] = [*(parsed.sessions.drafts if parsed.sessions else ())]
    files = {path: file for path, file in parsed.sql.items() if path == file.path}
    stems = {path.rpartition("/")[2].removesuffix(".sql"): path for path in files}
    versions = model_versions(descriptions, stems, parsed.findings)
    for path, file in files.items():  # the others are queries of entries
        if path in versions:
            drafts.append(draft(file, None, settings, versions[path]))
        else:
            name = path.rpartition("/")[2].removesuffix(".sql")
            entry = descriptions.pop(name, None) or descriptions.pop(name.partition(".")[0], None)
            drafts.append(draft(file, entry, settings))
    for entry in parsed.entries(SNAPSHOTS):
        key = entry_key(entry.file, int(entry.path[1]))
        file = parsed.sql.get(key, SqlFile(entry.file.path))
        drafts.append(draft(file, entry, settings))
    functions = _functions(parsed, descriptions)
    sources = (each.source(parsed.first.root, settings.target) for each in functions)
    drafts += functions
    drafts += parsed.entities.drafts(settings) if parsed.entities else ()
    return drafts, [each for each in sources if each is not None]


def _functions(parsed: ParsedFiles, descriptions: dict[str, YamlEntry]) -> list[PythonDraft]:
    """Return a draft of every function."""
    if parsed.functions is None:
        return []
    parsed.findings.extend(parsed.functions.findings)
    if not parsed.functions.models:
        return []
    from penstock.project.python import models

    return models.drafts_of(parsed.functions, descriptions, parsed.settings, parsed.first.root)


def _sources(
    parsed: ParsedFiles, declared: Sequence[Source]
) -> tuple[list[Source], dict[InputName, WrittenChecks]]:
    """Return the sources with the checks of those in YAML; `declared` are those of functions."""
    first, target = parsed.first, parsed.settings.target
    for each in declared:
        _check_place(each, each.where, parsed)
    seen = {each.table.folded: each for each in declared}
    checks: dict[InputName, WrittenChecks] = {}
    for entry in parsed.entries("sources"):
        for at, source in sources_of(entry, first.root, target):
            _check_place(source, entry.file.place(*at, "path"), parsed)
            known = seen.setdefault(source.table.folded, source)
            if known is source:
                written = written_in_yaml(entry.file, at, first.fill)
                checks |= {source.input_name: written} if written else {}
            else:
                sentence = f"source {source.table} is declared here and in {known.where}"
                parsed.findings.append(Finding(source.where, "duplicate-source", sentence))
    return [*seen.values()], checks


def _check_place(source: Source, where: Location, parsed: ParsedFiles) -> None:
    """Report an unsupported path of a source, unless that is the warehouse's, reported once."""
    if source.path != parsed.settings.target.uri_of(source.table):
        is_delta = source.is_delta or source.may_be_delta
        refuse_remote(source.path, where, parsed.findings, is_delta=is_delta)


def _check_described(
    parsed: ParsedFiles, drafts: Sequence[Draft], descriptions: Mapping[str, YamlEntry]
) -> None:
    """Report descriptions that belong to no model."""
    known = {each.name: each for each in drafts}
    for name, entry in descriptions.items():
        code, hint = "unknown-model", did_you_mean(name, known)
        if name in known:
            code = "duplicate-key"
            sentence = f"{name!r} is described here and in {known[name].place}"
            hint = "a snapshot of YAML says everything in its own entry"
        elif mapping_of(entry.tree.get("config")).get("materialized") == "snapshot":
            sentence = f"snapshot {name!r} has no query"
            hint = hint or "write a .sql file, or an entry under snapshots:"
        else:
            sentence = f"no model is called {name!r}"
        parsed.findings.append(Finding(entry.where, code, sentence, hint))


def _check_names(
    parsed: ParsedFiles, drafts: Sequence[Draft], seeds: Sequence[Seed]
) -> list[Draft]:
    """Remove models with a duplicate name; the finding names both places."""
    taken: dict[str, Draft] = {}
    again = [each for each in drafts if taken.setdefault(each.name.lower(), each) is not each]
    others = [(each.name, each.place, each.where) for each in again]
    others += [(each.name, each.where.path, each.where) for each in seeds]
    for name, place, where in others:
        if (first := taken.get(name.lower())) is not None:
            sentence = f"{name!r} is defined in {first.place} and {place}"
            hint = "model names are unique in the whole project; rename one"
            parsed.findings.append(Finding(where, "duplicate-model", sentence, hint))
    return [*taken.values()]


def _check_tables(
    parsed: ParsedFiles, drafts: Sequence[Draft], sources: Sequence[Source], seeds: Sequence[Seed]
) -> None:
    """Report tables with two owners, or in the staging folder, which is cleared automatically."""
    owners = [(s.table, f"seed {s.name}", s.where) for s in seeds]
    owners += [(d.table, d.owner, d.where) for d in drafts if d.enabled]
    loaded = {s.table.folded for s in seeds}  # a source may be a seed
    read = [(s.table, f"source {s.table}", s.where) for s in sources]
    taken: dict[str, tuple[str, Location]] = {}
    for table, owner, where in (*(r for r in read if r[0].folded not in loaded), *owners):
        other = taken.setdefault(table.folded, (owner, where))
        if other[0] != owner:
            sentence = f"{owner} and {other[0]} ({other[1]}) are both the table {table}"
            hint = "give one of them another schema or alias"
            parsed.findings.append(Finding(where, "duplicate-destination", sentence, hint))
    reserved = parsed.settings.checks.staging_schema
    for table, owner, where in owners:
        if table.schema.lower() == reserved.lower():
            sentence = f"{owner} is in {reserved}, the schema of staging files"
            hint = "give it another schema, or set checks.staging_schema"
            parsed.findings.append(Finding(where, "reserved-name", sentence, hint))


def _with_places(parsed: ParsedFiles, drafts: Sequence[Draft]) -> Target:
    """Return the target with the folders of tables with their own location; report shared ones."""
    target, enabled = parsed.settings.target, [each for each in drafts if each.enabled]
    for each in enabled:
        refuse_remote(each.path, each.where, parsed.findings)
    own = {each.table.folded: each.path for each in drafts if each.path}
    taken = dict[str, Draft]()
    for each in enabled if own else ():
        place = each.path or target.uri_of(each.table)
        first = taken.setdefault(same_place(place), each)
        if first.table.folded != each.table.folded and (first.path or each.path):
            sentence = f"{each.name} and {first.name} ({first.where}) are both at {place}"
            hint = "give one of them another path"
            parsed.findings.append(Finding(each.where, "duplicate-path", sentence, hint))
    return replace(target, places=own)


def _resolver(
    drafts: Sequence[Draft], seeds: Sequence[Seed], sources: Sequence[Source], target: Target
) -> NameResolver:
    resolver = NameResolver(catalog=target.catalog)
    enabled = [each for each in drafts if each.enabled]
    for each in enabled:
        resolver.add_model(each.name, each.table)
        resolver.built.add(each.name)
        if each.config.text("materialized") == "frame":
            resolver.frames.add(each.name)
        if each.is_incremental:
            resolver.incremental.add(each.name)
        if (columns := each.system_columns) is not None:
            resolver.history[each.name] = columns
    for each in enabled:
        resolver.models.setdefault(each.stem.lower(), resolver.models[each.name.lower()])
        if each.version is not None and each.version.is_latest:
            resolver.models.setdefault(each.version.base.lower(), each.reference)
        resolver.add_table(each.written, each.name)
        resolver.places[target.uri_of(each.table).rstrip("/")] = each.reference
    disabled = (each for each in drafts if not each.enabled)
    resolver.hidden |= {each.name.lower(): "that model is disabled" for each in disabled}
    for seed in seeds:
        resolver.add_model(seed.name, seed.table)
        schema = seed.table.schema.removeprefix(target.schema_prefix)
        resolver.add_table(TableName(schema, seed.table.table), seed.name)
    for source in sources:
        resolver.add_source(source.table, source.path, source.known_as)
    return resolver


def _models(
    parsed: ParsedFiles, enabled: Sequence[Draft], built: Mapping[str, Built]
) -> dict[str, Model]:
    """Return the models by name, in the order of their names."""
    first, findings = parsed.first, parsed.findings
    _name_every_maker(built, enabled)
    models = {}
    outside = Outside(first.root, first.environ, findings, first.outside)
    for each in sorted(enabled, key=lambda each: each.name):
        findings += built[each.name].findings
        model, own = built[each.name].model, each.immutable
        if model is not None:
            is_immutable = parsed.settings.immutable if own is None else own
            model = replace(model, immutable=True) if is_immutable else model
            models[each.name] = outside.applied(model, each.config)
    paths = {each.name: each.file.path for each in enabled}
    findings += cycle_findings({n: each.parents for n, each in built.items()}, paths)
    return models


def _name_every_maker(built: Mapping[str, Built], enabled: Sequence[Draft]) -> None:
    """Make readers of a table that several entities build depend on all of them."""
    makers: dict[str, list[str]] = {}
    for each in enabled:
        makers.setdefault(each.table.folded, []).append(each.name)
    for group in (names for names in makers.values() if len(names) > 1):
        for name, reader in built.items():
            line = next((reader.parents[each] for each in group if each in reader.parents), None)
            if line is not None and reader.model is not None and name not in group:
                reader.parents |= dict.fromkeys(group, line)
                reader.model = _reading(reader.model, group)


def _reading(model: Model, names: Sequence[str]) -> Model:
    """Add inputs to a model beside those in its text."""
    more = [InputName(InputKind.MODEL, each) for each in names]

    def wider(query: Query) -> Query:
        return replace(query, inputs=tuple(dict.fromkeys((*query.inputs, *more))))

    def body(each: Body) -> Body:
        return replace(each, query=wider(each.query))

    depends_on = tuple(sorted({*model.depends_on, *names}))
    return replace(model.with_bodies(body), query=wider(model.query), depends_on=depends_on)


def cycle_findings(
    edges: Mapping[str, Mapping[str, int]], paths: Mapping[str, str]
) -> list[Finding]:
    """Report cycles that share no model; edges point to the reader, as in `penstock graph`."""
    found: list[Finding] = []
    left = dict(edges)
    while cycle := find_cycle(left):
        lines = {reader: edges[reader][read] for read, reader in pairwise(cycle)}
        places = [Location(paths[name], lines[name]) for name in cycle[:-1]]
        sentence = f"{' → '.join(cycle)} ({', '.join(str(place) for place in places)})"
        hint = "a model cannot read what is built from it; take one of these references out"
        found.append(Finding(places[0], "dependency-cycle", sentence, hint))
        left = {name: read for name, read in left.items() if name not in cycle}
    return found
