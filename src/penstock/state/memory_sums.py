"""One record per model in memory; of a model with partitions it is a sum."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from penstock.core.records import ModelRecord, Status
from penstock.core.step import StepFailure
from penstock.core.window import Watermark
from penstock.state.high_time import high_time_after
from penstock.state.memory_picture import Picture
from penstock.state.memory_replay import pictures
from penstock.state.memory_tables import MemoryStep, MemoryTables
from penstock.state.partition_rules import BUILDS


def model_records(tables: MemoryTables) -> dict[str, ModelRecord]:
    """Give the record of every model that ever ended a step, by name."""
    high, table_ids = _high_times(tables), _table_ids(tables)
    records = {}
    for name, picture in sorted(pictures(tables).items()):
        record = picture.whole or _sum(name, picture, table_ids)
        if picture.whole and record.status is Status.FAILED:
            record = replace(record, failure=_newest_failure(tables, name))
        records[name] = _marked(tables, record, high)
    return records


def _sum(name: str, picture: Picture, table_ids: Mapping[str, str]) -> ModelRecord:
    last = max(picture.steps, key=lambda step: step.intent.step_seq)
    rows = picture.rows.values()
    record = ModelRecord(
        model=name,
        status=last.status,
        last_step_seq=last.intent.step_seq,
        table_id=table_ids.get(last.target, ""),
        commit_version=max(
            (row.commit_version for row in rows if row.commit_version is not None), default=None
        ),
        settled_version=max(
            (row.settled_version for row in rows if row.settled_version is not None), default=None
        ),
        failure=last.failure,
    )
    built = _newest_build(picture)
    if built is None or built.outcome is None:
        return record
    return replace(
        record,
        step=built.intent.step,
        step_seq=built.intent.step_seq,
        fingerprint=built.intent.fingerprint,
        pins={given.input: given.pin for given in built.intent.inputs},
        executed_at=built.ended,
        duration_ms=built.duration_ms,
        rows_written=built.outcome.rows.written,
        bytes_written=built.outcome.bytes_written,
    )


def _newest_failure(tables: MemoryTables, model: str) -> StepFailure | None:
    """Give why the newest step failed that did."""
    failed = (Status.FAILED, Status.SKIPPED)
    return [step.failure for step in tables.of_model(model) if step.status in failed][-1]


def _newest_build(picture: Picture) -> MemoryStep | None:
    counts = [
        step
        for step in picture.steps
        if step.outcome is not None
        and step.intent.kind in BUILDS
        and step.intent.step_seq not in picture.undone
        and step.intent.grid == picture.grid
    ]
    return max(counts, key=lambda step: step.intent.step_seq, default=None)


def _succeeded(tables: MemoryTables) -> list[MemoryStep]:
    found = [step for step in tables.steps.values() if step.outcome is not None]
    return sorted(found, key=lambda step: step.ended_as)


def _high_times(tables: MemoryTables) -> dict[str, dt.datetime | None]:
    high: dict[str, dt.datetime | None] = {}
    for step in _succeeded(tables):
        if step.outcome is not None:
            before, settles = high.get(step.target), step.settles
            high[step.target] = high_time_after(step.intent, step.outcome, before, settles=settles)
    return high


def _table_ids(tables: MemoryTables) -> dict[str, str]:
    found: dict[str, str] = {}
    for step in _succeeded(tables):
        if step.outcome is not None and (step.settles or step.target not in found):
            found[step.target] = step.outcome.table_id
    return found


def _marked(
    tables: MemoryTables, record: ModelRecord, high: Mapping[str, dt.datetime | None]
) -> ModelRecord:
    """Add what is known by column and by table; its table is that of its latest step."""
    current = tables.current_watermarks(record.model)
    marks = (Watermark(name, column, value) for (name, column), value in sorted(current.items()))
    steps = tables.of_model(record.model)
    target = next(step.target for step in steps if step.intent.step_seq == record.last_step_seq)
    return replace(record, watermarks=tuple(marks), high_time=high.get(target))
