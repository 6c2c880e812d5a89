"""Ctrl-C and bugs during a run: what ran is told, nothing is left open."""

import threading

import pytest

from fakes.builders import a_model
from fakes.place import statuses
from fakes.workshop import Workshop
from penstock.app.events import StepEnded
from penstock.core.records import Status

PARTS = (a_model("a"), a_model("b", "a"), a_model("c", "b"))


def interrupting(model):
    def listener(event):
        if isinstance(event, StepEnded) and event.result.name == model:
            raise KeyboardInterrupt

    return listener


def test_an_interrupted_run_tells_what_ran_and_how_to_go_on():
    workshop = Workshop(*PARTS)

    report = workshop.run(listener=interrupting("a"))

    assert report.interrupted
    assert statuses(report) == {"a": "success", "b": "skipped", "c": "skipped"}
    assert report["b"].reason == "interrupted"
    assert report.resume == "penstock run --select 'b c'"
    assert workshop.store.leases.taken() == ()


def test_an_interrupt_after_the_last_step_leaves_nothing_to_resume():
    workshop = Workshop(*PARTS)

    report = workshop.run(listener=interrupting("c"))

    assert (report.interrupted, report.succeeded, report.resume) == (True, False, "")


def test_a_running_query_is_cancelled_and_its_step_marked_failed():
    workshop = Workshop(a_model("a"), a_model("slow"))
    runs = threading.Event()

    def wait_to_be_cancelled():
        runs.set()
        assert workshop.lake.cancelled.wait(20)

    def listener(event):
        if isinstance(event, StepEnded) and event.result.name == "a":
            assert runs.wait(20)
            raise KeyboardInterrupt

    workshop.lake.trouble("slow", "commit", wait_to_be_cancelled)
    report = workshop.run(threads=2, listener=listener)

    assert statuses(report) == {"a": "success", "slow": "failed"}
    assert workshop.records()["slow"].failure.code == "interrupted"
    assert workshop.store.journal.running() == ()


def test_a_function_that_raises_what_ctrl_c_raises_interrupts_the_run():
    workshop = Workshop(*PARTS)
    workshop.lake.trouble("b", "define", KeyboardInterrupt())

    report = workshop.run()

    assert report.interrupted
    assert statuses(report) == {"a": "success", "b": "failed", "c": "skipped"}
    assert report["b"].error.code == "interrupted"
    assert report.resume == "penstock run --select 'b c'"
    assert (workshop.store.leases.taken(), workshop.store.journal.running()) == ((), ())


def test_a_bug_ends_the_run_and_leaves_no_lease_behind():
    workshop = Workshop(*PARTS)
    workshop.lake.trouble("b", "commit", ZeroDivisionError("a bug"))

    with pytest.raises(ZeroDivisionError):
        workshop.run()

    assert workshop.store.leases.taken() == ()
    assert workshop.store.calls["end_run"] == 1
    assert workshop.records()["b"].failure.message == "ZeroDivisionError: a bug"
    assert workshop.records()["b"].status is Status.FAILED
