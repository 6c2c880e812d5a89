"""The use case `validate`: every finding of every file, and nothing written but the parse cache."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.app.services.wire import Where, open_project
from penstock.core.errors import ProjectError
from penstock.core.findings import Finding
from penstock.project.unit_tests.definition import files_with_tests


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What was found. A project with errors has no counts of models, because it does not load."""

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
        """Whether nothing was found that counts."""
        return not self.errors and not (self.strict and self.warnings)


def validate(where: Where, *, strict: bool = False) -> ValidationReport:
    """Load the project; `UsageError` only when there is none, or no such target."""
    try:
        project = open_project(where)
    except ProjectError as error:
        return ValidationReport(error.findings, strict=strict)
    findings = project.findings
    if any(files_with_tests(project)):  # without any, no parser is imported for them
        from penstock.app.unit_testing.loading import Variants, load_tests

        findings = (*findings, *load_tests(Variants(project)).findings)
    return ValidationReport(
        findings,
        models=len(project.models),
        sources=len(project.sources),
        seeds=len(project.seeds),
        entities=len(project.entities),
        strict=strict,
    )
