"""Leases of running work, work that an interrupt does not abandon, and parallel reading."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TypeVar

from penstock.app.services.services import Services
from penstock.core.errors import LeaseHeldError
from penstock.core.ports.ports import Store
from penstock.core.ports.runs import Leases
from penstock.core.records import Lease, Run, Status, StepRecord
from penstock.core.steps.step import Intent
from penstock.core.storage import is_s3

_SOON_SECONDS = 1.0


@contextmanager
def beating(leases: Leases, run: str, every_seconds: float) -> Iterator[None]:
    """Renew the run's leases in the background until the block ends.

    Errors of the store do not stop it: a failed renewal is repeated at once, so that after an
    outage the store learns of the run before its leases count as lapsed.
    """
    done = threading.Event()

    def beat() -> None:
        pause = every_seconds
        while not done.wait(pause):
            pause = min(every_seconds, _SOON_SECONDS)
            with suppress(Exception):  # whatever a store throws, the run lives on
                leases.renew(run)
                pause = every_seconds

    thread = threading.Thread(target=beat, name="penstock-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


Given = TypeVar("Given")


class StillRunningError(KeyboardInterrupt):
    """A second Ctrl-C while a statement still runs: its step stays RUNNING, with its lease."""


@contextmanager
def on_record(services: Services, run: Run) -> Iterator[Callable[[], None]]:
    """Record a run, keep its leases alive, and record how it ended.

    Call the yielded function to record success; otherwise the run is recorded as failed.
    """
    journal, ended = services.writing.journal, [Status.FAILED]
    journal.start_run(run)
    holds = False
    try:
        with beating(
            services.writing.leases, run.id, services.project.lease.heartbeat.total_seconds()
        ):
            yield lambda: ended.append(Status.SUCCESS)
    except StillRunningError:
        holds = True
        raise
    finally:
        journal.end_run(run.id, ended[-1], holds=holds)


def on_worker(services: Services, work: Callable[[], Given]) -> Given:
    """Do work that commits on a separate thread; return its result, or raise its error.

    Ctrl-C cancels its jobs and waits until its statement has ended, so that the result can be
    recorded; then it is raised again. A second one does not wait: `StillRunningError`. Work that
    had not begun at the first one never begins.
    """
    done: Future[Given] = Future()

    def do() -> None:
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  raised where the result is taken
            done.set_exception(error)

    try:
        Thread(target=do, name="penstock-work", daemon=True).start()
        return done.result()
    except KeyboardInterrupt:
        try:
            services.interrupt()
            if not done.cancel():
                done.exception()
        except KeyboardInterrupt as again:
            raise StillRunningError from again
        raise


def lives(services: Services, lease: Lease, record: StepRecord) -> bool:
    """Return whether the run that began the step may still finish it."""
    if lease.run != record.intent.run or lease.token != record.lease_token:
        return False
    return may_write(services, lease)


def left_open(store: Store, services: Services) -> Iterator[StepRecord]:
    """Yield the steps recorded as RUNNING whose run can no longer finish them."""
    running = store.journal.running()
    leases = {lease.target: lease for lease in store.leases.taken()} if running else {}
    for record in running:
        lease = leases.get(str(record.intent.table))
        if lease is None or not lives(services, lease, record):
            yield record


def may_write(services: Services, lease: Lease) -> bool:
    """Return whether a lease still counts: it has not lapsed, and its process may be alive."""
    return lease.expires > services.clock.now() and not services.is_gone(lease)


def fence(services: Services, intent: Intent) -> None:
    """Make sure that no statement of the step commits any more."""
    if intent.uri and intent.epoch:
        token = services.fence_token(intent)
        services.fences.fence(intent.uri, intent.transaction, intent.step_seq, token)


_LOOKS_EVERY_SECONDS = 0.5  # a lease is one row of the store: to look is cheap
_SHOWN = 13  # characters of the id of a run


def waiting(services: Services, begin: Callable[[], Given], seconds: float) -> Given:
    """Try to begin until the lease is free or the time is up."""
    try:
        return begin()
    except LeaseHeldError as error:
        if seconds <= 0:
            raise
        held = f"waiting for run {error.holder.run[:_SHOWN]} to finish {error.holder.target}"
    until = time.monotonic() + seconds
    with services.waiting(held):
        while True:
            time.sleep(min(_LOOKS_EVERY_SECONDS, max(0.0, until - time.monotonic())))
            try:
                return begin()
            except LeaseHeldError:
                if time.monotonic() >= until:
                    raise


AT_ONCE = 64
"""How many requests to buckets a command has open at the same time."""
Found = TypeVar("Found")


def in_parallel(read: Callable[[str], Found], uris: Iterable[str]) -> Callable[[str], Found]:
    """Read locations in buckets at the same time; return a function with the results.

    The function raises what `read` raised, and reads a local disk only when it is called.
    """
    remote = [uri for uri in dict.fromkeys(uris) if is_s3(uri)]
    if len(remote) <= 1:
        return read
    with ThreadPoolExecutor(min(AT_ONCE, len(remote))) as pool:
        futures = {uri: pool.submit(read, uri) for uri in remote}
    return lambda uri: futures[uri].result() if uri in futures else read(uri)
