"""What an event touches, read from the rows of a model: partitions come as runs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, func, or_, select

from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grid, read_grid
from penstock.core.partitions.ranges import Ranges, of_numbers
from penstock.core.records import Status
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
from penstock.state.sql.check_rows import quarantine_of
from penstock.state.sql.rows import Found, fingerprint_of, model_id, step_state, watermark_of
from penstock.state.transitions.events import (
    Began,
    ChecksNoted,
    ChecksRecorded,
    ChecksSettled,
    Event,
    Failed,
    Finished,
    FlagsClosed,
    GivenUp,
    QuarantineDropped,
    WatermarkSet,
)
from penstock.state.transitions.model_state import (
    REMAKES,
    RESHAPES,
    Executed,
    FlagState,
    Key,
    ModelState,
    PartitionState,
    QuarantineState,
    StoredStep,
    TargetState,
)
from penstock.state.transitions.runs import Runs, joined
from penstock.state.transitions.verdict import ords_of

STATE = partition_state.c
HISTORY = execution_history.c
_AT_ONCE = 200
"""How many ranges one condition names."""


def load(connection: Connection, model: str, event: Event) -> ModelState:
    """Give what is on record of a model, as far as the event touches it."""
    return _Loader(connection, model).touched_by(event)


class _Loader:
    """Reads rows of one model."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection = connection
        self._model = model
        query = select(models.c.id, models.c.grid).where(models.c.name == model)
        known = connection.execute(query).first()
        self._number = known.id if known else model_id(connection, model)
        self._grid = read_grid(known.grid) if known else Grid()

    def touched_by(self, event: Event) -> ModelState:
        """Give the records that an event can change, and those that it goes by."""
        match event:
            case Began() | ChecksNoted() | WatermarkSet():
                return ModelState(self._model, self._grid)
            case GivenUp() | ChecksRecorded():
                return ModelState(self._model, self._grid, steps=self._steps([event.step_seq]))
            case QuarantineDropped():
                return self._quarantined(event.step_seq)
            case FlagsClosed():
                ords = of_numbers(number for _, number in event.keys)
                partitions, found = self._partitions(ords), self._flags(flags.c.closed.is_(None))
                return ModelState(self._model, self._grid, partitions, flags=found)
            case ChecksSettled():
                return self._settling(event.step_seq)
            case Failed():
                return self._ending(event)
            case Finished():
                return self._finishing(event)

    def _settling(self, seq: int) -> ModelState:
        found = self._steps([seq])
        if not found[seq].pending:  # what was recorded of it already is all that counts
            return ModelState(self._model, self._grid, steps=found)
        rows = self._history(HISTORY.step_seq == seq, HISTORY.rows_written, HISTORY.bytes_written)
        return ModelState(
            self._model, self._grid, self._partitions(found[seq].pending), found, rows
        )

    def _ending(self, event: Failed | Finished) -> ModelState:
        """Read the step, the partitions that it names, and a newer step if one has ended."""
        found = self._steps([event.step_seq])
        intent = found[event.step_seq].intent
        newer = self._connection.scalar(
            select(steps.c.step_seq)
            .where(steps.c.model_id == self._number, steps.c.step_seq > intent.step_seq)
            .where(steps.c.status != str(Status.RUNNING))
            .where(~and_(steps.c.run == intent.run, steps.c.kind.in_(map(str, RESHAPES))))
            .limit(1)
        )
        if newer is not None:
            found |= self._steps([newer])
        return ModelState(
            self._model, self._grid, self._partitions(self._reach(intent, event)), found
        )

    def _finishing(self, event: Finished) -> ModelState:
        state = self._ending(event)
        step = state.steps[event.step_seq]
        goes_back = step.intent.kind is StepKind.ROLLBACK
        found = self._flags(*([] if goes_back else [flags.c.closed.is_(None)]))
        if goes_back:
            others = self._steps_where(steps.c.model_id == self._number)
        else:
            others = self._steps({seq for seq, _ in found}) | self._steps_where(
                steps.c.model_id == self._number, is_pending()
            )
        return ModelState(
            self._model,
            self._grid,
            state.partitions,
            {**others, **state.steps},
            self._history(HISTORY.step_seq < step.seq) if goes_back else (),
            found,
            self._watermarks(every=goes_back),
            self._target(step.target),
        )

    def _reach(self, intent: Intent, event: Failed | Finished) -> Ranges | None:
        """Give the partitions that the end of a step can change; None for all of them."""
        by_time = isinstance(event, Finished) and event.by_time
        kinds = (*REMAKES, StepKind.ROLLBACK)
        changes_all = isinstance(event, Finished) and intent.kind in kinds
        # By time a step is held against the newest record, and another grid may take their place.
        if by_time or changes_all or intent.grid != self._grid:
            return None
        return ords_of(intent)

    def _steps(self, numbers: Collection[int]) -> dict[int, StoredStep]:
        return self._steps_where(steps.c.step_seq.in_(numbers)) if numbers else {}

    def _steps_where(self, *which: ColumnElement[bool]) -> dict[int, StoredStep]:
        rows = self._connection.execute(select(steps).where(*which).order_by(steps.c.step_seq))
        return {row.step_seq: step_state(row) for row in rows}

    def _partitions(self, ords: Ranges | None) -> Runs[PartitionState]:
        known = {row.id: fingerprint_of(row) for row in self._fingerprints()}
        found: list[tuple[int, int, PartitionState]] = []
        for which in _among(STATE.ord, ords):
            query = _islands(partition_state, self._number, which, *_PARTITION)
            found += [
                (row.low, row.high, _partition_state(row, known.get(row.fingerprint_id)))
                for row in self._connection.execute(query)
            ]
        return joined(found)

    def _fingerprints(self) -> Iterator[Found]:
        of_model = fingerprints.c.model_id == self._number
        return iter(self._connection.execute(select(fingerprints).where(of_model)))

    def _history(
        self, which: ColumnElement[bool], *counts: ColumnElement[Any]
    ) -> tuple[Executed, ...]:
        """Read what partitions of a step have in common, with `counts` if they are asked for."""
        known = {row.id: fingerprint_of(row) for row in self._fingerprints()}
        query = _islands(execution_history, self._number, which, *_HISTORY, *counts)
        rows = self._connection.execute(query)
        return tuple(
            Executed(
                step_seq=row.step_seq,
                low=row.low,
                high=row.high,
                fingerprint=known[row.fingerprint_id],
                at=row.executed_at,
                rows=row.rows_written if counts else None,
                size_bytes=row.bytes_written if counts else None,
                failure=_why(row),
            )
            for row in rows
        )

    def _flags(self, *which: ColumnElement[bool]) -> dict[Key, FlagState]:
        query = select(flags).where(flags.c.model_id == self._number, *which)
        return {
            (row.step_seq, row.ord): FlagState(
                checks=tuple(json.loads(row.checks)),
                opened=row.opened,
                version=row.version,
                closed=row.closed,
                why=row.why,
                who=row.who,
            )
            for row in self._connection.execute(query)
        }

    def _watermarks(self, *, every: bool) -> tuple[Any, ...]:
        of_model = watermarks.c.model_id == self._number
        query = select(watermarks, models.c.name).join(models).where(of_model)
        if not every:
            newest = select(func.max(watermarks.c.id)).where(of_model)
            newest = newest.group_by(watermarks.c.input, watermarks.c.column)
            query = query.where(watermarks.c.id.in_(newest))
        rows = self._connection.execute(query.order_by(watermarks.c.id))
        return tuple(watermark_of(row) for row in rows)

    def _target(self, target: str) -> dict[str, TargetState]:
        query = select(target_state).where(target_state.c.target == target)
        row = self._connection.execute(query).first()
        if row is None:
            return {}
        return {target: TargetState(row.table_id, row.seen_version, row.high_time)}

    def _quarantined(self, seq: int) -> ModelState:
        query = (
            select(quarantines, models.c.name.label("model"), steps.c.id.label("step"))
            .join(models, models.c.id == quarantines.c.model_id)
            .join(steps, steps.c.step_seq == quarantines.c.step_seq)
            .where(quarantines.c.step_seq == seq)
        )
        row = self._connection.execute(query).first()
        kept = {} if row is None else {seq: QuarantineState(quarantine_of(row), row.dropped)}
        return ModelState(self._model, self._grid, quarantines=kept)


