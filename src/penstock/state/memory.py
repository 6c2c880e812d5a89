"""A store that forgets when the process ends: a dictionary of records, and the transition over it.

It is for tests, and to read before there is a store.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from penstock.core.check_ports import Unsettled
from penstock.core.check_results import CheckRecord, CheckStatus, Flag, Quarantine, RowsBefore
from penstock.core.facts import Seen, Touched
from penstock.core.model import Fingerprint
from penstock.core.pin import Pin
from penstock.core.ports import Clock, Fault, RebuiltStep
from penstock.core.project import LeaseSettings
from penstock.core.ranges import Ranges
from penstock.core.records import (
    Execution,
    Lease,
    ModelRecord,
    PartitionRun,
    PartitionsRecord,
    Run,
    Status,
    StepRecord,
    WatermarkChange,
)
from penstock.state import journal
from penstock.state.document import (
    UNREADABLE,
    decode,
    encode,
    invalid,
    read_document,
    write_document,
)
from penstock.state.journal import StoreContext, StoreJournal, StoreLeases, Transaction
from penstock.state.lease import Identity, IsGone, inert, is_gone
from penstock.state.transitions import views
from penstock.state.transitions.events import Event, WatermarkSet
from penstock.state.transitions.model_state import ModelState, StepState, TargetState
from penstock.state.transitions.transition import apply

NOBODY = Identity("memory", "memory", "memory")
SCHEMA = "memory-4"
T = TypeVar("T")


@dataclass(slots=True)
class MemoryTables:
    """All that the store keeps; the values in it never change. A free target has a token only."""

    store_id: str
    drawn: str
    models: dict[str, ModelState] = field(default_factory=dict)
    targets: Mapping[str, TargetState] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    held: dict[str, Lease] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    commits: dict[str, tuple[Touched, ...]] = field(default_factory=dict)
    marks: dict[tuple[str, Fingerprint | None], int] = field(default_factory=dict)

    @property
    def steps(self) -> list[StepState]:
        """Every step, in the order of their numbers."""
        found = [step for records in self.models.values() for step in records.steps.values()]
        return sorted(found, key=lambda step: step.seq)

    def model(self, name: str) -> ModelState:
        """Give what is on record of a model."""
        return replace(self.models.get(name, ModelState(name)), targets=self.targets)

    def load(self, model: str, event: Event) -> ModelState:
        """Give what is on record of a model, all of it whatever the event is."""
        del event
        return self.model(model)

    def save(self, before: ModelState, after: ModelState) -> None:
        """Put the new records in the place of the old ones."""
        del before
        self.targets = after.targets
        self.models[after.model] = replace(after, targets={})
        for step in after.steps.values():
            key = after.model, step.intent.fingerprint
            self.marks.setdefault(key, len(self.marks) + 1)

    def numbers(self, model: str) -> dict[Fingerprint | None, int]:
        """Give the numbers of a model's fingerprints."""
        return {mark: number for (name, mark), number in self.marks.items() if name == model}

    def find(self, step: str) -> StepState | None:
        """Give a step by its id; None if it never began here."""
        return next((each for each in self.steps if each.intent.step == step), None)

    def running(self) -> Sequence[StepState]:
        """Give the steps that are written as RUNNING, in the order they began."""
        return [step for step in self.steps if step.status is Status.RUNNING]

    def taken(self, numbers: Collection[int]) -> Collection[int]:
        """Give those of the numbers that steps have."""
        return {step.seq for step in self.steps} & set(numbers)

    def last_number(self) -> int:
        """Give the greatest number of a step, 0 if none has one."""
        return max((step.seq for step in self.steps), default=0)

    def last_of_others(self, model: str, run: str) -> int:
        """Give the greatest number of a model's steps in other runs, 0 if there is none."""
        steps = self.model(model).steps.values()
        return max((step.seq for step in steps if step.intent.run != run), default=0)

    def lease(self, target: str) -> tuple[Lease | None, int]:
        """Give who holds a target, and the last token that was given for it, 0 without one."""
        return self.held.get(target), self.tokens.get(target, 0)

    def leases(self) -> Sequence[Lease]:
        """Give the leases that are taken, expired ones too, by target."""
        return [lease for _, lease in sorted(self.held.items())]

    def take(self, lease: Lease) -> None:
        """Write a lease in the place of the one that was."""
        self.held[lease.target], self.tokens[lease.target] = lease, lease.token

    def free(self, target: str) -> None:
        """Free a target; its last token stays."""
        self.held.pop(target, None)

    def write_run(self, run: Run) -> None:
        """Write a run in the place of the one with its id."""
        self.runs[run.id] = run

    def end_run(self, run: str, status: Status, at: dt.datetime) -> bool:
        """Write how a run ended, if it is on record; tell whether it had steps."""
        if run in self.runs:
            self.runs[run] = replace(self.runs[run], status=status, ended=at)
        return any(step.intent.run == run for step in self.steps)

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Store texts by their checksums unless they are there."""
        self.contents = {**texts, **self.contents}

    def epoch(self) -> str:
        """Give the epoch of the store."""
        return self.drawn

    def begin_epoch(self, epoch: str) -> None:
        """Write a new epoch."""
        self.drawn = epoch


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


class MemoryRecords:
    """Reads what is remembered of models, and sets watermarks by hand."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions

    def models(self) -> Mapping[str, ModelRecord]:
        """Give the record of every model that ever ended a step."""
        return self._each(lambda name: views.model_record(self._of(name)))

    def partitions(self) -> Mapping[str, PartitionsRecord]:
        """Give what is known of every model that has partitions: groups, never rows."""
        numbers = self._transactions.shown.numbers
        return self._each(lambda name: views.partitions_record(self._of(name), numbers(name)))

    def fingerprints(self) -> Mapping[int, Fingerprint]:
        """Give the fingerprints that groups and runs name by number."""
        marks = self._transactions.shown.marks
        return {number: mark for (_, mark), number in marks.items() if mark}

    def runs(self, model: str) -> tuple[PartitionRun, ...]:
        """Give the partitions of one model, neighbours of which the same is known together."""
        numbers = self._transactions.shown.numbers(model)
        return views.partition_runs(self._of(model), numbers)

    def step_pins(self, model: str) -> Mapping[int, Mapping[str, Pin]]:
        """Give the pins of the steps that built a model's partitions as they are now."""
        return views.step_pins(self._of(model))

    def text(self, checksum: str) -> str | None:
        """Give a stored SQL text by its checksum."""
        return self._transactions.shown.contents.get(checksum)

    def history(
        self, model: str, limit: int | None, partition: str | None = None
    ) -> tuple[Execution, ...]:
        """Give a model's executions, newest step first, then by partition."""
        found = views.executions(self._of(model))
        return tuple(each for each in found if partition in {None, each.partition})[:limit]

    def steps_of(self, model: str) -> tuple[StepRecord, ...]:
        """Give every step of a model that ended, oldest first."""
        steps = self._of(model).steps
        return tuple(steps[seq].record for seq in sorted(steps) if steps[seq].ended is not None)

    def unrecorded(self, commits: Mapping[str, int]) -> frozenset[str]:
        """Give those of the steps that are not on record now as having made their version."""
        known = {step.intent.step: step for step in self._transactions.now.steps}
        made = {name: step.outcome.version for name, step in known.items() if step.outcome}
        runs = {name for name, step in known.items() if step.status is Status.RUNNING}
        return frozenset(s for s, v in commits.items() if s not in runs and made.get(s) != v)

    def last_results(self) -> Mapping[str, Status]:
        """Give what became of each model in the last run that had steps."""
        steps = self._transactions.shown.steps
        return {s.intent.model: s.status for s in steps if s.intent.run == steps[-1].intent.run}

    def watermark_history(self, model: str) -> tuple[WatermarkChange, ...]:
        """Give every change of a model's watermarks, newest first."""
        return tuple(reversed(self._of(model).watermarks))

    def change_watermark(self, change: WatermarkChange) -> None:
        """Append a change that a person made; the value may go down."""
        with self._transactions.write() as tables:
            before = tables.model(change.model)
            tables.save(before, apply(before, WatermarkSet(change)))

    def _of(self, model: str) -> ModelState:
        return self._transactions.shown.model(model)

    def _each(self, view: Callable[[str], T | None]) -> dict[str, T]:
        found = ((name, view(name)) for name in sorted(self._transactions.shown.models))
        return {name: each for name, each in found if each is not None}


