"""The journal of a store: which events are allowed, and the transition that applies them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy import Connection, insert, select, update

from penstock.core.check_results import Checked, Flag, InvariantReport
from penstock.core.errors import LeaseLostError, PlanOutdatedError, StateError
from penstock.core.masking import mask
from penstock.core.model import Fingerprint
from penstock.core.ports.ports import RebuiltStep
from penstock.core.records import Begun, Holder, Lease, Run, Status, StepRecord
from penstock.core.steps.step import Intent, Outcome, StepFailure
from penstock.state.lease import StoreContext, grant
from penstock.state.schema import contents, leases, models, project, runs, steps
from penstock.state.sql.database import Database, put
from penstock.state.sql.load import load
from penstock.state.sql.package_rows import change_package, keep_promise
from penstock.state.sql.rows import FREE, LEASE, cells_of, lease_of, step_of
from penstock.state.sql.save import RowChanges
from penstock.state.transitions.model_state import (
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
    StoredStep,
)
from penstock.state.transitions.packages import PackageEvent, PackageState
from penstock.state.transitions.transition import apply

_RUN = ("id", "command", "arguments", "target", "run_timestamp", "started", "ended")
_HOLDER = ("host", "user", "pid")


class Transactions:
    """Provides the transactions of a database."""

    def __init__(self, database: Database, context: StoreContext) -> None:
        self._database = database
        self.context = context

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a read-only transaction."""
        with self._database.read() as connection:
            yield Transaction(connection, self.context)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Open a transaction that writes: one at a time, others wait."""
        with self._database.write() as connection:
            yield Transaction(connection, self.context)


class Transaction:
    """The reads and writes of one atomic transaction, and its time `now`."""

    def __init__(self, connection: Connection, context: StoreContext) -> None:
        self._connection = connection
        self._context = context
        self.now = context.clock.now()

    def happen(self, model: str, event: Event) -> None:
        """Write the changes of an event to a model's records."""
        before = load(self._connection, model, event)
        after, new_id = apply(before, event), self._context.clock.new_id
        RowChanges(self._connection, before, after, new_id).write()
        if isinstance(event, Finished):
            keep_promise(self._connection, after.steps[event.step_seq], event.at)

    def happen_in(self, package: str, event: PackageEvent) -> PackageState:
        """Write the changes of an event to a package's records; return the records."""
        return change_package(self._connection, package, event)

    def find(self, step: str | int) -> StoredStep | None:
        """Return a step by its id or number; None if it never began here."""
        which = steps.c.id if isinstance(step, str) else steps.c.step_seq
        row = self._connection.execute(select(steps).where(which == step)).first()
        return None if row is None else step_of(row)

    def running(self) -> Sequence[StoredStep]:
        """Return the steps recorded as RUNNING, in the order they began."""
        query = select(steps).where(steps.c.status == Status.RUNNING)
        rows = self._connection.execute(query.order_by(steps.c.step_seq))
        return [step_of(row) for row in rows]

    def last_number(self, model: str = "", besides: str = "") -> int:
        """Return the greatest step number, of a model without those of a run; 0 if none."""
        query = select(steps.c.step_seq).order_by(steps.c.step_seq.desc()).limit(1)
        if model:
            query = query.join(models, models.c.id == steps.c.model_id)
            query = query.where(models.c.name == model, steps.c.run != besides)
        return self._connection.scalar(query) or 0

    def lease(self, target: str) -> tuple[Lease | None, int]:
        """Return the holder of a target, and its last token, 0 without one."""
        query = select(leases).where(leases.c.target == target)
        row = self._connection.execute(query).first()
        if row is None:
            return None, 0
        return None if row.run is None else lease_of(row), row.token

    def leases(self) -> Sequence[Lease]:
        """Return the leases that are held, including expired ones, by target."""
        query = select(leases).where(leases.c.run.is_not(None)).order_by(leases.c.target)
        return [lease_of(row) for row in self._connection.execute(query)]

    def put_lease(self, target: str, lease: Lease | None) -> None:
        """Write the holder of a target; None frees it, its last token stays."""
        if lease is not None:
            put(self._connection, leases, [cells_of(lease, LEASE)])
            return
        row = leases.c.target == target
        self._connection.execute(update(leases).where(row).values(FREE))

    def write_run(self, run: Run) -> None:
        """Write a run, and the version of penstock that runs it."""
        penstock = self._context.identity.penstock
        cells = {**cells_of(run, _RUN), **cells_of(run.holder, _HOLDER), "status": run.status}
        put(self._connection, runs, [cells])
        self._connection.execute(update(project).values(penstock=penstock))

    def end_run(self, run: str, status: Status) -> bool:
        """Write how a run ended, if it is on record; return whether it had steps."""
        values = {"ended": self.now, "status": status}
        self._connection.execute(update(runs).where(runs.c.id == run).values(values))
        query = select(steps.c.id).where(steps.c.run == run).limit(1)
        return self._connection.scalar(query) is not None

    def keep_texts(self, texts: Mapping[str, str], fingerprint: Fingerprint) -> None:
        """Store texts by the checksums of their unmasked form, unless they exist already.

        Code is for display and is stored without secrets; a schema is read again. For code with a
        secret, the canonical form, which may split the secret, is not stored at all.
        """
        known, code = select(contents.c.hash), texts.get(fingerprint.sql, "")
        hidden = {fingerprint.canonical} - {fingerprint.sql} if mask(code) != code else ()
        for checksum, text in texts.items():
            if checksum in hidden:
                continue
            if self._connection.scalar(known.where(contents.c.hash == checksum)) is None:
                shown = text if checksum == fingerprint.schema else mask(text)
                self._connection.execute(insert(contents).values(hash=checksum, text=shown))

    @property
    def epoch(self) -> str:
        """The epoch of the store."""
        return str(self._connection.scalar(select(project.c.epoch)))

    @epoch.setter
    def epoch(self, drawn: str) -> None:
        self._connection.execute(update(project).values(epoch=drawn))


