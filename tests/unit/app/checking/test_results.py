"""One result of all groups of a check.

What failed gates mean for a step: which partitions failed, and how the error says it.
"""

from dataclasses import replace

import pytest

from fakes.builders import a_model
from fakes.check_inputs import a_check, a_check_inputs
from fakes.reports import a_check_result
from fakes.services import an_intent
from penstock.app.checking.results import decided, failed_of, part_of, refusal, refused, result_of
from penstock.core.check_results import InvariantReport, Sample
from penstock.core.checks.check import OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.findings import Location, Severity
from penstock.core.partitions.partition import Grain, Grid
from penstock.strategies.checks.types import RowCount

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

    assert part_of(found, {P1, P2, P3}) == found
    first = part_of(found, {P1, P2})
    assert (first.partitions, first.sample) == ((P1,), sample)
    assert first.message == f"1 of 2 partitions failed: {P1}: rows 1 < min 2"
    assert part_of(found, {P3}) == replace(
        found,
        message="rows 1 < min 2",
        partitions=(P3,),
        values=(bad(P3),),
        failures=3,
        sample=None,
    )


DAY = Grid(Grain.DAY)
ONE, TWO, THREE = (DAY.parse(f"2024-12-0{day}") for day in (1, 2, 3))
ALL = ((ONE, THREE),)
EVERY = a_check_result("every", CheckStatus.FAILED, "rows 0 < min 1", partitions=("*",))
FIRST = a_check_result("first", CheckStatus.FAILED, "rows 1 < min 2", partitions=("2024-12-01",))
LAST = a_check_result("last", CheckStatus.FAILED, "rows 2 < min 3", partitions=("2024-12-03",))


@pytest.mark.parametrize(
    ("results", "failed"),
    [
        ((), ()),
        ((a_check_result("good"),), ()),
        ((FIRST,), ((ONE, ONE),)),
        ((FIRST, LAST), ((ONE, ONE), (THREE, THREE))),
        ((FIRST, EVERY), ALL),
        ((replace(FIRST, partitions=()),), ALL),
        ((replace(EVERY, severity=Severity.WARNING), LAST), ((THREE, THREE),)),
        ((replace(FIRST, partitions=("2024-11-30",)),), ()),
    ],
)
def test_partitions_fail_with_the_gates_that_are_about_them(results, failed):
    assert failed_of(results, DAY, ALL) == failed


def test_a_whole_table_fails_with_any_of_its_gates():
    assert failed_of((replace(FIRST, partitions=("*",)),), Grid(), ((0, 0),)) == ((0, 0),)


def test_the_error_names_partitions_gates_and_how_to_look_again():
    where = Location("models/a.yml", 3)
    gates = (replace(FIRST, where=where), a_check_result("good"), LAST)

    error = refusal("a", Phase.AFTER, gates, DAY, failed_of(gates, DAY, ALL))

    assert error.render() == (
        "models/a.yml:3: after-check-failed: a 2024-12-01, 2024-12-03: "
        "first: rows 1 < min 2; last: rows 2 < min 3\n"
        "  hint: penstock check --query a --from 2024-12-01 --to 2024-12-03 --after"
    )


def test_many_gates_and_partitions_are_named_in_part():
    gates = [replace(FIRST, name=f"gate{number}") for number in range(7)]
    apart = tuple((ONE + 2 * number,) * 2 for number in range(6))

    error = refusal("a", Phase.BEFORE, gates, DAY, apart)

    assert error.sentence == (
        "a 2024-12-01, 2024-12-03, 2024-12-05, 2024-12-07, 2024-12-09 and 1 more: "
        + "".join(f"gate{number}: rows 1 < min 2; " for number in range(5))
        + "and 2 more"
    )


def test_a_whole_table_is_named_by_its_model_alone():
    error = refusal("a", Phase.AFTER, (EVERY,), Grid(), ((0, 0),))

    assert error.sentence == "a: every: rows 0 < min 1"
    assert error.hint == "penstock check --query a --after"


def test_what_was_decided_keeps_mode_version_and_failure():
    keys = ("2024-12-01..2024-12-03",)
    intent = replace(an_intent(a_model("a")), grid=DAY, partitions=keys)

    good = decided(intent, OnFailure.BLOCK, InvariantReport(), 4)
    bad = decided(intent, OnFailure.BLOCK, InvariantReport((), (LAST,)), 4)

    assert (good.failure, good.failed, good.version) == (None, (), 4)
    assert (bad.mode, bad.failed, bad.failure.code) == (
        OnFailure.BLOCK,
        ((THREE, THREE),),
        "after-check-failed",
    )
