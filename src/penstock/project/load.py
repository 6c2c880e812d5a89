"""Loading a project: files in, a `Project` out, or every finding of every file at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.core.errors import ProjectError, UsageError
from penstock.core.findings import Finding, Location
from penstock.core.model import Model, Source
from penstock.core.names import TableName
from penstock.core.project import Project
from penstock.project.checking import Checking, ProjectParts, Texts
from penstock.project.checks.scene import files_in_header, written_in_yaml
from penstock.project.files.cache import ParseCache
from penstock.project.files.discovery import (
    PROJECT_FILE,
    Discovery,
    check_name,
    discover,
    entry_key,
    queries_of,
)
from penstock.project.files.parsed import SqlFile, YamlFile
from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.files.values import Plain, did_you_mean, mapping_of, text_of
from penstock.project.first_pass import FirstPass, open_first_pass
from penstock.project.input_ranges.mappings import map_inputs
from penstock.project.models import (
    SNAPSHOTS,
    cycle_findings,
    draft,
    model_of,
    without_duplicates,
)
from penstock.project.settings.project import Settings, settings_of
from penstock.project.settings.snapshot import system_columns_of
from penstock.project.settings.sources import YamlEntry, entries, seeds_of, sources_of
from penstock.project.sql.names import NameResolver
from penstock.project.versioned.gather import Gathered, gather
from penstock.project.versioned.model import build, versioned_models

YamlFiles = Sequence[tuple[YamlFile, Mapping[str, Plain]]]


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """Everything that was read, file by file.

    `sql` holds model files by their paths and queries of YAML entries by `entry_key`, `yaml` the
    files that describe models and sources.
    """

    seeds: Sequence[str]
    yaml: YamlFiles
    sql: Mapping[str, SqlFile]
    versioned: Gathered
    cache: ParseCache
    texts: Texts


def assemble(root: Path, settings: Settings, files: ProjectFiles) -> tuple[Project, list[Finding]]:
    """Link all files; the project is only meant to be used if no finding is an error."""
    parts = ProjectParts()
    _read_drafts(parts, files.yaml, files.sql, settings)
    _read_sources(parts, files, root, settings)
    prefix = settings.target.schema_prefix
    parts.versioned = versioned_models(files.versioned.drafts, prefix, settings.folders)
    documented = _documented(parts, files.yaml, "seeds")
    parts.seeds, findings = seeds_of(root, files.seeds, documented, settings)
    parts.findings += findings
    _check_names(parts)
    _check_reserved(parts, settings)
    resolver = _name_resolver(parts, settings)
    models = _linked_models(parts, files.versioned, resolver, settings)
    sources = {str(source.table): source for source in parts.sources}
    declared = {item.name: item.declared for item in parts.versioned}
    models, findings = map_inputs(models, sources, declared, files.cache)
    parts.findings += findings
    models = _checked(parts, models, resolver, files, settings)
    project = Project(
        name=settings.name,
        root=str(root),
        target=settings.target,
        models=models,
        sources=sources,
        seeds={seed.name: seed for seed in parts.seeds},
        threads=settings.threads,
        lease=settings.lease,
        targets=settings.targets,
        vars={name: text_of(value) for name, value in settings.vars.items()},
        max_partitions=settings.max_partitions,
        checks=settings.checks,
    )
    return project, parts.findings


def _linked_models(
    parts: ProjectParts, versioned: Gathered, resolver: NameResolver, settings: Settings
) -> dict[str, Model]:
    """Give the models by name, in the order of their names."""
    built = parts.built
    built |= {d.name: model_of(d, resolver) for d in parts.drafts if d.enabled}
    for item in parts.versioned:
        built[item.name] = build(item, versioned, resolver)
    models = {}
    for name in sorted(built):
        parts.findings += built[name].findings
        model = built[name].model
        if model is not None:
            models[name] = replace(model, immutable=settings.immutable)
    for item in parts.versioned:
        if item.name in models and item.draft.immutable is not None:
            models[item.name] = replace(models[item.name], immutable=item.draft.immutable)
    paths = {d.name: d.file.path for d in parts.drafts}
    paths |= {item.name: item.draft.path for item in parts.versioned}
    edges = {name: each.parents for name, each in built.items()}
    parts.findings += cycle_findings(edges, paths)
    return models


def _checked(
    parts: ProjectParts,
    models: dict[str, Model],
    resolver: NameResolver,
    files: ProjectFiles,
    settings: Settings,
) -> dict[str, Model]:
    """Give every model with its checks."""
    checking = Checking(parts, files.versioned, files.texts)
    sample = settings.checks.sample
    checked, findings = checking.attached(models, resolver, files.cache, sample=sample)
    parts.findings += findings
    return checked


def _read_drafts(
    parts: ProjectParts, yaml_files: YamlFiles, sql_files: Mapping[str, SqlFile], settings: Settings
) -> None:
    documented = _documented(parts, yaml_files, "models")
    drafts = []
    for path, file in sql_files.items():
        if path != file.path:
            continue  # the query of an entry
        name = file.path.rpartition("/")[2].removesuffix(".sql")
        entry = documented.pop(name, None) or documented.pop(name.partition(".")[0], None)
        drafts.append(draft(file, entry, settings))
    for yaml_file, tree in yaml_files:
        for entry in entries(yaml_file, tree, SNAPSHOTS):
            file = sql_files.get(entry_key(yaml_file, int(entry.path[1])), SqlFile(yaml_file.path))
            drafts.append(draft(file, entry, settings))
    parts.findings += (finding for item in drafts for finding in item.findings)
    parts.drafts, findings = without_duplicates(drafts)
    parts.findings += findings
    _check_documented(parts, documented)


def _check_documented(parts: ProjectParts, documented: Mapping[str, YamlEntry]) -> None:
    known = {item.name: item for item in parts.drafts}
    for name, entry in documented.items():
        if name in known:
            sentence = f"{name!r} is described here and in {known[name].place}"
            hint = "a snapshot of YAML says everything in its own entry"
            parts.findings.append(Finding(entry.where, "duplicate-key", sentence, hint))
        elif mapping_of(entry.tree.get("config")).get("materialized") == "snapshot":
            sentence = f"snapshot {name!r} has no query"
            hint = did_you_mean(name, known) or "write a .sql file, or an entry under snapshots:"
            parts.findings.append(Finding(entry.where, "unknown-model", sentence, hint))
        else:
            sentence = f"no model is called {name!r}"
            hint = did_you_mean(name, known)
            parts.findings.append(Finding(entry.where, "unknown-model", sentence, hint))


def _documented(parts: ProjectParts, yaml_files: YamlFiles, key: str) -> dict[str, YamlEntry]:
    result: dict[str, YamlEntry] = {}
    for file, tree in yaml_files:
        for entry in entries(file, tree, key):
            first = result.setdefault(entry.name, entry)
            if first is not entry:
                sentence = f"{entry.name!r} is described here and in {first.where}"
                parts.findings.append(Finding(entry.where, "duplicate-key", sentence))
    return result


def _read_sources(parts: ProjectParts, files: ProjectFiles, root: Path, settings: Settings) -> None:
    seen: dict[str, Source] = {}
    for file, tree in files.yaml:
        for entry in entries(file, tree, "sources"):
            for at, source in sources_of(entry, root, settings.target):
                first = seen.setdefault(source.table.folded, source)
                if first is source:
                    written = written_in_yaml(file, at, files.texts.fill)
                    parts.source_checks |= {str(source.table): written} if written else {}
                else:
                    sentence = f"source {source.table} is declared here and in {first.where}"
                    parts.findings.append(Finding(source.where, "duplicate-source", sentence))
    parts.sources = list(seen.values())


def _check_names(parts: ProjectParts) -> None:
    _check_versioned(parts)
    names = {item.name.lower(): item.where for item in parts.drafts}
    names |= {item.name.lower(): item.draft.where for item in parts.versioned}
    for seed in parts.seeds:
        first = names.get(seed.name.lower())
        if first:
            sentence = f"{seed.name!r} is defined in {first.path} and {seed.where.path}"
            parts.findings.append(Finding(seed.where, "duplicate-model", sentence))
    taken: dict[str, tuple[str, Location]] = {}
    sources = [(s.table, f"source {s.table}", s.where) for s in parts.sources]
    for table, owner, where in (*sources, *_owners(parts)):
        other = taken.setdefault(table.folded, (owner, where))
        if other[0] != owner:
            sentence = f"{owner} and {other[0]} ({other[1]}) are both the table {table}"
            hint = "give one of them another schema or alias"
            parts.findings.append(Finding(where, "duplicate-destination", sentence, hint))


def _owners(parts: ProjectParts) -> Iterator[tuple[TableName, str, Location]]:
    """Give every table that is built or loaded, with what people call its owner."""
    yield from ((s.table, f"seed {s.name}", s.where) for s in parts.seeds)
    yield from ((d.table, f"model {d.name}", d.where) for d in parts.drafts if d.enabled)
    yield from ((v.table, f"model {v.name}", v.draft.where) for v in parts.versioned)


def _check_reserved(parts: ProjectParts, settings: Settings) -> None:
    """Report tables in the schema of staging files, which is cleared by itself."""
    reserved = settings.checks.staging_schema
    for table, owner, where in _owners(parts):
        if table.schema.lower() == reserved.lower():
            sentence = f"{owner} lies in {reserved}, where staging files are"
            hint = "give it another schema, or set checks.staging_schema"
            parts.findings.append(Finding(where, "reserved-name", sentence, hint))


def _check_versioned(parts: ProjectParts) -> None:
    """Leave out versioned models whose name is taken; the finding names both places."""
    seen = {item.name.lower(): item.place for item in parts.drafts}
    kept = []
    for item in parts.versioned:
        first = seen.setdefault(item.name.lower(), item.draft.path)
        if first is item.draft.path:
            kept.append(item)
            continue
        sentence = f"{item.name!r} is defined in {first} and {item.draft.path}"
        hint = "model names are unique in the project, whatever the folder; rename one"
        parts.findings.append(Finding(item.draft.where, "duplicate-model", sentence, hint))
    parts.versioned = kept


def _name_resolver(parts: ProjectParts, settings: Settings) -> NameResolver:
    resolver = NameResolver(catalog=settings.target.catalog)
    enabled = [item for item in parts.drafts if item.enabled]
    for item in enabled:
        resolver.add_model(item.name, item.table)
        resolver.built.add(item.name)
        if item.config.text("materialized") == "snapshot":
            resolver.history[item.name] = system_columns_of(item.config)
    for versioned in parts.versioned:
        resolver.add_model(versioned.name, versioned.table)
        resolver.built.add(versioned.name)
        resolver.add_table(versioned.written, versioned.name)
    for item in enabled:
        resolver.models.setdefault(item.stem.lower(), resolver.models[item.name.lower()])
        resolver.add_table(item.written, item.name)
    for item in parts.drafts:
        if not item.enabled:
            resolver.hidden[item.name.lower()] = "that model has enabled=false"
    prefix = settings.target.schema_prefix
    for seed in parts.seeds:
        resolver.add_model(seed.name, seed.table)
        written = TableName(seed.table.schema.removeprefix(prefix), seed.table.table)
        resolver.add_table(written, seed.name)
    for source in parts.sources:
        resolver.add_source(source.table)
    return resolver


def load_project(
    root: Path,
    *,
    environ: Mapping[str, str],
    target: str | None = None,
    vars: Mapping[str, str] | None = None,  # noqa: A002  the word users know
    use_cache: bool = True,
) -> Project:
    """Load the project in a folder; touch neither warehouse nor state.

    Raises `ProjectError` with the findings of all files if any is an error; a project that loads
    carries its warnings. `UsageError` is for a folder without penstock.yml (`no-project`) and for a
    target that does not exist (`unknown-target`). `vars` and `target` come from the command line
    and win over what penstock.yml says.
    """
    root = root.resolve()
    if not (root / PROJECT_FILE).is_file():
        sentence = f"there is no {PROJECT_FILE} in {root}"
        raise UsageError("no-project", sentence, hint="penstock init DIR")
    first = open_first_pass(root, environ, use_cache=use_cache)
    settings = _settings(first, target, vars or {})
    document = first.yaml_file(PROJECT_FILE)
    places = {f: document.place("models", i) for i, f in enumerate(settings.folders)}
    found = discover(root, places)
    project, findings = _read(settings, found, first)
    first.save()
    findings += filter(None, [check_name("project", settings.name, document.place("name"))])
    findings += document.misfits
    everything = sorted({*first.findings, *findings})
    if document.tree is None:
        everything = [finding for finding in everything if finding.code != "missing-var"]
    if any(finding.is_error for finding in everything):
        raise ProjectError(tuple(everything))
    return replace(project, findings=tuple(everything), folders=settings.folders)


def _settings(first: FirstPass, target: str | None, given: Mapping[str, str]) -> Settings:
    tree = first.yaml_tree(PROJECT_FILE)
    try:
        settings = settings_of(tree, first.root, target, first.environ)
    except UsageError:
        if not any(finding.is_error for finding in first.findings):
            raise
        settings = settings_of(None, first.root, None, {})
    return replace(settings, vars={**settings.vars, **given})


def _read(settings: Settings, found: Discovery, first: FirstPass) -> tuple[Project, list[Finding]]:
    target = settings.target
    render_context = RenderContext(
        first.environ,
        settings.vars,
        TargetView(target.name, target.catalog, target.schema_prefix),
    )
    read = [first.yaml_file(path) for path in found.yaml]
    gathered = gather(read, found.sql, first)
    described = [file for file in read if file.path not in gathered.parts]
    misfits = [finding for file in described for finding in file.misfits]
    yaml_files = [(file, first.yaml_tree(file.path)) for file in described]
    others = gathered.parts.union(*(file.named for file in described))
    contents = first.model_contents([path for path in found.sql if path not in others])
    contents += [query for file in described for query in queries_of(file)]
    sql_files = first.sql_files(contents, found.macros, render_context)
    _leave_out_checks(sql_files, first)
    files = ProjectFiles(found.seeds, yaml_files, sql_files, gathered, first.cache, first)
    project, findings = assemble(first.root, settings, files)
    strays = [f for f in found.findings if f.where.path not in gathered.parts]
    return project, [*strays, *misfits, *gathered.findings, *findings]


def _leave_out_checks(sql_files: dict[str, SqlFile], first: FirstPass) -> None:
    """Take SQL that the checks of a header name for no model: nobody knew before it was read."""
    named = {path for file in sql_files.values() for path in files_in_header(file)}
    for path in named & sql_files.keys():
        del sql_files[path]
    first.findings[:] = [each for each in first.findings if each.where.path not in named]
