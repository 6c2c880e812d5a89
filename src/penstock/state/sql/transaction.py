"""One transaction on the rows of a store: the only writer of events, steps, runs and leases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from sqlalchemy import Connection, insert, select, update

from penstock.core.masking import mask
from penstock.core.model import Fingerprint
from penstock.core.records import HookRecord, Lease, Run, Status
from penstock.state.lease import StoreContext
from penstock.state.schema import (
    contents,
    leases,
    models,
    project,
    runs,
    steps,
)
from penstock.state.sql.database import Database, put, server_time
from penstock.state.sql.load import load
from penstock.state.sql.package_rows import change_package, keep_promise
from penstock.state.sql.rows import (
    FREE,
    LEASE,
    cells_of,
    hook_cells,
    hook_results,
    lease_of,
    step_of,
)
from penstock.state.sql.save import RowChanges
from penstock.state.transitions.model_state import Event, Finished, StoredStep
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


class LeaseRows:
    """The leases of a store, by our clock.

    They are stored by the clock of the database's server, which all machines share.
    """

    def __init__(self, connection: Connection, context: StoreContext) -> None:
        self._connection, self._context = connection, context

    @cached_property
    def ahead(self) -> dt.timedelta:
        """How far the server's clock is ahead of ours; 0 for a file."""
        if not self._context.server_clock:
            return dt.timedelta()
        there = server_time(self._connection)
        return dt.timedelta() if there is None else there - self._context.clock.now()

    def of(self, target: str) -> tuple[Lease | None, int]:
        """Return the holder of a target, and its last token, 0 without one."""
        query = select(leases).where(leases.c.target == target)
        row = self._connection.execute(query).first()
        if row is None:
            return None, 0
        return None if row.run is None else _moved(lease_of(row), -self.ahead), row.token

    def owner(self, target: str) -> tuple[str | None, int] | None:
        """Return the run that holds a target, None if it is free, and the last token."""
        query = select(leases.c.run, leases.c.token).where(leases.c.target == target)
        row = self._connection.execute(query).first()
        return None if row is None else (row.run, row.token)

    def all_held(self) -> Sequence[Lease]:
        """Return the leases that are held, including expired ones, by target."""
        query = select(leases).where(leases.c.run.is_not(None)).order_by(leases.c.target)
        found = [lease_of(row) for row in self._connection.execute(query)]
        return [_moved(each, -self.ahead) for each in found]

    def put(self, target: str, lease: Lease | None) -> None:
        """Write the holder of a target; None frees it, its last token stays."""
        if lease is not None:
            put(self._connection, leases, [cells_of(_moved(lease, self.ahead), LEASE)])
            return
        row = leases.c.target == target
        self._connection.execute(update(leases).where(row).values(FREE))


class Transaction:
    """The reads and writes of one atomic transaction, and its time `now`."""

    def __init__(self, connection: Connection, context: StoreContext) -> None:
        self._connection = connection
        self._context = context
        self.now = context.clock.now()

        self.leases = LeaseRows(connection, context)

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

    def put_hooks(self, hooks: Sequence[HookRecord]) -> None:
        """Write hooks; each replaces its earlier record."""
        put(self._connection, hook_results, [hook_cells(each) for each in hooks])

    def has_hooks(self, step: str) -> bool:
        """Return whether a hook of a step is still to run."""
        hook = hook_results.c
        query = select(hook.step).where(hook.step == step, hook.status == Status.RUNNING)
        return self._connection.execute(query.limit(1)).first() is not None

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


def _moved(lease: Lease, by: dt.timedelta) -> Lease:
    """Return a lease by another clock."""
    return replace(
        lease,
        acquired=lease.acquired + by,
        heartbeat=lease.heartbeat + by,
        expires=lease.expires + by,
    )
