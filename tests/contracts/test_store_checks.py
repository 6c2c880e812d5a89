"""What every state store promises of steps whose checks were recorded."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import (
    BROKEN,
    GATE,
    HERE,
    OTHER,
    a_result,
    check,
    days,
    failed_gate,
    intent,
    mark,
    passed_gate,
    recover,
    succeed,
    with_mark,
    wrote,
)
from fakes.clock import NOON
from penstock.core.check_results import (
    Checked,
    CheckRecord,
    CheckResult,
    Flag,
    InvariantReport,
    Quarantine,
    Sample,
)
from penstock.core.checks.check import CheckScope, OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.errors import LeaseLostError, StateError
from penstock.core.findings import Location, Severity
from penstock.core.model import Fingerprint
from penstock.core.records import ModelRecord, PartitionRun, Status, StepRecord
from penstock.core.steps.step import Outcome, PartitionRows, StepKind
from penstock.core.strategy import Writing

NEW = Fingerprint("sql-2", "canonical-2")
PASSED, FAILED, SKIPPED = CheckStatus.PASSED, CheckStatus.FAILED, CheckStatus.SKIPPED
FLAG, BLOCK, ROLLBACK = OnFailure.FLAG, OnFailure.BLOCK, OnFailure.ROLLBACK
KEPT = Quarantine(
    "step-1",
    "orders",
    "/warehouse/penstock_staging/mart__orders__step1",
    "penstock_staging.mart__orders__step1",
    ((2, 2),),
    3,
    NOON + dt.timedelta(days=7),
)


def runs(store):
    """Give bounds, status, step, commit and last step of each run."""
    return [
        (run.low, run.high, run.status, run.step_seq, run.commit_version, run.last_step_seq)
        for run in store.records.runs("orders")["orders"]
    ]


def told(store, model="orders"):
    """Give partition, status, error and rows of each execution, newest step first."""
    return [
        (row.partition, row.status, row.failure and row.failure.code, row.rows_written)
        for row in store.records.history(model, None)
    ]


def back(step, restores, *ranges, on_failure="rollback"):
    rolled = days(step, "orders", *ranges, kind=StepKind.ROLLBACK, restores=restores)
    return replace(rolled, triggered_by="rollback", inputs=(), on_failure=on_failure)


# Results


def test_what_a_check_said_reads_back_whole(store, world):
    result = CheckResult(
        name="bounds",
        type="value_range",
        phase=Phase.AFTER,
        severity=Severity.WARNING,
        status=FAILED,
        message="min -1 < 0",
        details="é ' \" \\",
        partitions=("*",),
        values=(GroupValue("*", FAILED, {"min": "-1", "max": None}, "min -1 < 0", None, 2),),
        failures=2,
        sample=Sample(("id", "é"), (("1", None), ("\0", "x"))),
        error="check-error",
        duration=0.123457,
        definition="digest",
        scope=CheckScope.TABLE,
        where=Location("models/a:b.yml", 3, 7),
    )
    report = InvariantReport(before=(replace(result, phase=Phase.BEFORE),), after=(result,))
    world.pass_(5)
    check(store, intent(), Checked(FLAG, report, version=9))

    same = {"model": "orders", "step": "step-1", "run": "run-1", "partitions": ("*",)}
    began = NOON + dt.timedelta(seconds=5) - dt.timedelta(microseconds=123457)
    assert store.checks.checks_of("orders") == (
        CheckRecord(result=report.before[0], version=None, started=began, **same),
        CheckRecord(result=result, version=9, started=began, **same),
    )


def test_groups_that_passed_share_a_row_and_each_that_failed_has_its_own(store):
    values = (
        GroupValue("1970-01-02", PASSED, {"rows": "9"}, "rows 9"),
        GroupValue("1970-01-03", FAILED, {"rows": "1"}, "rows 1 < min 2", "d", 1),
        GroupValue("1970-01-04", PASSED, {"rows": "9"}, "rows 9"),
        GroupValue("1970-01-05", PASSED, {"rows": "8"}, "rows 8"),
        GroupValue("1970-01-06", FAILED, {"rows": "0"}, "rows 0 < min 2"),
        GroupValue("1970-01-07", SKIPPED, {}, "no earlier execution"),
    )
    failed = ("1970-01-03", "1970-01-06")
    sample = Sample(("id",), (("1",),))
    result = a_result("min_rows", FAILED, partitions=failed, values=values, sample=sample)
    check(store, days("step-1", "orders", (1, 6)), Checked(FLAG, InvariantReport(after=(result,))))

    rows = {record.partitions: record.result for record in store.checks.checks_of("orders")}
    own = replace(result, message="rows 1 < min 2", details="d", failures=1)
    other = replace(result, message="rows 0 < min 2", sample=None)
    shared = replace(result, status=PASSED, message="", sample=None, partitions=())
    assert rows == {
        ("1970-01-03",): replace(own, partitions=failed[:1], values=values[1:2]),
        ("1970-01-06",): replace(other, partitions=failed[1:], values=values[4:5]),
        ("1970-01-02", "1970-01-04..1970-01-05"): replace(
            shared, values=(values[0], values[2], values[3])
        ),
        ("1970-01-07",): replace(
            shared, status=SKIPPED, message="no earlier execution", values=values[5:]
        ),
    }


@pytest.mark.parametrize(
    ("result", "partitions", "failed"),
    [
        (a_result("a", PASSED), ("1970-01-02..1970-01-05",), ()),
        (a_result("a", SKIPPED), ("1970-01-02..1970-01-05",), ()),
        (a_result("a", FAILED), ("1970-01-02..1970-01-05",), ("1970-01-02..1970-01-05",)),
        (
            a_result("a", FAILED, "1970-01-03", "1970-01-04", values=()),
            ("1970-01-03..1970-01-04",),
            ("1970-01-03..1970-01-04",),
        ),
        (
            a_result("a", FAILED, "*"),
            ("1970-01-02..1970-01-05",),
            ("1970-01-02..1970-01-05",),
        ),
    ],
)
def test_a_result_without_groups_of_its_own_is_about_all_that_it_names(
    store, result, partitions, failed
):
    report = InvariantReport(after=(result,))
    check(store, days("step-1", "orders", (1, 4)), Checked(FLAG, report))

    (record,) = store.checks.checks_of("orders")
    assert (record.partitions, record.result) == (partitions, replace(result, partitions=failed))


def test_the_history_of_checks_comes_newest_first(store, world):
    check(store, intent("step-1"), passed_gate("*"))
    world.pass_(5)
    both = (a_result("min_rows", PASSED, "*"), a_result("nulls", PASSED, "*"))
    check(store, intent("step-2"), Checked(FLAG, InvariantReport(after=both)))
    check(store, intent("step-3", "lines"), passed_gate("*"))

    def names(*asked):
        found = store.checks.checks_of("orders", *asked)
        return [(record.step, record.result.name) for record in found]

    assert names() == [("step-2", "min_rows"), ("step-2", "nulls"), ("step-1", "min_rows")]
    assert names("min_rows") == [("step-2", "min_rows"), ("step-1", "min_rows")]
    assert names(None, 2) == [("step-2", "min_rows"), ("step-2", "nulls")]
    assert store.checks.checks_of("users") == ()
    newest = store.checks.newest_of({"orders": 2, "lines": 5, "users": 1})
    assert newest == {
        "orders": store.checks.checks_of("orders", None, 2),
        "lines": store.checks.checks_of("lines"),
    }
    assert store.checks.newest_of({"orders": 1})["orders"] == newest["orders"][:1]


def test_what_penstock_check_found_is_of_no_step(store, world):
    succeed(store, days("step-1", "orders", (1, 3)))
    report = InvariantReport(after=(a_result("min_rows", PASSED, "1970-01-02", "1970-01-03"),))
    at = world.pass_(1)
    store.journal.note_checks("run-9", "orders", report, ("1970-01-02..1970-01-03",), 7)
    store.journal.note_checks("run-9", "never", report, ("*",), None)

    same = {"step": "", "run": "run-9", "result": report.after[0], "started": at}
    days_looked_at = ("1970-01-02..1970-01-03",)
    assert store.checks.checks_of("orders") == (
        CheckRecord(model="orders", partitions=days_looked_at, version=7, **same),
    )
    assert [record.version for record in store.checks.checks_of("never")] == [None]
    assert list(store.records.models()) == ["orders"]


def test_checks_that_were_skipped_were_never_evaluated(store):
    results = (
        a_result("a", PASSED, "*"),
        a_result("b", FAILED, "*"),
        a_result("c", SKIPPED, "*"),
        a_result("d", PASSED, "*"),
    )
    check(store, intent(), Checked(FLAG, InvariantReport(results[:2], results[2:])))
    check(store, intent("step-2"), passed_gate("*"))
    check(store, intent("step-3", "lines"), passed_gate("*"))

    assert store.checks.evaluated() == {
        "lines": frozenset({"digest-of-min_rows"}),
        "orders": frozenset({"digest-of-a", "digest-of-b", "digest-of-d", "digest-of-min_rows"}),
    }


# Recording


def test_what_was_recorded_first_stays(store):
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.record_checks("step-1", passed_gate("*"))
    store.journal.record_checks("step-1", failed_gate("*"))
    store.journal.finish("step-1", wrote(0))

    assert store.records.models()["orders"].status is Status.SUCCESS
    assert [record.result.status for record in store.checks.checks_of("orders")] == [PASSED]


def test_checks_are_recorded_only_for_a_step_that_runs_and_owns_its_target(store):
    with pytest.raises(StateError, match="no step has the id 'none'"):
        store.journal.record_checks("none", passed_gate("*"))
    succeed(store, intent("step-1"))
    with pytest.raises(LeaseLostError):
        store.journal.record_checks("step-1", passed_gate("*"))
    store.journal.begin(intent("step-2"), {}, HERE, None)
    store.leases.unlock("mart.orders")
    with pytest.raises(LeaseLostError):
        store.journal.record_checks("step-2", passed_gate("*"))

    assert store.checks.checks_of("orders") == ()


def test_a_step_whose_checks_passed_ends_as_ever(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=4)
    plain = store.records.runs("orders")["orders"]
    check(store, days("step-2", "lines", (1, 2)), passed_gate("1970-01-02", "1970-01-03"))

    assert store.records.runs("lines")["lines"] == (
        replace(plain[0], fingerprint=2, step_seq=2, last_step_seq=2),
    )
    assert store.checks.flags() == ()
    assert store.checks.unsettled() == ()


def test_a_step_that_fails_after_its_checks_were_recorded_keeps_what_they_said(store):
    succeed(store, intent("step-1"))
    store.journal.begin(intent("step-2"), {}, HERE, None)
    store.journal.record_checks("step-2", failed_gate("*", mode=ROLLBACK))
    store.journal.fail("step-2", BROKEN)

    assert store.records.models()["orders"].failure == BROKEN
    assert [record.step for record in store.checks.checks_of("orders")] == ["step-2"]
    assert store.checks.flags() == ()
    assert store.checks.unsettled() == ()


# Flag


@pytest.mark.parametrize("mode", [FLAG, ROLLBACK])
def test_a_failed_gate_leaves_the_new_data_of_a_table_on_record(store, world, mode):
    store.journal.begin(replace(with_mark(5), fingerprint=NEW), {}, HERE, None)
    store.journal.record_checks("step-1", failed_gate("*", mode=mode))
    ended = world.pass_(3)
    store.journal.finish("step-1", wrote(4))

    assert store.records.models()["orders"] == ModelRecord(
        model="orders",
        status=Status.FAILED,
        last_step_seq=1,
        step="step-1",
        step_seq=1,
        fingerprint=NEW,
        table_id="table-orders",
        commit_version=4,
        settled_version=4,
        pins=store.records.models()["orders"].pins,
        watermarks=(mark(5),),
        executed_at=ended,
        duration_ms=250,
        rows_written=3,
        bytes_written=30,
        failure=GATE,
        high_time=NOON,
    )
    assert told(store) == [("*", Status.FAILED, "after-check-failed", 3)]
    assert store.checks.flags() == (
        Flag("step-1", 1, "orders", 0, "*", ("min_rows",), ended, version=4),
    )
    assert store.leases.taken() == ()


def test_only_the_partitions_that_failed_are_flagged(store, world):
    succeed(store, days("step-1", "orders", (1, 3)), version=1)
    world.pass_(9)
    step = days("step-2", "orders", (2, 4), fingerprint=NEW)
    store.journal.begin(step, {}, HERE, None)
    checked = failed_gate("1970-01-03", "1970-01-05")
    wide = a_result("unique", FAILED, "*")
    warning = a_result("nulls", FAILED, "1970-01-03", severity=Severity.WARNING)
    report = replace(checked.report, after=(*checked.report.after, wide, warning))
    store.journal.record_checks("step-2", replace(checked, report=report))
    rows = (PartitionRows(2, 7, 70), PartitionRows(3, 8, 80))
    store.journal.finish("step-2", replace(wrote(4), partitions=rows))

    at = NOON + dt.timedelta(seconds=9)
    known = {"step_seq": 2, "last_step_seq": 2, "commit_version": 4, "settled_version": 4}
    assert store.records.runs("orders")["orders"][1:] == (
        PartitionRun(2, 2, Status.FAILED, 2, **known, holds_rows=True, executed_at=at),
        PartitionRun(3, 3, Status.SUCCESS, 2, **known, holds_rows=True, executed_at=at),
        PartitionRun(4, 4, Status.FAILED, 2, **known, holds_rows=False, executed_at=at),
    )
    assert told(store)[:3] == [
        ("1970-01-03", Status.FAILED, "after-check-failed", 7),
        ("1970-01-04", Status.SUCCESS, None, 8),
        ("1970-01-05", Status.FAILED, "after-check-failed", 0),
    ]
    assert [(flag.ord, flag.checks) for flag in store.checks.flags()] == [
        (2, ("min_rows", "unique")),
        (4, ("min_rows", "unique")),
    ]
    record = store.records.models()["orders"]
    assert (record.status, record.step, record.failure) == (Status.FAILED, "step-2", GATE)


def test_a_flagged_step_has_an_outcome_and_a_failure(store):
    check(store, days("step-1", "orders", (1, 1)), failed_gate("1970-01-02"))

    (step,) = store.records.steps_of("orders")
    begun = replace(days("step-1", "orders", (1, 1)), step_seq=1)
    assert step == StepRecord(begun, Status.FAILED, NOON, 1, NOON, wrote(4), GATE)
    assert store.records.last_results() == {"orders": Status.FAILED}


def test_a_flagged_step_that_is_finished_again_stays_as_it_is(store):
    check(store, intent(), failed_gate("*"))
    before = store.archive.export()
    store.journal.finish("step-1", wrote(9))
    store.journal.finish("step-1", wrote(9), recovered=True)

    assert store.archive.export() == before


def test_checks_that_were_recorded_before_a_crash_count_when_the_step_is_recovered(store):
    step = replace(intent(), on_failure="flag")
    store.journal.begin(step, {}, HERE, None)
    store.journal.record_checks("step-1", failed_gate("*"))
    store.journal.finish("step-1", wrote(4), recovered=True)

    assert [flag.step for flag in store.checks.flags()] == ["step-1"]
    assert store.checks.unsettled() == ()


# Block


def test_partitions_that_were_blocked_keep_the_data_on_record(store, world):
    succeed(store, days("step-1", "orders", (1, 2)), version=1)
    before = store.records.runs("orders")["orders"][0]
    world.pass_(9)
    store.journal.begin(days("step-2", "orders", (1, 4), fingerprint=NEW), {}, HERE, None)
    store.journal.record_checks("step-2", failed_gate("1970-01-03..1970-01-04", mode=BLOCK))
    rows = (PartitionRows(1, 7, 70), PartitionRows(4, 8, 80))
    store.journal.finish("step-2", replace(wrote(2), partitions=rows))

    assert store.records.runs("orders")["orders"][1:3] == (
        replace(before, low=2, high=2, status=Status.FAILED, last_step_seq=2),
        PartitionRun(3, 3, Status.FAILED, 0, 0, 2, None, None, holds_rows=False),
    )
    assert runs(store)[0] == (1, 1, Status.SUCCESS, 2, 2, 2)
    assert runs(store)[3] == (4, 4, Status.SUCCESS, 2, 2, 2)
    assert told(store)[:4] == [
        ("1970-01-02", Status.SUCCESS, None, 7),
        ("1970-01-03", Status.FAILED, "after-check-failed", 0),
        ("1970-01-04", Status.FAILED, "after-check-failed", 0),
        ("1970-01-05", Status.SUCCESS, None, 8),
    ]
    assert store.records.models()["orders"].status is Status.FAILED
    assert store.checks.flags() == ()


def test_a_single_published_partition_has_the_rows_of_the_commit(store):
    step = days("step-1", "orders", (1, 2))
    check(store, step, failed_gate("1970-01-03", mode=BLOCK))

    assert told(store) == [
        ("1970-01-02", Status.SUCCESS, None, 3),
        ("1970-01-03", Status.FAILED, "after-check-failed", 0),
    ]


def test_a_quarantine_is_known_until_it_is_forgotten(store):
    store.journal.begin(days("step-1", "orders", (1, 2)), {}, HERE, None)
    checked = failed_gate("1970-01-03", mode=BLOCK)
    store.journal.record_checks("step-1", replace(checked, quarantine=KEPT))
    other = replace(KEPT, step="step-2", model="lines", failed=((0, 0),))
    store.journal.begin(intent("step-2", "lines"), {}, HERE, None)
    blocked = failed_gate("*", mode=BLOCK)
    store.journal.record_checks("step-2", replace(blocked, quarantine=other))
    assert store.checks.quarantines() == (KEPT, other)

    store.journal.keep_quarantine("step-1", None)
    store.journal.keep_quarantine("step-1", None)
    store.journal.keep_quarantine("none", None)
    assert store.checks.quarantines() == (other,)


def test_rows_that_a_gate_holds_back_replace_records_that_were_left_out(store):
    left_out = replace(KEPT, uri="/left", failed=(), rows=2)
    store.journal.begin(days("step-1", "orders", (1, 2)), {}, HERE, None)
    store.journal.keep_quarantine("step-1", left_out)
    assert store.checks.quarantines() == (left_out,)

    checked = failed_gate("1970-01-03", mode=BLOCK)
    store.journal.record_checks("step-1", replace(checked, quarantine=KEPT))
    assert store.checks.quarantines() == (KEPT,)


def test_records_that_were_left_out_stay_beside_checks_that_pass(store):
    left_out = replace(KEPT, failed=())
    store.journal.begin(days("step-1", "orders", (1, 2)), {}, HERE, None)
    store.journal.keep_quarantine("step-1", left_out)

    store.journal.record_checks("step-1", failed_gate("1970-01-03", mode=BLOCK))

    assert store.checks.quarantines() == (left_out,)


# Flags close


def flagged(store, step="step-1", *ranges, **changes):
    """Leave a flag on each partition that a step wrote."""
    one = days(step, "orders", *ranges, **changes) if ranges else intent(step)
    check(store, replace(one, **changes), failed_gate(*one.partitions))


def open_flags(store):
    return [(flag.step_seq, flag.ord) for flag in store.checks.flags()]


def test_flags_close_when_their_partitions_are_built_again(store):
    flagged(store, "step-1", (1, 4))
    succeed(store, days("step-2", "orders", (2, 3)), version=5)

    assert open_flags(store) == [(1, 1), (1, 4)]
    assert runs(store)[1] == (2, 3, Status.SUCCESS, 2, 5, 2)


def test_a_flag_of_the_same_step_opens_after_older_ones_closed(store):
    flagged(store, "step-1", (1, 1))
    flagged(store, "step-2", (1, 1))

    assert open_flags(store) == [(2, 1)]


def test_flags_of_partitions_that_were_blocked_stay(store):
    flagged(store, "step-1", (1, 2))
    step = days("step-2", "orders", (1, 2))
    check(store, step, failed_gate("1970-01-03", mode=BLOCK))

    assert open_flags(store) == [(1, 2)]


@pytest.mark.parametrize(
    ("changes", "closes"),
    [
        ({"strategy": "table", "writing": Writing.WHOLE}, True),
        ({"strategy": "table", "writing": Writing.ADDED}, False),
        ({"strategy": "seed", "kind": StepKind.SEED}, True),
        ({"strategy": "append", "writing": Writing.ADDED}, False),
        ({"writing": Writing.ADDED, "lowers_watermarks": True}, True),
        ({"strategy": "merge", "writing": Writing.MERGED}, False),
        ({"strategy": "snapshot", "lowers_watermarks": True}, True),
        ({"writing": Writing.WHOLE, "kind": StepKind.ALTER}, False),
        ({"writing": Writing.WHOLE, "kind": StepKind.REWRITE}, False),
    ],
)
def test_flags_of_a_table_close_when_all_its_rows_are_made_anew(store, changes, closes):
    flagged(store, "step-1")
    flagged(store, "step-2")
    succeed(store, replace(intent("step-3"), **changes), version=5)

    assert open_flags(store) == ([] if closes else [(1, 0), (2, 0)])


def test_a_flag_outlives_the_next_window(store):
    flagged(store, "step-1")
    succeed(store, intent("step-2"), version=5)

    record = store.records.models()["orders"]
    assert (record.status, record.step, record.failure) == (Status.SUCCESS, "step-2", None)
    assert open_flags(store) == [(1, 0)]


def test_flags_of_partitions_that_the_model_has_no_more_close(store):
    flagged(store, "step-1", (1, 2))
    succeed(store, intent("step-2"), version=5)

    assert open_flags(store) == []


def test_a_step_that_ends_late_closes_no_newer_flag(store):
    store.journal.begin(replace(intent("slow"), writing=Writing.WHOLE), {}, HERE, None)
    store.leases.unlock("mart.orders")
    newer = replace(intent("step-2"), run="run-2")
    store.journal.begin(newer, {}, OTHER, None)
    store.journal.record_checks("step-2", failed_gate("*"))
    store.journal.finish("step-2", wrote(4))
    store.journal.finish("slow", wrote(5), recovered=True)

    assert open_flags(store) == [(2, 0)]


def test_a_person_closes_a_flag_and_the_partition_is_good_again(store, world):
    flagged(store, "step-1", (1, 2))
    failed = store.records.runs("orders")["orders"][0]
    first, _ = store.checks.flags()
    world.pass_(60)
    store.journal.close_flags((first,), "known gap", "ann@host-a")

    assert open_flags(store) == [(1, 2)]
    assert store.records.runs("orders")["orders"] == (
        replace(failed, high=1, status=Status.SUCCESS),
        replace(failed, low=2),
    )


def test_a_table_is_good_again_when_its_flag_is_closed(store):
    flagged(store, "step-1")
    before = store.records.models()["orders"]
    store.journal.close_flags(store.checks.flags(), "passes today", "run-9")

    good = replace(before, status=Status.SUCCESS, failure=None)
    assert store.records.models()["orders"] == good


def test_closing_a_flag_twice_changes_nothing(store):
    flagged(store, "step-1")
    flags = store.checks.flags()
    store.journal.close_flags(flags, "why", "ann")
    store.journal.begin(intent("step-2"), {}, HERE, None)
    store.journal.fail("step-2", BROKEN)
    store.journal.close_flags(flags, "again", "bob")

    assert store.records.models()["orders"].status is Status.FAILED
    assert store.records.models()["orders"].failure == BROKEN


def test_a_partition_that_failed_again_since_stays_failed(store):
    flagged(store, "step-1", (1, 1))
    store.journal.begin(days("step-2", "orders", (1, 1)), {}, HERE, None)
    store.journal.fail("step-2", BROKEN)
    store.journal.close_flags(store.checks.flags(), "why", "ann")

    assert runs(store) == [(1, 1, Status.FAILED, 1, 4, 2)]


def test_a_table_with_another_open_flag_stays_failed(store):
    flagged(store, "step-1")
    flagged(store, "step-2")
    old, new = store.checks.flags()
    store.journal.close_flags((new,), "why", "ann")
    assert store.records.models()["orders"].status is Status.FAILED

    store.journal.close_flags((old,), "why", "ann")
    assert store.records.models()["orders"].status is Status.FAILED  # step-1 is not its step


# Rollback


def test_a_rollback_of_rows_that_failed_leaves_the_old_data_failed(store, world):
    succeed(store, days("step-1", "orders", (1, 2)), version=1)
    world.pass_(5)
    step = days("step-2", "orders", (2, 3), fingerprint=NEW, on_failure="rollback")
    check(store, step, failed_gate("1970-01-03", mode=ROLLBACK), version=2)
    (due,) = store.checks.unsettled()
    assert due.step == store.records.steps_of("orders")[1]
    assert due.checked == Checked(
        ROLLBACK, InvariantReport(), version=4, failure=GATE, failed=((2, 2),)
    )

    succeed(store, back("step-3", 2, (2, 3)), version=3)
    assert runs(store) == [
        (1, 1, Status.SUCCESS, 1, 1, 1),
        (2, 2, Status.FAILED, 1, 3, 3),
        (3, 3, Status.FAILED, 0, None, 3),
    ]
    assert store.checks.unsettled() == ()
    assert store.checks.flags() == ()
    triggers = [(row.partition, row.triggered_by) for row in store.records.history("orders", 2)]
    assert triggers == [("1970-01-03", "rollback"), ("1970-01-04", "rollback")]
    assert store.records.models()["orders"].step == "step-1"


def test_a_table_that_was_rolled_back_has_its_old_data_and_is_failed(store, world):
    succeed(store, with_mark(5, "step-1"), version=1)
    before = store.records.models()["orders"]
    world.pass_(5)
    step = replace(with_mark(9, "step-2"), fingerprint=NEW, on_failure="rollback")
    check(store, step, failed_gate("*", mode=ROLLBACK), version=2)
    assert store.records.models()["orders"].watermarks == (mark(9),)
    rolled = replace(
        intent("step-3"), kind=StepKind.ROLLBACK, restores=2, inputs=(), on_failure="rollback"
    )
    succeed(store, rolled, version=3)

    assert store.records.models()["orders"] == replace(
        before,
        status=Status.FAILED,
        last_step_seq=3,
        commit_version=3,
        settled_version=3,
        failure=GATE,
    )


def test_a_table_without_an_older_success_is_failed_and_empty_after_a_rollback(store):
    step = replace(intent("step-1"), on_failure="rollback")
    check(store, step, failed_gate("*", mode=ROLLBACK), version=0)
    rolled = replace(
        intent("step-2"), kind=StepKind.ROLLBACK, restores=1, inputs=(), on_failure="rollback"
    )
    succeed(store, rolled, version=1)

    record = store.records.models()["orders"]
    assert (record.status, record.succeeded_once, record.failure) == (Status.FAILED, False, GATE)


def test_a_person_may_roll_a_flagged_step_back(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=1)
    check(store, days("step-2", "orders", (2, 3)), failed_gate("1970-01-03"), version=2)
    succeed(store, back("step-3", 2, on_failure=""), version=3)

    assert runs(store) == [
        (1, 1, Status.SUCCESS, 1, 1, 1),
        (2, 2, Status.SUCCESS, 1, 3, 3),
    ]
    assert open_flags(store) == []


@pytest.mark.parametrize("answer", ["accepted", "refused"])
def test_a_rollback_is_due_until_its_flags_are_closed_or_it_is_refused(store, answer):
    step = replace(intent(), on_failure="rollback")
    check(store, step, failed_gate("*", mode=ROLLBACK))
    assert len(store.checks.unsettled()) == 1

    if answer == "accepted":
        store.journal.close_flags(store.checks.flags(), "fine", "ann")
    else:
        store.journal.settle_checks("step-1", failed_gate("*", mode=FLAG))
    assert store.checks.unsettled() == ()
    assert len(store.checks.flags()) == (1 if answer == "refused" else 0)
    assert len(store.checks.checks_of("orders")) == 1


def test_a_rollback_is_not_due_without_a_commit(store):
    step = replace(intent(), on_failure="rollback")
    check(store, step, failed_gate("*", mode=ROLLBACK), version=None)

    assert store.checks.unsettled() == ()


# Pending


@pytest.mark.parametrize("mode", ["flag", "rollback"])
def test_a_recovered_step_without_its_checks_is_pending(store, mode):
    recover(store, replace(intent("step-1"), on_failure=mode))
    recover(store, intent("step-2", "lines"))
    recover(store, replace(intent("step-3", "users"), on_failure="block"))
    succeed(store, replace(intent("step-4", "cities"), on_failure=mode))
    recover(store, replace(intent("step-5", "bills"), on_failure=mode, kind=StepKind.ALTER))

    assert store.records.models()["orders"].status is Status.SUCCESS
    (pending,) = store.checks.unsettled()
    assert (pending.step, pending.checked) == (store.records.steps_of("orders")[0], None)


def test_a_pending_step_that_passes_is_settled(store):
    recover(store, replace(intent(), on_failure="flag"))
    before = store.records.models()
    store.journal.settle_checks("step-1", passed_gate("*"))
    store.journal.settle_checks("step-1", failed_gate("*"))

    assert store.checks.unsettled() == ()
    assert store.records.models() == before
    assert [record.result.status for record in store.checks.checks_of("orders")] == [PASSED]


def test_a_pending_step_that_fails_ends_as_finish_would_have_ended_it(store, world):
    recover(store, replace(intent(), on_failure="flag"))
    before = store.records.models()["orders"]
    opened = world.pass_(9)
    store.journal.settle_checks("step-1", failed_gate("*"))

    assert store.records.models()["orders"] == replace(before, status=Status.FAILED, failure=GATE)
    assert store.checks.flags() == (
        Flag("step-1", 1, "orders", 0, "*", ("min_rows",), opened, version=4),
    )
    (step,) = store.records.steps_of("orders")
    assert (step.status, step.failure, step.outcome) == (Status.FAILED, GATE, wrote(4))
    assert sorted(told(store), key=str) == [
        ("*", Status.FAILED, "after-check-failed", 3),
        ("*", Status.SUCCESS, None, 3),
    ]
    assert [row.executed_at for row in store.records.history("orders", 9) if row.failure] == [
        opened
    ]
    assert store.checks.unsettled() == ()


def test_only_partitions_that_are_still_of_the_pending_step_fail(store):
    recover(store, days("step-1", "orders", (1, 3), on_failure="flag"))
    succeed(store, days("step-2", "orders", (2, 2)), version=5)
    store.journal.settle_checks("step-1", failed_gate("1970-01-02", "1970-01-03"))

    assert runs(store) == [
        (1, 1, Status.FAILED, 1, 4, 1),
        (2, 2, Status.SUCCESS, 2, 5, 2),
        (3, 3, Status.SUCCESS, 1, 4, 1),
    ]
    assert open_flags(store) == [(1, 1)]
    assert [row[0] for row in told(store) if row[1] is Status.FAILED] == ["1970-01-02"]


def test_a_pending_step_fails_under_a_newer_window(store):
    recover(store, replace(intent("step-1"), on_failure="flag"))
    succeed(store, intent("step-2"), version=5)
    store.journal.settle_checks("step-1", failed_gate("*"))

    assert store.records.models()["orders"].status is Status.SUCCESS
    assert open_flags(store) == [(1, 0)]


def test_a_pending_step_that_fails_in_rollback_mode_is_due(store):
    recover(store, replace(intent(), on_failure="rollback"))
    store.journal.settle_checks("step-1", failed_gate("*", mode=ROLLBACK))

    (due,) = store.checks.unsettled()
    assert (due.step.status, due.checked.mode, due.checked.failure) == (
        Status.FAILED,
        ROLLBACK,
        GATE,
    )
    store.journal.settle_checks("step-1", failed_gate("*", mode=FLAG))
    assert store.checks.unsettled() == ()


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"writing": Writing.WHOLE}, 0),
        ({"writing": Writing.ADDED}, 1),
        ({"writing": Writing.ADDED, "lowers_watermarks": True}, 0),
    ],
)
def test_a_step_whose_rows_were_all_replaced_is_pending_no_more(store, changes, left):
    recover(store, replace(intent("step-1"), on_failure="flag"))
    succeed(store, replace(intent("step-2"), **changes), version=5)

    assert len(store.checks.unsettled()) == left


def test_a_step_is_pending_until_its_last_partition_is_replaced(store):
    recover(store, days("step-1", "orders", (1, 3), on_failure="flag"))
    succeed(store, days("step-2", "orders", (1, 2)), version=5)
    assert len(store.checks.unsettled()) == 1
    succeed(store, days("step-3", "orders", (3, 3)), version=6)

    assert store.checks.unsettled() == ()


def test_a_step_that_was_rolled_back_is_not_pending(store):
    succeed(store, days("step-1", "orders", (1, 1)), version=1)
    recover(store, days("step-2", "orders", (1, 1), on_failure="flag"))
    succeed(store, back("step-3", 2, (1, 1), on_failure=""), version=5)
    store.journal.settle_checks("step-2", failed_gate("1970-01-02"))

    assert store.checks.unsettled() == ()
    assert runs(store) == [(1, 1, Status.SUCCESS, 1, 5, 3)]


def test_settling_a_step_that_is_not_pending_does_nothing(store):
    succeed(store, intent("step-1"))
    store.journal.begin(intent("step-2", "lines"), {}, HERE, None)
    before = store.archive.export()
    store.journal.settle_checks("step-1", failed_gate("*"))
    store.journal.settle_checks("step-2", failed_gate("*"))

    assert store.archive.export() == before


# Before


STOPPED = replace(GATE, code="before-check-failed")


def test_partitions_that_a_gate_took_out_keep_their_data_and_are_failed(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=1)
    before = store.records.runs("orders")["orders"][0]
    gate = a_result("source_has_rows", FAILED, "1970-01-03", "1970-01-04", phase=Phase.BEFORE)
    checked = Checked(FLAG, InvariantReport(before=(gate,)), None, STOPPED, ((2, 3),))
    store.journal.reject(days("step-2", "orders", (2, 3)), STOPPED, HERE, checked)

    assert store.records.runs("orders")["orders"] == (
        replace(before, high=1),
        replace(before, low=2, status=Status.FAILED, last_step_seq=2),
        PartitionRun(3, 3, Status.FAILED, 0, 0, 2, None, None, holds_rows=False),
    )
    assert told(store)[:2] == [
        ("1970-01-03", Status.FAILED, "before-check-failed", None),
        ("1970-01-04", Status.FAILED, "before-check-failed", None),
    ]
    step = store.records.steps_of("orders")[1]
    assert (step.status, step.failure, step.outcome) == (Status.SKIPPED, STOPPED, None)
    assert len(store.checks.checks_of("orders")) == 2
    assert store.records.last_results() == {"orders": Status.SKIPPED}
    assert store.checks.flags() == ()
    assert store.leases.taken() == ()


def test_a_table_that_a_gate_took_out_keeps_its_data_and_is_failed(store):
    succeed(store, intent("step-1"))
    before = store.records.models()["orders"]
    gate = a_result("source_has_rows", FAILED, "*", phase=Phase.BEFORE)
    checked = Checked(FLAG, InvariantReport(before=(gate,)), None, STOPPED, ((0, 0),))
    store.journal.reject(intent("step-2"), STOPPED, HERE, checked)

    assert store.records.models()["orders"] == replace(
        before, status=Status.FAILED, last_step_seq=2, failure=STOPPED
    )
    assert told(store)[0] == ("*", Status.FAILED, "before-check-failed", None)


# Documents


def test_checks_are_in_the_exported_document(opened, store, world):
    flagged(store, "step-1", (1, 2))
    store.journal.begin(intent("step-2", "lines"), {}, HERE, None)
    blocked = failed_gate("*", mode=BLOCK)
    store.journal.record_checks("step-2", replace(blocked, quarantine=replace(KEPT, step="step-2")))
    recover(store, replace(intent("step-3", "users"), on_failure="flag"))
    world.pass_(1)
    store.journal.settle_checks("step-3", failed_gate("*", mode=ROLLBACK))
    store.journal.close_flags(store.checks.flags()[:1], "why", "ann")
    document = store.archive.export()
    fresh = opened(name="fresh")
    fresh.archive.load(document)

    assert fresh.archive.export() == document
    for model in ("orders", "lines", "users"):
        assert fresh.checks.checks_of(model) == store.checks.checks_of(model) != ()
        assert fresh.records.history(model, 9) == store.records.history(model, 9)
    assert fresh.checks.flags() == store.checks.flags() != ()
    assert fresh.checks.quarantines() == store.checks.quarantines() != ()
    assert fresh.checks.unsettled() == store.checks.unsettled() != ()
    assert fresh.records.runs("orders")["orders"] == store.records.runs("orders")["orders"]


def test_without_a_sample_no_cell_is_stored(store):
    sampled = a_result("min_rows", FAILED, "*", sample=Sample(("id",), (("S3CRET",),)))
    check(store, intent(), Checked(FLAG, InvariantReport(after=(sampled,))))
    assert "S3CRET" in store.archive.export()

    check(store, intent("step-2", "lines"), failed_gate("*"))
    assert '"sample": null' in store.archive.export()


@pytest.mark.parametrize("kind", [StepKind.ALTER, StepKind.CREATE])
def test_what_comes_inside_of_a_build_makes_it_no_older(store, kind) -> None:
    build = replace(intent(), on_failure="block")
    store.journal.begin(build, {}, HERE, 0)
    store.journal.record_checks(build.step, Checked(OnFailure.BLOCK))
    inside = replace(intent("step-2"), kind=kind, on_failure="block")
    store.journal.begin(inside, {}, HERE, 0)
    store.journal.finish(inside.step, Outcome(0, "t", 0))

    store.journal.finish(build.step, Outcome(1, "t", 1))

    found = store.records.models()["orders"]
    assert (str(found.status), found.step, found.settled_version) == ("SUCCESS", "step-1", 1)
    assert set(found.pins) == {"raw.orders"}


def test_a_store_knows_the_steps_that_began_there(store):
    succeed(store, intent("step-1"))
    store.journal.begin(intent("step-2"), {}, HERE, None)
    others = {f"other-{number}" for number in range(1200)}

    assert store.checks.known_steps(others | {"step-1", "step-2"}) == {"step-1", "step-2"}
    assert store.checks.known_steps(()) == frozenset()


def test_a_store_knows_the_steps_that_skipped_checks_for_a_reason(store):
    unchecked = a_result("min_rows", SKIPPED, "*", message="--skip-checks", values=())
    unbased = replace(unchecked, message="no earlier execution")
    check(store, intent("step-1"), Checked(FLAG, InvariantReport(after=(unchecked, unbased))))
    check(store, intent("step-2"), Checked(FLAG, InvariantReport(after=(unbased,))))
    check(store, intent("step-3"), passed_gate("*"))
    check(store, intent("step-4", "lines"), Checked(FLAG, InvariantReport((unchecked,))))
    store.journal.note_checks("run-9", "orders", InvariantReport((unchecked,)), ("*",), None)

    assert store.checks.steps_that_skipped("orders", "--skip-checks") == {"step-1"}
    assert store.checks.steps_that_skipped("lines", "--skip-checks") == {"step-4"}
    assert store.checks.steps_that_skipped("users", "--skip-checks") == frozenset()
