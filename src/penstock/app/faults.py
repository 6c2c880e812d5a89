"""Fault points: places where tests kill the process, inert otherwise (spec/state.md §3).

`PENSTOCK_FAULT=after-commit:2` kills at the second passing of the point `after-commit`;
`PENSTOCK_FAULT=stop:before-commit:1` stops the process there (SIGSTOP) until it is continued.
Beside `POINTS` there is `at-statement`: the lease was looked at for the last time.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping

from penstock.core.ports import Fault

_A_MOMENT = 0.2
POINTS = (
    "after-begin",
    "during-staging",
    "after-evaluating",
    "after-checks",
    "before-commit",
    "after-commit",
    "during-finish",
    "after-finish",
)


def inert(point: str) -> None:
    """Let every point pass."""


def fault_from(environ: Mapping[str, str]) -> Fault:
    """Give the fault that `PENSTOCK_FAULT` asks for, `inert` without it."""
    asked = environ.get("PENSTOCK_FAULT", "")
    if not asked:
        return inert
    *stop, point, count = (asked if asked.count(":") else f"{asked}:1").split(":")
    sent = signal.SIGSTOP if stop == ["stop"] else signal.SIGKILL
    lock, left = threading.Lock(), [int(count)]

    def fault(passed: str) -> None:
        with lock:
            if passed != point:
                return
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), sent)
                time.sleep(_A_MOMENT)  # a thread may go on for an instant before all are stopped

    return fault
