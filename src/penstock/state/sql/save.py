"""What differs between records before and after an event, written back in bulk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    update,
)

from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import write_grid
from penstock.core.partitions.ranges import Range
from penstock.core.records import Status
from penstock.state.schema import (
    execution_history,
    flags,
    models,
    partition_state,
    quarantines,
    steps,
    target_state,
)
from penstock.state.sql.check_rows import insert_quarantine, insert_results
from penstock.state.sql.database import put
from penstock.state.sql.rows import (
    Cells,
    fingerprint_id,
    insert_step,
    insert_watermark,
    model_id,
    step_cells,
)
from penstock.state.transitions.model_state import FlagState, ModelState, PartitionState
from penstock.state.transitions.runs import compared
from penstock.state.transitions.views import RECOVER

STATE = partition_state.c
_AT_ONCE = 10_000
"""How many rows are made in memory at a time."""


def save(
    connection: Connection, before: ModelState, after: ModelState, new_id: Callable[[], str]
) -> None:
    """Write what an event changed; `new_id` names rows of the history."""
    _Difference(connection, before, after, new_id).write()


class _Difference:
    """Writes rows of one model."""

    def __init__(
        self,
        connection: Connection,
        before: ModelState,
        after: ModelState,
        new_id: Callable[[], str],
    ) -> None:
        self._connection = connection
        self._before = before
        self._after = after
        self._new_id = new_id
        self._model = model_id(connection, after.model)
        self._fingerprints: dict[Fingerprint, int] = {}

    def write(self) -> None:
        """Write what others refer to first."""
        self._write_steps()
        self._write_history()
        self._write_partitions()
        self._write_flags()
        self._write_checks()
        for change in self._after.watermarks[len(self._before.watermarks) :]:
            insert_watermark(self._connection, change)
        for target, state in self._after.targets.items():
            if self._before.targets.get(target) != state:
                row = {
                    "target": target,
                    "table_id": state.table_id,
                    "seen_version": state.seen_version,
                    "high_time": state.high_time,
                }
                put(self._connection, target_state, [row])

    def _write_steps(self) -> None:
        for seq, step in self._after.steps.items():
            known = self._before.steps.get(seq)
            if known is None:
                insert_step(self._connection, step)
            elif known != step:
                old, new = step_cells(known), step_cells(step)
                changed = {name: cell for name, cell in new.items() if old.get(name) != cell}
                of_step = steps.c.step_seq == seq
                if changed:
                    self._connection.execute(update(steps).where(of_step).values(changed))

    def _write_history(self) -> None:
        for part in _batches(self._history_rows()):
            self._connection.execute(insert(execution_history), part)

    def _history_rows(self) -> Iterator[Cells]:
        for each in self._after.history[len(self._before.history) :]:
            step = self._after.steps[each.step_seq]
            same: Cells = {
                "model_id": self._model,
                "step_seq": each.step_seq,
                "fingerprint_id": self._number_of(each.fingerprint),
                "executed_at": each.at,
                "execution_time_ms": step.duration_ms,
                "rows_written": each.rows,
                "bytes_written": each.size_bytes,
                "status": str(Status.FAILED if each.failure else Status.SUCCESS),
                "error_code": each.failure.code if each.failure else "",
                "error_message": each.failure.message if each.failure else "",
                "triggered_by": RECOVER if step.recovered else step.intent.triggered_by,
                "executed_by": step.executed_by,
            }
            for number in range(each.low, each.high + 1):
                key = step.intent.grid.key(number)
                yield {**same, "id": self._new_id(), "ord": number, "partition": key}

    def _write_partitions(self) -> None:
        """Write runs: as many statements as there are differences, whatever they stand for."""
        before = self._before.partitions
        of_model = STATE.model_id == self._model
        if self._before.grid != self._after.grid:  # the same numbers mean other partitions now
            self._connection.execute(delete(partition_state).where(of_model))
            grid = write_grid(self._after.grid)
            row = models.c.id == self._model
            self._connection.execute(update(models).where(row).values(grid=grid))
            before = ()
        gone: list[Cells] = []
        changed: list[Cells] = []
        new: list[tuple[Range, Cells]] = []
        counted: list[Cells] = []
        for low, high, was, state in compared(before, self._after.partitions):
            bounds: Cells = {"from_ord": low, "to_ord": high}
            if state is None:
                gone.append(bounds)
            elif was is None:
                new.append(((low, high), self._cells(state)))
            elif was != state:
                cells = self._cells(state).items()
                changed.append({**bounds, **{f"new_{name}": cell for name, cell in cells}})
            if state is not None and (was is None or was.step_seq != state.step_seq):
                counted.append(bounds)
        here = of_model & STATE.ord.between(bindparam("from_ord"), bindparam("to_ord"))
        self._each(delete(partition_state).where(here), gone)
        of_state: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _STATE_COLUMNS}
        self._each(update(partition_state).where(here).values(of_state), changed)
        for part in _batches(self._new_rows(new)):
            self._connection.execute(insert(partition_state), part)
        # Rows and bytes differ from partition to partition: they are copied where they lie.
        of_history = {name: _in_history(name) for name in _COUNTS}
        self._each(update(partition_state).where(here).values(of_history), counted)

    def _each(self, statement: Executable, rows: list[Cells]) -> None:
        if rows:
            self._connection.execute(statement, rows)

    def _cells(self, state: PartitionState) -> Cells:
        return {
            "status": str(state.status),
            "fingerprint_id": self._number_of(state.fingerprint) if state.fingerprint else None,
            "step_seq": state.step_seq or None,
            "last_step_seq": state.last_step_seq,
            "commit_version": state.commit_version,
            "settled_version": state.settled_version,
            "executed_at": state.executed_at,
        }

    def _new_rows(self, new: list[tuple[Range, Cells]]) -> Iterator[Cells]:
        for (low, high), cells in new:
            for number in range(low, high + 1):
                key = self._after.grid.key(number)
                yield {**cells, "model_id": self._model, "ord": number, "partition": key}

    def _number_of(self, fingerprint: Fingerprint) -> int:
        if fingerprint not in self._fingerprints:
            number = fingerprint_id(self._connection, self._model, fingerprint)
            self._fingerprints[fingerprint] = number
        return self._fingerprints[fingerprint]

    def _write_flags(self) -> None:
        new: list[Cells] = []
        changed: list[Cells] = []
        for (step_seq, number), flag in self._after.flags.items():
            known = self._before.flags.get((step_seq, number))
            if known is None:
                new.append(self._flag_row(step_seq, number, flag))
            elif known != flag:
                cells: Cells = {"to_closed": flag.closed, "to_why": flag.why, "to_who": flag.who}
                changed.append({"of_step": step_seq, "of_ord": number, **cells})
        here = (flags.c.step_seq == bindparam("of_step")) & (flags.c.ord == bindparam("of_ord"))
        values: dict[str, Any] = {
            name: bindparam(f"to_{name}") for name in ("closed", "why", "who")
        }
        self._each(update(flags).where(here).values(values), changed)
        self._each(insert(flags), new)

    def _flag_row(self, step_seq: int, number: int, flag: FlagState) -> Cells:
        return {
            "step_seq": step_seq,
            "ord": number,
            "model_id": self._model,
            "partition": self._after.steps[step_seq].intent.grid.key(number),
            "checks": json.dumps(flag.checks, ensure_ascii=False),
            "version": flag.version,
            "opened": flag.opened,
        }

    def _write_checks(self) -> None:
        by_name = {step.intent.step: seq for seq, step in self._after.steps.items()}
        for batch in self._after.results[len(self._before.results) :]:
            step_seq = by_name.get(batch[0].step) if batch else None
            insert_results(self._connection, self._model, step_seq, batch)
        for seq, each in self._after.quarantines.items():
            if seq not in self._before.quarantines:
                insert_quarantine(self._connection, self._model, seq, each.kept)
            elif self._before.quarantines[seq] != each:
                row = quarantines.c.step_seq == seq
                values = {"dropped": each.dropped}
                self._connection.execute(update(quarantines).where(row).values(values))


_STATE_COLUMNS = (
    "status",
    "fingerprint_id",
    "step_seq",
    "last_step_seq",
    "commit_version",
    "settled_version",
    "executed_at",
)
_COUNTS = ("execution_time_ms", "rows_written", "bytes_written")


def _in_history(name: str) -> ColumnElement[Any]:
    """Give what the history says of the step whose rows a partition holds; 0 without one."""
    history = execution_history.c
    found = (
        select(func.max(history[name]))
        .where(history.model_id == STATE.model_id, history.ord == STATE.ord)
        .where(history.step_seq == STATE.step_seq)
        .correlate(partition_state)
        .scalar_subquery()
    )
    return case((STATE.step_seq.is_(None), 0), else_=found)


def _batches(rows: Iterator[Cells]) -> Iterator[list[Cells]]:
    while part := list(islice(rows, _AT_ONCE)):
        yield part
