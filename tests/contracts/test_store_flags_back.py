"""Flags on rows that come back: what every state store promises of a rollback (checks.md §5.4)."""

from dataclasses import replace

import pytest

from contracts.store_cases import (
    BROKEN,
    GATE,
    HERE,
    check,
    days,
    failed_gate,
    intent,
    passed_gate,
    recover,
    succeed,
    wrote,
)
from penstock.core.checks.check import OnFailure
from penstock.core.records import Status
from penstock.core.steps.step import StepKind

FLAG, ROLLBACK = OnFailure.FLAG, OnFailure.ROLLBACK
SUCCESS, FAILED = Status.SUCCESS, Status.FAILED
P1, P2, P3 = "1970-01-02", "1970-01-03", "1970-01-04"
MODES = pytest.mark.parametrize("on_failure", ["rollback", ""])


def runs(store):
    """Give bounds, status, step, commit and last step of each run."""
    return [
        (run.low, run.high, run.status, run.step_seq, run.commit_version, run.last_step_seq)
        for run in store.records.runs("orders")["orders"]
    ]


def keys(store):
    """Give the open flags."""
    return [(flag.step_seq, flag.ord) for flag in store.checks.flags()]


def told(store, step):
    """Give partition, status, code and trigger of each execution of a step."""
    return [
        (each.partition, each.status, each.failure and each.failure.code, each.triggered_by)
        for each in store.records.history("orders", None)
        if each.step == step
    ]


def fails(store, step, *ranges, mode=ROLLBACK, version=4):
    """Let a step of days fail its gate on all of them after its commit."""
    one = days(step, "orders", *ranges, on_failure=str(mode))
    check(store, one, failed_gate(*one.partitions, mode=mode), version)


def goes_back(store, step, restores, *ranges, on_failure="rollback", version=9):
    """Restore the table of days to before a step."""
    made = days(step, "orders", *ranges, kind=StepKind.ROLLBACK, restores=restores)
    made = replace(made, triggered_by="rollback", inputs=(), on_failure=on_failure)
    succeed(store, made, version)


def whole_goes_back(store, step, restores, on_failure="rollback"):
    made = replace(intent(step), kind=StepKind.ROLLBACK, restores=restores, inputs=())
    succeed(store, replace(made, on_failure=on_failure), 9)


@MODES
def test_flagged_rows_that_come_back_are_on_record_and_flagged_again(store, on_failure):
    succeed(store, days("step-1", "orders", (1, 1)), version=1)
    fails(store, "step-2", (1, 1), mode=FLAG, version=2)
    before = store.checks.flags()
    if on_failure:
        fails(store, "step-3", (1, 1), version=3)
    else:
        succeed(store, days("step-3", "orders", (1, 1)), version=3)
    assert keys(store) == ([(3, 1)] if on_failure else [])

    goes_back(store, "step-4", 3, (1, 1), on_failure=on_failure)

    assert runs(store) == [(1, 1, FAILED, 2, 9, 4)]
    assert store.checks.flags() == before
    assert store.checks.unsettled() == ()


@MODES
def test_a_flagged_table_that_comes_back_is_on_record_and_flagged_again(store, on_failure):
    succeed(store, intent("step-1"), version=1)
    check(store, replace(intent("step-2"), strategy="table"), failed_gate("*"), version=2)
    record, flags = store.records.models()["orders"], store.checks.flags()
    third = replace(intent("step-3"), strategy="table", on_failure=on_failure)
    if on_failure:
        check(store, third, failed_gate("*", mode=ROLLBACK), version=3)
    else:
        succeed(store, third, version=3)

    whole_goes_back(store, "step-4", 3, on_failure)

    assert store.checks.flags() == flags != ()
    assert store.records.models()["orders"] == replace(
        record, last_step_seq=4, commit_version=9, settled_version=9
    )
    assert (record.status, record.step, record.failure) == (FAILED, "step-2", GATE)


def test_rows_that_somebody_accepted_come_back_as_a_success(store):
    fails(store, "step-1", (1, 1), mode=FLAG)
    store.journal.close_flags(store.checks.flags(), "fine", "ann")
    succeed(store, days("step-2", "orders", (1, 1)), version=5)

    goes_back(store, "step-3", 2, (1, 1), on_failure="")

    assert runs(store) == [(1, 1, SUCCESS, 1, 9, 3)]
    assert keys(store) == []


def test_only_what_the_undone_steps_had_closed_is_flagged_again(store):
    fails(store, "step-1", (1, 3), mode=FLAG)
    succeed(store, days("step-2", "orders", (1, 1)), version=5)
    succeed(store, days("step-3", "orders", (2, 2)), version=6)
    assert keys(store) == [(1, 3)]

    goes_back(store, "step-4", 3, (2, 2), on_failure="")

    assert keys(store) == [(1, 2), (1, 3)]
    assert [run[2:4] for run in runs(store)] == [(SUCCESS, 2), (FAILED, 1), (FAILED, 1)]


def test_a_flag_that_is_open_again_closes_when_its_rows_are_built(store):
    fails(store, "step-1", (1, 1), mode=FLAG)
    succeed(store, days("step-2", "orders", (1, 1)), version=5)
    goes_back(store, "step-3", 2, (1, 1), on_failure="")
    assert keys(store) == [(1, 1)]

    succeed(store, days("step-4", "orders", (1, 1)), version=10)

    assert keys(store) == []


