"""What a plan decides of one model, and what that means to the models below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.core.errors import PenstockError
from penstock.core.model import Model
from penstock.core.ranges import Ranges
from penstock.plan.cascade import upstream_models
from penstock.plan.values import Step


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
