"""Records in a database: reading is set-based, whatever the number of models and partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, null, select, union_all

from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import read_grid
from penstock.core.records import (
    Execution,
    LeastPin,
    ModelRecord,
    PartitionGroup,
    PartitionRun,
    PartitionsRecord,
    Status,
    StepRecord,
    WatermarkChange,
)
from penstock.core.steps.inputs import Pin
from penstock.core.steps.token import pin_of
from penstock.state.schema import (
    contents,
    execution_history,
    fingerprints,
    models,
    partition_state,
    step_inputs,
    steps,
    watermarks,
)
from penstock.state.sql.database import Database, batched
from penstock.state.sql.model_records import HEADS, WHOLE, model_records
from penstock.state.sql.rows import (
    FINGERPRINT_COLUMNS,
    ended_step,
    failure_of,
    fingerprint_of,
    insert_watermark,
    watermark_of,
)
from penstock.state.transitions.views import PinCount, least_pin

STATE = partition_state.c
Found = Row[tuple[object, ...]]


class SqlRecords:
    """Reads what is remembered, and sets watermarks by hand."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def models(self) -> Mapping[str, ModelRecord]:
        """Give the record of every model that ever ended a step: few queries, one state.

        Of a model that has partitions it is a sum: its last step, its newest build that was not
        rolled back, the greatest versions of any partition.
        """
        with self._database.read() as connection:
            return model_records(connection)

    def partitions(self) -> Mapping[str, PartitionsRecord]:
        """Give what is known of every model that has partitions: groups, never rows."""
        with self._database.read() as connection:
            groups, (pins, counts) = _groups(connection), _pinned(connection)
            return {
                row.name: PartitionsRecord(
                    model=row.name,
                    table_id=row.table_id or "",
                    groups=tuple(groups[row.model_id]),
                    pins=pins.get(row.model_id, {}),
                    steps=counts.get(row.model_id, 0),
                    last_step_seq=row.last_step_seq,
                    executed_at=row.ended,
                    grid=read_grid(row.grid),
                )
                for row in connection.execute(HEADS.order_by(models.c.name))
            }

    def fingerprints(self) -> Mapping[int, Fingerprint]:
        """Give the fingerprints that groups and runs name by number."""
        with self._database.read() as connection:
            return {row.id: fingerprint_of(row) for row in connection.execute(select(fingerprints))}

    def runs(self, model: str) -> tuple[PartitionRun, ...]:
        """Give the partitions of one model, neighbours of which the same is known together.

        None for a model of one partition.
        """
        with self._database.read() as connection:
            return tuple(_run(row) for row in connection.execute(_ISLANDS, {"model": model}))

    def step_pins(self, model: str) -> Mapping[int, Mapping[str, Pin]]:
        """Give the pins of the steps that built a model's partitions as they are now.

        A step without inputs has an entry without pins; none for a model of one partition.
        """
        built = (
            select(STATE.step_seq)
            .join(models, models.c.id == STATE.model_id)
            .where(models.c.name == model, ~WHOLE, STATE.step_seq.is_not(None))
            .distinct()
            .subquery()
        )
        query = (
            select(built.c.step_seq.label("built"), step_inputs)
            .outerjoin(step_inputs, step_inputs.c.step_seq == built.c.step_seq)
            .order_by(built.c.step_seq, step_inputs.c.input)
        )
        pins: dict[int, dict[str, Pin]] = defaultdict(dict)
        with self._database.read() as connection:
            for row in connection.execute(query):
                of_step = pins[row.built]
                if row.input is not None:
                    of_step[row.input] = pin_of(row.kind, row.table_id, row.pinned_version)
        return dict(pins)

    def text(self, checksum: str) -> str | None:
        """Give a stored SQL text by its checksum."""
        with self._database.read() as connection:
            return connection.scalar(select(contents.c.text).where(contents.c.hash == checksum))

    def history(
        self, model: str, limit: int | None, partition: str | None = None
    ) -> tuple[Execution, ...]:
        """Give a model's executions, newest step first, then by partition.

        Those of older grids too: `partition` is the key that was written then.
        """
        which = [] if partition is None else [execution_history.c.partition == partition]
        query = (
            select(
                execution_history,
                models.c.name,
                steps.c.id.label("step_id"),
                steps.c.error_where,
                steps.c.error_hint,
                *FINGERPRINT_COLUMNS,
            )
            .join(models, models.c.id == execution_history.c.model_id)
            .join(steps, steps.c.step_seq == execution_history.c.step_seq)
            .join(fingerprints, fingerprints.c.id == execution_history.c.fingerprint_id)
            .where(models.c.name == model, *which)
            .order_by(execution_history.c.step_seq.desc(), execution_history.c.ord)
            .limit(limit)
        )
        with self._database.read() as connection:
            return tuple(_execution(row) for row in connection.execute(query))

    def steps_of(self, model: str) -> tuple[StepRecord, ...]:
        """Give every step of a model that ended, oldest first; without what each partition got."""
        query = (
            select(steps)
            .join(models, models.c.id == steps.c.model_id)
            .where(models.c.name == model, steps.c.status != str(Status.RUNNING))
            .order_by(steps.c.step_seq)
        )
        with self._database.read() as connection:
            return tuple(ended_step(row) for row in connection.execute(query))

    def unrecorded(self, commits: Mapping[str, int]) -> frozenset[str]:
        """Give those of the steps that are not on record now as having made their version."""
        asked, known = sorted(commits), set()
        query = select(steps.c.id, steps.c.status, steps.c.commit_version)
        with self._database.read_now() as connection:
            for part in batched(asked):
                for row in connection.execute(query.where(steps.c.id.in_(part))):
                    made = row.commit_version == commits[row.id]
                    known |= {row.id} if made or row.status == Status.RUNNING else set()
        return frozenset(commits) - known

    def last_results(self) -> Mapping[str, Status]:
        """Give what became of each model in the last run that had steps."""
        last = select(steps.c.run).order_by(steps.c.step_seq.desc()).limit(1).scalar_subquery()
        query = (
            select(models.c.name, steps.c.status)
            .join(models, models.c.id == steps.c.model_id)
            .where(steps.c.run == last)
            .order_by(steps.c.step_seq)
        )
        with self._database.read() as connection:
            return {row.name: Status(row.status) for row in connection.execute(query)}

    def watermark_history(self, model: str) -> tuple[WatermarkChange, ...]:
        """Give every change of a model's watermarks, newest first."""
        query = (
            select(watermarks, models.c.name)
            .join(models, models.c.id == watermarks.c.model_id)
            .where(models.c.name == model)
            .order_by(watermarks.c.id.desc())
        )
        with self._database.read() as connection:
            return tuple(watermark_of(row) for row in connection.execute(query))

    def change_watermark(self, change: WatermarkChange) -> None:
        """Append a change that a person made; the value may go down."""
        with self._database.write() as connection:
            insert_watermark(connection, change)


