"""What failed gates mean for a step: which partitions failed, and how the error says it."""

from dataclasses import replace

import pytest

from fakes.builders import a_model
from fakes.reports import a_check_result
from fakes.services import an_intent
from penstock.app.checking.results import decided, failed_of, refusal
from penstock.core.check_results import CheckStatus, InvariantReport
from penstock.core.checks import OnFailure, Phase
from penstock.core.findings import Location, Severity
from penstock.core.partition import Grain, Grid

DAY = Grid(Grain.DAY)
ONE, TWO, THREE = (DAY.parse(f"2024-12-0{day}") for day in (1, 2, 3))
ALL = ((ONE, THREE),)
FAILED = CheckStatus.FAILED
EVERY = a_check_result("every", FAILED, "rows 0 < min 1", partitions=("*",))
FIRST = a_check_result("first", FAILED, "rows 1 < min 2", partitions=("2024-12-01",))
LAST = a_check_result("last", FAILED, "rows 2 < min 3", partitions=("2024-12-03",))


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
