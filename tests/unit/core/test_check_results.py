"""What a report of checks says of itself."""

import pytest

from contracts.store_cases import intent
from fakes.reports import a_check_result
from penstock.core.check_results import Checked, InvariantReport, Unsettled
from penstock.core.checks.check import OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.findings import Severity
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.records import Status, StepRecord

QUESTIONS = (
    "has_errors",
    "has_before_errors",
    "has_after_errors",
    "has_warnings",
    "all_passed",
)
DAYS = Grid(Grain.DAY)
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
        (InvariantReport((WARNED,), (GATE,)), {"has_errors", "has_after_errors", "has_warnings"}),
        (InvariantReport(after=(a_check_result("a", SKIPPED),)), {"all_passed"}),
    ],
    ids=["empty", "warning", "before", "after", "both", "skipped"],
)
def test_a_report_tells_errors_and_warnings_apart(report, true) -> None:
    assert {name for name in QUESTIONS if getattr(report, name)()} == true


@pytest.mark.parametrize(
    ("grid", "status", "partitions", "failed"),
    [
        (DAYS, BAD, ("1970-01-03..1970-01-05", "1970-01-09"), ((3, 4),)),
        (DAYS, BAD, (), ((3, 6),)),
        (DAYS, BAD, ("1970-01-03", "*"), ((3, 6),)),
        (DAYS, SKIPPED, ("1970-01-05",), ()),
        (Grid(), BAD, ("2024",), ((3, 6),)),
    ],
)
def test_a_check_fails_the_partitions_that_it_names_or_all(grid, status, partitions, failed):
    result = a_check_result("a", status, partitions=partitions)

    assert result.failed_ords(grid, ((3, 6),)) == failed


def test_a_step_is_unsettled_while_its_checks_or_its_rollback_are_pending():
    step = StepRecord(intent(), Status.SUCCESS, intent().run_timestamp)
    pending, due = Unsettled(step), Unsettled(step, Checked(OnFailure.ROLLBACK))

    assert (pending.rollback_due, pending.sentence) == (False, "checks pending: step step-1")
    assert (due.rollback_due, due.sentence) == (True, "a rollback is due: step step-1")
