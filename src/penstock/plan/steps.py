"""What a plan is asked, the steps it is answered with, and what it asks of a kind of work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.errors import PenstockError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.partitions.ranges import Ranges, first_numbers
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.plan.cascade import upstream_models
from penstock.plan.values import Now, Options, State, Step
from penstock.plan.verdict import Verdict

LEFT = frozenset((State.FAILED, State.UPSTREAM_CHANGED))
"""The states in which a cascade that stopped half way leaves what it had still to make."""
Records = Mapping[str, ModelRecord]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a command asks of partitions.

    `trigger` is its name, which the steps carry. `syncs` is whether drift is repaired; `run` also
    takes new input and what waits for it. `limits` are those that each selected model may run on
    its own account. With `force` they run whatever their state, with `states` only those in one of
    them. `cascade` is whether partitions run wherever others above them do, or only `limits`.
    `followed` are then those that read what the selected models may run: of these it also runs
    what an earlier cascade left undone.
    `facts` are those of the tables that may have to change.
    """

    trigger: str = "run"
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    limits: Mapping[str, Ranges] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class Agenda:
    """All steps of a plan, by model, before they are linked."""

    project: Project
    by_model: Mapping[str, Sequence[Step]]
    parallel: frozenset[str] = frozenset()
    """Models whose steps may run beside each other after the first."""

    def keys(self, names: Iterable[str]) -> list[str]:
        """Return the keys of all steps of some models."""
        return [step.key for name in names for step in self.by_model.get(name, ())]


class PlannedKind(Protocol):
    """What a plan asks of a kind of work; a module of `plan.kinds` is one."""

    def decide(self, question: Question, earlier: Earlier, model: Model) -> Decided:
        """Decide about one model, after those above it."""
        ...

    def link(self, agenda: Agenda, step: Step) -> Step:
        """Return a step that says which others it comes after."""
        ...


def way_out(model: Model, package: str = "") -> str:
    """Return the commands that replace, or keep, rows that others changed, in a sentence."""
    accept = f"penstock accept {model.name} --reason TEXT keeps them"
    if package:
        again = f"penstock run --select {package} --full-refresh rebuilds all tables of {package}"
    elif model.keeps_history:
        command = f"penstock {model.strategy.command} --select {model.name} --full-refresh"
        again = f"{command} would drop all versions"
    else:
        again = f"penstock sync --select {model.name} rebuilds it"
    return f"rows that others changed stay as they are; {again}, {accept}"


def cap(steps: Sequence[Step], most: int) -> tuple[list[Step], int]:
    """Keep the first `most` partitions in the order of the steps; give how many are left out.

    A step may be split. Steps come after those they read, so what is kept never reads what is not.
    """
    kept, left, room = [], 0, most
    for step in steps:
        take = min(step.count, room)
        room -= take
        left += step.count - take
        if take == step.count:
            kept.append(step)
        elif take:
            kept.append(step.of(first_numbers(step.partitions, take)))
    return kept, left
