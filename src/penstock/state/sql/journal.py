"""The journal of a store: which events are allowed, the transition that applies them, what ran."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import ColumnElement, Select, func, select

from penstock.core.check_results import Checked, Flag, InvariantReport, Quarantine
from penstock.core.errors import LeaseLostError, PlanOutdatedError, StateError
from penstock.core.ports.ports import RebuiltStep
from penstock.core.records import (
    Begun,
    Holder,
    HookRecord,
    Lease,
    PartitionCounts,
    Run,
    Status,
    StepRecord,
)
from penstock.core.steps.step import Intent, Outcome, StepFailure
from penstock.state.columns import Value, stored
from penstock.state.lease import grant
from penstock.state.schema import models, runs, steps
from penstock.state.sql.database import Database, batched
from penstock.state.sql.model_records import settled_versions, written_counts
from penstock.state.sql.rows import (
    Found,
    cells_of,
    due_hooks,
    hook_of,
    hook_results,
    last_grants,
    step_of,
)
from penstock.state.sql.transaction import Transaction, Transactions
from penstock.state.transitions.model_state import (
    Began,
    ChecksNoted,
    ChecksRecorded,
    ChecksSettled,
    Failed,
    Finished,
    FlagsClosed,
    GivenUp,
    QuarantineDropped,
    QuarantineKept,
    StoredStep,
)

_INTENT = cast("Value", steps.c.intent.type)
_PROMISES = ("window", "watermark")
_RUN = ("id", "command", "arguments", "target", "run_timestamp", "started", "ended", "status")


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
            for lease in () if holds else tables.leases.all_held():
                if lease.run == run:
                    tables.leases.put(lease.target, None)
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
            lease = grant(self._context, target, holder, *tables.leases.of(target))
            tables.leases.put(target, lease)
            last = 0 if planned_on is None else tables.last_number(intent.model, besides=intent.run)
            if planned_on is not None and last > planned_on:
                raise PlanOutdatedError(target)
            number, epoch = max(tables.last_number(), above) + 1, tables.epoch
            tables.keep_texts(contents, intent.fingerprint)
            given, model = replace(intent, step_seq=number, epoch=epoch), intent.model
            tables.happen(model, Began(given, tables.now, holder.executor, lease.token))
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
            _release_after(tables, found, keeps=not recovered and tables.has_hooks(step))
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
            tables.happen(model, Began(replace(intent, step_seq=number), now, holder.executor))
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

    def keep_quarantine(self, step: str, quarantine: Quarantine | None) -> None:
        """Record where a running step keeps records, or with None that they are gone."""
        with self._transactions.write() as tables:
            found = find_step(tables, step) if quarantine else tables.find(step)
            if found and quarantine:
                _require_owned(tables, found)
            if found:
                kept = quarantine and QuarantineKept(found.seq, quarantine)
                tables.happen(found.intent.model, kept or QuarantineDropped(found.seq, tables.now))


class StoreHooks:
    """Writes and reads hooks."""

    def __init__(self, database: Database, transactions: Transactions) -> None:
        self._database = database
        self._transactions = transactions

    def note(self, hooks: Sequence[HookRecord]) -> None:
        """Write hooks; once none of its step is to run, the step's target is free."""
        with self._transactions.write() as tables:
            tables.put_hooks(hooks)
            for name in dict.fromkeys(each.step for each in hooks if each.step):
                step = tables.find(name)
                if step is not None and step.status is not Status.RUNNING:
                    _release_after(tables, step, keeps=tables.has_hooks(name))

    def due(self) -> tuple[HookRecord, ...]:
        """See `HookRecords.due`."""
        with self._database.read() as connection:
            return tuple(map(hook_of, connection.execute(due_hooks())))

    def of_run(self, run: str) -> tuple[HookRecord, ...]:
        """See `HookRecords.of_run`."""
        hook = hook_results.c
        query = select(hook_results).where(hook.run == run)
        query = query.order_by(hook.started, hook.step, hook.moment, hook.number)
        with self._database.read() as connection:
            return tuple(map(hook_of, connection.execute(query)))

    def granted(self) -> Mapping[str, HookRecord]:
        """See `HookRecords.granted`."""
        with self._database.read() as connection:
            found = map(hook_of, connection.execute(last_grants()))
            return {each.model: each for each in found}


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
            for lease in tables.leases.all_held():
                if lease.run == run:
                    expires = now + self._context.lease.length
                    tables.leases.put(lease.target, replace(lease, heartbeat=now, expires=expires))

    def taken(self) -> tuple[Lease, ...]:
        """Return the leases that are held, including expired ones, by target."""
        with self._transactions.read() as tables:
            return tuple(tables.leases.all_held())

    def clock_skew(self) -> dt.timedelta:
        """See `Leases.clock_skew`."""
        with self._transactions.read() as tables:
            return tables.leases.ahead

    def unlock(self, target: str, token: int | None = None) -> bool:
        """See `Leases.unlock`."""
        with self._transactions.write() as tables:
            held, _ = tables.leases.of(target)
            if drops := held is not None and token in (None, held.token):
                tables.leases.put(target, None)
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


