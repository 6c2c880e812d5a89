"""Work on a thread of its own, and what Ctrl-C makes of it."""

import os
import signal
import threading

import pytest

from fakes.builders import a_model
from fakes.workshop import Workshop
from penstock.app.services.workers import StillRunningError, on_record, on_worker
from penstock.core.records import Run, Status


@pytest.fixture
def services():
    return Workshop(a_model("users")).services()


@pytest.fixture(autouse=True)
def _interruptible():
    """Let Ctrl-C interrupt; a job in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_after(*seconds):
    for each in seconds:
        threading.Timer(each, os.kill, (os.getpid(), signal.SIGINT)).start()


def a_run(services):
    return Run(
        "run-1",
        "seed",
        "",
        "dev",
        services.clock.now(),
        services.holder("run-1"),
        services.clock.now(),
    )


def test_work_gives_its_result_and_raises_its_error(services):
    assert on_worker(services, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        on_worker(services, lambda: 1 / 0)


def test_T21_an_interrupt_waits_until_the_statement_has_ended(services):
    ended = threading.Event()

    def statement():
        services.engine.lake.cancelled.wait(10)
        ended.set()

    interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt) as caught:
        on_worker(services, statement)

    assert ended.is_set()
    assert not isinstance(caught.value, StillRunningError)


def test_T21_a_second_interrupt_does_not_wait_and_leaves_the_lease(services):
    going_on = threading.Event()
    model = services.project.models["users"]

    def interrupted():
        with on_record(services, a_run(services)):
            begin(services, model)
            interrupt_after(0.1, 0.6)
            on_worker(services, lambda: going_on.wait(10))

    with pytest.raises(StillRunningError):
        interrupted()
    going_on.set()

    journal = services.writing.journal
    assert [lease.run for lease in services.writing.leases.taken()] == ["run-1"]
    assert [step.status for step in journal.running()] == [Status.RUNNING]


def begin(services, model):
    from fakes.services import an_intent

    services.writing.journal.begin(an_intent(model), {}, services.holder("run-1"), None)


@pytest.mark.parametrize(("succeeds", "leases"), [(True, ()), (False, ())])
def test_a_run_on_record_gives_back_what_it_holds(services, succeeds, leases):
    with on_record(services, a_run(services)) as succeeded:
        begin(services, services.project.models["users"])
        if succeeds:
            succeeded()

    assert services.writing.leases.taken() == leases
