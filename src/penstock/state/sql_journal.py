"""The journal in a database: every method is one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlalchemy import Connection, Row, and_, exists, select, update

from penstock.core.check_results import Checked
from penstock.core.errors import PlanOutdatedError
from penstock.core.records import Begun, Holder, Lease, Run, Status, StepRecord
from penstock.core.step import Intent, Outcome, StepFailure
from penstock.core.token import read_intent
from penstock.state import sql_lease
from penstock.state.lease import Request, lease_lost, step_ended
from penstock.state.partition_rules import RESHAPES
from penstock.state.parts import Parts, executed_by
from penstock.state.sql_check_journal import SqlCheckJournal
from penstock.state.sql_database import Database
from penstock.state.sql_end import write_failure, write_success
from penstock.state.sql_ending import End
from penstock.state.sql_rows import (
    find_step,
    insert_run,
    insert_step,
    keep_text,
    model_id,
    next_number,
    running_step,
    taken_lease,
)
from penstock.state.tables import leases, project, runs, steps
from penstock.state.verdict import read_verdict

StepRow = Row[tuple[object, ...]]


class SqlJournal(SqlCheckJournal):
    """Writes runs, steps and what they leave; `keep_copy` is called after a run that had steps."""

    def __init__(self, database: Database, parts: Parts, keep_copy: Callable[[], None]) -> None:
        super().__init__(database, parts)
        self._keep_copy = keep_copy

    def start_run(self, run: Run) -> None:
        """Write the run as RUNNING."""
        with self._database.write() as connection:
            insert_run(connection, replace(run, status=Status.RUNNING, ended=None))
            connection.execute(update(project).values(penstock=self._parts.identity.penstock))

    def end_run(self, run: str, status: Status, *, holds: bool = False) -> None:
        """Write how the run ended and release whatever it still holds, unless it `holds` on."""
        now = self._parts.clock.now()
        with self._database.write() as connection:
            connection.execute(
                update(runs).where(runs.c.id == run).values(ended=now, status=str(status))
            )
            if not holds:
                sql_lease.release_run(connection, run)
            had_steps = connection.scalar(select(steps.c.id).where(steps.c.run == run).limit(1))
        if had_steps is not None:
            self._keep_copy()

    def begin(
        self,
        intent: Intent,
        contents: Mapping[str, str],
        holder: Holder,
        planned_on: int | None,
        above: int = 0,
    ) -> Begun:
        """Take the target's lease and write the step as RUNNING, or do nothing at all.

        The step of a stale lease that is still written as RUNNING stays so: recover it first.
        Raises `LeaseHeldError`, and `PlanOutdatedError` when another run began a step of the
        model, whatever became of it, after `planned_on` (0: it never had one; None: do not
        compare).
        """
        with self._database.write() as connection:
            now = self._parts.clock.now()
            token = sql_lease.take(connection, self._request(intent, holder, now))
            _require_planned_on(connection, intent, planned_on)
            number = max(next_number(connection, steps.c.step_seq), above + 1)
            epoch = str(connection.scalar(select(project.c.epoch)))
            for checksum, text in contents.items():
                keep_text(connection, checksum, text)
            given = replace(intent, step_seq=number, epoch=epoch)
            record = StepRecord(given, Status.RUNNING, now, token)
            insert_step(connection, record, executed_by(holder))
        return Begun(number, token, epoch)

    def holds(self, step: str) -> bool:
        """Whether the step's run still owns the target with the token it was given.

        A lease that expired and that nobody took still is the run's.
        """
        with self._database.read() as connection:
            row = find_step(connection, step)
            return sql_lease.owns(connection, row.target, row.run, row.lease_token)

    def renew(self, run: str) -> None:
        """Push out the expiry of every lease the run still owns."""
        now = self._parts.clock.now()
        with self._database.write() as connection:
            connection.execute(
                update(leases)
                .where(leases.c.run == run)
                .values(heartbeat=now, expires=now + self._parts.lease.length)
            )

    def finish(self, step: str, outcome: Outcome, *, recovered: bool = False) -> None:
        """Write success: step, partitions, watermarks, history, lease.

        A failure that `record_checks` wrote makes the step FAILED, with its data on record. A step
        that was finished already stays as it is. Raises `LeaseLostError` when the lease is
        not the step's; `recovered` does not ask for the lease and raises `step-ended` for a
        step that failed.
        """
        with self._database.write() as connection:
            row = find_step(connection, step)
            if row.table_id is not None:
                return
            if recovered and row.status != Status.RUNNING:
                raise step_ended(step, row.status)
            if not recovered and (row.status != Status.RUNNING or not _owned(connection, row)):
                raise lease_lost(step, row.target)
            end = self._end(connection, row, recovered=recovered)
            end = replace(end, duration_ms=outcome.duration_ms)
            write_success(connection, end, outcome)
            sql_lease.release_after(connection, row.target, row.run, row.lease_token)
            self._parts.fault("during-finish")

    def fail(self, step: str, failure: StepFailure, *, recovered: bool = False) -> None:
        """Write failure: status and history; what the last success left stays.

        A step that ended already stays as it ended.
        """
        with self._database.write() as connection:
            row = find_step(connection, step)
            if row.status != Status.RUNNING:
                return
            end = self._end(connection, row, recovered=recovered)
            write_failure(connection, end, failure)
            sql_lease.release_after(connection, row.target, row.run, row.lease_token)

    def reject(
        self, intent: Intent, failure: StepFailure, holder: Holder, checked: Checked | None = None
    ) -> None:
        """Write a step that failed before it began, without a lease.

        With `checked` it is SKIPPED, because a gate before it failed; its partitions are FAILED.
        """
        with self._database.write() as connection:
            now = self._parts.clock.now()
            given = replace(intent, step_seq=next_number(connection, steps.c.step_seq))
            insert_step(connection, StepRecord(given, Status.RUNNING, now), executed_by(holder))
            row = find_step(connection, intent.step)
            if checked is not None:
                self._record(connection, row, checked)
            end = self._end(connection, row, recovered=False)
            write_failure(connection, replace(end, skipped=checked is not None), failure)

    def running(self) -> tuple[StepRecord, ...]:
        """Give the steps that are written as RUNNING, in the order they began."""
        query = select(steps).where(steps.c.status == str(Status.RUNNING))
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(steps.c.step_seq))
            return tuple(running_step(row) for row in rows)

    def leases(self) -> tuple[Lease, ...]:
        """Give the leases that are taken, expired ones too, by target."""
        query = select(leases).where(leases.c.run.is_not(None)).order_by(leases.c.target)
        with self._database.read() as connection:
            return tuple(taken_lease(row) for row in connection.execute(query))

    def unlock(self, target: str) -> bool:
        """Drop the lease of a target, whoever holds it; False if nobody does."""
        with self._database.write() as connection:
            return sql_lease.drop(connection, target)

    def _request(self, intent: Intent, holder: Holder, now: dt.datetime) -> Request:
        return Request(
            str(intent.table), holder, now, self._parts.lease.length, self._parts.is_gone
        )

    def _end(self, connection: Connection, row: StepRow, *, recovered: bool) -> End:
        now = self._parts.clock.now()
        intent = read_intent(row.intent)
        last = connection.scalar(
            select(steps.c.step_seq)
            .where(steps.c.model_id == row.model_id, steps.c.status != str(Status.RUNNING))
            .where(~and_(steps.c.run == row.run, steps.c.kind.in_([str(k) for k in RESHAPES])))
            .order_by(steps.c.step_seq.desc())
            .limit(1)
        )
        return End(
            intent=intent,
            at=now,
            duration_ms=max(0, (now - row.started) // dt.timedelta(milliseconds=1)),
            executed_by=row.executed_by,
            new_id=self._parts.clock.new_id,
            recovered=recovered,
            settles=last is None or last <= intent.step_seq,
            verdict=read_verdict(row.checked) if row.checked else None,
            undone=row.undone_by is not None,
        )


def _owned(connection: Connection, row: StepRow) -> bool:
    return sql_lease.owns(connection, row.target, row.run, row.lease_token)


def _require_planned_on(connection: Connection, intent: Intent, planned_on: int | None) -> None:
    if planned_on is None:
        return
    number = model_id(connection, intent.model)
    later = exists().where(
        steps.c.model_id == number, steps.c.step_seq > planned_on, steps.c.run != intent.run
    )
    if connection.scalar(select(later)):
        raise PlanOutdatedError(str(intent.table))
