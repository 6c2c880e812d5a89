"""What reading the text of a check gives: a value, and everything that is wrong with the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.core.findings import Severity

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a text; whoever read it from a file says where that is.

    `line_offset` counts lines from the first line of the text, which is 0.
    """

    code: str
    sentence: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    line_offset: int = 0


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """A value that was read, None if the text gives none, and every problem of the text."""

    value: T | None
    problems: tuple[Problem, ...] = ()