class MemoryChecks:
    """Reads what is remembered of checks."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions

    def unsettled(self) -> tuple[Unsettled, ...]:
        """Give the steps that ended with pending checks or whose rollback is due, oldest first."""
        found = [each for records in self._all for each in views.unsettled(records)]
        return tuple(sorted(found, key=lambda each: each.step.intent.step_seq))

    def flags(self) -> tuple[Flag, ...]:
        """Give the open flags, by model, step and partition."""
        found = [flag for records in self._all for flag in views.open_flags(records)]
        return tuple(sorted(found, key=lambda each: (each.model, each.step_seq, each.ord)))

    def quarantines(self) -> tuple[Quarantine, ...]:
        """Give the quarantines that are still there, oldest first."""
        found = {seq: each for records in self._all for seq, each in records.quarantines.items()}
        return tuple(found[seq].kept for seq in sorted(found) if found[seq].dropped is None)

    def known_steps(self, steps: Collection[str]) -> frozenset[str]:
        """Give those of the steps that ever began here."""
        return frozenset(step.intent.step for step in self._transactions.shown.steps) & set(steps)

    def evaluated(self) -> Mapping[str, frozenset[str]]:
        """Give the definitions of checks that were ever evaluated, by model."""
        found: dict[str, set[str]] = {}
        for each in (each for records in self._all for batch in records.results for each in batch):
            if each.result.status is not CheckStatus.SKIPPED:
                found.setdefault(each.model, set()).add(each.result.definition)
        return {model: frozenset(found[model]) for model in sorted(found)}

    def checks_of(
        self, model: str, name: str | None = None, limit: int | None = None
    ) -> tuple[CheckRecord, ...]:
        """Give the history of a model's checks, newest first."""
        batches = reversed(self._transactions.shown.model(model).results)
        every = (each for batch in batches for each in batch)
        return tuple(each for each in every if name in {None, each.result.name})[:limit]

    def steps_that_skipped(self, model: str, why: str) -> frozenset[str]:
        """Give the steps of a model whose checks were skipped for this reason."""
        skipped = (CheckStatus.SKIPPED, why)
        every = self.checks_of(model)
        return frozenset(
            r.step for r in every if r.step and (r.result.status, r.result.message) == skipped
        )

    def rows_before(
        self,
        model: str,
        partitions: Ranges,
        last: int,
        step_seq: int,
        *,
        with_rows: bool = False,
    ) -> RowsBefore:
        """Give what successes before a step wrote to the partitions and to `last` before them."""
        records = self._transactions.shown.model(model)
        return views.rows_before(records, (partitions, last), step_seq, with_rows=with_rows)

    @property
    def _all(self) -> Iterator[ModelState]:
        return iter(self._transactions.shown.models.values())


