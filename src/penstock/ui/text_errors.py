"""Errors and findings as text, without secrets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.core.errors import PenstockError, ProjectError
from penstock.core.findings import Finding
from penstock.core.masking import mask
from penstock.ui.text_table import count


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
