"""One result of all groups of a check."""

from dataclasses import replace

import pytest

from fakes.check_inputs import a_check, a_check_inputs
from penstock.app.checking.results import refused, result_of, within
from penstock.core.check_results import CheckStatus, GroupValue, Sample
from penstock.core.checks import RowCount

P1, P2, P3, P4 = (f"2024-12-0{day}" for day in range(1, 5))
CHECK = a_check(RowCount(2), name="rows", definition="d")
PASSED, FAILED, SKIPPED = CheckStatus.PASSED, CheckStatus.FAILED, CheckStatus.SKIPPED


def good(key, status=PASSED, message="rows 9"):
    return GroupValue(key, status, {"rows": "9"}, message, None, 0)


def bad(key, failures: int | None = 3, details=None):
    return GroupValue(key, FAILED, {"rows": "1"}, "rows 1 < min 2", details, failures)


def test_one_group_is_told_as_it_is():
    found = result_of(CHECK, a_check_inputs(None, P1), [bad(P1, details="us (1)")], seconds=0.5)

    assert (found.status, found.message, found.details) == (FAILED, "rows 1 < min 2", "us (1)")
    assert (found.partitions, found.failures, found.duration) == ((P1,), 3, 0.5)
    assert (found.name, found.type, found.definition) == ("rows", "row_count", "d")


def test_of_several_groups_the_first_three_that_failed_are_told():
    values = [bad(P1), bad(P2, details="us (1)"), bad(P3), bad(P4), good("2024-12-05")]

    found = result_of(CHECK, a_check_inputs(None, P1, P4), values)

    said = "; ".join(f"{key}: rows 1 < min 2" for key in (P1, P2, P3))
    assert found.message == f"4 of 5 partitions failed: {said}; and 1 more"
    assert found.details == f"{P2}: us (1)"
    assert (found.partitions, found.failures) == ((P1, P2, P3, P4), 12)


@pytest.mark.parametrize(
    ("values", "status", "message"),
    [
        ([good(P1), good(P2)], PASSED, "rows 9"),
        ([good(P1), good(P2, message="rows 8")], PASSED, "2 partitions passed"),
        (
            [good(P1), good(P2, SKIPPED, "no earlier execution")],
            PASSED,
            "1 partitions passed, 1 skipped",
        ),
        ([good(P1, SKIPPED, "why"), good(P2, SKIPPED, "why")], SKIPPED, "why"),
    ],
)
def test_groups_that_did_not_fail_are_counted_where_they_differ(values, status, message):
    found = result_of(CHECK, a_check_inputs(None, P1, P2), values)

    assert (found.status, found.message, found.partitions) == (status, message, ())


def test_failures_that_were_not_counted_of_every_group_are_no_number():
    assert result_of(CHECK, a_check_inputs(None, P1, P2), [bad(P1), bad(P2, None)]).failures is None


def test_what_is_about_all_rows_fails_every_partition():
    found = result_of(CHECK, a_check_inputs(None, P1, P2), [bad("*")])

    assert found.partitions == (P1, P2)


def test_a_check_that_could_not_be_evaluated_fails_every_partition():
    found = refused(CHECK, a_check_inputs(None, P1, P2), 'unknown column "x"')

    assert found.message == 'could not be evaluated: unknown column "x"'
    assert (found.status, found.partitions, found.error) == (FAILED, (P1, P2), "check-error")


def test_a_result_is_cut_down_to_some_of_its_groups():
    sample = Sample(("a",), (("1",),))
    found = result_of(
        CHECK, a_check_inputs(None, P1, P2, P3), [bad(P1), good(P2), bad(P3)], sample=sample
    )

    assert within(found, {P1, P2, P3}) == found
    first = within(found, {P1, P2})
    assert (first.partitions, first.sample) == ((P1,), sample)
    assert first.message == f"1 of 2 partitions failed: {P1}: rows 1 < min 2"
    assert within(found, {P3}) == replace(
        found,
        message="rows 1 < min 2",
        partitions=(P3,),
        values=(bad(P3),),
        failures=3,
        sample=None,
    )
