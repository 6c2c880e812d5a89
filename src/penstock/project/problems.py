"""What is to be said of a query by itself, before it is known where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.findings import Finding, Location, Severity


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to say about a line of the query; `is_error` false is a warning."""

    code: str
    sentence: str
    line: int
    hint: str = ""
    is_error: bool = False


def located(problems: Sequence[Problem], path: str, line: int = 1) -> list[Finding]:
    """Give problems as findings of a file; `line` is the one on which the query begins."""
    return [
        Finding(
            Location(path, problem.line + line - 1),
            problem.code,
            problem.sentence,
            problem.hint,
            Severity.ERROR if problem.is_error else Severity.WARNING,
        )
        for problem in problems
    ]
