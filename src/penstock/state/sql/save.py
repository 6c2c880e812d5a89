"""Write the differences between the records before and after an event, in bulk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Table,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    update,
)

from penstock.core.model import Fingerprint
from penstock.core.partitions.ranges import Range
from penstock.core.records import Status
from penstock.core.steps.step import Intent
from penstock.state.schema import (
    execution_history,
    flags,
    models,
    partition_state,
    quarantines,
    steps,
    target_state,
)
from penstock.state.sql.database import put
from penstock.state.sql.rows import (
    QUARANTINE,
    STATE,
    STATE_COLUMNS,
    Cells,
    cells_of,
    fingerprint_id,
    insert_results,
    insert_step,
    insert_watermark,
    model_id,
    step_cells,
)
from penstock.state.transitions.model_state import RECOVER, ModelState, PartitionState
from penstock.state.transitions.runs import compare_runs

PARTITION = partition_state.c
_AT_ONCE = 10_000  # rows that are made in memory at a time
_COUNTS = ("execution_time_ms", "rows_written", "bytes_written")
_TARGET = ("table_id", "seen_version", "high_time")
_CLOSED = ("closed", "why", "who")


def _changeable_parts(intent: Intent) -> tuple[object, ...]:
    """Return the parts of an intent that may change after the step began."""
    return intent.foreign, intent.passed_by


class RowChanges:
    """The changes of an event to the rows of one model; `new_id` numbers rows of the history."""

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
        """Write referenced rows first."""
        self._write_steps()
        self._insert(execution_history, self._history_rows())
        self._write_partitions()
        self._write_flags()
        self._write_checks()
        for change in self._after.watermarks[len(self._before.watermarks) :]:
            insert_watermark(self._connection, change)
        for target, state in self._after.targets.items():
            if self._before.targets.get(target) != state:
                row = {"target": target, **cells_of(state, _TARGET)}
                put(self._connection, target_state, [row])

    def _write_steps(self) -> None:
        for seq, step in self._after.steps.items():
            known = self._before.steps.get(seq)
            if known is None:
                insert_step(self._connection, step)
            elif known != step:
                old, new = step_cells(known), step_cells(step)
                changed = {name: cell for name, cell in new.items() if old.get(name) != cell}
                if _changeable_parts(known.intent) != _changeable_parts(step.intent):
                    changed["intent"] = step.intent
                of_step = steps.c.step_seq == seq
                if changed:
                    self._connection.execute(update(steps).where(of_step).values(changed))

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
                "status": Status.FAILED if each.failure else Status.SUCCESS,
                "error_code": each.failure.code if each.failure else "",
                "error_message": each.failure.message if each.failure else "",
                "triggered_by": RECOVER if step.recovered else step.intent.triggered_by,
                "executed_by": step.executed_by,
            }
            for number in range(each.low, each.high + 1):
                key = step.intent.grid.key(number)
                yield {**same, "id": self._new_id(), "ord": number, "partition": key}

    def _write_partitions(self) -> None:
        """Write runs: the number of statements depends on the differences, not partitions."""
        before = self._before.partitions
        of_model = PARTITION.model_id == self._model
        if self._before.grid != self._after.grid:  # the same numbers mean other partitions now
            self._connection.execute(delete(partition_state).where(of_model))
            row = models.c.id == self._model
            self._connection.execute(update(models).where(row).values(grid=self._after.grid))
            before = ()
        gone, changed, counted = list[Cells](), list[Cells](), list[Cells]()
        new: list[tuple[Range, Cells]] = []
        for low, high, was, state in compare_runs(before, self._after.partitions):
            bounds: Cells = {"from_ord": low, "to_ord": high}
            if state is None:
                gone.append(bounds)
            elif was is None:
                new.append(((low, high), self._cells(state)))
            elif was != state:
                changed.append({**bounds, **_new_cells(self._cells(state))})
            if state is not None and (was is None or was.step_seq != state.step_seq):
                counted.append(bounds)
        here = of_model & PARTITION.ord.between(bindparam("from_ord"), bindparam("to_ord"))
        self._each(delete(partition_state).where(here), gone)
        self._each(update(partition_state).where(here).values(_binds(STATE_COLUMNS)), changed)
        rows = (
            {**cells, "model_id": self._model, "ord": n, "partition": self._after.grid.key(n)}
            for (low, high), cells in new
            for n in range(low, high + 1)
        )
        self._insert(partition_state, rows)
        # Rows and bytes differ from partition to partition: they are copied where they lie.
        of_history = {name: _in_history(name) for name in _COUNTS}
        self._each(update(partition_state).where(here).values(of_history), counted)

    def _each(self, statement: Executable, rows: list[Cells]) -> None:
        if rows:
            self._connection.execute(statement, rows)

    def _insert(self, table: Table, rows: Iterator[Cells]) -> None:
        while part := list(islice(rows, _AT_ONCE)):
            self._connection.execute(insert(table), part)

    def _cells(self, state: PartitionState) -> Cells:
        number = self._number_of(state.fingerprint) if state.fingerprint else None
        return {
            **cells_of(state, STATE),
            "fingerprint_id": number,
            "step_seq": state.step_seq or None,
        }

    def _number_of(self, fingerprint: Fingerprint) -> int:
        if fingerprint not in self._fingerprints:
            number = fingerprint_id(self._connection, self._model, fingerprint)
            self._fingerprints[fingerprint] = number
        return self._fingerprints[fingerprint]

    def _write_flags(self) -> None:
        new, changed = list[Cells](), list[Cells]()
        for (step_seq, number), flag in self._after.flags.items():
            known = self._before.flags.get((step_seq, number))
            if known is None:
                cells = {
                    "step_seq": step_seq,
                    "ord": number,
                    "model_id": self._model,
                    "partition": self._after.steps[step_seq].intent.grid.key(number),
                }
                new.append({**cells, **cells_of(flag, ("checks", "version", "opened"))})
            elif known != flag:
                cells = _new_cells(cells_of(flag, _CLOSED))
                changed.append({"of_step": step_seq, "of_ord": number, **cells})
        here = (flags.c.step_seq == bindparam("of_step")) & (flags.c.ord == bindparam("of_ord"))
        self._each(update(flags).where(here).values(_binds(_CLOSED)), changed)
        self._each(insert(flags), new)

    def _write_checks(self) -> None:
        by_name = {step.intent.step: seq for seq, step in self._after.steps.items()}
        for batch in self._after.results[len(self._before.results) :]:
            step_seq = by_name.get(batch[0].step) if batch else None
            insert_results(self._connection, self._model, step_seq, batch)
        for seq, each in self._after.quarantines.items():
            if seq not in self._before.quarantines:
                cells = {
                    "step_seq": seq,
                    "model_id": self._model,
                    **cells_of(each.quarantine, QUARANTINE),
                }
                row_of = insert(quarantines).values(cells)
                self._connection.execute(row_of)
            elif self._before.quarantines[seq] != each:
                row = quarantines.c.step_seq == seq
                values = {**cells_of(each.quarantine, QUARANTINE), "dropped": each.dropped}
                self._connection.execute(update(quarantines).where(row).values(values))


def _binds(names: Sequence[str]) -> dict[str, Any]:
    """Return distinct parameter names for new cells and for conditions."""
    return {name: bindparam(f"new_{name}") for name in names}


def _new_cells(cells: Cells) -> Cells:
    return {f"new_{name}": cell for name, cell in cells.items()}


def _in_history(name: str) -> ColumnElement[Any]:
    """Return the row of the history for the step that built a partition; 0 without one."""
    history = execution_history.c
    found = (
        select(func.max(history[name]))
        .where(history.model_id == PARTITION.model_id, history.ord == PARTITION.ord)
        .where(history.step_seq == PARTITION.step_seq)
        .correlate(partition_state)
        .scalar_subquery()
    )
    return case((PARTITION.step_seq.is_(None), 0), else_=found)
