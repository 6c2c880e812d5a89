"""Statements: what a strategy decides to run, as values that the engine executes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

QUERY_VIEW = "penstock_query"
STAGE_VIEW = "penstock_stage"


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows that are computed once, kept, and looked at before anything is written.

    `sql` reads the model's query as `penstock_query`; the engine keeps its rows as
    `penstock_stage`. `look` gives one row about them; `samples` at most five bad keys.
    """

    sql: str
    look: str
    samples: str


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
    """All that one step runs. Without a commit nothing is stored (views)."""

    query: str
    stage: Stage | None = None
    commit: Commit | None = None
