"""What a plan is asked: which models of which project, of what world, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.facts import TableFacts
from penstock.core.project import Project
from penstock.core.ranges import Ranges
from penstock.core.records import ModelRecord
from penstock.plan.judge import Verdict
from penstock.plan.values import Now, Options, State

LEFT = frozenset((State.FAILED, State.UPSTREAM_CHANGED))
"""The states in which a cascade that stopped half way leaves what it had still to make."""
Records = Mapping[str, ModelRecord]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a command asks of partitions.

    `trigger` is its name, which the steps carry. `syncs` is whether drift is repaired; `run` also
    takes new input and what waits for it. `within` are those that each selected model may run on
    its own account. With `force` they run whatever their state, with `states` only those in one of
    them. `cascade` is whether partitions run wherever others above them do, or only `within`.
    `followed` are then those that read what the selected models may run: of these it also runs
    what an earlier cascade left undone.
    `facts` are those of the tables that may have to change.
    """

    trigger: str = "run"
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    within: Mapping[str, Ranges] = field(default_factory=dict)
    syncs: bool = False
    force: bool = False
    states: frozenset[State] = frozenset()
    cascade: bool = False
    followed: Mapping[str, Ranges] = field(default_factory=dict)
    batch_size: int | None = None
    most: int | None = None
    facts: Mapping[str, TableFacts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the planner; it stays the same from the first model to the last."""

    project: Project
    selected: frozenset[str]
    records: Records
    now: Now
    options: Options
    scope: Scope = Scope()
