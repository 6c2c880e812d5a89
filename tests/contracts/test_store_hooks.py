"""What every state store promises of hooks: which are due, and until when a target is held."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import BROKEN, HERE, failed_gate, intent, succeed, wrote
from fakes.clock import NOON
from penstock.core.beside.hooks import HookMoment
from penstock.core.records import HookRecord, Status
from penstock.core.steps.step import StepFailure, StepKind

AFTER = HookRecord("run-1", HookMoment.AFTER, 0, "optimize x", NOON, "step-1", "orders")
FAILED = StepFailure("hook-failed", "no such table", "models/orders.sql:1", "correct it")


def due(store):
    return [(each.number, str(each.status)) for each in store.hooks.due()]


def test_a_hook_is_due_once_its_step_is_recorded(store):
    store.hooks.note([AFTER])
    store.journal.begin(intent(), {}, HERE, None)
    running = due(store)
    store.journal.finish("step-1", wrote(0))

    assert running == []
    assert store.hooks.due() == (AFTER,)


def test_a_target_is_held_until_no_hook_of_its_step_is_to_run(store):
    store.hooks.note([AFTER, replace(AFTER, number=1)])
    succeed(store, intent())
    store.hooks.note([replace(AFTER, status=Status.SUCCESS)])
    held = [lease.target for lease in store.leases.taken()]
    store.hooks.note([replace(AFTER, number=1, status=Status.FAILED, failure=FAILED)])

    assert held == ["mart.orders"]
    assert store.leases.taken() == ()
    assert due(store) == [(1, "FAILED")]


def test_a_hook_reads_back_as_it_ended(store):
    ended = replace(AFTER, status=Status.FAILED, started=NOON, duration_ms=7, failure=FAILED)
    own = HookRecord("run-1", HookMoment.START, 0, "set a = 1", NOON, status=Status.SUCCESS)
    store.hooks.note([ended, own])

    assert {*store.hooks.of_run("run-1")} == {ended, own}
    assert store.hooks.of_run("run-2") == ()


def test_a_later_record_of_a_hook_replaces_the_earlier_one(store):
    succeed(store, intent())
    store.hooks.note([replace(AFTER, status=Status.FAILED, failure=FAILED)])
    store.hooks.note([replace(AFTER, status=Status.SUCCESS)])

    assert store.hooks.of_run("run-1") == (replace(AFTER, status=Status.SUCCESS),)
    assert due(store) == []


def test_the_grants_that_ran_last_are_known_of_each_model(store):
    done = replace(AFTER, text="grants: select to ann", status=Status.SUCCESS, started=NOON)
    later = replace(done, run="run-2", started=NOON + dt.timedelta(hours=1), failure=FAILED)
    promised = replace(done, run="run-3", status=Status.RUNNING, started=None)
    other = replace(done, step="step-2", model="users")
    store.hooks.note([later, done, promised, other, replace(AFTER, number=1, started=NOON)])

    assert store.hooks.granted() == {"orders": later, "users": other}


def test_a_step_that_failed_holds_no_target_and_has_no_due_hook(store):
    store.hooks.note([AFTER])
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.fail("step-1", BROKEN)

    assert (due(store), store.leases.taken()) == ([], ())


def test_a_step_that_recovery_finished_holds_no_target(store):
    store.hooks.note([AFTER])
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.finish("step-1", wrote(0), recovered=True)

    assert due(store) == [(0, "RUNNING")]
    assert store.leases.taken() == ()


def test_a_step_that_was_rolled_back_has_no_due_hook(store):
    store.hooks.note([replace(AFTER, status=Status.FAILED, failure=FAILED)])
    succeed(store, intent())
    back = replace(intent("back"), kind=StepKind.ROLLBACK, restores=1)
    succeed(store, back, version=1)

    assert due(store) == []


def test_a_step_that_failed_a_check_has_no_due_hook(store):
    store.hooks.note([replace(AFTER, status=Status.FAILED, failure=FAILED)])
    store.journal.begin(replace(intent(), on_failure="flag"), {}, HERE, None)
    store.journal.record_checks("step-1", failed_gate("*"))
    store.journal.finish("step-1", wrote(0))

    assert due(store) == []


@pytest.mark.parametrize("way", ["export", "rebuild"])
def test_hooks_survive_an_export_and_a_rebuild(store, way):
    succeed(store, intent())
    store.hooks.note([replace(AFTER, status=Status.FAILED, failure=FAILED)])
    if way == "export":
        store.archive.load(store.archive.export())
    else:
        store.archive.rebuild([])

    assert due(store) == [(0, "FAILED")]
