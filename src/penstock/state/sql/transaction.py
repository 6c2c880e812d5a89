"""One transaction of a database: what the journal reads and writes in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, insert, select, update

from penstock.core.records import Lease, Run, Status
from penstock.state.lease import StoreContext
from penstock.state.schema import contents, leases, models, project, runs, steps
from penstock.state.sql.database import Database, put
from penstock.state.sql.load import load
from penstock.state.sql.rows import FREE, lease_cells, lease_of, run_cells, step_of
from penstock.state.sql.save import save
from penstock.state.transitions.model_state import Event, ModelState, StoredStep


class Transactions:
    """Hands out the transactions of a database."""

    def __init__(self, database: Database, context: StoreContext) -> None:
        self._database = database
        self.context = context

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a transaction that only reads."""
        with self._database.read() as connection:
            yield Transaction(connection, self.context)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Open a transaction that writes: there is one at a time, others wait."""
        with self._database.write() as connection:
            yield Transaction(connection, self.context)


class Transaction:
    """What one transaction reads and writes; all of it happens or nothing."""

    def __init__(self, connection: Connection, context: StoreContext) -> None:
        self._connection = connection
        self._context = context

    def load(self, model: str, event: Event) -> ModelState:
        """Give what is on record of a model, as far as the event touches it."""
        return load(self._connection, model, event)

    def save(self, before: ModelState, after: ModelState) -> None:
        """Write what differs."""
        save(self._connection, before, after, self._context.clock.new_id)

    def find(self, step: str | int) -> StoredStep | None:
        """Give a step by its id or number; None if it never began here."""
        which = steps.c.id if isinstance(step, str) else steps.c.step_seq
        row = self._connection.execute(select(steps).where(which == step)).first()
        return None if row is None else step_of(row)

    def running(self) -> Sequence[StoredStep]:
        """Give the steps that are written as RUNNING, in the order they began."""
        query = select(steps).where(steps.c.status == str(Status.RUNNING))
        rows = self._connection.execute(query.order_by(steps.c.step_seq))
        return [step_of(row) for row in rows]

    def last_number(self, model: str = "", besides: str = "") -> int:
        """Give the greatest number of a step, of a model's besides those of a run; 0 if none."""
        query = select(steps.c.step_seq).order_by(steps.c.step_seq.desc()).limit(1)
        if model:
            query = query.join(models, models.c.id == steps.c.model_id)
            query = query.where(models.c.name == model, steps.c.run != besides)
        return self._connection.scalar(query) or 0

    def lease(self, target: str) -> tuple[Lease | None, int]:
        """Give who holds a target, and the last token that was given for it, 0 without one."""
        query = select(leases).where(leases.c.target == target)
        row = self._connection.execute(query).first()
        if row is None:
            return None, 0
        return None if row.run is None else lease_of(row), row.token

    def leases(self) -> Sequence[Lease]:
        """Give the leases that are taken, expired ones too, by target."""
        query = select(leases).where(leases.c.run.is_not(None)).order_by(leases.c.target)
        return [lease_of(row) for row in self._connection.execute(query)]

    def put_lease(self, target: str, lease: Lease | None) -> None:
        """Write who holds a target; None frees it, its last token stays."""
        if lease is not None:
            put(self._connection, leases, [lease_cells(lease)])
            return
        row = leases.c.target == target
        self._connection.execute(update(leases).where(row).values(FREE))

    def write_run(self, run: Run) -> None:
        """Write a run, and the penstock that runs."""
        penstock = self._context.identity.penstock
        self._connection.execute(insert(runs).values(run_cells(run)))
        self._connection.execute(update(project).values(penstock=penstock))

    def end_run(self, run: str, status: Status, at: dt.datetime) -> bool:
        """Write how a run ended, if it is on record; tell whether it had steps."""
        values = {"ended": at, "status": str(status)}
        self._connection.execute(update(runs).where(runs.c.id == run).values(values))
        query = select(steps.c.id).where(steps.c.run == run).limit(1)
        return self._connection.scalar(query) is not None

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Store texts by their checksums unless they are there."""
        known = select(contents.c.hash)
        for checksum, text in texts.items():
            if self._connection.scalar(known.where(contents.c.hash == checksum)) is None:
                self._connection.execute(insert(contents).values(hash=checksum, text=text))

    @property
    def epoch(self) -> str:
        """The epoch of the store."""
        return str(self._connection.scalar(select(project.c.epoch)))

    @epoch.setter
    def epoch(self, drawn: str) -> None:
        self._connection.execute(update(project).values(epoch=drawn))
