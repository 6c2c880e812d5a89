"""What every state store promises of steps that take a table back."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import (
    BROKEN,
    HERE,
    MARK,
    days,
    intent,
    mark,
    succeed,
    with_mark,
    wrote,
)
from fakes.clock import NOON
from penstock.core.model import Fingerprint
from penstock.core.records import PartitionRun, Status, WatermarkChange
from penstock.core.steps.inputs import DeltaPin, InputPin
from penstock.core.steps.step import StepKind

NEW = Fingerprint("sql-2", "canonical-2")


def back(step, restores, *ranges, version):
    """Give a rollback to before a step, and the version of its commit."""
    rolled = days(step, "orders", *ranges, kind=StepKind.ROLLBACK, restores=restores)
    return replace(rolled, triggered_by="rollback", inputs=()), version


def runs(store):
    return [
        (run.low, run.high, run.step_seq, run.commit_version, run.settled_version)
        for run in store.records.runs("orders")["orders"]
    ]


def test_partitions_get_the_record_of_their_last_success_before_the_step(store, world):
    succeed(store, days("step-1", "orders", (1, 4)), version=1)
    world.pass_(9)
    succeed(store, days("step-2", "orders", (3, 6), fingerprint=NEW), version=2)
    succeed(store, *back("step-3", 2, (3, 6), version=3))

    same = (Status.SUCCESS, 1, 1)
    assert store.records.runs("orders")["orders"] == (
        PartitionRun(1, 2, *same, 1, 1, 1, holds_rows=False, executed_at=NOON),
        PartitionRun(3, 4, *same, 3, 3, 3, holds_rows=False, executed_at=NOON),
    )
    assert store.records.models()["orders"].step == "step-1"
    assert store.records.models()["orders"].pins == {"raw.orders": DeltaPin("table-raw", 4)}


def test_every_partition_that_goes_back_is_a_row_of_the_history(store):
    succeed(store, days("step-1", "orders", (1, 1)), version=1)
    succeed(store, days("step-2", "orders", (1, 2), fingerprint=NEW), version=2)
    succeed(store, *back("step-3", 2, (1, 2), version=3))

    told = [
        (row.partition, row.fingerprint, row.triggered_by)
        for row in store.records.history("orders", 2)
    ]
    assert told == [("1970-01-02", MARK, "rollback"), ("1970-01-03", MARK, "rollback")]


def test_a_rollback_knows_the_partitions_by_the_steps_that_it_undoes(store):
    succeed(store, days("step-1", "orders", (1, 4)), version=1)
    succeed(store, days("step-2", "orders", (3, 6)), version=2)
    succeed(store, *back("step-3", 2, version=3))

    assert runs(store) == [(1, 2, 1, 1, 1), (3, 4, 1, 3, 3)]


def test_what_a_table_held_before_it_was_made_anew_does_not_come_back(store):
    succeed(store, days("step-1", "orders", (1, 4)), version=1)
    succeed(store, days("step-2", "orders", (4, 4), kind=StepKind.CREATE), version=0)
    succeed(store, days("step-3", "orders", (4, 4)), version=1)
    succeed(store, days("step-4", "orders", (1, 3)), version=2)
    succeed(store, *back("step-5", 4, (1, 3), version=3))

    assert runs(store) == [(4, 4, 3, 1, 1)]


def test_a_step_that_was_rolled_back_never_counts_again(store):
    succeed(store, days("step-1", "orders", (1, 1)), version=1)
    succeed(store, days("step-2", "orders", (1, 1)), version=2)
    succeed(store, *back("step-3", 2, (1, 1), version=3))
    succeed(store, days("step-4", "orders", (1, 1)), version=4)
    succeed(store, *back("step-5", 4, (1, 1), version=5))

    assert runs(store) == [(1, 1, 1, 5, 5)]


def test_a_rollback_that_is_rolled_back_gives_back_what_it_took(store):
    succeed(store, days("step-1", "orders", (1, 1)), version=1)
    succeed(store, days("step-2", "orders", (1, 2)), version=2)
    succeed(store, *back("step-3", 2, (1, 2), version=3))
    succeed(store, *back("step-4", 3, (1, 2), version=4))

    assert runs(store) == [(1, 2, 2, 4, 4)]
    assert store.records.models()["orders"].step == "step-2"


def test_a_rollback_over_a_created_table_gives_back_every_partition(store):
    succeed(store, days("step-1", "orders", (1, 4)), version=1)
    succeed(store, days("step-2", "orders", kind=StepKind.CREATE), version=2)
    succeed(store, days("step-3", "orders", (2, 2)), version=3)
    succeed(store, *back("step-4", 2, (2, 2), version=4))

    assert runs(store) == [(1, 4, 1, 4, 4)]


def test_a_failed_rollback_fails_its_partitions_and_undoes_nothing(store):
    succeed(store, days("step-1", "orders", (1, 1)), version=1)
    succeed(store, days("step-2", "orders", (1, 1)), version=2)
    rolled, _ = back("step-3", 2, (1, 1), version=3)
    store.journal.begin(rolled, {}, HERE, None)
    store.journal.fail("step-3", BROKEN)

    assert runs(store) == [(1, 1, 2, 2, 2)]
    assert store.records.runs("orders")["orders"][0].status is Status.FAILED


def test_a_model_of_one_partition_goes_back_too(store, world):
    succeed(store, intent("step-1"), version=1)
    before = store.records.models()["orders"]
    world.pass_(5)
    newer = replace(
        intent("step-2"), fingerprint=NEW, inputs=(InputPin("raw.orders", DeltaPin("t", 9)),)
    )
    succeed(store, newer, version=2)
    rolled = replace(intent("step-3"), kind=StepKind.ROLLBACK, restores=2, inputs=())
    succeed(store, rolled, version=3)

    assert store.records.models()["orders"] == replace(
        before, last_step_seq=3, commit_version=3, settled_version=3
    )
    assert [row.step for row in store.records.history("orders", 9)] == [
        "step-3",
        "step-2",
        "step-1",
    ]


def test_a_model_of_one_partition_without_an_older_success_never_ran(store):
    succeed(store, intent("step-1"), version=1)
    rolled = replace(intent("step-2"), kind=StepKind.ROLLBACK, restores=1, inputs=())
    succeed(store, rolled, version=2)

    record = store.records.models()["orders"]
    assert (record.succeeded_once, record.last_step_seq, record.settled_version) == (
        False,
        2,
        None,
    )


@pytest.mark.parametrize("slow", [0, 3_600])
def test_watermarks_return_to_what_they_were_before_the_step(store, world, slow):
    """Whatever the clock says of the machine on which a person set one."""
    succeed(store, replace(with_mark(5, "step-1"), partitions=("*",)))
    fast = NOON + dt.timedelta(seconds=slow)
    by_hand = WatermarkChange("orders", "raw.orders", "m", "BIGINT 1", fast, who="ann")
    store.records.change_watermark(by_hand)
    world.pass_(5)
    both = replace(with_mark(9, "step-2"), watermarks=(mark(9), mark(2, "late")))
    succeed(store, both)
    later = replace(by_hand, value="BIGINT 7", set_at=NOON + dt.timedelta(seconds=9 - slow))
    store.records.change_watermark(later)
    rolled = replace(intent("step-3"), kind=StepKind.ROLLBACK, restores=2)
    succeed(store, rolled, version=3)

    assert store.records.models()["orders"].watermarks == (mark(1, "m"), mark(5))
    assert {change.column for change in store.records.watermark_history("orders")[:3]} == {
        "late",
        "m",
        "n",
    }


def test_a_rollback_leaves_the_high_time(store):
    succeed(store, days("step-1", "orders", (1, 1)), version=1)
    later = replace(back("step-2", 1, (1, 1), version=2)[0], run_timestamp=NOON.replace(day=9))
    store.journal.begin(later, {}, HERE, None)
    store.journal.finish("step-2", wrote(2))

    assert store.records.models()["orders"].high_time == NOON
