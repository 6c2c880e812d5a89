"""How thresholds weigh the rows that fail."""

from decimal import Decimal

import pytest

from fakes.check_inputs import a_check
from penstock.core.checks.check import Threshold, Thresholds
from penstock.core.checks.check_type import CheckStatus
from penstock.core.findings import Severity
from penstock.strategies.checks.measure import failed, passed, weighed
from penstock.strategies.checks.types import NotNull

ERROR = Threshold(">", Decimal(10), percent=True)
WARNING = Threshold(">", Decimal(1))
BOTH = Thresholds(ERROR, WARNING)


@pytest.mark.parametrize(
    ("thresholds", "failures", "expected"),
    [
        (BOTH, 11, ("failed", "error", "no (11 of 100 failing, > 10 %)")),
        (BOTH, 2, ("failed", "warning", "no (2 failing, > 1)")),
        (BOTH, 1, ("passed", None, "no (1 of 100 failing, not > 10 %)")),
        (Thresholds(None, WARNING), 1, ("passed", None, "no (1 failing, not > 1)")),
        (BOTH, 0, ("passed", None, "no")),
        (BOTH, None, ("failed", None, "no")),
        (None, 11, ("failed", None, "no")),
    ],
)
def test_rows_that_fail_are_an_error_a_warning_or_few_enough(thresholds, failures, expected):
    check = a_check(NotNull(("n",)), thresholds=thresholds)

    found = weighed(check, failed("no", failures=failures), 100)

    assert (found.status, found.severity, found.message) == expected


def test_that_no_rows_are_there_is_a_failure_whatever_thresholds_say():
    check = a_check(NotNull(("n",)), thresholds=BOTH)

    assert weighed(check, failed("no rows", failures=0), 0).status is CheckStatus.FAILED
    assert weighed(check, passed("no rows", failures=0), 0).status is CheckStatus.PASSED


def test_a_threshold_may_ask_for_failing_rows():
    check = a_check(NotNull(("n",)), thresholds=Thresholds(Threshold("<", Decimal(1))))

    found = weighed(check, passed("fine", failures=0), 100)

    assert (found.status, found.severity) == (CheckStatus.FAILED, Severity.ERROR)
    assert found.message == "fine (0 failing, < 1)"
