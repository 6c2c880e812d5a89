"""What is said for information stops nothing, and is counted nowhere."""

from __future__ import annotations

from penstock.app.validating import ValidationReport
from penstock.core.findings import Finding, Location, Severity
from penstock.ui.render.errors import validation_text

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
        "m.yml:3: info: check-order-dropped: it waits\n0 errors, 0 warnings"
    )
