"""What a plan is asked: which models of which project, of what world, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.errors import PenstockError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.partitions.ranges import Ranges
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.plan.cascade import upstream_models
from penstock.plan.drift.verdict import Verdict
from penstock.plan.values import Now, Options, State, Step

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


@dataclass(frozen=True, slots=True)
class Decided:
    """What becomes of one model; nothing at all where a command passes it by.

    `error` blocks it. `todo` are the partitions that its steps make, `((0, 0),)` for a whole table;
    steps that change no row have none. `hands_on` are the models above that its readers wait for,
    because it has no rows to make itself. `is_unborn` is whether its first version is still to
    come, `is_cosmetic` whether its SQL changed in nothing but its text. `at_once` is whether its
    steps may run beside each other after the first.
    """

    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    error: PenstockError | None = None
    todo: Ranges = ()
    hands_on: tuple[str, ...] = ()
    is_current: bool = False
    is_cosmetic: bool = False
    is_unborn: bool = False
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Partitions of one model that are run: `own` were asked for, the others follow from those.

    `sure` are run whatever becomes of the steps before them. `after` names the models above.
    """

    partitions: Ranges
    own: Ranges
    sure: Ranges
    after: tuple[str, ...] = ()


Earlier = Mapping[str, Decided]
"""What was decided of the models above, by name."""


def waits_for(earlier: Earlier, model: Model) -> tuple[str, ...]:
    """Name the models of the plan that a model comes after, sorted.

    One that is blocked counts, so that what reads it is skipped; one that is left as it is hands
    on those that it would have come after itself.
    """
    found: set[str] = set()
    for name in upstream_models(model):
        above = earlier.get(name, Decided())
        found.update((name,) if above.todo or above.error is not None else above.hands_on)
    return tuple(sorted(found))