class StoreJournal:
    """Writes runs, steps and checks; `after_run` is called after a run that had steps."""

    def __init__(self, transactions: Transactions, after_run: Callable[[], None]) -> None:
        self._transactions = transactions
        self._context = transactions.context
        self._after_run = after_run

    def start_run(self, run: Run) -> None:
        """Write the run as RUNNING; writing it twice has the same effect as once."""
        with self._transactions.write() as tables:
            tables.write_run(replace(run, status=Status.RUNNING, ended=None))

    def end_run(self, run: str, status: Status, *, holds: bool = False) -> None:
        """Write how the run ended and release its leases, unless it `holds` them."""
        with self._transactions.write() as tables:
            had_steps = tables.end_run(run, status)
            for lease in () if holds else tables.leases():
                if lease.run == run:
                    tables.put_lease(lease.target, None)
        if had_steps:
            self._after_run()

    def begin(
        self,
        intent: Intent,
        contents: Mapping[str, str],
        holder: Holder,
        planned_on: int | None,
        above: int = 0,
    ) -> Begun:
        """Take the lease and write the step as RUNNING; a stale lease's step stays RUNNING.

        The plan is outdated if another run began a step of the model after `planned_on`, 0 for
        none. A step that has begun is returned unchanged, and is lost if it was given up since.
        """
        with self._transactions.write() as tables:
            if (found := tables.find(intent.step)) is not None:
                _require_owned(tables, found)
                return Begun(found.seq, found.lease_token, found.intent.epoch)
            target = str(intent.table)
            lease = grant(self._context, target, holder, *tables.lease(target))
            tables.put_lease(target, lease)
            last = 0 if planned_on is None else tables.last_number(intent.model, besides=intent.run)
            if planned_on is not None and last > planned_on:
                raise PlanOutdatedError(target)
            number, epoch = max(tables.last_number(), above) + 1, tables.epoch
            tables.keep_texts(contents, intent.fingerprint)
            given = replace(intent, step_seq=number, epoch=epoch)
            began = Began(given, tables.now, executed_by(holder), lease.token)
            tables.happen(given.model, began)
        return Begun(number, lease.token, epoch)

    def finish(self, step: str, outcome: Outcome, *, recovered: bool = False) -> None:
        """Write success; a step that was finished already stays unchanged.

        `recovered` does not check the lease, and raises `step-ended` for a failed step.
        """
        with self._transactions.write() as tables:
            found = find_step(tables, step)
            if found.outcome is not None:
                return
            if recovered and found.status is not Status.RUNNING:
                raise StateError(
                    "step-ended",
                    f"step {step} already ended as {found.status}",
                    hint="plan again: the record of the step stays as it is",
                )
            if not recovered:
                _require_owned(tables, found)
            tables.happen(found.intent.model, Finished(found.seq, tables.now, outcome, recovered))
            _release_after(tables, found)
            self._context.fault("during-finish")

    def fail(self, step: str, failure: StepFailure, *, recovered: bool = False) -> None:
        """Write failure; a step that ended already stays unchanged."""
        with self._transactions.write() as tables:
            found = find_step(tables, step)
            if found.status is Status.RUNNING:
                tables.happen(found.intent.model, Failed(found.seq, tables.now, failure, recovered))
                _release_after(tables, found)

    def reject(
        self, intent: Intent, failure: StepFailure, holder: Holder, checked: Checked | None = None
    ) -> None:
        """Write a step that failed before it began; with `checked`, because a gate failed."""
        with self._transactions.write() as tables:
            if tables.find(intent.step) is not None:  # the answer to it was lost
                return
            now, number, model = tables.now, tables.last_number() + 1, intent.model
            given = replace(intent, step_seq=number)
            tables.happen(model, Began(given, now, executed_by(holder)))
            if checked is not None:
                tables.happen(model, ChecksRecorded(number, now, checked))
            tables.happen(model, Failed(number, now, failure, skipped=checked is not None))

    def running(self) -> tuple[StepRecord, ...]:
        """Return the steps recorded as RUNNING, in the order they began."""
        with self._transactions.read() as tables:
            return tuple(step.record for step in tables.running())

    def record_checks(self, step: str, checked: Checked) -> None:
        """Record the check results of a running step; `finish` and `fail` follow them."""
        with self._transactions.write() as tables:
            found = find_step(tables, step)
            _require_owned(tables, found)
            tables.happen(found.intent.model, ChecksRecorded(found.seq, tables.now, checked))

    def settle_checks(self, step: str, checked: Checked) -> None:
        """Record the checks of a step that ended while they were pending."""
        with self._transactions.write() as tables:
            found = find_step(tables, step)
            tables.happen(found.intent.model, ChecksSettled(found.seq, tables.now, checked))

    def note_checks(
        self,
        run: str,
        model: str,
        report: InvariantReport,
        partitions: tuple[str, ...],
        version: int | None,
    ) -> None:
        """Record the results of `penstock check`, which belong to no step."""
        with self._transactions.write() as tables:
            tables.happen(model, ChecksNoted(run, tables.now, report, partitions, version))

    def close_flags(self, flags: Sequence[Flag], why: str, who: str) -> None:
        """Close open flags; a partition that failed only because of them is SUCCESS again."""
        with self._transactions.write() as tables:
            for model in dict.fromkeys(flag.model for flag in flags):
                keys = tuple((flag.step_seq, flag.ord) for flag in flags if flag.model == model)
                tables.happen(model, FlagsClosed(keys, tables.now, why, who))

    def forget_quarantine(self, step: str) -> None:
        """Record that the quarantined rows of a step are gone."""
        with self._transactions.write() as tables:
            found = tables.find(step)
            if found is not None:
                tables.happen(found.intent.model, QuarantineDropped(found.seq, tables.now))


