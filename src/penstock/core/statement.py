"""Statements: what a strategy decides to run, as values that the engine executes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Scalar = str | int | float | bool | None
Row = Mapping[str, Scalar]

QUERY_VIEW = "penstock_query"
TARGET_VIEW = "penstock_target"


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows that must not be there: `count` names the column of a look that counts them.

    `sentence` may use `{count}` and `{samples}`; `samples` is a query of at most five texts.
    """

    count: str
    code: str
    sentence: str
    hint: str
    samples: str


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows that are computed once and kept under a view until the step ends.

    `look` gives one row about them and is the action that computes them; then the rules are held.
    """

    view: str
    sql: str
    look: str
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """The one statement of a step that commits, with the session settings it needs.

    `once` makes a blind append idempotent: Delta's application transaction (spec/state.md §2).
    """

    sql: str
    confs: Mapping[str, str] = field(default_factory=dict)
    once: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """All that one step runs: stages in order, then the commit that `decide` picks.

    `decide` sees the look of the last stage (empty without one); None means nothing to write.
    """

    stages: tuple[Stage, ...]
    decide: Callable[[Row], Commit | None]

    @classmethod
    def just(cls, commit: Commit | None) -> Work:
        """One commit, or none, whatever the rows are."""
        return cls((), lambda _: commit)
