"""Load the records that an event affects; partitions are loaded as runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, func, or_, select

from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grid
from penstock.core.partitions.ranges import Ranges, of_numbers
from penstock.core.records import Status, WatermarkChange
from penstock.core.steps.step import Intent, StepFailure, StepKind
from penstock.state.schema import (
    execution_history,
    fingerprints,
    flags,
    models,
    partition_state,
    quarantines,
    steps,
    target_state,
    watermarks,
)
from penstock.state.sql.rows import (
    STATE_COLUMNS,
    cells_of,
    fingerprint_of,
    model_id,
    quarantine_of,
    state_of,
    step_of,
    watermark_of,
)
from penstock.state.transitions.model_state import (
    REMAKES,
    RESHAPES,
    Began,
    ChecksNoted,
    ChecksRecorded,
    ChecksSettled,
    Event,
    Executed,
    Failed,
    Finished,
    FlagsClosed,
    FlagState,
    GivenUp,
    Key,
    ModelState,
    PartitionState,
    QuarantineDropped,
    QuarantineKept,
    QuarantineState,
    StoredStep,
    TargetState,
    ords_of,
)
from penstock.state.transitions.runs import Runs, join_runs

STATE = partition_state.c
HISTORY = execution_history.c
_AT_ONCE = 200  # ranges that one condition names
_FLAG = ("checks", "opened", "version", "closed", "why", "who")
_HISTORY = ("step_seq", "fingerprint_id", "status", "executed_at", "error_code", "error_message")


def load(connection: Connection, model: str, event: Event) -> ModelState:
    """Return the records of a model that the event can change or depends on."""
    rows = _ModelRows(connection, model)
    match event:
        case Began() | ChecksNoted():
            return rows.blank
        case GivenUp():
            return replace(rows.blank, steps=rows.steps([event.step_seq]))
        case ChecksRecorded(seq) | QuarantineKept(seq):
            known = rows.quarantines(seq)
            return replace(rows.blank, steps=rows.steps([seq]), quarantines=known)
        case QuarantineDropped():
            return replace(rows.blank, quarantines=rows.quarantines(event.step_seq))
        case FlagsClosed():
            ords = of_numbers(number for _, number in event.keys)
            open_flags = rows.flags(flags.c.closed.is_(None))
            return replace(rows.blank, partitions=rows.partitions(ords), flags=open_flags)
        case ChecksSettled():
            return _settling(rows, event.step_seq)
        case Failed():
            found, reach = _ending(rows, event)
            return replace(rows.blank, partitions=rows.partitions(reach), steps=found)
        case Finished():
            return _finishing(rows, event)


class _ModelRows:
    """Reads rows of one model."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection = connection
        query = select(models.c.id, models.c.grid).where(models.c.name == model)
        known = connection.execute(query).first()
        self.number = known.id if known else model_id(connection, model)
        self.blank = ModelState(model, known.grid if known else Grid())

    def steps(self, numbers: Collection[int]) -> dict[int, StoredStep]:
        return self.steps_where(steps.c.step_seq.in_(numbers)) if numbers else {}

    def steps_where(self, *which: ColumnElement[bool]) -> dict[int, StoredStep]:
        query = select(steps).where(*which).order_by(steps.c.step_seq)
        return {row.step_seq: step_of(row) for row in self._connection.execute(query)}

    def newer_than(self, step: Intent) -> int | None:
        """Return the number of a finished step that began after another, and is not part of it."""
        return self._connection.scalar(
            select(steps.c.step_seq)
            .where(steps.c.model_id == self.number, steps.c.step_seq > step.step_seq)
            .where(steps.c.status != Status.RUNNING)
            .where(~and_(steps.c.run == step.run, steps.c.kind.in_(RESHAPES)))
            .limit(1)
        )

    def partitions(self, ords: Ranges | None) -> Runs[PartitionState]:
        """Return the records of partitions, by default of all."""
        known, same = self._fingerprints(), [STATE[name] for name in STATE_COLUMNS]
        found: list[tuple[int, int, PartitionState]] = []
        for which in _among(STATE.ord, ords):
            of_model = STATE.model_id == self.number
            for row in self._connection.execute(islands(partition_state, of_model & which, *same)):
                state = PartitionState(**state_of(row), fingerprint=known.get(row.fingerprint_id))
                found.append((row.low, row.high, state))
        return join_runs(found)

    def history(
        self, which: ColumnElement[bool], *counts: ColumnElement[Any]
    ) -> tuple[Executed, ...]:
        """Read the common values of a step's partitions, with `counts` if requested."""
        known = self._fingerprints()
        of_model = HISTORY.model_id == self.number
        same = [HISTORY[name] for name in _HISTORY]
        query = islands(execution_history, of_model & which, *same, *counts)
        return tuple(
            Executed(
                step_seq=row.step_seq,
                low=row.low,
                high=row.high,
                fingerprint=known[row.fingerprint_id],
                at=row.executed_at,
                rows=row.rows_written if counts else None,
                size_bytes=row.bytes_written if counts else None,
                failure=None
                if row.status == Status.SUCCESS
                else StepFailure(row.error_code, row.error_message),
            )
            for row in self._connection.execute(query)
        )

    def flags(self, *which: ColumnElement[bool]) -> dict[Key, FlagState]:
        query = select(flags).where(flags.c.model_id == self.number, *which)
        return {
            (row.step_seq, row.ord): FlagState(**cells_of(row, _FLAG))
            for row in self._connection.execute(query)
        }

    def watermarks(self, *, every: bool) -> tuple[WatermarkChange, ...]:
        """Return changes of watermarks: all of them, or the current ones."""
        of_model = watermarks.c.model_id == self.number
        query = select(watermarks, models.c.name).join(models).where(of_model)
        if not every:
            newest = select(func.max(watermarks.c.id)).where(of_model)
            newest = newest.group_by(watermarks.c.input, watermarks.c.column)
            query = query.where(watermarks.c.id.in_(newest))
        rows = self._connection.execute(query.order_by(watermarks.c.id))
        return tuple(watermark_of(row) for row in rows)

    def target(self, target: str) -> dict[str, TargetState]:
        query = select(target_state).where(target_state.c.target == target)
        row = self._connection.execute(query).first()
        if row is None:
            return {}
        return {target: TargetState(row.table_id, row.seen_version, row.high_time)}

    def quarantines(self, seq: int) -> dict[int, QuarantineState]:
        query = with_names(quarantines).where(quarantines.c.step_seq == seq)
        row = self._connection.execute(query).first()
        return {} if row is None else {seq: QuarantineState(quarantine_of(row), row.dropped)}

    def _fingerprints(self) -> dict[int, Fingerprint]:
        query = select(fingerprints).where(fingerprints.c.model_id == self.number)
        return {row.id: fingerprint_of(row) for row in self._connection.execute(query)}


