"""The memory store as one document of its own, and steps written anew from logs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from penstock.core.facts import Seen, Touched
from penstock.core.ports import RebuiltStep
from penstock.core.records import Holder, Lease, Run, Status, WatermarkChange
from penstock.core.step import Outcome, PartitionRows, RowCounts, StepFailure
from penstock.core.token import read_intent, write_intent
from penstock.state.document import Tables, invalid, read_document, write_document
from penstock.state.memory_check_archive import (
    read_events,
    read_quarantines,
    read_results,
    write_checks,
)
from penstock.state.memory_end import end
from penstock.state.memory_replay import pictures
from penstock.state.memory_tables import MemoryStep, MemoryTables, MemoryTransactions
from penstock.state.notes import read_spans
from penstock.state.parts import Parts, given_up
from penstock.state.soundness import UNREADABLE
from penstock.state.verdict import RecordedChecks, read_verdict, write_verdict

SCHEMA = "memory-3"
Json = Any  # what json gives; it does not leave this file
T = TypeVar("T")


class MemoryArchive:
    """Exports, loads and rebuilds the store."""

    def __init__(self, transactions: MemoryTransactions, parts: Parts) -> None:
        self._transactions = transactions
        self._parts = parts

    def store_id(self) -> str:
        """Give the id that this store was born with, or that an import gave it."""
        with self._transactions.read() as tables:
            return tables.store_id

    def epoch(self) -> str:
        """Give the id that is drawn anew whenever the store may have forgotten something."""
        with self._transactions.read() as tables:
            return tables.epoch

    def export(self) -> str:
        """Give everything as one JSON document."""
        with self._transactions.read() as tables:
            rows: dict[str, list[Json]] = {
                "project": [{"store_id": tables.store_id}],
                "runs": [asdict(run) for run in tables.runs.values()],
                "steps": [_write_step(step) for step in tables.steps.values()],
                "watermarks": [asdict(mark) for mark in tables.watermarks],
                "contents": [{"hash": h, "text": t} for h, t in sorted(tables.contents.items())],
                "leases": [asdict(lease) for lease in tables.leases.values()],
                "tokens": [{"target": t, "token": n} for t, n in sorted(tables.tokens.items())],
                "seen": [asdict(seen) for _, seen in sorted(tables.seen.items())],
                "commits": [
                    {"name": name, **asdict(commit)}
                    for name, noted in sorted(tables.commits.items())
                    for _, commit in sorted(noted.items())
                ],
                **write_checks(tables),
            }
        plain = json.loads(json.dumps(rows, default=dt.datetime.isoformat))
        return write_document(plain, self._parts.identity, SCHEMA)

    def load(self, document: str) -> None:
        """Replace everything by an exported document, or raise `state-import-invalid`."""
        tables = read_document(document, self._parts.identity, SCHEMA)
        try:
            read = _read_tables(tables)
        except UNREADABLE as error:
            raise invalid([f"its rows cannot be read: {error}"]) from error
        read.epoch = self._parts.clock.new_id()
        self._transactions.put(read)

    def rebuild(self, steps: Sequence[RebuiltStep]) -> None:
        """Write steps that only the logs remember, oldest first; known steps are left alone."""
        with self._transactions.write() as tables:
            tables.epoch = self._parts.clock.new_id()
            numbers = (step.intent.step_seq for step in steps)
            free = max([tables.next_step_seq() - 1, *numbers]) + 1
            for step in steps:
                if _is_known(tables, step.intent.step):
                    continue
                number = step.intent.step_seq
                taken = {known.intent.step_seq for known in tables.steps.values()}
                if number < 1 or number in taken:
                    number, free = free, free + 1
                end(tables, _rebuilt(tables, step, number))


def _is_known(tables: MemoryTables, step: str) -> bool:
    """Whether a step runs, or is on record with what it did; one that was given up makes room."""
    known = tables.steps.get(step)
    if known is None:
        return False
    if known.status is Status.RUNNING or known.outcome is not None:
        return True
    del tables.steps[step]
    name = given_up(step)
    tables.steps[name] = replace(known, intent=replace(known.intent, step=name))
    return False


def _rebuilt(tables: MemoryTables, step: RebuiltStep, number: int) -> MemoryStep:
    picture = pictures(tables).get(step.intent.model)
    settled = picture.newest if picture else None
    duration = step.outcome.duration_ms
    return MemoryStep(
        intent=replace(step.intent, step_seq=number),
        started=step.ended - dt.timedelta(milliseconds=duration),
        executed_by="",
        status=Status.SUCCESS,
        ended=step.ended,
        duration_ms=duration,
        settles=settled is None or settled <= step.ended,
        by_time=True,
        outcome=step.outcome,
    )


def _write_step(step: MemoryStep) -> Json:
    return {
        "intent": json.loads(write_intent(step.intent)),
        "started": step.started,
        "executed_by": step.executed_by,
        "lease_token": step.lease_token,
        "status": step.status,
        "ended": step.ended,
        "ended_as": step.ended_as,
        "duration_ms": step.duration_ms,
        "recovered": step.recovered,
        "settles": step.settles,
        "by_time": step.by_time,
        "outcome": _optional(step.outcome, asdict),
        "failure": _optional(step.failure, asdict),
        "verdict": _optional(step.verdict, _write_verdict),
        "settled": _optional(step.settled, _write_verdict),
    }


def _read_tables(tables: Tables) -> MemoryTables:
    rows: Json = tables
    steps = [_read_step(row) for row in rows["steps"]]
    leases = [Lease(**_timed(row, "acquired", "heartbeat", "expires")) for row in rows["leases"]]
    runs = [_read_run(row) for row in rows["runs"]]
    return MemoryTables(
        store_id=rows["project"][0]["store_id"],
        epoch="",
        runs={run.id: run for run in runs},
        steps={step.intent.step: step for step in steps},
        watermarks=[WatermarkChange(**_timed(row, "set_at")) for row in rows["watermarks"]],
        contents={row["hash"]: row["text"] for row in rows["contents"]},
        leases={lease.target: lease for lease in leases},
        tokens={row["target"]: row["token"] for row in rows["tokens"]},
        seen={row["name"]: Seen(**row) for row in rows["seen"]},
        commits=_read_commits(rows["commits"]),
        results=read_results(rows["results"]),
        quarantines=read_quarantines(rows["quarantines"]),
        events=read_events(rows["events"]),
    )


def _read_commits(rows: Json) -> dict[str, dict[int, Touched]]:
    commits: dict[str, dict[int, Touched]] = {}
    for row in rows:
        read = {**_timed(row, "time"), "spans": read_spans(row["spans"])}
        noted = commits.setdefault(read.pop("name"), {})
        noted[row["version"]] = Touched(**read)
    return commits


def _read_run(row: Json) -> Run:
    row = _timed(row, "run_timestamp", "started", "ended")
    return Run(**{**row, "holder": Holder(**row["holder"]), "status": Status(row["status"])})


def _read_step(row: Json) -> MemoryStep:
    row = _timed(row, "started", "ended")
    read = {
        "intent": read_intent(json.dumps(row["intent"])),
        "status": Status(row["status"]),
        "outcome": _optional(row["outcome"], _read_outcome),
        "failure": _optional(row["failure"], lambda found: StepFailure(**found)),
        "verdict": _optional(row["verdict"], _read_verdict),
        "settled": _optional(row["settled"], _read_verdict),
    }
    return MemoryStep(**{**row, **read})


def _read_outcome(row: Json) -> Outcome:
    partitions = tuple(PartitionRows(**each) for each in row["partitions"])
    return Outcome(**{**row, "rows": RowCounts(**row["rows"]), "partitions": partitions})


def _write_verdict(verdict: RecordedChecks) -> Json:
    return json.loads(write_verdict(verdict))


def _read_verdict(row: Json) -> RecordedChecks:
    return read_verdict(json.dumps(row))


def _timed(row: Json, *names: str) -> Json:
    times = {name: _optional(row[name], dt.datetime.fromisoformat) for name in names}
    return {**row, **times}


def _optional(value: T | None, change: Callable[[T], Json]) -> Json:
    return None if value is None else change(value)
