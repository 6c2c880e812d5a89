"""Work on a thread of its own, and what Ctrl-C makes of it."""

import os
import signal
import threading

import pytest

from fakes.builders import a_model
from fakes.workshop import Workshop
from penstock.app.workers import StillRunningError, on_record, on_worker
from penstock.core.records import Run, Status


@pytest.fixture
def shop():
    return Workshop(a_model("users")).shop()


def interrupt_after(*seconds):
    for each in seconds:
        threading.Timer(each, os.kill, (os.getpid(), signal.SIGINT)).start()


def a_run(shop):
    return Run("run-1", "seed", "", "dev", shop.clock.now(), shop.holder("run-1"), shop.clock.now())


def test_work_gives_its_result_and_raises_its_error(shop):
    assert on_worker(shop, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        on_worker(shop, lambda: 1 / 0)


def test_T21_an_interrupt_waits_until_the_statement_has_ended(shop):
    ended = threading.Event()

    def statement():
        shop.engine.lake.cancelled.wait(10)
        ended.set()

    interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt) as caught:
        on_worker(shop, statement)

    assert ended.is_set()
    assert not isinstance(caught.value, StillRunningError)


def test_T21_a_second_interrupt_does_not_wait_and_leaves_the_lease(shop):
    going_on = threading.Event()
    model = shop.project.models["users"]
    interrupt_after(0.1, 0.3)

    def interrupted():
        with on_record(shop, a_run(shop)):
            begin(shop, model)
            on_worker(shop, lambda: going_on.wait(10))

    with pytest.raises(StillRunningError):
        interrupted()
    going_on.set()

    journal = shop.writing.journal
    assert [lease.run for lease in shop.writing.leases.taken()] == ["run-1"]
    assert [step.status for step in journal.running()] == [Status.RUNNING]


def begin(shop, model):
    from fakes.shops import an_intent

    shop.writing.journal.begin(an_intent(model), {}, shop.holder("run-1"), None)


@pytest.mark.parametrize(("succeeds", "leases"), [(True, ()), (False, ())])
def test_a_run_on_record_gives_back_what_it_holds(shop, succeeds, leases):
    with on_record(shop, a_run(shop)) as succeeded:
        begin(shop, shop.project.models["users"])
        if succeeds:
            succeeded()

    assert shop.writing.leases.taken() == leases