def _settling(rows: _ModelRows, seq: int) -> ModelState:
    found = rows.steps([seq])
    pending = found[seq].pending
    if not pending:  # what was recorded of it already is all that counts
        return replace(rows.blank, steps=found)
    wrote = rows.history(HISTORY.step_seq == seq, HISTORY.rows_written, HISTORY.bytes_written)
    return replace(rows.blank, partitions=rows.partitions(pending), steps=found, history=wrote)


def _ending(
    rows: _ModelRows, event: Failed | Finished
) -> tuple[dict[int, StoredStep], Ranges | None]:
    """Return the step, a newer finished one if any, and the partitions its end can change."""
    found = rows.steps([event.step_seq])
    intent = found[event.step_seq].intent
    newer = rows.newer_than(intent)
    if newer is not None:
        found |= rows.steps([newer])
    of_log = isinstance(event, Finished) and event.of_log
    kinds = (*REMAKES, StepKind.ROLLBACK)
    changes_all = isinstance(event, Finished) and intent.kind in kinds
    # A step of the log is held against the newest record; another grid may take their place.
    is_all = of_log or changes_all or intent.grid != rows.blank.grid
    return found, None if is_all else ords_of(intent)


def _finishing(rows: _ModelRows, event: Finished) -> ModelState:
    found, ords = _ending(rows, event)
    step, of_model = found[event.step_seq], steps.c.model_id == rows.number
    goes_back = step.intent.kind is StepKind.ROLLBACK
    flagged = rows.flags(*([] if goes_back else [flags.c.closed.is_(None)]))
    if goes_back:
        others = rows.steps_where(of_model)
    else:
        others = rows.steps({seq for seq, _ in flagged}) | rows.steps_where(of_model, is_pending())
    partitions = rows.partitions(ords)
    if step.intent.kind is StepKind.ACCEPT and step.intent.grid.is_whole:
        others |= rows.steps([state.step_seq for _, _, state in partitions])
    return replace(
        rows.blank,
        partitions=partitions,
        steps={**others, **found},
        history=rows.history(HISTORY.step_seq < step.seq) if goes_back else (),
        flags=flagged,
        watermarks=rows.watermarks(every=goes_back),
        targets=rows.target(step.target),
    )


def is_pending() -> ColumnElement[bool]:
    """Return the condition of steps with pending checks, in a form that uses SQLite's index."""
    return steps.c.pending > ""


def with_names(table: Table) -> Select[Any]:
    """Return a query for rows of steps with `model` and `step`; "" without a step is NULL."""
    return (
        select(table, models.c.name.label("model"), steps.c.id.label("step"))
        .join(models, models.c.id == table.c.model_id)
        .outerjoin(steps, steps.c.step_seq == table.c.step_seq)
    )


def islands(table: Table, which: ColumnElement[bool], *same: ColumnElement[Any]) -> Select[Any]:
    """Return a query for neighbours with the same values: both numbers rise by one together."""
    place = func.row_number().over(partition_by=same, order_by=table.c.ord)
    each = select(table.c.ord, *same, (table.c.ord - place).label("island")).where(which).subquery()
    kept = [each.c[column.name] for column in same]
    low, high = func.min(each.c.ord).label("low"), func.max(each.c.ord).label("high")
    return select(low, high, *kept).group_by(*kept, each.c.island).order_by(low)


def _among(column: ColumnElement[int], ords: Ranges | None) -> Iterator[ColumnElement[bool]]:
    """Return conditions for some ranges each; one without ranges covers all numbers."""
    if ords is None:
        yield column.is_not(None)
        return
    for first in range(0, len(ords), _AT_ONCE):
        yield or_(*(column.between(low, high) for low, high in ords[first : first + _AT_ONCE]))