class StoreLeases:
    """Grants, releases and returns the leases of targets."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._context = transactions.context

    def holds(self, step: str) -> bool:
        """Return whether the run owns the target; an expired lease counts until it is retaken."""
        with self._transactions.read() as tables:
            return _owns(tables, find_step(tables, step))

    def renew(self, run: str) -> None:
        """Extend the expiry of every lease that the run still owns."""
        with self._transactions.write() as tables:
            now = tables.now
            for lease in tables.leases():
                if lease.run == run:
                    expires = now + self._context.lease.length
                    tables.put_lease(lease.target, replace(lease, heartbeat=now, expires=expires))

    def taken(self) -> tuple[Lease, ...]:
        """Return the leases that are held, including expired ones, by target."""
        with self._transactions.read() as tables:
            return tuple(tables.leases())

    def unlock(self, target: str, token: int | None = None) -> bool:
        """See `Leases.unlock`."""
        with self._transactions.write() as tables:
            held, _ = tables.lease(target)
            if drops := held is not None and token in (None, held.token):
                tables.put_lease(target, None)
            return drops


def rebuild(tables: Transaction, steps: Sequence[RebuiltStep], epoch: str) -> None:
    """Write steps that exist only in the logs, those of a table in the order of its versions.

    They keep their numbers; if another step has the number, they get a new one above all. Steps
    older than a recorded success are only added to the history.
    """
    tables.epoch = epoch
    free = max([tables.last_number(), *(step.intent.step_seq for step in steps)]) + 1
    for step in steps:
        known, model = tables.find(step.intent.step), step.intent.model
        if known is not None:
            if known.status is Status.RUNNING or known.outcome is not None:
                continue
            tables.happen(known.intent.model, GivenUp(known.seq))
        number = step.intent.step_seq
        if number < 1 or tables.find(number) is not None:
            number, free = free, free + 1
        began = step.ended - dt.timedelta(milliseconds=step.outcome.duration_ms)
        tables.happen(model, Began(replace(step.intent, step_seq=number), began))
        ended = Finished(number, step.ended, step.outcome, of_log=True, new_table=step.new_table)
        tables.happen(model, ended)


def find_step(tables: Transaction, step: str) -> StoredStep:
    """Return a step by its id; raise `unknown-step` if it never began."""
    found = tables.find(step)
    if found is None:
        raise StateError("unknown-step", f"no step has the id {step!r}")
    return found


def executed_by(holder: Holder) -> str:
    """Return the history's name of a process."""
    return f"{holder.user}@{holder.host}"


def _owns(tables: Transaction, step: StoredStep) -> bool:
    held, _ = tables.lease(step.target)
    return held is not None and (held.run, held.token) == (step.intent.run, step.lease_token)


def _require_owned(tables: Transaction, step: StoredStep) -> None:
    name = step.intent.step
    if step.status is not Status.RUNNING or not _owns(tables, step):
        raise LeaseLostError(
            "lease-lost",
            f"step {name} no longer owns {step.target}: its lease lapsed or was dropped",
            hint="penstock recover determines the result of the step",
        )


def _release_after(tables: Transaction, step: StoredStep) -> None:
    """Free the step's target unless the lease is not its own, or another step still writes it."""
    busy = any(
        (other.target, other.intent.run) == (step.target, step.intent.run)
        for other in tables.running()
    )
    if _owns(tables, step) and not busy:
        tables.put_lease(step.target, None)
