"""What `validate` prints."""

from __future__ import annotations

from penstock.app.commands.validate import ValidationReport
from penstock.ui.text_errors import findings_text
from penstock.ui.text_table import count


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
