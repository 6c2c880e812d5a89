"""Records in a database: reading is set-based, whatever the number of models."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Row, select

from penstock.core.records import Execution, ModelRecord, Status, StepRecord, WatermarkChange
from penstock.state.schema import (
    contents,
    execution_history,
    fingerprints,
    models,
    steps,
    watermarks,
)
from penstock.state.sql.database import batched
from penstock.state.sql.model_records import model_records
from penstock.state.sql.partition_records import SqlPartitionRecords
from penstock.state.sql.rows import (
    FINGERPRINT_COLUMNS,
    ended_step,
    failure_of,
    fingerprint_of,
    insert_watermark,
    watermark_of,
)

Found = Row[tuple[object, ...]]


class SqlRecords(SqlPartitionRecords):
    """Reads what is remembered, and sets watermarks by hand."""

    def models(self) -> Mapping[str, ModelRecord]:
        """Give the record of every model that ever ended a step: few queries, one state.

        Of a model that has partitions it is a sum: its last step, its newest build that was not
        rolled back, the greatest versions of any partition.
        """
        with self._database.read() as connection:
            return model_records(connection)

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