def test_a_rollback_that_is_undone_leaves_the_flags_that_it_closed(store):
    succeed(store, days("step-1", "orders", (1, 1)), version=1)
    fails(store, "step-2", (1, 1), mode=FLAG, version=2)
    goes_back(store, "step-3", 2, (1, 1), on_failure="", version=3)
    assert (keys(store), runs(store)[0][2:4]) == ([], (SUCCESS, 1))

    goes_back(store, "step-4", 3, (1, 1), on_failure="")

    assert (keys(store), runs(store)[0][2:4]) == ([(2, 1)], (FAILED, 2))


def test_rows_that_were_found_bad_late_come_back_flagged(store):
    recover(store, days("step-1", "orders", (1, 2), on_failure="flag"))
    store.journal.settle_checks("step-1", failed_gate(P1))
    succeed(store, days("step-2", "orders", (1, 2)), version=5)

    goes_back(store, "step-3", 2, (1, 2), on_failure="")

    assert keys(store) == [(1, 1)]
    assert runs(store) == [(1, 1, FAILED, 1, 9, 3), (2, 2, SUCCESS, 1, 9, 3)]


def test_flags_that_closed_and_opened_again_read_back(opened, store):
    fails(store, "step-1", (1, 2), mode=FLAG)
    succeed(store, days("step-2", "orders", (1, 2)), version=5)
    closed = opened(name="closed")
    closed.archive.load(store.archive.export())

    for each in (store, closed):
        goes_back(each, "step-3", 2, (1, 2), on_failure="")

    assert closed.checks.flags() == store.checks.flags()
    assert keys(store) == [(1, 1), (1, 2)]
    document = store.archive.export()
    fresh = opened(name="fresh")
    fresh.archive.load(document)
    assert fresh.archive.export() == document
    assert fresh.checks.flags() == store.checks.flags()


# What the others of the step are told


def test_partitions_that_are_undone_with_others_say_why(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=1)
    step = days("step-2", "orders", (1, 3), on_failure="rollback")
    check(store, step, failed_gate(P2, mode=ROLLBACK), version=2)
    goes_back(store, "step-3", 2, (1, 3))

    assert [(run[0], run[2], run[3]) for run in runs(store)] == [
        (1, FAILED, 1),
        (3, FAILED, 0),
    ]
    assert told(store, "step-2") == [
        (P1, SUCCESS, None, "run"),
        (P2, FAILED, "after-check-failed", "run"),
        (P3, SUCCESS, None, "run"),
    ]
    assert told(store, "step-3") == [
        (P1, FAILED, "rolled-back", "rollback"),
        (P2, SUCCESS, None, "rollback"),
        (P3, FAILED, "rolled-back", "rollback"),
    ]


def test_a_person_who_goes_back_fails_no_partition(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=1)
    check(store, days("step-2", "orders", (1, 2)), failed_gate(P2), version=2)
    goes_back(store, "step-3", 2, (1, 2), on_failure="")

    assert {status for _, status, _, _ in told(store, "step-3")} == {SUCCESS}
    assert [run[2] for run in runs(store)] == [SUCCESS]


@pytest.mark.parametrize("kind", [StepKind.ALTER, StepKind.REWRITE])
def test_what_made_the_table_ready_goes_too_and_other_partitions_stay_as_they_were(store, kind):
    succeed(store, days("step-1", "orders", (1, 3)), version=1)
    ready = days("step-2", "orders", (2, 2), kind=kind, on_failure="rollback")
    succeed(store, ready, version=2)
    fails(store, "step-3", (2, 2), version=3)

    goes_back(store, "step-4", 2, (2, 2))

    commit = 9 if kind is StepKind.REWRITE else 1
    last = 4 if kind is StepKind.REWRITE else 1
    assert runs(store) == [
        (1, 1, SUCCESS, 1, commit, last),
        (2, 2, FAILED, 1, 9, 4),
        (3, 3, SUCCESS, 1, commit, last),
    ]


def test_a_rollback_that_failed_leaves_no_history_and_is_due_still(store):
    fails(store, "step-1", (1, 2))
    before = store.records.history("orders", None), runs(store)
    made = days("step-2", "orders", (1, 2), kind=StepKind.ROLLBACK, restores=1)
    store.journal.begin(replace(made, on_failure="rollback"), {}, HERE, None)
    store.journal.fail("step-2", BROKEN)

    assert (store.records.history("orders", None), runs(store)) == before
    assert [each.rollback_due for each in store.checks.unsettled()] == [True]
    assert store.records.steps_of("orders")[1].failure == BROKEN


def test_a_table_whose_rollback_failed_is_planned_on_after_it(store):
    check(store, replace(intent("step-1"), on_failure="rollback"), failed_gate("*", mode=ROLLBACK))
    before = store.records.history("orders", None)
    made = replace(intent("step-2"), kind=StepKind.ROLLBACK, restores=1, on_failure="rollback")
    store.journal.begin(made, {}, HERE, None)
    store.journal.fail("step-2", BROKEN)

    record = store.records.models()["orders"]
    assert (record.status, record.last_step_seq) == (FAILED, 2)
    assert store.records.history("orders", None) == before


def test_a_step_that_passed_is_not_flagged_when_it_comes_back(store):
    check(store, days("step-1", "orders", (1, 1)), passed_gate(P1), version=1)
    fails(store, "step-2", (1, 1), version=2)
    goes_back(store, "step-3", 2, (1, 1))
    succeed(store, days("step-4", "orders", (1, 1)), version=10)

    goes_back(store, "step-5", 4, (1, 1), on_failure="", version=11)

    assert (keys(store), runs(store)) == ([], [(1, 1, SUCCESS, 1, 11, 5)])
    assert store.records.steps_of("orders")[0].outcome == wrote(1)
