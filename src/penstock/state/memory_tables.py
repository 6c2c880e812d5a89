"""What the memory store keeps, and how it changes: all of a transaction or nothing."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.core.check_results import CheckRecord, Quarantine
from penstock.core.facts import Seen, Touched
from penstock.core.records import Lease, Run, Status, WatermarkChange
from penstock.core.step import Intent, Outcome, StepFailure
from penstock.core.typed import TypedValue, read_typed
from penstock.state.lease import unknown_step
from penstock.state.verdict import RecordedChecks


@dataclass(frozen=True, slots=True)
class MemoryStep:
    """A step; `ended_as` counts the steps that ended before it.

    `settles` is False for a step that is older than what the records already said; with `by_time`
    that is told by the time and not by the number. `verdict` was recorded before the step ended,
    `settled` after.
    """

    intent: Intent
    started: dt.datetime
    executed_by: str
    lease_token: int = 0
    status: Status = Status.RUNNING
    ended: dt.datetime | None = None
    ended_as: int = 0
    duration_ms: int = 0
    recovered: bool = False
    settles: bool = True
    by_time: bool = False
    outcome: Outcome | None = None
    failure: StepFailure | None = None
    verdict: RecordedChecks | None = None
    settled: RecordedChecks | None = None

    @property
    def target(self) -> str:
        """The name under which its target is leased."""
        return str(self.intent.table)


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """What changed records without a step that ended; `after` counts those that had ended.

    `settles` is the id of a step, `closes` are flags: the number of a step and of a partition.
    """

    after: int
    at: dt.datetime
    settles: str = ""
    closes: tuple[tuple[int, int], ...] = ()
    why: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class MemoryQuarantine:
    """Rows that were kept, and when they were dropped."""

    kept: Quarantine
    dropped: dt.datetime | None = None


@dataclass(slots=True)
class MemoryTables:
    """Steps by id, leases by target; a free target has a token and no lease.

    `results` are records of checks as they were recorded together, oldest first.
    """

    store_id: str
    epoch: str
    runs: dict[str, Run] = field(default_factory=dict)
    steps: dict[str, MemoryStep] = field(default_factory=dict)
    watermarks: list[WatermarkChange] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    commits: dict[str, dict[int, Touched]] = field(default_factory=dict)
    results: list[tuple[CheckRecord, ...]] = field(default_factory=list)
    quarantines: dict[str, MemoryQuarantine] = field(default_factory=dict)
    events: list[MemoryEvent] = field(default_factory=list)

    def copy(self) -> MemoryTables:
        """Give tables that change alone; the values in them never change."""
        return MemoryTables(
            self.store_id,
            self.epoch,
            dict(self.runs),
            dict(self.steps),
            list(self.watermarks),
            dict(self.contents),
            dict(self.leases),
            dict(self.tokens),
            dict(self.seen),
            dict(self.commits),
            list(self.results),
            dict(self.quarantines),
            list(self.events),
        )

    @property
    def ended(self) -> int:
        """How many steps have ended."""
        return sum(1 for step in self.steps.values() if step.ended is not None)

    def remember(self, records: tuple[CheckRecord, ...]) -> None:
        """Append what checks said together."""
        self.results += [records] if records else []

    def step(self, step: str) -> MemoryStep:
        """Give a step; `unknown-step` if it never began."""
        if step not in self.steps:
            raise unknown_step(step)
        return self.steps[step]

    def next_step_seq(self) -> int:
        """Give the number after the greatest one."""
        return max((step.intent.step_seq for step in self.steps.values()), default=0) + 1

    def of_model(self, model: str) -> list[MemoryStep]:
        """Give a model's steps, in the order of their numbers."""
        found = [step for step in self.steps.values() if step.intent.model == model]
        return sorted(found, key=lambda step: step.intent.step_seq)

    def current_watermarks(self, model: str) -> dict[tuple[str, str], TypedValue]:
        """Give the values that count now, by input and column."""
        newest = {(m.input, m.column): m.value for m in self.watermarks if m.model == model}
        return {key: read_typed(value) for key, value in newest.items() if value is not None}

    def release_after(self, step: MemoryStep) -> None:
        """Free the step's target unless it is not its lease, or another step still writes it."""
        busy = any(
            other.status is Status.RUNNING
            and other.intent.run == step.intent.run
            and other.target == step.target
            for other in self.steps.values()
        )
        if self.owns(step) and not busy:
            del self.leases[step.target]

    def owns(self, step: MemoryStep) -> bool:
        """Whether the lease still is the one that the step was given."""
        lease = self.leases.get(step.target)
        found = lease and (lease.run, lease.token)
        return found == (step.intent.run, step.lease_token)


class MemoryTransactions:
    """Hands out transactions, one at a time."""

    def __init__(self, store_id: str, epoch: str) -> None:
        self._lock = threading.RLock()
        self._tables = MemoryTables(store_id, epoch)
        self._here = threading.local()

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Show this thread the tables as they are now until the block ends."""
        if self._pinned() is not None:
            yield
            return
        self._here.tables = self._tables
        try:
            yield
        finally:
            self._here.tables = None

    @contextmanager
    def read(self) -> Iterator[MemoryTables]:
        """Show the tables as they are, or as they were when `one_state` began."""
        pinned = self._pinned()
        if pinned is not None:
            yield pinned
            return
        with self._lock:
            yield self._tables

    @contextmanager
    def read_now(self) -> Iterator[MemoryTables]:
        """Show the tables as they are, inside of `one_state` too."""
        with self._lock:
            yield self._tables

    @contextmanager
    def write(self) -> Iterator[MemoryTables]:
        """Give a draft that takes the tables' place unless an error leaves the block."""
        with self._lock:
            draft = self._tables.copy()
            yield draft
            self._tables = draft

    def _pinned(self) -> MemoryTables | None:
        return getattr(self._here, "tables", None)

    def put(self, tables: MemoryTables) -> None:
        """Replace everything."""
        with self._lock:
            self._tables = tables