class MemoryNotes:
    """Keeps commits that changed rows, and how far logs were read."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions

    def seen(self) -> Mapping[str, Seen]:
        """Give what was noted of tables, by the names under which they were noted."""
        tables, ours = (
            self._transactions.shown,
            {s.intent.step for s in self._transactions.shown.steps},
        )
        strange = {
            name: [c.version for c in noted if c.step not in ours and c.store != tables.store_id]
            for name, noted in tables.commits.items()
        }
        return {
            name: replace(seen, foreign=max(strange[name], default=None))
            for name, seen in sorted(tables.seen.items())
        }

    def touched(self, name: str, after: int) -> tuple[Touched, ...]:
        """Give the noted commits of a table above a version, oldest first."""
        noted = self._transactions.shown.commits.get(name, ())
        return tuple(commit for commit in noted if commit.version > after)

    def note(self, seen: Seen, commits: Sequence[Touched]) -> None:
        """Note commits of a table and how far its log was read; one of another id starts anew."""
        with self._transactions.write() as tables:
            known, before = tables.seen.get(seen.name), tables.commits.get(seen.name, ())
            if known is None or known.table_id != seen.table_id:
                known, before = seen, ()
            version = max(seen.version, known.version)
            tables.seen[seen.name] = replace(seen, version=version, foreign=None)
            noted = {each.version: each for each in (*before, *commits)}
            tables.commits[seen.name] = tuple(noted[version] for version in sorted(noted))


class MemoryArchive:
    """The store as a document of its own."""

    def __init__(self, transactions: MemoryTransactions, context: StoreContext) -> None:
        self._transactions = transactions
        self._context = context

    def store_id(self) -> str:
        """Give the id that this store was born with, or that an import gave it."""
        return self._transactions.shown.store_id

    def epoch(self) -> str:
        """Give the id that is drawn anew whenever the store may have forgotten something."""
        return self._transactions.shown.drawn

    def export(self) -> str:
        """Give everything as one JSON document; steps and texts have lists of their own."""
        tables = self._transactions.shown
        document = {
            "contents": [{"hash": h, "text": text} for h, text in sorted(tables.contents.items())],
            "steps": [encode(step) for step in tables.steps],
            "models": [encode(replace(each, steps={})) for each in tables.models.values()],
            "store": [encode(replace(tables, models={}, contents={}, drawn=""))],
        }
        for records in document["models"]:
            del records["steps"]
        return write_document(document, self._context.identity, SCHEMA)

    def load(self, document: str) -> None:
        """Replace everything by an exported document, or raise `state-import-invalid`."""
        lists = read_document(document, self._context.identity, SCHEMA)
        try:
            tables: MemoryTables = decode(lists["store"][0], MemoryTables)
            for cell in lists["models"]:
                records: ModelState = decode({**cell, "steps": []}, ModelState)
                tables.models[records.model] = records
            for step in (decode(cell, StepState) for cell in lists["steps"]):
                model = step.intent.model
                tables.models[model] = tables.models[model].with_step(step)
            tables.contents = {str(row["hash"]): str(row["text"]) for row in lists["contents"]}
        except UNREADABLE as error:
            raise invalid([f"its rows cannot be read: {error}"]) from error
        tables.drawn = self._context.clock.new_id()
        self._transactions.put(tables)

    def rebuild(self, steps: Sequence[RebuiltStep]) -> None:
        """Write steps that only the logs remember, oldest first; known steps are left alone."""
        with self._transactions.write() as tables:
            journal.rebuild(tables, steps, self._context.clock.new_id())


class MemoryStore:
    """A `Store` that keeps every promise but lasting; threads may share it."""

    def __init__(
        self,
        clock: Clock,
        lease: LeaseSettings,
        *,
        identity: Identity = NOBODY,
        fault: Fault = inert,
        is_gone: IsGone = is_gone,
    ) -> None:
        context = StoreContext(identity, clock, lease, fault, is_gone)
        transactions = MemoryTransactions(MemoryTables(clock.new_id(), clock.new_id()))
        self._transactions = transactions
        self.journal = StoreJournal(transactions, context)
        self.leases = StoreLeases(transactions, context)
        self.records = MemoryRecords(transactions)
        self.checks = MemoryChecks(transactions)
        self.notes = MemoryNotes(transactions)
        self.archive = MemoryArchive(transactions, context)

    def one_state(self) -> AbstractContextManager[None]:
        """Let all that this thread reads until the block ends be of one state of the store."""
        return self._transactions.one_state()

    def close(self) -> None:
        """Do nothing: there is no database."""
