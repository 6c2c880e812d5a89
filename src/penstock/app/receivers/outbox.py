"""A queue of messages to another program, sent in the background."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

from penstock.core.masking import mask

Item = TypeVar("Item")
_LONGEST = 300  # characters of a reason
_NOT_ANSWERED = "no answer in time"


class Outbox(Generic[Item]):
    """Sends items on a separate thread, in order; a failed item does not stop the others.

    `put` never waits and never raises. `connect` runs on that thread, too: it returns what sends
    one item.
    """

    def __init__(self, name: str, connect: Callable[[], Callable[[Item], None]]) -> None:
        """Start no thread yet."""
        self._name, self._connect = name, connect
        self._items: SimpleQueue[Item | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._put = self._sent = 0
        self._reason = ""
        self._given_up = False

    @property
    def is_used(self) -> bool:
        """Whether there was something to send."""
        return self._thread is not None

    def put(self, item: Item) -> None:
        """Send an item soon."""
        with self._lock:
            self._put += 1
            self._items.put(item)
            if self._thread is None:
                # a daemon: a receiver that never answers must not keep the process alive
                target, name = self._send_all, f"penstock-{self._name}"
                self._thread = threading.Thread(target=target, name=name, daemon=True)
                self._thread.start()

    def close(self, until: float) -> str:
        """Wait until all items are sent, or until a time of `time.monotonic`; return a warning.

        The warning is "" if all items were sent. Ctrl-C ends the wait.
        """
        if self._thread is None:
            return ""
        self._items.put(None)
        try:
            self._thread.join(max(0.0, until - time.monotonic()))
        except KeyboardInterrupt:  # the run has ended, and its report must not be lost
            self._reason = self._reason or "interrupted"
        self._given_up = True
        lost = self._put - self._sent
        if lost <= 0:
            return ""
        many = f"{lost} of {self._put} messages were" if self._put > 1 else "the message was"
        reason = " ".join((self._reason or _NOT_ANSWERED).split())[:_LONGEST]
        return mask(f"{self._name}: {many} not delivered: {reason}")

    def _send_all(self) -> None:
        send: Callable[[Item], None] | None = None
        while (item := self._items.get()) is not None and not self._given_up:
            try:
                send = send or self._connect()
                send(item)
                self._sent += 1
            except Exception as error:  # noqa: BLE001  whatever a receiver does, the run goes on
                said = traceback.format_exception_only(error)[-1]
                self._reason = self._reason or said
