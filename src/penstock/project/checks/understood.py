"""What the text of a condition says by itself, before a model is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from penstock.core.checks import Condition
from penstock.project.parsed import Hole
from penstock.project.problems import Problem


class ConditionKind(StrEnum):
    """Where a condition stands: `check` may be one of a group, `where` is one of a row."""

    CHECK = "check"
    WHERE = "where"


@dataclass(frozen=True, slots=True)
class Understood:
    """What a condition's text says by itself, and which parameters it names.

    `columns` are those that it names, each with its line counted from the first one, which is 0.
    """

    condition: Condition
    parameters: tuple[Hole, ...] = ()
    problems: tuple[Problem, ...] = ()
    columns: tuple[tuple[str, int], ...] = ()
