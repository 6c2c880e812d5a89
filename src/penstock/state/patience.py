"""Wait for an unavailable state store: calls are repeated until it answers."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, TypeVar, cast

from penstock.core.errors import StateAwayError

if TYPE_CHECKING:
    from penstock.core.check_results import CheckRecords
    from penstock.core.ports.ports import (
        Archive,
        Notes,
        Records,
        SliceRecords,
        Store,
    )
    from penstock.core.ports.runs import HookRecords, Journal, Leases, RunRecords
    from penstock.core.ports.sessions import PackageRecords

Answer = TypeVar("Answer")

_PAUSES, _PAUSE = (0.2, 0.5, 1.0, 2.0), 4.0
"""Seconds between two attempts."""
_RENEWING = 5.0
"""Seconds in which active runs, which try every second, renew leases after an outage."""
_TAKING = ("begin", "begin_pass")
"""Calls that may take a lapsed lease."""
_AT_ONCE = ("renew", "load")
"""Calls that are never repeated: the next heartbeat replaces a lost one, and repeating an import
that did succeed would delete what others wrote since.
"""


def _warn(sentence: str) -> None:
    logging.getLogger("penstock").warning(sentence)


class Patience:
    """How long a command waits for its store; `tell` is called once per outage, and at its end.

    The time counts from the first failure of an outage, over all threads and calls. Once it is
    over, every call fails at once until the store answers again.
    """

    def __init__(self, seconds: float, lapse: float = math.inf) -> None:
        """Allow a number of seconds per outage; leases of active runs lapse in `lapse` seconds."""
        self._seconds, self._lapse = seconds, lapse
        self._since: float | None = None
        self._waiting, self._is_reported = 0, False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._held = threading.local()
        self.tell: Callable[[str], None] = _warn

    def repeat(self, act: Callable[[], Answer]) -> Answer:
        """Call `act`, and repeat it while the store is unavailable.

        Inside `unrepeated` the error is raised at once: the outermost call repeats the whole block.
        """
        since: float | None = None
        try:
            for pause in chain(_PAUSES, repeat(_PAUSE)):
                try:
                    answer = act()
                except StateAwayError as error:
                    if getattr(self._held, "depth", 0) or self._over.is_set():
                        raise
                    # answers to other threads end no wait: a standby answers questions for ever
                    since = self._outage(error) if since is None else since
                    left = since + self._seconds - time.monotonic()
                    if left <= 0 or self._over.wait(min(pause, left)):
                        raise
                else:
                    self._back(since)
                    return answer
            raise AssertionError  # the pauses never end
        finally:
            if since is not None:
                with self._lock:
                    self._waiting -= 1

    @property
    def is_away(self) -> bool:
        """Whether the store was unavailable for the last call."""
        return self._since is not None

    @contextmanager
    def unrepeated(self) -> Iterator[None]:
        """Repeat no call of this thread until the block ends."""
        self._held.depth = getattr(self._held, "depth", 0) + 1
        try:
            yield
        finally:
            self._held.depth -= 1

    def end(self) -> None:
        """Stop all waiting: the command was interrupted."""
        self._over.set()

    def _back(self, waited: float | None) -> None:
        """End the outage; after a long one, let active runs renew their leases first.

        It is reported by a call that waited, because others may succeed while it cannot.
        """
        with self._lock:
            since, self._since = self._since, None
            is_news = self._is_reported and (waited is not None or not self._waiting)
            self._is_reported = self._is_reported and not is_news
        if is_news and waited is not None:
            away = time.monotonic() - waited
            self.tell(f"state-away: the state store answers again, after {away:.0f} s")
        if since is not None and time.monotonic() - since > self._lapse:
            self._over.wait(_RENEWING)

    def _outage(self, error: StateAwayError) -> float:
        """Return when the outage began; report a new one."""
        with self._lock:
            since = self._since = time.monotonic() if self._since is None else self._since
            self._waiting += 1
            is_new, self._is_reported = not self._is_reported, True
        if is_new and self._seconds > 0:
            self.tell(f"state-away: {error.sentence}; waiting up to {self._seconds:g} s for it")
        return since


class _PatientPart:
    """One part of a store, whose calls are repeated through an outage."""

    def __init__(self, part: object, patience: Patience, store: Store) -> None:
        self._part, self._patience, self._store = part, patience, store

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  the ports say what it is
        act, patience = getattr(self._part, name), self._patience
        if name in _AT_ONCE:
            return act

        def once(*args: object, **keywords: object) -> object:
            if name in _TAKING and patience.is_away:
                patience.repeat(self._store.archive.epoch)
            return act(*args, **keywords)

        return lambda *asked, **named: patience.repeat(lambda: once(*asked, **named))


class PatientStore:
    """A `Store` that waits while the store behind it is unavailable.

    A call whose answer was lost is repeated too, so each call must be idempotent.
    """

    def __init__(self, store: Store, patience: Patience) -> None:
        """Wrap each part of the store."""

        def patient(part: object) -> Any:  # noqa: ANN401  cast below
            return _PatientPart(part, patience, store)

        self._store, self._patience = store, patience
        self.journal = cast("Journal", patient(store.journal))
        self.leases = cast("Leases", patient(store.leases))
        self.records = cast("Records", patient(store.records))
        self.runs = cast("RunRecords", patient(store.runs))
        self.hooks = cast("HookRecords", patient(store.hooks))
        self.slices = cast("SliceRecords", patient(store.slices))
        self.checks = cast("CheckRecords", patient(store.checks))
        self.notes = cast("Notes", patient(store.notes))
        self.sessions = cast("PackageRecords", patient(store.sessions))
        self.archive = cast("Archive", patient(store.archive))

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """See `Store.one_state`."""
        with self._patience.unrepeated(), self._store.one_state():
            yield

    def close(self) -> None:
        """Close the database."""
        self._store.close()
