"""Which run may write a target now, and seeing to it that a step never does again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from penstock.app.services.services import Services
from penstock.core.errors import LeaseHeldError, StateError
from penstock.core.records import Lease, StepRecord
from penstock.core.steps.step import Intent


def lives(services: Services, lease: Lease, record: StepRecord) -> bool:
    """Whether the run that began the step may still finish it."""
    if lease.run != record.intent.run or lease.token != record.lease_token:
        return False
    return may_write(services, lease)


def may_write(services: Services, lease: Lease) -> bool:
    """Whether a lease still counts: it has not lapsed, and its process is not known to be gone."""
    return lease.expires > services.clock.now() and not services.is_gone(lease)


def fence(services: Services, intent: Intent) -> None:
    """See to it that no statement of the step commits any more."""
    if intent.uri and intent.epoch:
        token = services.fence_token(intent)
        services.fences.fence(intent.uri, intent.transaction, intent.step_seq, token)


_PAUSES = (0.2, 0.5, 1.0, 2.0, *(4.0,) * 74)
"""Five minutes: a server that is restarted, or fails over to another one, is back by then."""

_LOOKS_EVERY_SECONDS = 0.5  # a lease is one row of the store: to look is cheap

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
