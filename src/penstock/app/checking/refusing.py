"""Checks that could not be evaluated, in one sentence (spec/checks.md §4.4)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.core.checks import Check
from penstock.core.errors import PenstockError
from penstock.strategies.checks.written import shortened

CHECK_ERROR = "check-error"

_UNRESOLVED = "spark-unresolved-column"
_NAMED = re.compile(r"name (`(?:[^`]|``)*`(?:\.`(?:[^`]|``)*`)*)")
_UNNAMED = "spark-error"
_LONG = 200


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a check could not be evaluated."""

    reason: str

    @classmethod
    def of(cls, error: PenstockError, check: Check, *, ran: bool = False) -> Refusal:
        """Give what Spark said of the check.

        What Spark says of a job that `ran` may quote values of rows: of a check without sample
        only the kind of the error is told.
        """
        if ran and not check.sample:
            return cls(error.code.removeprefix("spark-").replace("-", " "))
        if error.code == _UNRESOLVED and (named := _NAMED.search(error.sentence)):
            return cls(f'unknown column "{named[1].replace("`", "")}"')
        return cls(shortened(error.sentence.rstrip("."), _LONG))

    @property
    def message(self) -> str:
        """The sentence of the result."""
        return f"could not be evaluated: {self.reason}"


def is_of_the_job(error: PenstockError) -> bool:
    """Whether an error has no name of Spark's own: an executor was lost, not a value wrong."""
    return error.code == _UNNAMED
