"""The planner's questions and answers, and the port for kinds of work."""

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
"""The states in which an interrupted cascade leaves its remaining partitions."""
Records = Mapping[str, ModelRecord]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a command requests for partitions.

    - `trigger` is its name, which the steps carry.
    - `syncs` is whether drift is repaired; `run` also reads new input and waiting slices.
    - `limits` are the partitions that each selected model may run on its own.
    - With `force` they run in any state, with `states` only in one of them.
    - `cascade` is whether partitions run if others upstream of them do, or only `limits`.
    - `followed` are the readers of what the selected models may run: of these it also runs what an
      earlier cascade left undone.
    - `facts` are those of the tables that may have to change.
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
    """The input of the planner, the same for all models."""

    project: Project
    selected: frozenset[str]
    records: Records
    now: Now
    options: Options
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision about one model; empty if a command skips it.

    `error` blocks it. `todo` are the partitions that its steps build, `((0, 0),)` for a whole
    table; steps that change no row have none. `hands_on` are the upstream models that its readers
    wait for, because it has no rows to build itself. `is_unborn` is whether its first version is in
    the future, `is_cosmetic` whether its SQL changed only in its text. `at_once` is whether its
    steps may run in parallel after the first.
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
    """Partitions of one model to run: `own` were requested, the others follow from those.

    `sure` run with any result of earlier steps. `after` names the upstream models.
    """

    partitions: Ranges
    own: Ranges
    sure: Ranges
    after: tuple[str, ...] = ()


Earlier = Mapping[str, Decided]
"""The decisions about upstream models, by name."""


def waits_for(earlier: Earlier, model: Model) -> tuple[str, ...]:
    """Return the models of the plan that a model comes after, sorted.

    A blocked model counts, so that its readers are skipped; for a model without steps, the models
    that it would have come after count instead.
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
    """Models whose steps may run in parallel after the first."""

    def keys(self, names: Iterable[str]) -> list[str]:
        """Return the keys of all steps of some models."""
        return [step.key for name in names for step in self.by_model.get(name, ())]


class PlannedKind(Protocol):
    """What a plan needs from a kind of work; modules of `plan.kinds` implement it."""

    def decide(self, question: Question, earlier: Earlier, model: Model) -> Decided:
        """Decide about one model, after its upstreams."""
        ...

    def link(self, agenda: Agenda, step: Step) -> Step:
        """Return a step with the steps that it comes after."""
        ...


def way_out(model: Model, package: str = "") -> str:
    """Return a sentence with the commands that replace, or keep, rows that others changed."""
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
    """Keep the first `most` partitions in the order of the steps; return how many are left out.

    A step may be split. Steps come after those they read, so kept steps never read omitted ones.
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
