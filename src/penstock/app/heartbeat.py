"""Saying that a run lives, for as long as it does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from penstock.core.ports import Journal


@contextmanager
def beating(journal: Journal, run: str, every_seconds: float) -> Iterator[None]:
    """Renew the run's leases in the background until the block ends.

    Nothing that the store throws ends it: a beat that failed is followed by the next one, and the
    lease is longer than a beat.
    """
    done = threading.Event()

    def beat() -> None:
        while not done.wait(every_seconds):
            with suppress(Exception):  # whatever a store throws, the run lives on
                journal.renew(run)

    thread = threading.Thread(target=beat, name="penstock-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
