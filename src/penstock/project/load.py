"""Loading a project: files in, a `Project` out, or every finding of every file at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.entities.entity import EntityEnvironment
from penstock.core.errors import UsageError
from penstock.core.findings import Finding, Location
from penstock.core.masking import SECRETS
from penstock.core.model import Model
from penstock.core.names import TableName
from penstock.core.project import Project
from penstock.project.checking import (
    ProjectParts,
    check_packages,
    entities_of,
    read_seeds,
    read_tests,
    sessions_of,
    with_checks,
    with_findings,
)
from penstock.project.checks.scene import files_in_header, lone_checks, written_in_yaml
from penstock.project.files.cache import open_cache
from penstock.project.files.discovery import (
    PROJECT_FILE,
    Discovery,
    discover,
    entry_key,
    project_root,
    queries_of,
)
from penstock.project.files.parsed import RenderContext, SqlFile, TargetView, YamlFile
from penstock.project.files.values import Plain, did_you_mean, mapping_of
from penstock.project.first_pass import NOTHING_GIVEN, FirstPass, GivenParts, Templates
from penstock.project.input_ranges.mappings import map_inputs
from penstock.project.models import SNAPSHOTS, Draft, cycle_findings, draft, name_every_maker
from penstock.project.outside import Outside
from penstock.project.settings.project import (
    Settings,
    YamlEntry,
    entries,
    settings_of,
    sources_of,
)
from penstock.project.sql.names import NameResolver
from penstock.project.versioned.gather import gather
from penstock.project.versioned.model import build, versioned_models

if TYPE_CHECKING:
    from penstock.project.python.declare import PythonModel
    from penstock.project.python.imports import Imported
    from penstock.project.python.models import PythonDraft


def load_project(
    root: Path,
    *,
    environ: Mapping[str, str],
    target: str | None = None,
    vars: Mapping[str, Plain] | None = None,  # noqa: A002  the word users know
    use_cache: bool = True,
    given: GivenParts = NOTHING_GIVEN,
) -> Project:
    """Load the project in a folder; touch neither warehouse nor state.

    Raises `ProjectError` with the findings of all files if any is an error; a project that loads
    carries its warnings. `UsageError` is for a folder without penstock.yml (`no-project`) and for a
    target that does not exist (`unknown-target`). `vars` and `target` win over penstock.yml.
    With what is `given` the folder may do without penstock.yml, and that is then all there is.
    """
    root, is_whole = project_root(root, is_needed=not given.is_some)
    cache = open_cache(root, use=use_cache)
    first = FirstPass(root, environ, cache, contents=given.contents)
    tree = mapping_of(first.filled(PROJECT_FILE)) if is_whole else {"name": "main"}
    try:
        settings = settings_of(tree, first.root, target, environ)
    except UsageError:
        if not any(finding.is_error for finding in first.findings):
            raise
        settings = settings_of(None, first.root, None, {})
    settings = replace(settings, vars={**settings.vars, **(vars or {})}, asked_vars=vars or {})
    document = first.yaml_file(PROJECT_FILE) if is_whole else YamlFile(PROJECT_FILE)
    found = discover(root, *settings.places(document)) if is_whole else Discovery()
    parts = _read(settings, found, first)
    where = document.place("targets", settings.target.name, "warehouse")
    parts.refuse_remote(settings.target.warehouse, where)
    parts.entities = entities_of(parts, found.entities, given)
    parts.sessions = sessions_of(parts, found.sessions)
    parts.python = import_functions(root, found.python, given.functions or ())
    project = _assembled(parts, found)
    first.cache.save()
    return with_findings(project, parts, document)


def _read(settings: Settings, found: Discovery, first: FirstPass) -> ProjectParts:
    """Read all files, each by itself."""
    target = settings.target
    SECRETS.add_settings(target.spark.conf)
    view = TargetView(target.name, target.catalog, target.schema_prefix)
    render_context = RenderContext(first.environ, settings.vars, view)
    macros = {path: text for path in found.macros if (text := first.text(path)) is not None}
    first.templates = Templates(macros, render_context)
    read = [first.yaml_file(path) for path in found.yaml]
    gathered = gather(read, found.sql, first)
    natives = [file for file in read if file.is_entity]
    apart = gathered.parts.union(file.path for file in natives)
    described = [file for file in read if file.path not in apart]
    yaml_files = [(file, mapping_of(first.filled(file.path))) for file in described]
    others = gathered.parts.union(*(file.named for file in described))
    contents = [c for path in found.sql if path not in others and (c := first.content(path))]
    contents += [query for file in described for query in queries_of(file)]
    sql_files = first.sql_files(contents, found.macros, render_context)
    # SQL that the checks of a header name is no model: nobody knew before the header was read
    named = {path for file in sql_files.values() for path in files_in_header(file)}
    lone = list(lone_checks(sql_files, named))
    named |= {each.where.path for each in lone}
    first.findings[:] = [each for each in first.findings if each.where.path not in named]
    sql_files = {path: file for path, file in sql_files.items() if path not in named}
    findings = [f for f in found.findings if f.where.path not in gathered.parts] + lone
    findings += [finding for file in described for finding in file.misfits]
    findings += gathered.findings
    parts = ProjectParts(settings, first, gathered, yaml_files, sql_files, findings=findings)
    parts.natives = natives
    return parts


def _assembled(parts: ProjectParts, found: Discovery) -> Project:
    """Link all files; the project is only meant to be used if no finding is an error."""
    settings, first = parts.settings, parts.first
    documented = _read_drafts(parts)
    _read_sources(parts)
    prefix = settings.target.schema_prefix
    parts.versioned = versioned_models(parts.gathered.drafts, prefix, settings.folders)
    read_seeds(parts, found.seeds, _documented(parts, "seeds"))
    _check_names(parts)
    _check_documented(parts, documented)
    _check_tables(parts)
    resolver = _name_resolver(parts)
    if parts.sessions:
        parts.sessions.link(resolver)
    models = _linked_models(parts, resolver)
    read_tests(parts, found.tests, resolver)
    sources = {str(source.table): source for source in parts.sources}
    check_packages(parts, models)
    declared = {item.name: item.declared for item in parts.versioned}
    models, findings = map_inputs(models, sources, declared, first.cache)
    parts.findings += findings
    return Project(
        name=settings.name,
        root=str(first.root),
        target=replace(settings.target, places=_places(parts)),
        models=with_checks(parts, models, resolver),
        sources=sources,
        seeds={seed.name: seed for seed in parts.seeds},
        threads=settings.threads,
        lease=settings.lease,
        state_patience=settings.state_patience,
        targets=settings.targets,
        vars=settings.vars,
        max_partitions=settings.max_partitions,
        checks=settings.checks,
        folders=settings.folders,
        entities=parts.entities.entities if parts.entities else {},
        packages=parts.sessions.packages if parts.sessions else {},
        environment=parts.entities.environment if parts.entities else EntityEnvironment(),
    )


def _read_drafts(parts: ProjectParts) -> dict[str, YamlEntry]:
    """Read every model; give what YAML says of those that no file is of."""
    documented = _documented(parts, "models")
    for path, file in parts.sql.items():
        if path != file.path:
            continue  # the query of an entry
        name = path.rpartition("/")[2].removesuffix(".sql")
        entry = documented.pop(name, None) or documented.pop(name.partition(".")[0], None)
        parts.drafts.append(draft(file, entry, parts.settings))
    for yaml_file, tree in parts.yaml:
        for entry in entries(yaml_file, tree, SNAPSHOTS):
            key = entry_key(yaml_file, int(entry.path[1]))
            file = parts.sql.get(key, SqlFile(yaml_file.path))
            parts.drafts.append(draft(file, entry, parts.settings))
    root, settings = parts.first.root, parts.settings
    functions = drafts_of_functions(
        parts.python, lambda name: documented.pop(name, None), settings, root
    )
    parts.drafts += functions
    parts.findings += parts.python.findings if parts.python else ()
    parts.sources += (each.source(root, settings.target) for each in functions if each.is_source)
    parts.drafts += parts.entities.drafts(settings) if parts.entities else ()
    parts.findings += (finding for item in parts.drafts for finding in item.findings)
    return documented


def import_functions(
    root: Path, paths: Sequence[str], given: Sequence[PythonModel[..., Any]]
) -> Imported | None:
    """Import the Python files of a project, beside functions that an app was given."""
    if not paths and not given:
        return None
    from penstock.project.python.imports import Imported, import_files

    found = import_files(root, paths) if paths else Imported(root)
    found.models[:0] = given
    return found


def drafts_of_functions(
    imported: Imported | None,
    entry_of: Callable[[str], YamlEntry | None],
    settings: Settings,
    root: Path,
) -> list[PythonDraft]:
    """Return a draft of every function; imports pydantic if there is any."""
    if imported is None or not imported.models:
        return []
    from penstock.project.python import models

    return models.drafts_of(imported, entry_of, settings, root)


def _documented(parts: ProjectParts, key: str) -> dict[str, YamlEntry]:
    result: dict[str, YamlEntry] = {}
    for file, tree in parts.yaml:
        for entry in entries(file, tree, key):
            first = result.setdefault(entry.name, entry)
            if first is not entry:
                sentence = f"{entry.name!r} is described here and in {first.where}"
                parts.findings.append(Finding(entry.where, "duplicate-key", sentence))
    return result


def _check_documented(parts: ProjectParts, documented: Mapping[str, YamlEntry]) -> None:
    known = {item.name: item for item in parts.drafts}
    for name, entry in documented.items():
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
        parts.findings.append(Finding(entry.where, code, sentence, hint))


def _read_sources(parts: ProjectParts) -> None:
    first, seen = parts.first, {each.table.folded: each for each in parts.sources}
    for file, tree in parts.yaml:
        for entry in entries(file, tree, "sources"):
            for at, source in sources_of(entry, first.root, parts.settings.target):
                if not source.path.startswith(parts.settings.target.warehouse):
                    parts.refuse_remote(source.path, file.place(*at, "path"))
                known = seen.setdefault(source.table.folded, source)
                if known is source:
                    written = written_in_yaml(file, at, first.fill)
                    parts.source_checks |= {source.input_name: written} if written else {}
                else:
                    sentence = f"source {source.table} is declared here and in {known.where}"
                    parts.findings.append(Finding(source.where, "duplicate-source", sentence))
    parts.sources = list(seen.values())


def _check_names(parts: ProjectParts) -> None:
    """Leave out models whose name is taken; the finding names both places."""
    taken: dict[str, tuple[str, Location]] = {}

    def is_first(name: str, place: str, where: Location) -> bool:
        if name.lower() not in taken:
            taken[name.lower()] = (place, where)
            return True
        sentence = f"{name!r} is defined in {taken[name.lower()][0]} and {place}"
        hint = "model names are unique in the project, whatever the folder; rename one"
        parts.findings.append(Finding(where, "duplicate-model", sentence, hint))
        return False

    parts.drafts = [each for each in parts.drafts if is_first(each.name, each.place, each.where)]
    parts.versioned = [
        each for each in parts.versioned if is_first(each.name, each.draft.path, each.draft.where)
    ]
    for seed in parts.seeds:
        if seed.name.lower() in taken:
            path = taken[seed.name.lower()][1].path
            sentence = f"{seed.name!r} is defined in {path} and {seed.where.path}"
            parts.findings.append(Finding(seed.where, "duplicate-model", sentence))


def _check_tables(parts: ProjectParts) -> None:
    """Report tables that two own, or that lie where staging files are, which clears by itself."""
    owners = [(s.table, f"seed {s.name}", s.where) for s in parts.seeds]
    owners += [(d.table, d.owner, d.where) for d in parts.drafts if d.enabled]
    owners += [(v.table, f"model {v.name}", v.draft.where) for v in parts.versioned]
    sources = [(s.table, f"source {s.table}", s.where) for s in parts.sources]
    taken: dict[str, tuple[str, Location]] = {}
    for table, owner, where in (*sources, *owners):
        other = taken.setdefault(table.folded, (owner, where))
        if other[0] != owner:
            sentence = f"{owner} and {other[0]} ({other[1]}) are both the table {table}"
            hint = "give one of them another schema or alias"
            parts.findings.append(Finding(where, "duplicate-destination", sentence, hint))
    reserved = parts.settings.checks.staging_schema
    for table, owner, where in owners:
        if table.schema.lower() == reserved.lower():
            sentence = f"{owner} lies in {reserved}, where staging files are"
            hint = "give it another schema, or set checks.staging_schema"
            parts.findings.append(Finding(where, "reserved-name", sentence, hint))


def _places(parts: ProjectParts) -> dict[str, str]:
    """Return the folders of tables that say their own; report one that two tables share."""
    enabled = [each for each in parts.drafts if each.enabled]
    named = {each.table.folded: each.path for each in enabled if each.path}
    for each in enabled:
        parts.refuse_remote(each.path, each.where)
    taken = dict[str, Draft]()
    for each in enabled if named else ():
        place = each.path or parts.settings.target.uri_of(each.table)
        first = taken.setdefault(place.rstrip("/"), each)
        if first.table.folded != each.table.folded and (first.path or each.path):
            sentence = f"{each.name} and {first.name} ({first.where}) are both at {place}"
            hint = "give one of them another path"
            parts.findings.append(Finding(each.where, "duplicate-path", sentence, hint))
    return named


def _linked_models(parts: ProjectParts, resolver: NameResolver) -> dict[str, Model]:
    """Return the models by name, in the order of their names."""
    built = parts.built
    built |= {d.name: d.made(resolver) for d in parts.drafts if d.enabled}
    built |= {item.name: build(item, parts.gathered, resolver) for item in parts.versioned}
    name_every_maker(built, parts.drafts)
    immutable = {item.name: item.draft.immutable for item in parts.versioned}
    models = {}
    outside = Outside(parts.first.root, parts.first.environ, parts.findings)
    configs = {d.name: d.config for d in parts.drafts}
    for name in sorted(built):
        parts.findings += built[name].findings
        model, own = built[name].model, immutable.get(name)
        if model is not None:
            is_immutable = parts.settings.immutable if own is None else own
            model = replace(model, immutable=True) if is_immutable else model
            models[name] = outside.applied(model, configs.get(name))
    paths = {d.name: d.file.path for d in parts.drafts}
    paths |= {item.name: item.draft.path for item in parts.versioned}
    parts.findings += cycle_findings({n: each.parents for n, each in built.items()}, paths)
    return models


def _name_resolver(parts: ProjectParts) -> NameResolver:
    target = parts.settings.target
    resolver = NameResolver(catalog=target.catalog)
    enabled = [item for item in parts.drafts if item.enabled]
    for item in enabled:
        resolver.add_model(item.name, item.table)
        resolver.built.add(item.name)
        if item.config.text("materialized") == "frame":
            resolver.frames.add(item.name)
        if item.is_incremental:
            resolver.incremental.add(item.name)
        if (columns := item.kept) is not None:
            resolver.history[item.name] = columns
    for versioned in parts.versioned:
        resolver.add_model(versioned.name, versioned.table)
        resolver.built.add(versioned.name)
        resolver.add_table(versioned.written, versioned.name)
    for item in enabled:
        resolver.models.setdefault(item.stem.lower(), resolver.models[item.name.lower()])
        resolver.add_table(item.written, item.name)
    disabled = (item for item in parts.drafts if not item.enabled)
    resolver.hidden |= {item.name.lower(): "that model is disabled" for item in disabled}
    for seed in parts.seeds:
        resolver.add_model(seed.name, seed.table)
        schema = seed.table.schema.removeprefix(target.schema_prefix)
        resolver.add_table(TableName(schema, seed.table.table), seed.name)
    for source in parts.sources:
        resolver.add_source(source.table, source.path)
    _resolve_places(parts, resolver)
    return resolver


def _resolve_places(parts: ProjectParts, resolver: NameResolver) -> None:
    """Note in which folders tables lie, and declare what entities read and nobody has declared."""
    own = {item.table.folded: item.path for item in parts.drafts if item.path}
    target = replace(parts.settings.target, places=own)
    enabled = [item for item in parts.drafts if item.enabled]
    named = [item.named for item in enabled] + [item.named for item in parts.versioned]
    resolver.places |= {target.uri_of(each.table).rstrip("/"): each for each in named}
    for item in enabled:
        if (made := item.made_source(resolver, target)) is not None:
            resolver.add_source(made.table, made.path)
            parts.sources.append(made)
