"""What every state store promises of steps and records."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import (
    BROKEN,
    ELSEWHERE,
    HERE,
    MARK,
    OTHER,
    intent,
    mark,
    run,
    succeed,
    with_mark,
    wrote,
)
from fakes.clock import NOON
from penstock.core.errors import LeaseHeldError, LeaseLostError, StateError
from penstock.core.model import Fingerprint
from penstock.core.records import Begun, Execution, ModelRecord, Status, StepRecord
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.step import StepKind


def test_a_step_that_began_is_running_with_its_number_and_token(store):
    begun = store.journal.begin(intent(), {}, HERE, None)

    assert begun == Begun(step_seq=1, lease_token=1)
    assert store.journal.running() == (
        StepRecord(replace(intent(), step_seq=1), Status.RUNNING, NOON, lease_token=1),
    )
    assert store.records.models() == {}


def test_a_success_is_the_record_of_its_model(store, world):
    store.journal.begin(with_mark(7), {}, HERE, None)
    ended = world.pass_(2)
    store.journal.finish("step-1", wrote(5))

    assert store.records.models() == {
        "orders": ModelRecord(
            model="orders",
            status=Status.SUCCESS,
            last_step_seq=1,
            step="step-1",
            step_seq=1,
            fingerprint=MARK,
            table_id="table-orders",
            commit_version=5,
            settled_version=5,
            pins={"raw.orders": DeltaPin("table-raw", 4)},
            watermarks=(mark(7),),
            executed_at=ended,
            duration_ms=250,
            rows_written=3,
            bytes_written=30,
            high_time=NOON,
        )
    }
    assert store.journal.running() == ()
    assert store.leases.taken() == ()


def test_a_success_is_a_row_of_the_history(store, world):
    store.journal.begin(intent(), {}, HERE, None)
    ended = world.pass_(2)
    store.journal.finish("step-1", wrote(5))

    assert store.records.history("orders", 10) == (
        Execution(
            model="orders",
            partition="*",
            step="step-1",
            step_seq=1,
            fingerprint=MARK,
            executed_at=ended,
            duration_ms=250,
            rows_written=3,
            bytes_written=30,
            status=Status.SUCCESS,
            triggered_by="run",
            executed_by="ann@host-a",
            reason="never_run",
        ),
    )


def test_a_failure_leaves_what_the_last_success_left(store, world):
    succeed(store, with_mark(7))
    before = store.records.models()["orders"]
    changed = replace(with_mark(9, "step-2"), fingerprint=Fingerprint("sql-2", "canonical-2"))
    store.journal.begin(changed, {}, HERE, None)
    world.pass_(1.5)
    store.journal.fail("step-2", BROKEN)

    assert store.records.models() == {
        "orders": replace(before, status=Status.FAILED, last_step_seq=2, failure=BROKEN)
    }
    assert store.records.history("orders", 1) == (
        Execution(
            model="orders",
            partition="*",
            step="step-2",
            step_seq=2,
            fingerprint=Fingerprint("sql-2", "canonical-2"),
            executed_at=NOON + dt.timedelta(seconds=1.5),
            duration_ms=1500,
            rows_written=0,
            bytes_written=0,
            status=Status.FAILED,
            triggered_by="run",
            executed_by="ann@host-a",
            failure=BROKEN,
            reason="never_run",
        ),
    )
    assert store.leases.taken() == ()


def test_a_success_after_a_failure_clears_it(store):
    store.journal.begin(intent("step-1"), {}, HERE, None)
    store.journal.fail("step-1", BROKEN)
    succeed(store, intent("step-2"))

    record = store.records.models()["orders"]
    assert (record.status, record.failure, record.last_step_seq) == (Status.SUCCESS, None, 2)


def test_a_rejected_step_fails_without_a_lease(store):
    store.journal.begin(intent("held"), {}, HERE, None)
    store.journal.reject(intent("step-2", holder=OTHER), BROKEN, OTHER)

    assert store.records.models() == {
        "orders": ModelRecord("orders", Status.FAILED, 2, failure=BROKEN)
    }
    assert [lease.run for lease in store.leases.taken()] == ["run-1"]


def test_a_step_that_changed_nothing_keeps_the_commit_of_the_one_that_did(store):
    succeed(store, intent("step-1"), version=4)
    store.journal.begin(intent("step-2"), {}, HERE, None)
    store.journal.finish("step-2", replace(wrote(None, rows=0), settled_version=6))

    record = store.records.models()["orders"]
    assert (record.commit_version, record.settled_version, record.step_seq) == (4, 6, 2)


def test_pins_are_those_of_the_last_success(store):
    succeed(store, intent("step-1"))
    succeed(store, replace(intent("step-2"), inputs=()))

    assert store.records.models()["orders"].pins == {}


def test_texts_are_stored_once_and_read_back(store):
    store.journal.begin(intent(), {"sql-1": "select 1 -- é"}, HERE, None)
    store.journal.begin(intent("step-2"), {"sql-1": "select 1 -- é", "c": ""}, HERE, None)

    known = store.records.texts(["sql-1", "c", "none"])
    assert known == {"sql-1": "select 1 -- é", "c": ""}


def test_history_is_newest_first_and_bounded(store):
    for number in range(1, 5):
        succeed(store, intent(f"step-{number}"))

    assert [row.step for row in store.records.history("orders", 2)] == ["step-4", "step-3"]
    assert store.records.history("unknown", 2) == ()


def test_last_results_are_those_of_the_last_run_that_had_steps(store):
    succeed(store, intent("step-1", "old"))
    succeed(store, intent("step-2", "a", OTHER), holder=OTHER)
    store.journal.begin(intent("step-3", "b", OTHER), {}, OTHER, None)
    store.journal.fail("step-3", BROKEN)
    store.journal.start_run(run(ELSEWHERE))

    assert store.records.last_results() == {"a": Status.SUCCESS, "b": Status.FAILED}


def test_an_empty_store_knows_nothing(opened):
    store = opened()

    assert store.records.models() == {}
    assert store.records.last_results() == {}
    assert store.journal.running() == ()
    assert store.leases.taken() == ()


def test_a_crash_inside_finish_leaves_the_step_running(store, world):
    store.journal.begin(with_mark(7), {}, HERE, None)
    before = store.archive.export()
    world.fault = "during-finish"

    with pytest.raises(KeyboardInterrupt):
        store.journal.finish("step-1", wrote(0))

    assert store.archive.export() == before


def test_a_refused_begin_writes_nothing(store):
    store.journal.begin(intent(), {}, HERE, None)
    before = store.archive.export()

    with pytest.raises(LeaseHeldError):
        store.journal.begin(intent("step-2", holder=OTHER), {"new": "text"}, OTHER, None)

    assert store.archive.export() == before


def test_a_recovered_finish_asks_for_no_lease_and_says_so_in_the_history(store, world):
    store.journal.begin(intent(), {}, HERE, None)
    store.leases.unlock("mart.orders")
    store.journal.finish("step-1", wrote(7), recovered=True)

    assert store.records.models()["orders"].commit_version == 7
    assert store.records.history("orders", 1)[0].triggered_by == "recover"


def test_a_recovered_failure_says_so_in_the_history(store):
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.fail("step-1", BROKEN, recovered=True)

    assert store.records.history("orders", 1)[0].triggered_by == "recover"
    assert store.leases.taken() == ()


def test_finishing_a_success_again_changes_nothing(store):
    succeed(store, with_mark(7))
    before = store.archive.export()
    store.journal.finish("step-1", wrote(9))
    store.journal.finish("step-1", wrote(9), recovered=True)
    store.journal.fail("step-1", BROKEN)

    assert store.archive.export() == before


def test_a_failed_step_cannot_be_finished(store):
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.fail("step-1", BROKEN)

    with pytest.raises(StateError, match="step step-1 already ended as FAILED") as caught:
        store.journal.finish("step-1", wrote(0), recovered=True)
    with pytest.raises(LeaseLostError):
        store.journal.finish("step-1", wrote(0))

    assert caught.value.code == "step-ended"


def test_an_unknown_step_is_an_error(store):
    with pytest.raises(StateError) as caught:
        store.journal.finish("nowhere", wrote(0))

    assert (caught.value.code, caught.value.sentence) == (
        "unknown-step",
        "no step has the id 'nowhere'",
    )


def test_a_change_of_properties_before_any_build_is_no_success(store):
    succeed(store, replace(intent(), kind=StepKind.ALTER))

    record = store.records.models()["orders"]
    assert not record.succeeded_once
    assert (record.last_step_seq, record.pins, record.commit_version) == (1, {}, None)


def test_a_change_of_properties_leaves_rows_inputs_and_failures_as_they_were(store):
    succeed(store, intent())
    store.journal.begin(intent("step-2"), {}, HERE, None)
    store.journal.fail("step-2", BROKEN)
    before = store.records.models()["orders"]
    marked = replace(MARK, layout="layout-2")
    succeed(store, replace(intent("step-3"), kind=StepKind.ALTER, fingerprint=marked), 9)

    after = store.records.models()["orders"]
    assert after == replace(before, last_step_seq=3, fingerprint=marked, settled_version=9)
