"""Saying that a run lives, for as long as it does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from penstock.core.ports import Leases

_SOON_SECONDS = 1.0


@contextmanager
def beating(leases: Leases, run: str, every_seconds: float) -> Iterator[None]:
    """Renew the run's leases in the background until the block ends.

    Nothing that the store throws ends it: a beat that failed is tried again at once, so that a
    store that was away learns of the run before anybody takes its leases for lapsed.
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
