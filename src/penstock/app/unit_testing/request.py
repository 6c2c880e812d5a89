"""What the command line, or the Python entry point, asks of unit tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnitTestRequest:
    """Which tests to run: those of models, or with tags, that `select` finds, and called `names`.

    `threads` None leaves it to the project.
    """

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    fail_fast: bool = False
    threads: int | None = None
