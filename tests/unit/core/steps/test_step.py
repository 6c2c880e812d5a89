"""What a step intends, what came of it, and why it failed."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import days, intent
from penstock.core.errors import PenstockError
from penstock.core.findings import Location
from penstock.core.steps.step import LONGEST, ForeignCommit, Outcome, RowCounts, StepFailure

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
OTHERS = (ForeignCommit(5, NOON, "WRITE"), ForeignCommit(6, NOON, "DELETE"))


def test_a_step_is_counted_by_delta_under_its_store_table_and_lane():
    assert intent().transaction == "mart.orders"
    assert replace(intent(), epoch="e", lane="2").transaction == "e/mart.orders/2"


def test_a_step_is_the_same_in_the_store_that_another_took_the_place_of():
    assert replace(intent(), epoch="e") == intent()


def test_partitions_are_numbers_of_the_grid():
    assert days("step-1", "orders", (1, 3), (9, 9)).ords == ((1, 3), (9, 9))
    assert intent().ords == ((0, 0),)


def test_rows_that_are_new_or_changed_were_written():
    assert RowCounts(inserted=5, updated=2, deleted=1, late=9).written == 7


@pytest.mark.parametrize(
    ("outcome", "stands_at", "known_to"),
    [
        (Outcome(7, settled_version=9), 7, 7),
        (Outcome(0, settled_version=9), 0, 0),
        (Outcome(None, settled_version=9), 9, 9),
        (Outcome(7, foreign=OTHERS), 7, 4),
        (Outcome(None), None, None),
    ],
)
def test_the_rows_of_a_step_stand_at_its_commit_or_at_what_it_left_alone(
    outcome, stands_at, known_to
):
    assert (outcome.stands_at, outcome.known_to) == (stands_at, known_to)


def test_a_failure_says_what_the_error_says_in_few_words():
    error = PenstockError("x", "y" * 5000, where=Location("a.sql", 3), hint="do")

    assert StepFailure.of(error) == StepFailure("x", "y" * LONGEST, "a.sql:3", "do")
    assert StepFailure.of(PenstockError("x", "y")) == StepFailure("x", "y")


def test_a_failure_without_a_hint_has_that_of_its_code():
    hint = "run again; nothing of the step is in the table"

    assert StepFailure("crashed", "gone").hint == hint
    assert StepFailure("crashed", "gone", hint="wait").hint == "wait"
    assert StepFailure("no-code", "gone").hint == ""
