"""Errors and findings, as text and JSON, without secrets; what `validate` prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from penstock.app.commands.validate import ValidationReport
from penstock.core.errors import PenstockError, ProjectError
from penstock.core.findings import Finding
from penstock.core.masking import mask
from penstock.ui.render.values import Json, count, document_of

ERROR = "code message=sentence where? hint?"
_PLACE = "file=where.path line=where.line column=where.column"  # a column of 0 is not known
_FINDINGS = f"findings[severity code message=sentence {_PLACE} hint?]"


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
        return document_of(error, _FINDINGS)
    return {"error": error_document(error)}


def error_document(error: PenstockError | None) -> Json:
    """Give an error with its place and hint, null where there is none."""
    return document_of(error, ERROR) if error else None


validation_document = partial(
    document_of, names=f"passed errors warnings models sources seeds {_FINDINGS}"
)


def validation_text(report: ValidationReport) -> str:
    """Give the findings with their count, or what was found to be right."""
    if report.findings:
        return findings_text(report.findings)
    models, sources = count(report.models, "model"), count(report.sources, "source")
    return f"no findings: {models}, {sources}, {count(report.seeds, 'seed')}"
