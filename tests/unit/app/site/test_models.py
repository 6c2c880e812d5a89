"""What the page of a model shows of its checks."""

from dataclasses import replace

from fakes.clock import NOON
from penstock.app.site.model_documents import BandPoint
from penstock.app.site.models import _band
from penstock.core.check_results import CheckRecord, CheckResult
from penstock.core.checks.check import Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.findings import Severity

PASSED, FAILED = CheckStatus.PASSED, CheckStatus.FAILED
RESULT = CheckResult("usual", "anomaly", Phase.AFTER, Severity.WARNING, PASSED, "")


def a_record(*values, at=NOON):
    return CheckRecord("m", "s", "r", replace(RESULT, values=values), (), 1, at)


def test_the_newest_number_of_each_partition_is_drawn_in_their_order():
    newest = a_record(GroupValue("2024-12-02", FAILED, {"value": "9", "low": "1", "high": "5.5"}))
    older = a_record(
        GroupValue("2024-12-02", PASSED, {"value": "2"}),
        GroupValue("2024-12-01", PASSED, {"value": "3", "earlier": "0"}),
        GroupValue("2024-12-03", PASSED, {"value": None, "low": "1", "high": "5"}),
        GroupValue("2024-12-04", PASSED, {"value": "inf"}),
    )

    assert _band([newest, older]) == (
        BandPoint("2024-12-01", "passed", 3.0, None, None),
        BandPoint("2024-12-02", "failed", 9.0, 1.0, 5.5),
    )


def test_ranges_of_integers_are_in_the_order_of_numbers():
    values = (GroupValue(key, PASSED, {"value": "1"}) for key in ("100", "20", "-5"))

    assert [each.at for each in _band([a_record(*values)])] == ["-5", "20", "100"]


def test_numbers_of_a_whole_table_are_those_of_times():
    record = a_record(GroupValue("*", PASSED, {"value": "7", "low": "1", "high": "9"}))

    assert _band([record]) == (BandPoint("2024-03-01T12:00:00Z", "passed", 7.0, 1.0, 9.0),)
