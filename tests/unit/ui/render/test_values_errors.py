"""Errors and findings as text; what is said for information stops nothing and is not counted."""

from __future__ import annotations

from penstock.app.commands.validate import ValidationReport
from penstock.core.errors import ProjectError, StateError
from penstock.core.findings import Finding, Location, Severity
from penstock.ui.commands.init import validation_text
from penstock.ui.render.values import error_text

INFO = Finding(Location("m.yml", 3), "check-order-dropped", "it waits", severity=Severity.INFO)


def test_information_stops_not_even_strict():
    report = ValidationReport((INFO,), strict=True)

    assert (report.passed, report.errors, report.warnings) == (True, 0, 0)


def test_a_warning_stops_strict_alone():
    warning = Finding(Location("m.yml"), "unparsed-sql", "hm", severity=Severity.WARNING)

    assert ValidationReport((INFO, warning)).passed
    assert not ValidationReport((INFO, warning), strict=True).passed


def test_information_is_shown_and_not_counted():
    assert validation_text(ValidationReport((INFO,))) == (
        "m.yml:3: info: check-order-dropped: it waits\n"
        "  hint: no action needed if intended; otherwise read a table built before\n"
        "0 errors, 0 warnings"
    )


def test_findings_end_with_their_number():
    findings = (
        Finding(Location("a.sql", 3, 7), "bad-value", "threads is 0", "give 1 or more"),
        Finding(Location("b.sql"), "stray-file", "no model", severity=Severity.WARNING),
    )

    assert error_text(ProjectError(findings)) == (
        "a.sql:3:7: error: bad-value: threads is 0\n"
        "  hint: give 1 or more\n"
        "b.sql:1: warning: stray-file: no model\n"
        "  hint: move it out of this folder, or correct its ending\n"
        "1 error, 1 warning"
    )


def test_a_project_without_findings_is_counted():
    assert validation_text(ValidationReport((), 2, 1, 0)) == (
        "no findings: 2 models, 1 source, 0 seeds"
    )


def test_an_error_hides_the_credentials_of_a_uri():
    error = StateError("state-unreachable", "postgresql://me:hunter2@db/x is down", hint="wait")

    assert error_text(error) == (
        "error: state-unreachable: postgresql://***@db/x is down\n  hint: wait"
    )
