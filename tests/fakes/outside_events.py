"""A second opinion on change events: lists of events in, rows and counts out, in plain Python.

It shares no code with penstock and imports nothing of it. It sorts, where penstock cannot.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise


@dataclass(frozen=True, order=True)
class Event:
    """One change of a row: `at` orders the events of a key, and tells them apart."""

    key: int
    at: int
    name: str
    deletes: bool = False


def a_story(seed: int, slices: int = 4, keys: int = 40) -> list[list[Event]]:
    """Events of many keys, in slices that arrive in any order; some arrive twice."""
    chance = random.Random(seed)  # noqa: S311  a story, no secret
    found: list[list[Event]] = [[] for _ in range(slices)]
    for key in range(keys):
        times = chance.sample(range(1, 30), chance.randint(1, 6))
        for at in times:
            event = Event(key, at, f"{key}@{at}", chance.random() < 0.25)
            for place in {chance.randrange(slices), *([0] * (chance.random() < 0.1))}:
                found[place].append(event)
    for each in found:
        chance.shuffle(each)
    return found


def _last(events: Iterable[Event]) -> dict[int, Event]:
    """The latest event of each key."""
    return {event.key: event for event in sorted(events)}


def current(events: Iterable[Event]) -> list[tuple[int, int, str | None, bool]]:
    """Key, time, name and flag of each key; a deleted row's name is anybody's."""
    found = _last(events).values()
    return [(e.key, e.at, None if e.deletes else e.name, e.deletes) for e in found]


def versions(events: Iterable[Event]) -> list[tuple[int, int, int | None, str, bool]]:
    """Every version with its interval: each event holds until the next one of its key."""
    made = []
    for _, group in groupby(sorted(set(events)), key=lambda event: event.key):
        row = [*group]
        ends: list[int | None] = [after.at for _, after in pairwise(row)]
        for event, end in zip(row, [*ends, None], strict=True):
            made.append((event.key, event.at, end, event.name, event.deletes))
    return made


def merged_counts(before: Sequence[Event], events: Sequence[Event]) -> dict[str, int]:
    """What a merge of these events counts after the ones before."""
    known, given = _last(before), _last(events)
    fresh = [e for e in given.values() if e.key not in known or e.at >= known[e.key].at]
    deletes = sum(e.deletes for e in fresh)
    new = sum(not e.deletes and e.key not in known for e in fresh)
    return {
        "recordsInSlice": len(fresh),
        "inserted": new,
        "updated": len(fresh) - deletes - new,
        "deleted": deletes,
        "stale": len(given) - len(fresh),
        "superseded": len(events) - len(given),
    }
