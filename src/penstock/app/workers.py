"""Work that commits, and that an interrupt does not leave behind (spec/state.md §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import TypeVar

from penstock.app.heartbeat import beating
from penstock.app.shop import Shop
from penstock.core.records import Run, Status

Given = TypeVar("Given")


class StillRunningError(KeyboardInterrupt):
    """A second Ctrl-C, while a statement still runs: its step stays RUNNING, and leased."""


@contextmanager
def on_record(shop: Shop, run: Run) -> Iterator[Callable[[], None]]:
    """Write a run down, keep its leases alive, and write how it ended.

    What is given says that the run succeeded; without that call it failed.
    """
    journal, ended = shop.writing.journal, [Status.FAILED]
    journal.start_run(run)
    holds = False
    try:
        with beating(shop.writing.leases, run.id, shop.project.lease.heartbeat.total_seconds()):
            yield lambda: ended.append(Status.SUCCESS)
    except StillRunningError:
        holds = True
        raise
    finally:
        journal.end_run(run.id, ended[-1], holds=holds)


def on_worker(shop: Shop, work: Callable[[], Given]) -> Given:
    """Do work that commits on a thread of its own; give its result, or raise what it raised.

    Ctrl-C cancels its jobs and waits until its statement has ended, so that what became of it can
    be written down; then it is passed on. A second one does not wait: `StillRunningError`.
    """
    done: Future[Given] = Future()

    def do() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  raised where the result is taken
            done.set_exception(error)

    Thread(target=do, name="penstock-work", daemon=True).start()
    try:
        return done.result()
    except KeyboardInterrupt:
        shop.engine.cancel()
        try:
            done.exception()
        except KeyboardInterrupt as again:
            raise StillRunningError from again
        raise