def _owns(tables: Transaction, step: StoredStep) -> bool:
    return tables.leases.owner(step.target) == (step.intent.run, step.lease_token)


def _require_owned(tables: Transaction, step: StoredStep) -> None:
    name = step.intent.step
    if step.status is not Status.RUNNING or not _owns(tables, step):
        raise LeaseLostError(
            "lease-lost",
            f"step {name} no longer owns {step.target}: its lease lapsed or was dropped",
            hint="penstock recover determines the result of the step",
        )


def _release_after(tables: Transaction, step: StoredStep, *, keeps: bool = False) -> None:
    """Free the step's target unless the lease is not its own, or it is still in use.

    Another step may write it; with `keeps` a hook of this one is still to run.
    """
    busy = any(
        (other.target, other.intent.run) == (step.target, step.intent.run)
        for other in tables.running()
    )
    if _owns(tables, step) and not busy and not keeps:
        tables.leases.put(step.target, None)


class SqlRuns:
    """Reads runs and their steps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def latest_runs(self, limit: int) -> tuple[Run, ...]:
        """See `RunRecords.latest_runs`; their ids sort by their beginnings."""
        query = select(runs).order_by(runs.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(_run(row) for row in connection.execute(query))

    def steps_of(
        self,
        names: Collection[str],
        latest: int,
        ran: Collection[str] = (),
        numbers: Collection[int] = (),
    ) -> tuple[StepRecord, ...]:
        """See `RunRecords.steps_of`; a number costs little to read, a step much."""
        place = func.row_number().over(
            partition_by=steps.c.model_id, order_by=steps.c.step_seq.desc()
        )
        placed = select(steps.c.step_seq, steps.c.model_id, place.label("place")).subquery()
        newest = select(placed.c.step_seq).where(placed.c.place <= latest)
        newest = newest.join(models, models.c.id == placed.c.model_id)
        of_runs = select(steps.c.step_seq)
        found = {*numbers}
        found |= {row.step_seq for row in self._rows(newest, models.c.name, sorted(names))}
        found |= {row.step_seq for row in self._rows(of_runs, steps.c.run, sorted(ran))}
        cells = [stored(each) if each is steps.c.intent else each for each in steps.c]
        rows = self._rows(select(*cells), steps.c.step_seq, sorted(found))
        with self._database.read():  # which words what cannot be read
            return tuple(step_of(row, _shown_intent(row.intent)).record for row in rows)

    def written(self, names: Collection[str]) -> Mapping[str, PartitionCounts]:
        """Return what steps wrote to the partitions of each model that has some."""
        with self._database.read() as connection:
            return dict(written_counts(connection, names))

    def settled(self) -> Mapping[str, int | None]:
        """Return the newest version of each model's table that its steps settled."""
        with self._database.read() as connection:
            return settled_versions(connection)

    def _rows(
        self, query: Select[Any], column: ColumnElement[Any], values: Sequence[Any]
    ) -> list[Found]:
        with self._database.read() as connection:
            parts = [query.where(column.in_(part)) for part in batched(values)]
            found = [row for part in parts for row in connection.execute(part)]
        return sorted(found, key=lambda row: row.step_seq)


def _shown_intent(cell: str) -> Intent:
    """Return an intent without what takes half of the time to read."""
    document = {key: part for key, part in json.loads(cell).items() if key not in _PROMISES}
    found: Intent = _INTENT.form.read(document)
    return found


def _run(row: Found) -> Run:
    holder = Holder(row.id, row.host, row.pid, row.user)
    return Run(**cells_of(row, _RUN), holder=holder)
