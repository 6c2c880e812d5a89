"""Records in memory: every answer is derived from the steps that ended."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.records import Execution, ModelRecord, Status, StepRecord, WatermarkChange
from penstock.state.memory_check_records import MemoryCheckRecords, step_record
from penstock.state.memory_notes import MemoryNotes
from penstock.state.memory_partition_records import MemoryPartitionRecords
from penstock.state.memory_picture import Picture
from penstock.state.memory_replay import pictures
from penstock.state.memory_sums import model_records
from penstock.state.memory_tables import MemoryStep, MemoryTransactions


class MemoryRecords(MemoryPartitionRecords, MemoryNotes, MemoryCheckRecords):
    """Reads what is remembered, and sets watermarks by hand."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        super().__init__(transactions)
        self._transactions = transactions

    def models(self) -> Mapping[str, ModelRecord]:
        """Give the record of every model that ever ended a step."""
        with self._transactions.read() as tables:
            return model_records(tables)

    def text(self, checksum: str) -> str | None:
        """Give a stored SQL text by its checksum."""
        with self._transactions.read() as tables:
            return tables.contents.get(checksum)

    def history(
        self, model: str, limit: int | None, partition: str | None = None
    ) -> tuple[Execution, ...]:
        """Give a model's executions, newest step first, then by partition."""
        with self._transactions.read() as tables:
            past = pictures(tables).get(model, Picture()).past
        past = sorted(past, key=lambda each: (-each.execution.step_seq, each.ord))
        told = [each.execution for each in past]
        return tuple(each for each in told if partition in {None, each.partition})[:limit]

    def steps_of(self, model: str) -> tuple[StepRecord, ...]:
        """Give every step of a model that ended, oldest first; without what each partition got."""
        with self._transactions.read() as tables:
            steps = tables.of_model(model)
        return tuple(step_record(step) for step in steps if step.ended is not None)

    def unrecorded(self, commits: Mapping[str, int]) -> frozenset[str]:
        """Give those of the steps that are not on record as having made their version."""
        with self._transactions.read_now() as tables:
            known = tables.steps
        return frozenset(
            step
            for step, version in commits.items()
            if step not in known or not _has_made(known[step], version)
        )

    def last_results(self) -> Mapping[str, Status]:
        """Give what became of each model in the last run that had steps."""
        with self._transactions.read() as tables:
            steps = sorted(tables.steps.values(), key=lambda step: step.intent.step_seq)
        last = steps[-1].intent.run if steps else ""
        return {s.intent.model: s.status for s in steps if s.intent.run == last}

    def watermark_history(self, model: str) -> tuple[WatermarkChange, ...]:
        """Give every change of a model's watermarks, newest first."""
        with self._transactions.read() as tables:
            return tuple(m for m in reversed(tables.watermarks) if m.model == model)

    def change_watermark(self, change: WatermarkChange) -> None:
        """Append a change that a person made; the value may go down."""
        with self._transactions.write() as tables:
            tables.watermarks.append(change)


def _has_made(step: MemoryStep, version: int) -> bool:
    """Whether a step has committed a version, or still may."""
    if step.status is Status.RUNNING:
        return True
    return step.outcome is not None and step.outcome.version == version
