"""From parsed files to a project: each phase takes what the one before it returned."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from penstock.core.entities.entity import EntityEnvironment
from penstock.core.errors import project_error
from penstock.core.findings import Finding
from penstock.core.model import Model
from penstock.core.project import Project, ProjectSettings, Selection
from penstock.project.checking import attach_checks, attach_tests, check_packages
from penstock.project.checks.scene import files_in_header, lone_checks
from penstock.project.files.discovery import (
    PROJECT_FILE,
    SELECTORS_FILE,
    Content,
    Discovery,
    check_name,
    discover,
    queries_of,
    read_content,
)
from penstock.project.files.macro_files import docs_blocks
from penstock.project.files.parsed import YamlFile
from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.files.values import mapping_of
from penstock.project.first_pass import FirstPass, GivenParts, Templates
from penstock.project.hooks import attach_hooks
from penstock.project.input_ranges.mappings import map_inputs
from penstock.project.linking import LinkedFiles, ParsedFiles, link
from penstock.project.settings.project import Settings, refuse_remote
from penstock.project.versioned.gather import gather

if TYPE_CHECKING:
    from penstock.project.entities.load import ReadEntities
    from penstock.project.python.declare import PythonModel
    from penstock.project.python.imports import Imported
    from penstock.project.sessions.load import ReadSessions


def link_project(
    settings: Settings, first: FirstPass, parts: GivenParts, *, is_whole: bool
) -> tuple[Project, ParsedFiles]:
    """Read and link all files; raise `ProjectError` if any finding is an error."""
    parsed = parse(settings, first, parts, is_whole=is_whole)
    value: Any = parsed
    for phase in PHASES:
        value = phase(value)
    return value, parsed


def parse(
    settings: Settings, first: FirstPass, parts: GivenParts, *, is_whole: bool
) -> ParsedFiles:
    """Read all files, each separately."""
    document = first.yaml_file(PROJECT_FILE) if is_whole else YamlFile(PROJECT_FILE)
    files = discover(first.root, *settings.places(document)) if is_whole else Discovery()
    first.templates = _templates(settings, files, first, parts)
    parsed = _read(settings, files, document, first)
    where = document.place("targets", settings.target.name, "warehouse")
    refuse_remote(settings.target.warehouse, where, first.findings)
    natives = [file for file in map(first.yaml_file, files.yaml) if file.is_entity]
    return replace(
        parsed,
        entities=_entities(settings, files.entities, natives, first, parts),
        sessions=_sessions(settings, files.sessions, first),
        functions=_functions(first.root, files.python, parts.functions or ()),
    )


def _templates(
    settings: Settings, files: Discovery, first: FirstPass, parts: GivenParts
) -> Templates:
    target = settings.target
    view = TargetView(target.name, target.catalog, target.schema_prefix)
    macros = {path: text for path in files.macros if (text := first.text(path)) is not None}
    read = {path: read_content(first.root, path, []) for path in files.docs}
    first.contents |= read
    texts = {path: each.data.decode("utf-8", "replace") for path, each in read.items() if each}
    docs = docs_blocks(texts, first.findings)
    name, threads = settings.name, settings.threads
    variables = frozenset(settings.asked_vars)
    context = RenderContext(
        first.environ, settings.vars, view, name, threads, docs,
        rows=parts.rows, refused=parts.refused, command_vars=variables,
    )  # fmt: skip
    return Templates(macros, context)


def _read(
    settings: Settings, files: Discovery, document: YamlFile, first: FirstPass
) -> ParsedFiles:
    """Read YAML, and the SQL that no YAML file includes."""
    read = [first.yaml_file(path) for path in files.yaml]
    gathered = gather(read, files.sql, first)
    described = [f for f in read if not f.is_entity and f.path not in gathered.parts]
    others = gathered.parts.union(*(file.check_files for file in described))
    contents = [c for path in files.sql if path not in others and (c := first.content(path))]
    contents += [query for file in described for query in queries_of(file)]
    sql = first.sql_files(contents)
    # SQL that the checks of a header name is no model: nobody knew before the header was read
    check_files = {path for file in sql.values() for path in files_in_header(file)}
    lone = list(lone_checks(sql, check_files))
    check_files |= {each.where.path for each in lone}
    findings = first.findings
    findings[:] = [each for each in findings if each.where.path not in check_files]
    findings += lone + gathered.findings
    findings += (f for f in files.findings if f.where.path not in gathered.parts)
    findings += (misfit for file in (document, *described) for misfit in file.misfits)
    trees = [(file, mapping_of(first.filled(file.path))) for file in described]
    models = {path: file for path, file in sql.items() if path not in check_files}
    return ParsedFiles(settings, first, files, document, gathered, trees, models)


def _entities(
    settings: Settings,
    paths: Sequence[str],
    natives: Sequence[YamlFile],
    first: FirstPass,
    parts: GivenParts,
) -> ReadEntities | None:
    """Read the entities of a project, if there are any, from files or from given documents."""
    documents = paths if parts.documents is None else tuple(parts.documents)
    if not documents and not natives:
        return None
    from penstock.project.entities.load import read_entities

    entities = read_entities(documents, natives, settings, first, parts.environment)
    first.findings += entities.findings
    return entities


def _sessions(settings: Settings, paths: Sequence[str], first: FirstPass) -> ReadSessions | None:
    """Read the session packages of a project, if there are any."""
    if not paths:
        return None
    from penstock.project.sessions.load import read_sessions

    return read_sessions(paths, settings, first)


def _functions(
    root: Path, paths: Sequence[str], models: Sequence[PythonModel[..., Any]]
) -> Imported | None:
    """Import the Python files of a project, and add functions that an app passed in."""
    if not paths and not models:
        return None
    from penstock.project.python.imports import Imported, import_files

    found = import_files(root, paths) if paths else Imported(root)
    found.models[:0] = models
    return found


def map_ranges(files: LinkedFiles) -> LinkedFiles:
    """Determine for every partitioned model which range of each input it reads."""
    first, models = files.parsed.first, files.models
    sources = {each.name: source for each, source in files.sources.items()}
    declared = {name: each.declared for name, each in files.built.items()}
    mapped, findings = map_inputs(models, sources, declared, first.cache)
    first.findings += findings
    return replace(files, models=mapped)


def assemble(files: LinkedFiles) -> Project:
    """Return the project with its warnings; raise `ProjectError` if any finding is an error."""
    parsed = files.parsed
    selectors = _selectors(parsed.first)
    parsed.first.cache.save()
    entities, sessions = parsed.entities, parsed.sessions
    settings = {each.name: getattr(parsed.settings, each.name) for each in fields(ProjectSettings)}
    project = Project(
        **{**settings, "target": files.target},
        root=str(parsed.first.root),
        models=files.models,
        sources={name.name: source for name, source in files.sources.items()},
        seeds={seed.name: seed for seed in files.seeds.values()},
        entities=entities.entities if entities else {},
        packages=sessions.packages if sessions else {},
        environment=entities.environment if entities else EntityEnvironment(),
        hooks=files.hooks,
        exposures=files.exposures,
        groups=files.groups,
        selectors=selectors,
        template_rows=parsed.first.templates.render_context.rows,
        refused_rows=parsed.first.templates.render_context.refused,
    )
    bad = check_name("project", project.name, parsed.document.place("name"))
    findings = _without_consequences(
        [*parsed.findings, *filter(None, [bad])], parsed.first.contents
    )
    if parsed.document.tree is None:  # nobody knows which variables it has
        findings = [each for each in findings if each.code != "missing-var"]
    if any(finding.is_error for finding in findings):
        error = project_error(tuple(findings))
        error.project = project
        raise error
    return replace(project, findings=_with_models(findings, parsed, files.models.values()))


def _selectors(first: FirstPass) -> Mapping[str, Selection]:
    """Read selectors.yml, if there is one."""
    if not first.has(SELECTORS_FILE):
        return {}
    from penstock.project.named_selectors import NamedSelectors

    tree = first.filled(SELECTORS_FILE)  # its findings are those of the file
    read = NamedSelectors(first.yaml_file(SELECTORS_FILE), first.findings)
    return {} if tree is None else read.read(tree)


PHASES: tuple[Callable[[Any], Any], ...] = (
    link,
    attach_tests,
    check_packages,
    map_ranges,
    attach_checks,
    attach_hooks,
    assemble,
)
"""From `ParsedFiles` to `LinkedFiles` to `Project`."""


_UNREAD = frozenset(
    {"yaml-syntax", "json-syntax", "not-utf8", "empty-file", "file-too-large", "unreadable-file"}
    | {"python-import-failed", "session-needed-at-import", "template-syntax"}
)
"""Codes of findings of files whose content is unknown."""
_CONSEQUENCES = frozenset(
    {"unknown-reference", "unknown-model", "unknown-name", "external-table"}
    | {"parameter-without-partition", "unused-sql", "unknown-seed"}
)
"""Codes of findings that may follow from an unread file."""
_NAMED = re.compile(r"'([^']+)'|table ([\w.]+)")


def _without_consequences(
    findings: Iterable[Finding], contents: Mapping[str, Content | None]
) -> list[Finding]:
    """Remove findings that follow from an unread file: its name or text contains the name.

    The file itself is an error, so the project does not load in any case.
    """
    said = sorted(set(findings))
    unread = {each.where.path for each in said if each.code in _UNREAD and each.is_error}
    texts = [f"{path}\n{_text_of(contents.get(path))}" for path in sorted(unread)]

    def follows(each: Finding) -> bool:
        if any(f"(in {path}:" in each.sentence for path in unread):
            return True
        if each.code not in _CONSEQUENCES or each.where.path in unread:
            return False
        names = [one or other for one, other in _NAMED.findall(each.sentence)]
        words = {name.rpartition(".")[2] for name in names}
        if each.where.path.endswith(".sql"):  # which a version or a check may name
            words.add(PurePosixPath(each.where.path).name)
        return any(word in text for word in words for text in texts)

    return [each for each in said if not follows(each)] if texts else said


def _text_of(content: Content | None) -> str:
    return content.data.decode("utf-8", "replace") if content else ""


def _with_models(
    findings: Sequence[Finding], parsed: ParsedFiles, models: Iterable[Model]
) -> tuple[Finding, ...]:
    """Add to warnings the models they affect: those of its file, or of the entry."""
    by_file: dict[str, set[str]] = {}
    for model in models if findings else ():
        bodies = (body for version in model.versions for body in version.bodies)
        for path in {model.where.path, *(body.where.path for body in bodies)}:
            by_file.setdefault(path, set()).add(model.name)
    entries_of: dict[str, list[tuple[int, str]]] = {}
    for key in ("models", "snapshots", "sources", "seeds") if findings else ():
        for entry in parsed.entries(key):
            name = entry.name if key in ("models", "snapshots") else ""
            entries_of.setdefault(entry.file.path, []).append((entry.where.line, name))

    def about(each: Finding) -> tuple[str, ...]:
        above = [e for e in entries_of.get(each.where.path, ()) if e[0] <= each.where.line]
        name = max(above)[1] if above else ""
        return (name,) if name else tuple(sorted(by_file.get(each.where.path, ())))

    return tuple(f if f.about else replace(f, about=about(f)) for f in findings)
