"""Load a project: files in, a `Project` out, or every finding of every file at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from penstock.core.errors import ProjectError, UsageError
from penstock.core.findings import Finding, Severity
from penstock.core.masking import SECRETS
from penstock.core.project import Project, Target
from penstock.project.files.cache import open_cache
from penstock.project.files.discovery import (
    PROJECT_FILE,
    project_root,
)
from penstock.project.files.values import NotedVariables, Plain, mapping_of
from penstock.project.first_pass import NOTHING_GIVEN, FirstPass, GivenParts
from penstock.project.project_cache import open_project_cache
from penstock.project.settings.project import Settings, settings_of


def load_project(
    root: Path,
    *,
    environ: Mapping[str, str],
    target: str | None = None,
    vars: Mapping[str, Plain] | None = None,  # noqa: A002  the word users know
    use_cache: bool = True,
    parts: GivenParts = NOTHING_GIVEN,
) -> Project:
    """Load the project in a folder; touch neither warehouse nor state.

    Raises `ProjectError` with the findings of all files if any is an error; a loaded project
    carries its warnings. Raises `UsageError` for a folder without penstock.yml (`no-project`) and
    for a target that does not exist (`unknown-target`). `vars` and `target` override penstock.yml.
    With `parts` the folder does not need penstock.yml; without it, the parts are the whole project.
    """
    root, is_whole = project_root(root, is_needed=not parts.is_some)
    use_whole = use_cache and is_whole and parts == NOTHING_GIVEN
    whole = open_project_cache(root, target, vars or {}, use=use_whole)
    ready = {PROJECT_FILE: whole.before.settings} if whole.before else {}
    cache = open_cache(root, use=use_cache, ready=ready)
    first = FirstPass(root, NotedVariables(environ), cache, contents=parts.contents)
    settings = _settings(first, target, vars or {}, is_whole=is_whole)
    if (recalled := whole.recall(settings, first)) is not None:
        return recalled
    from penstock.project.pipeline import link_project  # costs 0.05 s that a warm load saves

    project, parsed = link_project(settings, first, parts, is_whole=is_whole)
    if parsed.functions is None:
        whole.keep(project, parsed.files, first)
    first.templates.know(None)  # or the pass holds itself: of 5,000 models 60 MB until the end
    return project


def load_with_rows(
    load: Callable[[GivenParts], Project], parts: GivenParts, bare: Project
) -> Project:
    """Load with rows; files that they break are taken without them, until a run reads others.

    Otherwise no run could read others.
    """
    readers = {each.where.path: each.name for each in bare.models.values() if each.query.reads}
    refused: dict[str, Finding] = {}
    while True:
        try:
            found = load(replace(parts, refused=refused))
        except ProjectError as error:
            errors = [each for each in error.findings if each.is_error]
            own = {each.where.path: each for each in reversed(errors)}
            left = readers.keys() - refused.keys()
            paths = left & own.keys() or left
            if not paths:
                raise
            for path in paths:
                refused[path] = _with_its_rows(own.get(path, errors[0]), readers[path])
        else:
            return replace(found, findings=tuple(sorted({*found.findings, *refused.values()})))


def _with_its_rows(finding: Finding, model: str) -> Finding:
    sentence = f"with the rows that the template of {model} reads: {finding.sentence}"
    return replace(finding, sentence=sentence, severity=Severity.WARNING, about=(model,))


def _settings(
    first: FirstPass, target: str | None, own: Mapping[str, Plain], *, is_whole: bool
) -> Settings:
    tree = mapping_of(first.filled(PROJECT_FILE)) if is_whole else {"name": "main"}
    try:
        settings = settings_of(tree, first.root, target, first.environ)
    except UsageError:
        if not any(finding.is_error for finding in first.findings):
            raise
        settings = settings_of(None, first.root, None, {})
    SECRETS.add(settings.receivers.secrets)
    SECRETS.add_settings(settings.target.spark.conf)
    return replace(
        settings,
        target=_with_storage(settings.target, first) if is_whole else settings.target,
        vars={**settings.vars, **own},
        asked_vars=own,
    )


def _with_storage(target: Target, first: FirstPass) -> Target:
    """Return the target with the places of its `storage`, whose credentials are hidden now."""
    document = first.yaml_file(PROJECT_FILE)
    found = {}
    for prefix, access in target.storage.items():
        SECRETS.add_settings(access.credentials)
        where = document.place("targets", target.name, "storage", prefix)
        found[prefix] = replace(access, where=where)
    return replace(target, storage=found)
