"""What the memory store keeps, and how it changes: all of a transaction or nothing."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, fields, replace

from penstock.core.facts import Seen, Touched
from penstock.core.model import Fingerprint
from penstock.core.records import (
    Lease,
    Run,
    Status,
)
from penstock.state.journal import Transaction
from penstock.state.transitions.events import Event
from penstock.state.transitions.model_state import ModelState, StoredStep, TargetState


@dataclass(slots=True)
class MemoryTables:
    """All that the store keeps; the values in it never change. A free target has a token only."""

    store_id: str
    epoch: str
    models: dict[str, ModelState] = field(default_factory=dict)
    targets: Mapping[str, TargetState] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    held: dict[str, Lease] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    commits: dict[str, tuple[Touched, ...]] = field(default_factory=dict)
    fingerprints: dict[tuple[str, Fingerprint | None], int] = field(default_factory=dict)

    def load(self, model: str, event: Event) -> ModelState:
        """Give what is on record of a model, all of it whatever the event is."""
        del event
        return model_of(self, model)

    def save(self, before: ModelState, after: ModelState) -> None:
        """Put the new records in the place of the old ones."""
        del before
        self.targets = after.targets
        self.models[after.model] = replace(after, targets={})
        for step in after.steps.values():
            key = after.model, step.intent.fingerprint
            self.fingerprints.setdefault(key, len(self.fingerprints) + 1)

    def find(self, step: str | int) -> StoredStep | None:
        """Give a step by its id or number; None if it never began here."""
        return next((each for each in steps_of(self) if step in {each.intent.step, each.seq}), None)

    def running(self) -> Sequence[StoredStep]:
        """Give the steps that are written as RUNNING, in the order they began."""
        return [step for step in steps_of(self) if step.status is Status.RUNNING]

    def last_number(self, model: str = "", besides: str = "") -> int:
        """Give the greatest number of a step, of a model's besides those of a run; 0 if none."""
        found = model_of(self, model).steps.values() if model else steps_of(self)
        return max((step.seq for step in found if step.intent.run != besides), default=0)

    def lease(self, target: str) -> tuple[Lease | None, int]:
        """Give who holds a target, and the last token that was given for it, 0 without one."""
        return self.held.get(target), self.tokens.get(target, 0)

    def leases(self) -> Sequence[Lease]:
        """Give the leases that are taken, expired ones too, by target."""
        return [lease for _, lease in sorted(self.held.items())]

    def put_lease(self, target: str, lease: Lease | None) -> None:
        """Write who holds a target; None frees it, its last token stays."""
        self.held.pop(target, None)
        if lease is not None:
            self.held[target], self.tokens[target] = lease, lease.token

    def write_run(self, run: Run) -> None:
        """Write a run in the place of the one with its id."""
        self.runs[run.id] = run

    def end_run(self, run: str, status: Status, at: dt.datetime) -> bool:
        """Write how a run ended, if it is on record; tell whether it had steps."""
        if run in self.runs:
            self.runs[run] = replace(self.runs[run], status=status, ended=at)
        return any(step.intent.run == run for step in steps_of(self))

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Store texts by their checksums unless they are there."""
        self.contents = {**texts, **self.contents}


def steps_of(tables: MemoryTables) -> list[StoredStep]:
    """Give every step, in the order of their numbers."""
    found = [step for records in tables.models.values() for step in records.steps.values()]
    return sorted(found, key=lambda step: step.seq)


def model_of(tables: MemoryTables, name: str) -> ModelState:
    """Give what is on record of a model."""
    return replace(tables.models.get(name, ModelState(name)), targets=tables.targets)


def numbers_of(tables: MemoryTables, model: str) -> dict[Fingerprint | None, int]:
    """Give the numbers of a model's fingerprints."""
    return {each: n for (name, each), n in tables.fingerprints.items() if name == model}


class MemoryTransactions:
    """Hands out transactions, one at a time; one that writes gets a draft."""

    def __init__(self, tables: MemoryTables) -> None:
        self._lock = threading.RLock()
        self._tables = tables
        self._here = threading.local()

    @property
    def now(self) -> MemoryTables:
        """The tables as they are, inside of `one_state` too."""
        return self._tables

    @property
    def shown(self) -> MemoryTables:
        """The tables as they are, or as they were when `one_state` began."""
        return getattr(self._here, "tables", None) or self._tables

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Show this thread the tables as they are now until the block ends."""
        before, self._here.tables = getattr(self._here, "tables", None), self.shown
        try:
            yield
        finally:
            self._here.tables = before

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Show the tables."""
        yield self.shown

    @contextmanager
    def write(self) -> Iterator[MemoryTables]:
        """Give a draft that takes the tables' place unless an error leaves the block."""
        with self._lock:
            draft = copy(self._tables)
            for each in fields(draft):
                kept = getattr(draft, each.name)
                setattr(draft, each.name, dict(kept) if isinstance(kept, dict) else kept)
            yield draft
            self._tables = draft

    def put(self, tables: MemoryTables) -> None:
        """Replace everything."""
        with self._lock:
            self._tables = tables
