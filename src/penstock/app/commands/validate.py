"""The use case `validate`: report every finding of every file; write only the parse cache."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.app.services.wire import SystemClock, Where, open_project, wired
from penstock.core.errors import ProjectError, TableError
from penstock.core.findings import FINDING_COLUMNS, Finding, Severity
from penstock.core.graph import children, reach
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.project import Project
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.project.files.discovery import LIMIT_BYTES
from penstock.project.unit_tests.definition import files_with_tests

_OF_MISSING = frozenset({"unknown-model", "unknown-input", "missing-var"})
"""Findings of unit tests that may only follow from an error in another file."""


@dataclass(frozen=True, slots=True)
class ValidationReport(ShownInNotebooks):
    """The findings. A project with errors has no counts of models, because it does not load."""

    _rows = "findings"
    _columns = FINDING_COLUMNS

    findings: tuple[Finding, ...] = ()
    models: int = 0
    sources: int = 0
    seeds: int = 0
    entities: int = 0
    strict: bool = False

    @property
    def errors(self) -> int:
        """How many findings stop every command."""
        return sum(1 for finding in self.findings if finding.is_error)

    @property
    def warnings(self) -> int:
        """How many findings stop only `--strict`."""
        return sum(1 for finding in self.findings if finding.is_warning)

    @property
    def passed(self) -> bool:
        """Whether there is no finding that counts."""
        return not self.errors and not (self.strict and self.warnings)


def validate(where: Where, *, strict: bool = False, connected: bool = False) -> ValidationReport:
    """Load the project; raise `UsageError` only if there is no project or no such target.

    With `connected`, also check the files in the bronze folders of entities.
    """
    try:
        project = open_project(where)
    except ProjectError as error:
        findings = error.findings
        if isinstance(error.project, Project):
            findings = (*findings, *_of_tests(error.project, findings))
        return ValidationReport(tuple(sorted(set(findings))), strict=strict)
    return ValidationReport(
        (*project.findings, *_of_tests(project), *(_of_bronze(project) if connected else ())),
        models=len(project.models),
        sources=len(project.sources),
        seeds=len(project.seeds),
        entities=len(project.entities),
        strict=strict,
    )


def _of_bronze(project: Project) -> Iterator[Finding]:
    """Yield findings of bronze folders: files that no run reads, folders that cannot be read."""
    from penstock.app.observation.observe import slices_now, unreadable_error
    from penstock.plan.slices import unmatched_note
    from penstock.project.entities.places import bronze_folder

    clock = SystemClock()
    services = wired(project, clock)
    for model in project.models.values():
        folder = bronze_folder(model.entity, clock.now()) if model.entity else None
        if folder is None:
            continue
        try:
            code, _, sentence = unmatched_note(slices_now(services, folder)).partition(": ")
        except (TableError, OSError) as error:
            found = unreadable_error(model, error)
            yield Finding(found.where or model.where, found.code, found.sentence, found.hint)
        else:
            if code:
                yield Finding(folder.where, code, sentence, severity=Severity.WARNING)


def _of_tests(project: Project, errors: Sequence[Finding] = ()) -> Iterator[Finding]:
    """Yield the findings of unit tests, without those that follow from the errors."""
    if not any(files_with_tests(project)):  # without any, no parser is imported for them
        return
    from penstock.app.unit_testing.loading import Variants, load_tests

    root = Path(project.root)
    paths = {each.where.path for each in errors if each.is_error}
    sound = _sound(project, paths)
    unjudged = project.models.keys() - sound.models.keys()
    broken = "\n".join(path + "\n" + _text(root / path) for path in sorted(paths))
    for each in load_tests(Variants(sound, broken=bool(errors))).findings:
        names = re.findall(r"'([^']+)'", each.sentence) if each.code in _OF_MISSING else ()
        if not any(name in unjudged or _is_word(name, broken) for name in names):
            yield each


def _is_word(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _sound(project: Project, paths: Collection[str]) -> Project:
    """Return the project without models in files with errors, and without their readers."""
    models = project.models
    lost = [
        name
        for name, each in models.items()
        if each.where.path in paths or not _is_whole(project, each)
    ]
    read = {name: [up.name for up in each.inputs] for name, each in models.items()}
    gone = reach(lost, children(read))
    return replace(
        project, models={name: each for name, each in models.items() if name not in gone}
    )


def _is_whole(project: Project, model: Model) -> bool:
    known = {InputKind.MODEL: (project.models, project.seeds), InputKind.SOURCE: (project.sources,)}
    places = ((name.name, known.get(name.kind)) for name in model.inputs)
    return all(held is None or any(name in each for each in held) for name, held in places)


def _text(path: Path) -> str:
    """Return the text of a project file, "" if it is not a plain file or cannot be read."""
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(LIMIT_BYTES)
    except OSError:
        return ""
