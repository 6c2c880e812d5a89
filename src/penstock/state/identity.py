"""Whose database it is, and the two things a store asks of the process around it."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """The target of the project that a store belongs to, and the penstock that opens it."""

    project: str
    target: str
    penstock: str


def inert(point: str) -> None:
    """Let a fault point pass."""


def process_exists(pid: int) -> bool:
    """Whether a process of this host has the number; one of another user counts too."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
