"""Errors and findings, as text and JSON, without secrets; what `validate` prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.app.commands.validate import ValidationReport
from penstock.core.errors import PenstockError, ProjectError
from penstock.core.findings import Finding
from penstock.core.masking import mask
from penstock.ui.render.values import Json, count


def error_text(error: PenstockError) -> str:
    """Give `file:line: code: sentence` and the hint; a project's findings with their number."""
    if isinstance(error, ProjectError):
        return findings_text(error.findings)
    shown = PenstockError(
        error.code, mask(error.sentence), where=error.where, hint=mask(error.hint)
    )
    return shown.render()


def findings_text(findings: Iterable[Finding]) -> str:
    """Give every finding, then one line that counts them."""
    shown = list(findings)
    return "\n".join([*(finding_text(finding) for finding in shown), findings_count(shown)])


def finding_text(finding: Finding) -> str:
    """Give one finding in its one form."""
    return replace(finding, sentence=mask(finding.sentence), hint=mask(finding.hint)).render()


def findings_count(findings: Iterable[Finding]) -> str:
    """Count findings by severity.

    >>> findings_count([])
    '0 errors, 0 warnings'
    """
    shown = list(findings)
    errors = sum(1 for finding in shown if finding.is_error)
    warnings = sum(1 for finding in shown if finding.is_warning)
    return f"{count(errors, 'error')}, {count(warnings, 'warning')}"


def first_line(error: PenstockError) -> str:
    """Give code and sentence in one line, as progress shows a failure."""
    return f"{error.code}: {' '.join(mask(error.sentence).split())}"


def failure_document(error: PenstockError) -> Json:
    """Give the document that stands on stdout instead of a command's own."""
    if isinstance(error, ProjectError):
        return {"findings": [finding_document(finding) for finding in error.findings]}
    return {"error": error_document(error)}


def error_document(error: PenstockError) -> Json:
    """Give an error with its place and hint; they are null where there is none."""
    return {
        "code": error.code,
        "message": error.sentence,
        "where": str(error.where) if error.where else None,
        "hint": error.hint or None,
    }


def finding_document(finding: Finding) -> Json:
    """Give a finding; a column of 0 is not known."""
    return {
        "severity": str(finding.severity),
        "code": finding.code,
        "message": finding.sentence,
        "file": finding.where.path,
        "line": finding.where.line,
        "column": finding.where.column,
        "hint": finding.hint or None,
    }


def validation_document(report: ValidationReport) -> Json:
    """Give all findings with their counts."""
    return {
        "passed": report.passed,
        "errors": report.errors,
        "warnings": report.warnings,
        "models": report.models,
        "sources": report.sources,
        "seeds": report.seeds,
        "findings": [finding_document(finding) for finding in report.findings],
    }


def validation_text(report: ValidationReport) -> str:
    """Give the findings with their count, or what was found to be right."""
    if report.findings:
        return findings_text(report.findings)
    found = (
        (report.models, "model"),
        (report.sources, "source"),
        (report.seeds, "seed"),
    )
    return f"no findings: {', '.join(count(number, what) for number, what in found)}"
