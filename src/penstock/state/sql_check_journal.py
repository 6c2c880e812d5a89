"""Writing what checks said, in a database: every method is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, Row, select, update

from penstock.core.check_results import Checked, Flag, InvariantReport
from penstock.core.checks import OnFailure
from penstock.core.partition import read_grid
from penstock.core.ranges import Ranges, holds, intersection
from penstock.core.records import Status
from penstock.core.token import read_intent
from penstock.state import sql_flags, sql_lease
from penstock.state.check_rules import Asked, records_of
from penstock.state.flag_rules import Key
from penstock.state.lease import lease_lost
from penstock.state.parts import Parts
from penstock.state.sql_checks import insert_quarantine, insert_results, write_decided
from penstock.state.sql_database import Database
from penstock.state.sql_ending import End, Ending, Told, append_history
from penstock.state.sql_rows import failure_cells, find_step, fingerprint_id, model_id
from penstock.state.tables import (
    execution_history,
    flags,
    models,
    partition_state,
    quarantines,
    steps,
)
from penstock.state.verdict import RecordedChecks, read_numbers, read_verdict

StepRow = Row[tuple[object, ...]]


class SqlCheckJournal:
    """Writes what checks said and what follows from it."""

    def __init__(self, database: Database, parts: Parts) -> None:
        self._database = database
        self._parts = parts

    def record_checks(self, step: str, checked: Checked) -> None:
        """Write what the checks of a running step said; `finish` and `fail` go by it."""
        with self._database.write() as connection:
            row = find_step(connection, step)
            owned = sql_lease.owns(connection, row.target, row.run, row.lease_token)
            if row.status != Status.RUNNING or not owned:
                raise lease_lost(step, row.target)
            if row.checked is None:
                self._record(connection, row, checked)

    def settle_checks(self, step: str, checked: Checked) -> None:
        """Write the checks of a step that ended while they were pending."""
        with self._database.write() as connection:
            row = find_step(connection, step)
            if row.checked is not None:
                if checked.mode is not OnFailure.ROLLBACK:
                    _let_stay(connection, row)
            elif row.pending is not None and row.undone_by is None:
                left = intersection(checked.failed, read_numbers(row.pending))
                verdict = self._record(connection, row, replace(checked, failed=left))
                settled = steps.c.step_seq == row.step_seq
                connection.execute(update(steps).where(settled).values(pending=None))
                self._fail_late(connection, row, verdict)

    def note_checks(
        self,
        run: str,
        model: str,
        report: InvariantReport,
        partitions: tuple[str, ...],
        version: int | None,
    ) -> None:
        """Write what `penstock check` found, of no step."""
        with self._database.write() as connection:
            number = model_id(connection, model)
            grid = connection.scalar(select(models.c.grid).where(models.c.id == number))
            asked = Asked(model, run, partitions, read_grid(grid or "*"))
            records = records_of(asked, report, version, self._parts.clock.now())
            insert_results(connection, number, None, records)

    def close_flags(self, flags: Sequence[Flag], why: str, who: str) -> None:
        """Close open flags; a partition that failed only by them is SUCCESS again."""
        with self._database.write() as connection:
            keys = _open_of(connection, flags)
            closing = sql_flags.Closing(self._parts.clock.now(), why, who)
            sql_flags.close(connection, keys, closing)
            sql_flags.forgive(connection, keys)

    def forget_quarantine(self, step: str) -> None:
        """Write that the rows that a step had kept are gone."""
        kept = quarantines.c
        of_step = select(steps.c.step_seq).where(steps.c.id == step).scalar_subquery()
        with self._database.write() as connection:
            connection.execute(
                update(quarantines)
                .where(kept.step_seq == of_step, kept.dropped.is_(None))
                .values(dropped=self._parts.clock.now())
            )

    def _record(self, connection: Connection, row: StepRow, checked: Checked) -> RecordedChecks:
        intent = read_intent(row.intent)
        verdict = RecordedChecks.of(checked, intent)
        write_decided(connection, row.step_seq, verdict)
        now = self._parts.clock.now()
        records = records_of(Asked.by(intent), checked.report, checked.version, now)
        insert_results(connection, row.model_id, row.step_seq, records)
        if checked.quarantine is not None:
            insert_quarantine(connection, row.model_id, row.step_seq, checked.quarantine)
        return verdict

    def _fail_late(self, connection: Connection, row: StepRow, verdict: RecordedChecks) -> None:
        """Make an ended step FAILED, with the partitions whose rows are still its own."""
        failure = verdict.failure
        if failure is None:
            return
        values = {"status": str(Status.FAILED), **failure_cells(failure)}
        connection.execute(update(steps).where(steps.c.step_seq == row.step_seq).values(values))
        intent = read_intent(row.intent)
        end = End(
            intent=intent,
            at=self._parts.clock.now(),
            duration_ms=row.duration_ms,
            executed_by=row.executed_by,
            new_id=self._parts.clock.new_id,
            recovered=True,
            verdict=verdict,
        )
        mark = fingerprint_id(connection, row.model_id, intent.fingerprint)
        ending = Ending(connection, end, row.model_id, mark)
        append_history(ending, _told(connection, row, verdict.failed), failure)
        _fail_records(ending)
        sql_flags.open_flags(ending, verdict.failed)


def _let_stay(connection: Connection, row: StepRow) -> None:
    """Write that rows of which a rollback is due stay, flagged."""
    verdict = read_verdict(row.checked)
    if row.status == Status.FAILED and verdict.mode is OnFailure.ROLLBACK:
        write_decided(connection, row.step_seq, replace(verdict, mode=OnFailure.FLAG))


def _told(connection: Connection, row: StepRow, failed: Ranges) -> list[Told]:
    """Give what the step wrote to the partitions that failed."""
    history = execution_history.c
    query = (
        select(history.ord, history.partition, history.rows_written, history.bytes_written)
        .where(history.model_id == row.model_id, history.step_seq == row.step_seq)
        .order_by(history.ord)
    )
    return [Told(*cells) for cells in connection.execute(query) if holds(failed, cells[0])]


def _fail_records(ending: Ending) -> None:
    state = partition_state.c
    for low, high in ending.failing:
        ending.connection.execute(
            update(partition_state)
            .where(
                state.model_id == ending.model,
                state.ord.between(low, high),
                state.step_seq == ending.seq,
            )
            .values(status=str(Status.FAILED))
        )


def _open_of(connection: Connection, wanted: Sequence[Flag]) -> list[Key]:
    """Give those of the flags that are open."""
    query = select(flags.c.step_seq, flags.c.ord).where(flags.c.closed.is_(None))
    is_open = {(step_seq, number) for step_seq, number in connection.execute(query)}
    return [(flag.step_seq, flag.ord) for flag in wanted if (flag.step_seq, flag.ord) in is_open]
