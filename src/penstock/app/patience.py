"""Waiting for the state store: until it can be reached, until a lease is free."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from penstock.core.errors import LeaseHeldError, StateError

_PAUSES = (0.2, 0.5, 1.0, 2.0, *(4.0,) * 74)
"""Five minutes: a server that is restarted, or fails over to another one, is back by then."""

_LOOKS_EVERY_SECONDS = 0.5

Given = TypeVar("Given")


def patiently(write: Callable[[], None]) -> None:
    """Write to the store; one that cannot be reached is tried again for a while."""
    for pause in _PAUSES:
        try:
            return write()
        except StateError as error:
            if error.code != "state-unreachable":
                raise
            time.sleep(pause)
    return write()


def waiting(begin: Callable[[], Given], seconds: float) -> Given:
    """Try to begin until the lease is free or the time is over."""
    until = time.monotonic() + seconds
    while True:
        try:
            return begin()
        except LeaseHeldError:
            if time.monotonic() >= until:
                raise
            time.sleep(min(_LOOKS_EVERY_SECONDS, max(0.0, until - time.monotonic())))