def is_pending() -> ColumnElement[bool]:
    """Say which steps have pending checks, in a way for which SQLite takes the index."""
    return steps.c.pending > ""


_PARTITION = (
    STATE.status,
    STATE.fingerprint_id,
    STATE.step_seq,
    STATE.last_step_seq,
    STATE.commit_version,
    STATE.settled_version,
    STATE.executed_at,
)


_HISTORY = (
    HISTORY.step_seq,
    HISTORY.fingerprint_id,
    HISTORY.status,
    HISTORY.executed_at,
    HISTORY.error_code,
    HISTORY.error_message,
)


def _why(row: Found) -> StepFailure | None:
    if row.status == Status.SUCCESS:
        return None
    return StepFailure(row.error_code, row.error_message)


def _islands(
    table: Table, model: int, which: ColumnElement[bool], *same: ColumnElement[Any]
) -> Select[Any]:
    """Ask for neighbours of which the same is known: where both rise by one, the distance stays."""
    place = func.row_number().over(partition_by=same, order_by=table.c.ord)
    each = (
        select(table.c.ord, *same, (table.c.ord - place).label("island"))
        .where(table.c.model_id == model, which)
        .subquery()
    )
    kept = [each.c[column.name] for column in same]
    low, high = func.min(each.c.ord).label("low"), func.max(each.c.ord).label("high")
    return select(low, high, *kept).group_by(*kept, each.c.island).order_by(low)


def _among(column: ColumnElement[int], ords: Ranges | None) -> Iterator[ColumnElement[bool]]:
    """Give conditions that name some ranges each; one that names none for all numbers."""
    if ords is None:
        yield column.is_not(None)
        return
    for first in range(0, len(ords), _AT_ONCE):
        yield or_(*(column.between(low, high) for low, high in ords[first : first + _AT_ONCE]))


def _partition_state(row: Found, fingerprint: Fingerprint | None) -> PartitionState:
    return PartitionState(
        status=Status(row.status),
        last_step_seq=row.last_step_seq,
        fingerprint=fingerprint,
        step_seq=row.step_seq or 0,
        commit_version=row.commit_version,
        settled_version=row.settled_version,
        executed_at=row.executed_at,
    )
