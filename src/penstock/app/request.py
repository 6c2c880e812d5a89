"""What the command line, or the Python entry point, asks of a run."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.plan.values import Options


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the command line, or the Python entry point, asks of a run."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    full_refresh: bool = False
    adopt: bool = False
    threads: int | None = None
    fail_fast: bool = False
    as_of: dt.datetime | None = None
    wait_seconds: float = 0.0
    arguments: str = ""

    @property
    def options(self) -> Options:
        """What of it decides the plan."""
        return Options(self.full_refresh, self.adopt)
