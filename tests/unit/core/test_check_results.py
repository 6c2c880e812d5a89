"""What a report of checks says of itself."""

import pytest

from fakes.reports import a_check_result
from penstock.core.check_results import InvariantReport
from penstock.core.checks.check import Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.findings import Severity

QUESTIONS = (
    "has_errors",
    "has_before_errors",
    "has_after_errors",
    "has_warnings",
    "all_passed",
)
BAD, SKIPPED = CheckStatus.FAILED, CheckStatus.SKIPPED
WARNED = a_check_result("a", BAD, severity=Severity.WARNING)
GATE = a_check_result("a", BAD)
AHEAD = a_check_result("a", BAD, phase=Phase.BEFORE)


@pytest.mark.parametrize(
    ("report", "true"),
    [
        (InvariantReport(), {"all_passed"}),
        (InvariantReport(after=(WARNED,)), {"has_warnings"}),
        (InvariantReport(before=(AHEAD,)), {"has_errors", "has_before_errors"}),
        (InvariantReport(after=(GATE,)), {"has_errors", "has_after_errors"}),
        (InvariantReport(after=(a_check_result("a", SKIPPED),)), {"all_passed"}),
    ],
    ids=["empty", "warning", "before", "after", "skipped"],
)
def test_a_report_tells_errors_and_warnings_apart(report, true) -> None:
    assert {name for name in QUESTIONS if getattr(report, name)()} == true
