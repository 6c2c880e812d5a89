"""The commits of a migration, in an order in which each is safe to be the last."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.building import build
from penstock.app.commit import Committer, Ended
from penstock.app.remember import remembered
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.core.engine_ports import StepSession
from penstock.core.facts import TableFacts
from penstock.core.history import HashDiffers, Snapshot
from penstock.core.model import Model
from penstock.core.pin import InputPin
from penstock.core.statement import Commit, Work
from penstock.core.step import Intent, StepKind
from penstock.plan.history import PROPERTY, hash_columns, rewriting_property
from penstock.strategies.build import written
from penstock.strategies.history.rehash import add_hash, rewrite_hash


class Resettling:
    """One history table whose settings change; records of inputs and code stay as they are.

    Every commit is refused if somebody else wrote since the table was looked at.
    """

    def __init__(
        self,
        shop: Shop,
        context: Context,
        model: Model,
        session: StepSession,
        facts: TableFacts,
    ) -> None:
        """Take the table as it was looked at."""
        self._shop = shop
        self._context = context
        self._model = model
        self._session = session
        self._facts = facts
        self._version = facts.version
        self._target = shop.project.sql_of(model.table)

    def take_over(self, new_hash: HashDiffers | None, told: str) -> int:
        """Make all commits of a migration, hashes before what the table says; give its version."""
        if new_hash is not None:
            self.rehash(new_hash)
        return self.say(told)

    def say(self, told: str) -> int:
        """Let the table say of itself what `told` says; give its version."""
        self._alter(f"ALTER TABLE {self._target} SET TBLPROPERTIES ({written({PROPERTY: told})})")
        return self._version

    def rehash(self, change: HashDiffers) -> None:
        """Make the row hashes of current versions anew.

        Until the table says the new settings it agrees with no model: neither the old list nor the
        new one is then compared with hashes of the other.
        """
        if not isinstance(self._model.strategy, Snapshot):
            return
        told = self._facts.properties.get(PROPERTY)
        if told is not None and hash_columns(told) is not None:
            self.say(rewriting_property(told))
        if self._facts.schema.find(change.column) is None:
            self._alter(add_hash(change, self._target))
        columns, table = self._model.strategy.columns, self._facts.schema
        self._rewrite(rewrite_hash(change, columns, table, self._target))

    def _alter(self, sql: str, *, once: bool = False) -> None:
        statement = Commit(sql, exclusive=True, once=once)
        self._ended(self._committer().alter(self._session, self._intent(), statement))

    def _rewrite(self, sql: str) -> None:
        """Change rows as a step that leaves pins, code and high time of the last build on record.

        Readers are told that the table changed. A table without a build on record gets none by
        this: a run has still to read its inputs.
        """
        record = self._context.records.get(self._model.name)
        if record is None or not record.succeeded_once:
            self._alter(sql, once=True)
            return
        intent = replace(
            self._intent(),
            kind=StepKind.BUILD,
            inputs=tuple(InputPin(name, pin) for name, pin in record.pins.items()),
            run_timestamp=record.high_time or self._context.run_timestamp,
        )
        work = Work.just(Commit(sql, exclusive=True))
        self._ended(build(self._committer(), self._session, intent, work))

    def _ended(self, ended: Ended) -> None:
        records = self._context.records
        name, now = self._model.name, self._shop.clock.now()
        if name in records:
            records[name] = remembered(records[name], ended, now)
        else:
            records.update(self._shop.writing.records.models())
        self._version = ended.outcome.settled_version or self._version

    def _committer(self) -> Committer:
        record = self._context.records.get(self._model.name)
        planned_on = record.last_step_seq if record else 0
        return Committer(self._shop, self._context, self._model.where, planned_on)

    def _intent(self) -> Intent:
        record = self._context.records.get(self._model.name)
        kept = record.fingerprint if record else None
        return Intent(
            step=self._shop.clock.new_id(),
            run=self._context.run,
            model=self._model.name,
            table=self._model.table,
            uri=self._shop.project.uri_of(self._model.table),
            kind=StepKind.ALTER,
            strategy=self._model.strategy_name,
            reason="its settings changed",
            triggered_by=self._context.triggered_by,
            run_timestamp=self._context.run_timestamp,
            fingerprint=kept or self._model.fingerprint,
            base_version=self._version,
        )
