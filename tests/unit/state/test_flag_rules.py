"""When flags open and close: one function that every store obeys."""

from dataclasses import replace

import pytest
from penstock.state.flag_rules import (
    ROLLED_BACK,
    EndedStep,
    FlagChange,
    KnownFlag,
    Pending,
    flag_change,
    told_of_rollback,
)

from contracts.store_cases import DAY, GATE, days, intent
from penstock.core.checks import OnFailure
from penstock.core.partition import Grain, Grid
from penstock.core.step import Outcome, StepKind
from penstock.state.transitions.verdict import RecordedChecks

HOURS = Grid(Grain.HOUR)
BUILD = days("step-9", "orders", (1, 3), step_seq=9)
BACK = replace(BUILD, kind=StepKind.ROLLBACK, restores=5, on_failure="rollback")


def failed(*ords, mode=OnFailure.FLAG):
    return RecordedChecks(mode, failure=GATE, failed=ords)


def flag(step_seq, number, by=None, grid=DAY):
    return KnownFlag((step_seq, number), grid, by)


def test_a_build_closes_the_flags_on_rows_that_it_made_anew():
    known = [flag(3, 1), flag(3, 4), flag(2, 3), flag(3, 2, by=5)]

    found = flag_change(EndedStep(BUILD, None, replaces=True), known, [])

    assert found == FlagChange(closes=((3, 1), (2, 3)))


def test_flags_of_another_grid_go_with_their_records():
    found = flag_change(EndedStep(BUILD, None, replaces=True), [flag(3, 99, grid=HOURS)], [])

    assert found.closes == ((3, 99),)


def test_a_build_that_the_records_do_not_go_by_closes_nothing():
    pending = [Pending(3, DAY, ((1, 1),))]

    found = flag_change(EndedStep(BUILD, failed((2, 2)), replaces=False), [flag(3, 1)], pending)

    assert found == FlagChange(opens=((2, 2),))


def test_flags_of_newer_steps_stay():
    assert flag_change(EndedStep(BUILD, None, replaces=True), [flag(10, 1)], []) == FlagChange()


@pytest.mark.parametrize(
    ("checks", "undone", "opens"),
    [
        (failed((2, 2)), False, ((2, 2),)),
        (failed((2, 2)), True, ()),
        (failed((2, 2), mode=OnFailure.BLOCK), False, ()),
        (RecordedChecks(OnFailure.FLAG), False, ()),
        (None, False, ()),
    ],
)
def test_a_build_opens_a_flag_for_rows_of_its_own_that_failed_and_stay(checks, undone, opens):
    ended = EndedStep(BUILD, checks, replaces=True, undone=undone)

    assert flag_change(ended, [], []).opens == opens


def test_partitions_that_were_held_back_keep_their_flags():
    checks = failed((2, 2), mode=OnFailure.BLOCK)

    found = flag_change(EndedStep(BUILD, checks, replaces=True), [flag(3, 1), flag(3, 2)], [])

    assert found.closes == ((3, 1),)


def test_what_is_pending_gets_less_by_what_is_made_anew():
    pending = [
        Pending(3, DAY, ((0, 1),)),
        Pending(4, HOURS, ((7, 7),)),
        Pending(12, DAY, ((1, 1),)),
    ]

    found = flag_change(EndedStep(BUILD, None, replaces=True), [], pending)

    assert found.pending == {3: ((0, 0),), 4: ()}


def test_a_step_that_promised_checks_and_was_recovered_is_pending():
    promised = replace(intent(), step_seq=9, on_failure="flag")

    found = flag_change(EndedStep(promised, None, replaces=True, recovered=True), [], [])

    assert found.pending == {9: ((0, 0),)}


def test_a_rollback_closes_what_it_undoes_and_opens_what_that_had_closed():
    known = [
        flag(5, 1),
        flag(4, 1, by=5),
        flag(4, 2, by=3),
        flag(4, 3),
        flag(6, 2, by=7),
        flag(2, 2, by=8),
    ]

    found = flag_change(EndedStep(BACK, None, replaces=True), known, [])

    assert found == FlagChange(closes=((5, 1),), reopens=((4, 1), (2, 2)))


@pytest.mark.parametrize("kind", [StepKind.ALTER, StepKind.CREATE, StepKind.REWRITE])
def test_what_makes_a_table_ready_changes_no_flag(kind):
    ended = EndedStep(replace(BUILD, kind=kind), None, replaces=True)

    assert flag_change(ended, [flag(3, 1)], []) == FlagChange()


def test_the_others_of_a_step_that_is_undone_say_so():
    outcome, changed = Outcome(7), FlagChange(closes=((5, 2),))

    assert told_of_rollback(BACK, outcome, changed, ((0, 3),)) == (
        (outcome, ((0, 0), (2, 2))),
        (ROLLED_BACK, ((1, 1), (3, 3))),
    )


def test_without_a_flag_nobody_knows_who_the_others_were():
    outcome = Outcome(7)

    assert told_of_rollback(BACK, outcome, FlagChange(), ((1, 3),)) == ((outcome, ((1, 3),)),)
    by_hand = replace(BACK, on_failure="")
    changed = FlagChange(closes=((5, 2),))
    assert told_of_rollback(by_hand, outcome, changed, ((1, 3),)) == ((outcome, ((1, 3),)),)
