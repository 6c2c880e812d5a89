"""What every state store promises of leases and of plans that grew old."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import (
    BROKEN,
    ELSEWHERE,
    HERE,
    OTHER,
    intent,
    succeed,
    with_mark,
    wrote,
)
from fakes.clock import NOON
from penstock.core.errors import LeaseHeldError, LeaseLostError, PlanOutdatedError
from penstock.core.records import Begun, Lease, Status


def test_a_held_target_names_its_holder_and_the_ways_out(store, world):
    store.journal.begin(intent(), {}, HERE, None)
    world.pass_(30)

    with pytest.raises(LeaseHeldError) as caught:
        store.journal.begin(intent("step-2", holder=OTHER), {}, OTHER, None)

    assert caught.value.render() == (
        "error: lease-held: mart.orders is being written by run run-1 (host host-a, pid 11) "
        "since 2024-03-01 12:00:00 UTC\n"
        "  hint: wait with --wait SECONDS, or penstock unlock mart.orders"
    )
    assert caught.value.holder == Lease(
        "mart.orders", "run-1", "host-a", 11, 1, NOON, NOON, NOON + dt.timedelta(seconds=60)
    )


def test_two_runs_write_two_targets_at_once(store):
    store.journal.begin(intent("step-1", "a"), {}, HERE, None)
    begun = store.journal.begin(intent("step-2", "b", OTHER), {}, OTHER, None)

    assert begun == Begun(2, 1)
    assert [lease.target for lease in store.leases.taken()] == ["mart.a", "mart.b"]


def test_a_holder_whose_process_is_gone_is_stale_at_once_on_its_host(store, world):
    store.journal.begin(intent(), {}, HERE, None)
    world.alive.remove(11)

    world.host = ELSEWHERE.host
    with pytest.raises(LeaseHeldError):
        store.journal.begin(intent("step-2", holder=ELSEWHERE), {}, ELSEWHERE, None)
    world.host = HERE.host
    begun = store.journal.begin(intent("step-3", holder=OTHER), {}, OTHER, None)

    assert begun.lease_token == 2


def test_an_expired_lease_is_taken_over_from_another_host(store, world):
    store.journal.begin(intent(), {}, HERE, None)
    world.pass_(59.999)
    with pytest.raises(LeaseHeldError):
        store.journal.begin(intent("step-2", holder=ELSEWHERE), {}, ELSEWHERE, None)
    world.pass_(0.001)

    assert store.journal.begin(intent("step-2", holder=ELSEWHERE), {}, ELSEWHERE, None) == Begun(
        2, 2
    )


def test_a_paused_writer_may_not_finish_after_another_took_its_target(store, world):
    store.journal.begin(with_mark(5, "slow"), {}, HERE, None)
    world.pass_(61)
    succeed(store, with_mark(9, "quick", ELSEWHERE), version=1, holder=ELSEWHERE)
    before = store.archive.export()

    assert not store.leases.holds("slow")
    with pytest.raises(LeaseLostError) as caught:
        store.journal.finish("slow", wrote(2))

    assert caught.value.code == "lease-lost"
    assert store.archive.export() == before


def test_a_late_failure_of_a_paused_writer_leaves_the_newer_success(store, world):
    store.journal.begin(intent("slow"), {}, HERE, None)
    world.pass_(61)
    succeed(store, intent("quick", holder=ELSEWHERE), holder=ELSEWHERE)
    before = store.records.models()
    store.journal.fail("slow", BROKEN)

    assert store.records.models() == before
    assert [row.step for row in store.records.history("orders", 9)] == ["quick", "slow"]


def test_an_expired_lease_that_nobody_took_still_lets_its_step_finish(store, world):
    store.journal.begin(intent(), {}, HERE, None)
    world.pass_(600)

    assert store.leases.holds("step-1")
    store.journal.finish("step-1", wrote(0))

    assert store.records.models()["orders"].status is Status.SUCCESS


def test_a_heartbeat_pushes_out_the_leases_of_its_run_alone(store, world):
    store.journal.begin(intent("step-1", "a"), {}, HERE, None)
    store.journal.begin(intent("step-2", "b", OTHER), {}, OTHER, None)
    now = world.pass_(10)
    store.leases.renew("run-1")

    until, old = now + dt.timedelta(seconds=60), NOON + dt.timedelta(seconds=60)
    assert store.leases.taken() == (
        Lease("mart.a", "run-1", "host-a", 11, 1, NOON, now, until),
        Lease("mart.b", "run-2", "host-a", 22, 1, NOON, NOON, old),
    )


def test_steps_of_one_run_share_a_lease_and_the_last_one_releases_it(store):
    first = store.journal.begin(intent("step-1"), {}, HERE, None)
    second = store.journal.begin(intent("step-2"), {}, HERE, None)
    store.journal.finish("step-1", wrote(0))
    between = store.leases.taken()
    store.journal.fail("step-2", BROKEN)

    assert (first.lease_token, second.lease_token, len(between)) == (1, 1, 1)
    assert store.leases.taken() == ()


def test_tokens_of_a_target_rise_for_ever(store):
    succeed(store, intent("step-1"))
    store.journal.begin(intent("step-2"), {}, HERE, None)
    store.leases.unlock("mart.orders")

    assert store.journal.begin(intent("step-3"), {}, HERE, None) == Begun(3, 3)
    assert not store.leases.holds("step-2")
    assert store.leases.holds("step-3")


def test_unlock_says_whether_there_was_a_lease(store):
    store.journal.begin(intent(), {}, HERE, None)

    assert store.leases.unlock("mart.orders")
    assert not store.leases.unlock("mart.orders")
    assert not store.leases.unlock("mart.unknown")


def test_an_unlock_that_is_repeated_leaves_the_lease_that_somebody_took_meanwhile(store):
    old = store.journal.begin(intent(), {}, HERE, None).lease_token
    store.leases.unlock("mart.orders", old)
    store.journal.begin(intent("step-2", holder=OTHER), {}, OTHER, None)

    assert not store.leases.unlock("mart.orders", old)
    assert store.leases.holds("step-2")


def test_the_end_of_a_run_releases_all_it_holds(store):
    store.journal.begin(intent("step-1", "a"), {}, HERE, None)
    store.journal.begin(intent("step-2", "b", OTHER), {}, OTHER, None)
    store.journal.end_run("run-1", Status.FAILED)

    assert [lease.target for lease in store.leases.taken()] == ["mart.b"]


def test_a_run_that_was_interrupted_twice_holds_what_it_may_still_write(store):
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.end_run("run-1", Status.FAILED, holds=True)

    assert [lease.run for lease in store.leases.taken()] == ["run-1"]


def test_a_lease_says_which_process_took_it(store):
    holder = replace(HERE, process="boot/space/start")
    store.journal.begin(intent(), {}, holder, None)

    assert [lease.process for lease in store.leases.taken()] == ["boot/space/start"]


@pytest.mark.parametrize("end", ["finish", "fail", "reject", "running"])
def test_a_step_planned_before_one_of_another_run_is_planned_again(store, end):
    if end == "reject":
        store.journal.reject(intent(), BROKEN, HERE)
    else:
        store.journal.begin(intent(), {}, HERE, 0)
    if end == "finish":
        store.journal.finish("step-1", wrote(0))
    if end == "fail":
        store.journal.fail("step-1", BROKEN)
    store.leases.unlock("mart.orders")

    with pytest.raises(PlanOutdatedError):
        store.journal.begin(intent("step-2", holder=OTHER), {}, OTHER, 0)

    assert store.journal.begin(intent("step-2", holder=OTHER), {}, OTHER, 1).step_seq == 2


def test_steps_of_one_run_do_not_make_its_own_plan_outdated(store):
    succeed(store, intent("step-1", holder=OTHER), holder=OTHER)
    succeed(store, intent("step-2"))
    succeed(store, intent("step-3"))

    assert store.journal.begin(intent("step-4"), {}, HERE, 1).step_seq == 4


def test_a_step_of_another_run_between_two_of_one_run_makes_its_plan_outdated(store):
    succeed(store, intent("step-1"))
    succeed(store, intent("step-2", holder=OTHER), holder=OTHER)

    with pytest.raises(PlanOutdatedError):
        store.journal.begin(intent("step-3"), {}, HERE, 1)


def test_steps_of_other_models_make_no_plan_outdated(store):
    succeed(store, intent("step-1", "a"))

    assert store.journal.begin(intent("step-2", "b"), {}, HERE, 0).step_seq == 2
