"""The store in memory, for tests and to read before there is a store: views of its dictionary."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeVar

from penstock.core.check_results import CheckRecord, CheckStatus, Flag, Quarantine, RowsBefore
from penstock.core.facts import Seen, Touched
from penstock.core.model import Fingerprint
from penstock.core.partitions.ranges import Ranges
from penstock.core.ports.checks import Unsettled
from penstock.core.ports.ports import Clock, Fault, RebuiltStep
from penstock.core.project import LeaseSettings
from penstock.core.records import (
    Execution,
    ModelRecord,
    PartitionRun,
    PartitionsRecord,
    Status,
    StepRecord,
    WatermarkChange,
)
from penstock.core.steps.inputs import Pin
from penstock.state import journal
from penstock.state.document import (
    UNREADABLE,
    Tables,
    decode,
    encode_fields,
    invalid,
    read_document,
    write_document,
)
from penstock.state.journal import StoreContext, StoreJournal, StoreLeases
from penstock.state.lease import Identity, IsGone, inert, is_gone
from penstock.state.memory.tables import (
    MemoryTables,
    MemoryTransactions,
    model_of,
    numbers_of,
    steps_of,
)
from penstock.state.transitions import views
from penstock.state.transitions.events import WatermarkSet
from penstock.state.transitions.model_record import model_record
from penstock.state.transitions.model_state import ModelState, StoredStep
from penstock.state.transitions.transition import apply

NOBODY = Identity("memory", "memory", "memory")
SCHEMA = "memory-4"
T = TypeVar("T")


class MemoryRecords:
    """Reads what is remembered of models, and sets watermarks by hand."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions

    def models(self) -> Mapping[str, ModelRecord]:
        """Give the record of every model that ever ended a step."""
        return self._each(lambda name: model_record(self._of(name)))

    def partitions(self) -> Mapping[str, PartitionsRecord]:
        """Give what is known of every model that has partitions: groups, never rows."""
        shown = self._transactions.shown
        return self._each(
            lambda name: views.partitions_record(self._of(name), numbers_of(shown, name))
        )

    def fingerprints(self) -> Mapping[int, Fingerprint]:
        """Give the fingerprints that groups and runs name by number."""
        known = self._transactions.shown.fingerprints
        return {number: each for (_, each), number in known.items() if each}

    def runs(self, model: str) -> tuple[PartitionRun, ...]:
        """Give the partitions of one model, neighbours of which the same is known together."""
        numbers = numbers_of(self._transactions.shown, model)
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
        known = {step.intent.step: step for step in steps_of(self._transactions.now)}
        made = {name: step.outcome.version for name, step in known.items() if step.outcome}
        runs = {name for name, step in known.items() if step.status is Status.RUNNING}
        return frozenset(s for s, v in commits.items() if s not in runs and made.get(s) != v)

    def last_results(self) -> Mapping[str, Status]:
        """Give what became of each model in the last run that had steps."""
        steps = steps_of(self._transactions.shown)
        return {s.intent.model: s.status for s in steps if s.intent.run == steps[-1].intent.run}

    def watermark_history(self, model: str) -> tuple[WatermarkChange, ...]:
        """Give every change of a model's watermarks, newest first."""
        return tuple(reversed(self._of(model).watermarks))

    def change_watermark(self, change: WatermarkChange) -> None:
        """Append a change that a person made; the value may go down."""
        with self._transactions.write() as tables:
            before = model_of(tables, change.model)
            tables.save(before, apply(before, WatermarkSet(change)))

    def _of(self, model: str) -> ModelState:
        return model_of(self._transactions.shown, model)

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
        return frozenset(step.intent.step for step in steps_of(self._transactions.shown)) & set(
            steps
        )

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
        batches = reversed(model_of(self._transactions.shown, model).results)
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
        records = model_of(self._transactions.shown, model)
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
            {s.intent.step for s in steps_of(self._transactions.shown)},
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
        return self._transactions.shown.epoch

    def export(self) -> str:
        """Give everything as one JSON document; steps and texts have lists of their own."""
        tables = self._transactions.shown
        models = [encode_fields(replace(each, steps={})) for each in tables.models.values()]
        for records in models:
            del records["steps"]
        texts = sorted(tables.contents.items())
        document: Tables = {
            "contents": [{"hash": checksum, "text": text} for checksum, text in texts],
            "steps": [encode_fields(step) for step in steps_of(tables)],
            "models": models,
            "store": [encode_fields(replace(tables, models={}, contents={}, epoch=""))],
        }
        return write_document(document, self._context.identity, SCHEMA)

    def load(self, document: str) -> None:
        """Replace everything by an exported document, or raise `state-import-invalid`."""
        lists = read_document(document, self._context.identity, SCHEMA)
        try:
            tables: MemoryTables = decode(lists["store"][0], MemoryTables)
            for cell in lists["models"]:
                records: ModelState = decode({**cell, "steps": []}, ModelState)
                tables.models[records.model] = records
            for step in (decode(cell, StoredStep) for cell in lists["steps"]):
                model = step.intent.model
                tables.models[model] = tables.models[model].with_step(step)
            tables.contents = {str(row["hash"]): str(row["text"]) for row in lists["contents"]}
        except UNREADABLE as error:
            raise invalid([f"its rows cannot be read: {error}"]) from error
        tables.epoch = self._context.clock.new_id()
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
