"""Errors and findings as JSON."""

from __future__ import annotations

from penstock.app.commands.validate import ValidationReport
from penstock.core.errors import PenstockError, ProjectError
from penstock.core.findings import Finding
from penstock.ui.json_document import Json


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
