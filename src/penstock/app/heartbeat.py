"""Saying that a run lives, for as long as it does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.core.errors import StateError
from penstock.core.ports import Journal


@contextmanager
def beating(journal: Journal, run: str, every_seconds: float) -> Iterator[None]:
    """Renew the run's leases in the background until the block ends.

    A store that cannot be reached for a moment is tried again; the lease is longer than a beat.
    """
    done = threading.Event()

    def beat() -> None:
        while not done.wait(every_seconds):
            try:
                journal.renew(run)
            except StateError:
                continue

    thread = threading.Thread(target=beat, name="penstock-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
