"""What is to be said of a text of SQL by itself, before it is known where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.core.findings import Finding, Location, Severity

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
class ReadText(Generic[T]):
    """A value that was read from a text, None if it gives none, and every problem of the text."""

    value: T | None
    problems: tuple[Problem, ...] = ()


def located(problems: Iterable[Problem], path: str, line: int = 1) -> list[Finding]:
    """Give problems as findings of a file; `line` is the one on which the text begins."""
    return [
        Finding(Location(path, p.line_offset + line), p.code, p.sentence, p.hint, p.severity)
        for p in problems
    ]


def problems_of(findings: Iterable[Finding]) -> Iterator[Problem]:
    """Give findings of a text whose first line is 1, without the place of the text."""
    return (Problem(f.code, f.sentence, f.hint, f.severity, f.where.line - 1) for f in findings)


def has_error(problems: Sequence[Problem]) -> bool:
    """Whether a text gives no value."""
    return any(problem.severity is Severity.ERROR for problem in problems)