def _execution(row: Found) -> Execution:
    failed = row.status == Status.FAILED
    return Execution(
        model=row.name,
        partition=row.partition,
        step=row.step_id,
        step_seq=row.step_seq,
        fingerprint=fingerprint_of(row),
        executed_at=row.executed_at,
        duration_ms=row.execution_time_ms,
        rows_written=row.rows_written,
        bytes_written=row.bytes_written,
        status=Status(row.status),
        triggered_by=row.triggered_by,
        executed_by=row.executed_by,
        failure=failure_of(row) if failed else None,
    )


def _groups(connection: Connection) -> dict[int, list[PartitionGroup]]:
    """Count in the order of the index, so that nothing is sorted."""
    query = select(
        STATE.model_id,
        STATE.fingerprint_id,
        STATE.status,
        func.count(),
        func.min(STATE.ord),
        func.max(STATE.ord),
        func.max(STATE.commit_version),
        func.min(STATE.settled_version),
        func.count(STATE.fingerprint_id) - func.count(STATE.settled_version),
    ).group_by(STATE.model_id, STATE.fingerprint_id, STATE.status)
    groups: dict[int, list[PartitionGroup]] = defaultdict(list)
    for model, fingerprint, status, *counted in connection.execute(query):
        groups[model].append(PartitionGroup(fingerprint or 0, Status(status), *counted))
    for found in groups.values():
        found.sort(key=lambda group: (group.fingerprint, group.status))
    return groups


def _pinned(connection: Connection) -> tuple[dict[int, dict[str, LeastPin]], dict[int, int]]:
    """Give the least pins and how many steps there are, from one look at the steps."""
    pin = step_inputs.c
    built = (
        select(STATE.model_id, STATE.step_seq)
        .where(STATE.step_seq.is_not(None))
        .distinct()
        .cte("built")
    )
    pins = (
        select(
            built.c.model_id,
            pin.input,
            pin.kind,
            pin.table_id,
            func.min(pin.pinned_version),
            func.count(),
            func.max(pin.step_seq),
        )
        .join(step_inputs, pin.step_seq == built.c.step_seq)
        .group_by(built.c.model_id, pin.input, pin.kind, pin.table_id)
    )
    nothing = [null()] * 4
    counts = select(built.c.model_id, *nothing, func.count(), null()).group_by(built.c.model_id)
    pinned: dict[int, dict[str, list[PinCount]]] = defaultdict(lambda: defaultdict(list))
    steps: dict[int, int] = {}
    for model, name, *rest in connection.execute(union_all(pins, counts)):
        if name is None:
            steps[model] = rest[3]
        else:
            kind, table_id, version, count, newest = rest
            pinned[model][name].append((kind, table_id, version, count, newest))
    least = {
        model: {name: least_pin(found) for name, found in sorted(inputs.items())}
        for model, inputs in pinned.items()
    }
    return least, steps


def _islands() -> Select[Any]:
    """Ask for neighbours of which the same is known: where both rise by one, the distance stays."""
    same = (
        STATE.status,
        STATE.fingerprint_id,
        STATE.step_seq,
        STATE.last_step_seq,
        STATE.commit_version,
        STATE.settled_version,
        (func.coalesce(STATE.rows_written, 0) > 0).label("holds_rows"),
        STATE.executed_at,
    )
    place = func.row_number().over(partition_by=same, order_by=STATE.ord)
    each = (
        select(STATE.ord, *same, (STATE.ord - place).label("island"))
        .join(models, models.c.id == STATE.model_id)
        .where(models.c.name == bindparam("model"), ~WHOLE)
        .subquery()
    )
    kept = [each.c[column.name] for column in same]
    low, high = func.min(each.c.ord).label("low"), func.max(each.c.ord).label("high")
    return select(low, high, *kept).group_by(*kept, each.c.island).order_by(low)


_ISLANDS = _islands()  # built once: a look at a project asks it for every model


def _run(row: Row[Any]) -> PartitionRun:
    return PartitionRun(
        low=row.low,
        high=row.high,
        status=Status(row.status),
        fingerprint=row.fingerprint_id or 0,
        step_seq=row.step_seq or 0,
        last_step_seq=row.last_step_seq,
        commit_version=row.commit_version,
        settled_version=row.settled_version,
        holds_rows=bool(row.holds_rows),
        executed_at=row.executed_at,
    )
