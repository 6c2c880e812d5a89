"""Records in memory: every answer is derived from the steps that ended."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from penstock.core.records import Execution, ModelRecord, Status, WatermarkChange
from penstock.core.step import Outcome, StepKind
from penstock.core.window import Watermark
from penstock.state.high_time import high_time_after
from penstock.state.memory_tables import MemoryStep, MemoryTables, MemoryTransactions
from penstock.state.parts import RECOVER


class MemoryRecords:
    """Reads what is remembered, and sets watermarks by hand."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions

    def models(self) -> Mapping[str, ModelRecord]:
        """Give the record of every model that ever ended a step."""
        with self._transactions.read() as tables:
            return model_records(tables)

    def text(self, checksum: str) -> str | None:
        """Give a stored SQL text by its checksum."""
        with self._transactions.read() as tables:
            return tables.contents.get(checksum)

    def history(self, model: str, limit: int) -> tuple[Execution, ...]:
        """Give a model's executions, newest step first."""
        with self._transactions.read() as tables:
            ended = [step for step in tables.of_model(model) if step.ended is not None]
        return tuple(_execution(step) for step in reversed(ended))[:limit]

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


def model_records(tables: MemoryTables) -> dict[str, ModelRecord]:
    """Replay the steps in the order they ended."""
    records: dict[str, ModelRecord] = {}
    for step in _ended(tables):
        name, number = step.intent.model, step.intent.step_seq
        before = records.get(name, ModelRecord(name, step.status, 0))
        after = replace(before, last_step_seq=max(before.last_step_seq, number))
        if step.settles and step.outcome is not None:
            after = _succeed(after, step, step.outcome)
        elif step.settles:
            after = replace(after, status=step.status, failure=step.failure)
        records[name] = after
    high = _high_times(tables)
    return {name: _marked(tables, record, high) for name, record in sorted(records.items())}


def _ended(tables: MemoryTables) -> list[MemoryStep]:
    ended = [step for step in tables.steps.values() if step.ended is not None]
    return sorted(ended, key=lambda step: step.ended_as)


def _high_times(tables: MemoryTables) -> dict[str, dt.datetime | None]:
    high: dict[str, dt.datetime | None] = {}
    for step in _ended(tables):
        if step.outcome is not None:
            before, settles = high.get(step.target), step.settles
            high[step.target] = high_time_after(step.intent, step.outcome, before, settles=settles)
    return high


def _succeed(before: ModelRecord, step: MemoryStep, outcome: Outcome) -> ModelRecord:
    if step.intent.kind is StepKind.ALTER:
        return replace(
            before,
            fingerprint=step.intent.fingerprint,
            settled_version=outcome.settled_version,
        )
    version = outcome.version if outcome.version is not None else before.commit_version
    return replace(
        before,
        status=step.status,
        step=step.intent.step,
        step_seq=step.intent.step_seq,
        fingerprint=step.intent.fingerprint,
        table_id=outcome.table_id,
        commit_version=version,
        settled_version=outcome.settled_version,
        pins={given.input: given.pin for given in step.intent.inputs},
        executed_at=step.ended,
        duration_ms=step.duration_ms,
        rows_written=outcome.rows.written,
        bytes_written=outcome.bytes_written,
        failure=None,
    )


def _marked(
    tables: MemoryTables, record: ModelRecord, high: Mapping[str, dt.datetime | None]
) -> ModelRecord:
    """Add what is known by column and by table; its table is that of its latest step."""
    current = tables.current_watermarks(record.model)
    marks = (Watermark(name, column, value) for (name, column), value in sorted(current.items()))
    steps = tables.of_model(record.model)
    target = next(step.target for step in steps if step.intent.step_seq == record.last_step_seq)
    return replace(record, watermarks=tuple(marks), high_time=high.get(target))


def _execution(step: MemoryStep) -> Execution:
    if step.ended is None:
        raise ValueError(f"step {step.intent.step} has not ended")
    outcome = step.outcome or Outcome(None)
    return Execution(
        model=step.intent.model,
        partition=",".join(step.intent.partitions),
        step=step.intent.step,
        step_seq=step.intent.step_seq,
        fingerprint=step.intent.fingerprint,
        executed_at=step.ended,
        duration_ms=step.duration_ms,
        rows_written=outcome.rows.written,
        bytes_written=outcome.bytes_written,
        status=step.status,
        triggered_by=RECOVER if step.recovered else step.intent.triggered_by,
        executed_by=step.executed_by,
        failure=step.failure,
    )
