"""Values that a check measured earlier, as every state store tells them."""

from dataclasses import replace

import pytest

from contracts.store_cases import (
    BROKEN,
    HERE,
    a_result,
    check,
    days,
    failed_gate,
    intent,
    succeed,
    wrote,
)
from penstock.core.check_results import Checked, InvariantReport
from penstock.core.checks.check import OnFailure
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.findings import Severity
from penstock.core.steps.step import StepKind

PASSED, FAILED = CheckStatus.PASSED, CheckStatus.FAILED


def report(status=PASSED, severity=Severity.ERROR, **values):
    """Give the results of `usual` for days named `d1`, or for `whole`."""
    groups = {"*" if name == "whole" else f"1970-01-0{int(name[1:]) + 1}": n
              for name, n in values.items()}  # fmt: skip
    found = tuple(GroupValue(key, status, {"value": str(n)}) for key, n in groups.items())
    partitions = tuple(groups) if status is FAILED else ()
    usual = a_result("usual", status, values=found, severity=severity, partitions=partitions)
    return InvariantReport(after=(usual,))


def measure(store, step, **values):
    """Build days, and record what `usual` measured of them."""
    ords = [int(name[1:]) for name in values]
    at = days(step, "orders", *((each, each) for each in ords))
    check(store, at, Checked(OnFailure.FLAG, report(**values), version=4))


def before(store, step_seq=99, limit=100):
    found = store.checks.values_before("orders", "usual", step_seq, limit)
    return {at: each["value"] for at, each in found.by_partition.items()}


def recent(store, step_seq=99):
    found = store.checks.values_before("orders", "usual", step_seq, 100)
    return [each["value"] for _, each in found.recent]


@pytest.fixture
def built(store):
    measure(store, "step-1", d1=10, d2=20)
    measure(store, "step-2", d2=22, d3=30)
    return store


def test_the_newest_value_of_each_partition_counts(built):
    assert before(built) == {1: "10", 2: "22", 3: "30"}
    assert before(built, step_seq=1) == {1: "10", 2: "22", 3: "30"}
    assert before(built, limit=1) == {2: "22", 3: "30"}


def test_values_of_failures_and_of_rollbacks_do_not_count(built):
    check(built, days("step-3", "orders", (1, 1)), replace(
        failed_gate("1970-01-02"), report=report(FAILED, d1=99)))  # fmt: skip
    built.journal.begin(days("step-4", "orders", (2, 2)), {}, HERE, None)
    built.journal.fail("step-4", BROKEN)
    assert before(built) == {1: "10", 2: "22", 3: "30"}

    rolled = days("step-5", "orders", (2, 3), kind=StepKind.ROLLBACK, restores=2)
    succeed(built, rolled, version=3)
    assert before(built)[2] == "20"


def test_a_value_counts_once_a_user_accepts_it(built):
    check(built, days("step-3", "orders", (1, 1)), replace(
        failed_gate("1970-01-02"), report=report(FAILED, d1=99)))  # fmt: skip
    assert before(built)[1] == "10"

    built.journal.close_flags(built.checks.flags(), "a holiday", "ann")

    assert before(built)[1] == "99"


def test_a_value_whose_rows_were_replaced_does_not_count(built):
    check(built, days("step-3", "orders", (1, 1)), replace(
        failed_gate("1970-01-02"), report=report(FAILED, d1=99)))  # fmt: skip
    succeed(built, days("step-4", "orders", (1, 1)), version=5)

    assert before(built)[1] == "10"


def test_a_warning_stops_nothing_and_counts(store):
    step = days("step-1", "orders", (1, 1))
    check(store, step, Checked(OnFailure.FLAG, report(FAILED, Severity.WARNING, d1=99), version=4))

    assert before(store) == {1: "99"}


def test_a_command_that_checks_counts_for_partitions_unless_a_gate_fails(built):
    note = built.journal.note_checks
    note("run-1", "orders", report(d1=11, d4=40), ("1970-01-02", "1970-01-05"), 4)
    note("run-1", "orders", report(FAILED, d3=99), ("1970-01-04",), 4)

    assert before(built) == {1: "11", 2: "22", 3: "30", 4: "40"}


def test_whole_tables_are_counted_by_steps_and_views_by_evaluations(store):
    for number in (1, 2):
        step = intent(f"step-{number}")
        store.journal.begin(step, {}, HERE, None)
        store.journal.record_checks(
            step.step, Checked(OnFailure.FLAG, report(whole=number), version=number)
        )
        store.journal.finish(step.step, wrote(number))
    store.journal.note_checks("run-1", "orders", report(whole=7), ("*",), 2)

    assert recent(store) == ["2", "1"]
    assert recent(store, step_seq=2) == ["1"]

    store.journal.note_checks("run-1", "orders", report(whole=8), ("*",), None)
    assert recent(store) == ["8", "2", "1"]


def test_a_model_without_records_has_no_values(store):
    assert (before(store), recent(store)) == ({}, [])
