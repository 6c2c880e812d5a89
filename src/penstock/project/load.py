"""Loading a project: files in, a `Project` out, or every finding of every file at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from penstock.core.errors import ProjectError, UsageError
from penstock.core.findings import Finding
from penstock.core.project import Project
from penstock.project.assemble import ProjectFiles, assemble
from penstock.project.checks.subjects import files_in_header
from penstock.project.files.discovery import (
    PROJECT_FILE,
    Discovery,
    check_name,
    discover,
    queries_of,
)
from penstock.project.files.parsed import SqlFile
from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.first_pass import FirstPass, open_first_pass
from penstock.project.settings.project import Settings, settings_of
from penstock.project.versioned.gather import gather


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
