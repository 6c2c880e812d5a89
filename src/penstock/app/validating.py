"""The use case `validate`: every finding of every file, and nothing written but the parse cache."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.app.wire import Where, open_project
from penstock.core.errors import ProjectError
from penstock.core.findings import Finding


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What was found. A project with errors has no counts of models, because it does not load."""

    findings: tuple[Finding, ...] = ()
    models: int = 0
    sources: int = 0
    seeds: int = 0
    strict: bool = False

    @property
    def errors(self) -> int:
        """How many findings stop every command."""
        return sum(1 for finding in self.findings if finding.is_error)

    @property
    def warnings(self) -> int:
        """How many findings stop only `--strict`."""
        return len(self.findings) - self.errors

    @property
    def passed(self) -> bool:
        """Whether nothing was found that counts."""
        return not (self.findings if self.strict else self.errors)


def validate(where: Where, *, strict: bool = False) -> ValidationReport:
    """Load the project; `UsageError` only when there is none, or no such target."""
    try:
        project = open_project(where)
    except ProjectError as error:
        return ValidationReport(error.findings, strict=strict)
    return ValidationReport(
        project.findings, len(project.models), len(project.sources), len(project.seeds), strict
    )
