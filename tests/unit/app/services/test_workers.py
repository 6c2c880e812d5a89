"""Work on a thread of its own, and what Ctrl-C makes of it."""

import signal
import threading
from contextlib import contextmanager

import pytest

from fakes.builders import a_model
from fakes.workshop import Workshop
from penstock.app.services.workers import StillRunningError, on_record, on_worker, waiting
from penstock.core.errors import LeaseHeldError
from penstock.core.records import Lease, Run, Status


@pytest.fixture
def services():
    return Workshop(a_model("users")).services()


@pytest.fixture(autouse=True)
def _interruptible():
    """Let Ctrl-C interrupt; a job in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    """Be the user who presses Ctrl-C while the main thread waits for the work."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


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


def test_a_wait_for_a_lease_says_what_it_waits_for_and_ends_with_it(services):
    told, tries, now = [], iter([True, True, False]), services.clock.now()
    held = Lease("core.users", "0190a3c4-7b2e-7000-8000-000000000001", "h", 1, 1, now, now, now)

    @contextmanager
    def show(what):
        told.append(what)
        yield
        told.append("over")

    def begin():
        if next(tries):
            raise LeaseHeldError(held, "")
        return "begun"

    services.waiting = show

    assert waiting(services, begin, 30) == "begun"
    assert told == ["waiting for run 0190a3c4-7b2e to finish core.users", "over"]


def test_work_gives_its_result_and_raises_its_error(services):
    assert on_worker(services, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        on_worker(services, lambda: 1 / 0)


def test_an_interrupt_waits_until_the_statement_has_ended(services):
    ended = threading.Event()

    def statement():
        interrupt()
        services.engine.lake.cancelled.wait(10)
        ended.set()

    with pytest.raises(KeyboardInterrupt) as caught:
        on_worker(services, statement)

    assert ended.is_set()
    assert not isinstance(caught.value, StillRunningError)


def test_a_second_interrupt_does_not_wait_and_leaves_the_lease(services):
    going_on = threading.Event()
    model = services.project.models["users"]

    def statement():
        interrupt()
        services.engine.lake.cancelled.wait(10)
        interrupt()
        going_on.wait(10)

    def interrupted():
        with on_record(services, a_run(services)):
            begin(services, model)
            on_worker(services, statement)

    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted()
    going_on.set()

    journal = services.writing.journal
    assert isinstance(caught.value, StillRunningError)
    assert [lease.run for lease in services.writing.leases.taken()] == ["run-1"]
    assert [step.status for step in journal.running()] == [Status.RUNNING]


def test_a_second_interrupt_while_the_jobs_are_being_cancelled_leaves_the_lease(
    services, monkeypatch
):
    going_on = threading.Event()

    def interrupted_again(_):
        raise KeyboardInterrupt

    def statement():
        interrupt()
        going_on.wait(10)

    monkeypatch.setattr(type(services), "interrupt", interrupted_again)
    with pytest.raises(KeyboardInterrupt) as caught:
        on_worker(services, statement)
    going_on.set()

    assert isinstance(caught.value, StillRunningError)


def test_work_that_had_not_begun_at_an_interrupt_never_begins(services, monkeypatch):
    class Waiting(threading.Thread):
        def start(self):
            waiting.append(self)
            raise KeyboardInterrupt

    waiting, begun = [], []
    monkeypatch.setattr("penstock.app.services.workers.Thread", Waiting)
    with pytest.raises(KeyboardInterrupt) as caught:
        on_worker(services, lambda: begun.append(1))
    waiting[0].run()

    assert begun == []
    assert not isinstance(caught.value, StillRunningError)


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
