"""Errors and findings, as text and JSON, without secrets; what `validate` prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.app.commands.validate import ValidationReport
from penstock.app.documents import Json, document_of, error_document
from penstock.core.errors import PenstockError, ProjectError
from penstock.core.findings import Finding
from penstock.core.masking import mask
from penstock.ui.render.values import count


def error_text(error: PenstockError) -> str:
    """Give `file:line: code: sentence` and the hint; a project's findings with their number."""
    if isinstance(error, ProjectError):
        return findings_text(error.findings)
    shown = PenstockError(
        error.code, mask(error.sentence), where=error.where, hint=mask(error.hint)
    )
    return shown.render()


def findings_text(findings: Iterable[Finding]) -> str:
    """Give every finding, then one line that counts them.

    >>> findings_text([])
    '0 errors, 0 warnings'
    """
    found = list(findings)
    lines = [replace(f, sentence=mask(f.sentence), hint=mask(f.hint)).render() for f in found]
    errors = count(sum(finding.is_error for finding in found), "error")
    warnings = count(sum(finding.is_warning for finding in found), "warning")
    return "\n".join([*lines, f"{errors}, {warnings}"])


def first_line(error: PenstockError) -> str:
    """Give code and sentence in one line, as progress shows a failure."""
    return f"{error.code}: {' '.join(mask(error.sentence).split())}"


def failure_document(error: PenstockError) -> Json:
    """Give the document that stands on stdout instead of a command's own."""
    if isinstance(error, ProjectError):
        return {"findings": [_finding(finding) for finding in error.findings]}
    return {"error": error_document(error)}


def _finding(finding: Finding) -> Json:
    """Give a finding; a column of 0 is not known."""
    place = "file=where.path line=where.line column=where.column"
    return document_of(finding, f"severity code message=sentence {place} hint?")


def validation_document(report: ValidationReport) -> Json:
    """Give all findings with their counts."""
    counts = document_of(report, "passed errors warnings models sources seeds")
    return {**counts, "findings": [_finding(finding) for finding in report.findings]}


def validation_text(report: ValidationReport) -> str:
    """Give the findings with their count, or what was found to be right."""
    if report.findings:
        return findings_text(report.findings)
    models, sources = count(report.models, "model"), count(report.sources, "source")
    return f"no findings: {models}, {sources}, {count(report.seeds, 'seed')}"
