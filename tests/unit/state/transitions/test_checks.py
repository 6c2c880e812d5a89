"""When flags open and close, and what the others of an undone step say."""

from dataclasses import replace

import pytest

from contracts.store_cases import DAY, GATE, days, intent
from fakes.clock import NOON
from penstock.core.checks.check import OnFailure
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.step import StepKind
from penstock.state.transitions.checks import FlagChange, flag_change
from penstock.state.transitions.model_state import FlagState, ModelState, RecordedChecks, StoredStep
from penstock.state.transitions.rollback import ROLLED_BACK, failures_of

HOURS = Grid(Grain.HOUR)
BUILD = days("step-9", "orders", (1, 3), step_seq=9)
BACK = replace(BUILD, kind=StepKind.ROLLBACK, restores=5, on_failure="rollback")
FLAG = FlagState(("min_rows",), NOON)


def failed(*ords, mode=OnFailure.FLAG):
    return RecordedChecks(mode, failure=GATE, failed=ords)


def step(number, grid=DAY, **changes):
    given = replace(intent(f"step-{number}"), step_seq=number, grid=grid)
    return StoredStep(given, NOON, "ann@host-a", **changes)


def known(*flags, grid=DAY, steps=()):
    """Give records with flags: of a step, a partition, and the step that closed it, if any."""
    found = {
        (seq, number): replace(FLAG, closed=NOON, why=f"step-{by[0]}") if by else FLAG
        for seq, number, *by in flags
    }
    numbers = {number for seq, _, *by in flags for number in (seq, *by)}
    every = {number: step(number, grid) for number in numbers}
    return ModelState("orders", flags=found, steps=every | {each.seq: each for each in steps})


def change(records=None, given=BUILD, checks=None, *, replaces=True, **changes):
    """Give what the end of a step means."""
    ended = StoredStep(given, NOON, "ann@host-a", verdict=checks, ended=NOON, **changes)
    return flag_change(records or ModelState("orders"), ended, replaces=replaces)


def test_a_build_closes_the_flags_on_rows_that_it_made_anew():
    found = change(known((3, 1), (3, 4), (2, 3), (3, 2, 5)))

    assert found == FlagChange(closes=((3, 1), (2, 3)))


def test_flags_of_another_grid_go_with_their_records():
    assert change(known((3, 99), grid=HOURS)).closes == ((3, 99),)


def test_a_build_that_the_records_do_not_go_by_closes_nothing():
    records = known((3, 1), steps=[step(3, pending=((1, 1),))])

    found = change(records, checks=failed((2, 2)), replaces=False)

    assert found == FlagChange(opens=((2, 2),))


def test_flags_of_newer_steps_stay():
    assert change(known((10, 1))) == FlagChange()


@pytest.mark.parametrize(
    ("checks", "undone_by", "opens"),
    [
        (failed((2, 2)), 0, ((2, 2),)),
        (failed((2, 2)), 12, ()),
        (failed((2, 2), mode=OnFailure.BLOCK), 0, ()),
        (RecordedChecks(OnFailure.FLAG), 0, ()),
        (None, 0, ()),
    ],
)
def test_a_build_opens_a_flag_for_rows_of_its_own_that_failed_and_stay(checks, undone_by, opens):
    assert change(checks=checks, undone_by=undone_by).opens == opens


def test_partitions_that_were_held_back_keep_their_flags():
    checks = failed((2, 2), mode=OnFailure.BLOCK)

    assert change(known((3, 1), (3, 2)), checks=checks).closes == ((3, 1),)


def test_what_is_pending_gets_less_by_what_is_made_anew():
    pending = [
        step(3, pending=((0, 1),)),
        step(4, HOURS, pending=((7, 7),)),
        step(12, pending=((1, 1),)),
    ]

    assert change(known(steps=pending)).pending == {3: ((0, 0),), 4: ()}


def test_a_step_that_promised_checks_and_was_recovered_is_pending():
    promised = replace(intent(), step_seq=9, on_failure="flag")

    assert change(given=promised, recovered=True).pending == {9: ((0, 0),)}


def test_a_rollback_closes_what_it_undoes_and_opens_what_that_had_closed():
    records = known((5, 1), (4, 1, 5), (4, 2, 3), (4, 3), (6, 2, 7), (2, 2, 8))

    found = change(records, BACK)

    assert found == FlagChange(closes=((5, 1),), reopens=((4, 1), (2, 2)))


@pytest.mark.parametrize("kind", [StepKind.ALTER, StepKind.CREATE, StepKind.REWRITE])
def test_what_makes_a_table_ready_changes_no_flag(kind):
    assert change(known((3, 1)), replace(BUILD, kind=kind)) == FlagChange()


def test_the_others_of_a_step_that_is_undone_say_so():
    assert failures_of(BACK, ((5, 2),), ((0, 3),)) == (
        (None, ((0, 0), (2, 2))),
        (ROLLED_BACK, ((1, 1), (3, 3))),
    )


def test_without_a_flag_nobody_knows_who_the_others_were():
    by_hand = replace(BACK, on_failure="")

    assert failures_of(BACK, (), ((1, 3),)) == ((None, ((1, 3),)),)
    assert failures_of(by_hand, ((5, 2),), ((1, 3),)) == ((None, ((1, 3),)),)
