"""The use cases `engine status` and `engine stop`: the JVMs that wait for a next command."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.engine import keeper


@dataclass(frozen=True, slots=True)
class KeptJvm:
    """A JVM that no command uses now, whose it is, and when it ends unless one does."""

    root: str
    target: str
    pid: int
    ends: dt.datetime


@dataclass(frozen=True, slots=True)
class EngineReport:
    """The JVMs of this user on this machine that wait, or that waited and were ended."""

    kept: tuple[KeptJvm, ...]


def engine_status() -> EngineReport:
    """Say which JVMs wait; those that a command uses are its own."""
    return EngineReport(tuple(_asked("status")))


def engine_stop() -> EngineReport:
    """End all of them, and say which that were."""
    return EngineReport(tuple(_asked("stop")))


def _asked(word: str) -> Iterator[KeptJvm]:
    for path in keeper.sockets(os.environ):
        if card := keeper.ask(path, word):
            ends = dt.datetime.fromtimestamp(card.until, dt.UTC)
            yield KeptJvm(card.root, card.target, card.pid, ends)
