"""The use case `snapshot migrate`: a history table takes over its model's new settings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.app.commands.verify import Held, claims_on, facts_of, history_model, hold_laws
from penstock.app.execution.commit import Committer, Ended, make
from penstock.app.execution.recover import recover
from penstock.app.observation.observe import observe
from penstock.app.preparing.run_context import Context, pin_inputs
from penstock.app.preparing.statements import build_of, staged
from penstock.app.preparing.step_inputs import Looking
from penstock.app.services.services import Services
from penstock.app.services.workers import on_record, on_worker
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.history import HashDiffers
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.ports.engine import StepSession
from penstock.core.statement import TARGET_VIEW, Commit, Work
from penstock.core.steps.inputs import DeltaRead, InputPin, Relation
from penstock.core.steps.step import Intent, StepKind
from penstock.plan.history import (
    PROPERTY,
    differences,
    hash_columns,
    migrated_property,
    needs_refresh,
    property_of,
    rewriting_property,
)
from penstock.plan.planner import plan
from penstock.plan.values import Options, Reason, State, Step
from penstock.strategies.build import written
from penstock.strategies.history.counts import Counts
from penstock.strategies.history.source import add_hash, rewrite_hash, with_hash
from penstock.strategies.history.verify import HIGH


class Resettling:
    """One history table whose settings change; records of inputs and code stay as they are.

    Every commit is refused if somebody else wrote since the table was looked at.
    """

    def __init__(
        self,
        services: Services,
        context: Context,
        model: Model,
        session: StepSession,
        facts: TableFacts,
    ) -> None:
        """Take the table as it was looked at."""
        self._services = services
        self._context = context
        self._model = model
        self._session = session
        self._facts = facts
        self._version = facts.version
        self._target = services.project.sql_of(model.table)

    def take_over(self, new_hash: HashDiffers | None, messages: str) -> int:
        """Make all commits of a migration, hashes before what the table says; give its version."""
        if new_hash is not None:
            self.rehash(new_hash)
        return self.say(messages)

    def say(self, messages: str) -> int:
        """Let the table say of itself what `messages` says; give its version."""
        self._alter(
            f"ALTER TABLE {self._target} SET TBLPROPERTIES ({written({PROPERTY: messages})})"
        )
        return self._version

    def rehash(self, change: HashDiffers) -> None:
        """Make the row hashes of current versions anew.

        Until the table says the new settings it agrees with no model: neither the old list nor the
        new one is then compared with hashes of the other.
        """
        history = self._model.history
        if history is None:
            return
        messages = self._facts.properties.get(PROPERTY)
        if messages is not None and hash_columns(messages) is not None:
            self.say(rewriting_property(messages))
        if self._facts.schema.find(change.column) is None:
            self._alter(add_hash(change, self._target))
        columns, table = history.columns, self._facts.schema
        self._rewrite(rewrite_hash(change, columns, table, self._target))

    def _alter(self, sql: str, *, once: bool = False) -> None:
        statement = Commit(sql, exclusive=True, once=once)
        self._ended(self._committer().alter(self._intent(), statement))

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
        self._ended(make(self._committer(), intent, work))

    def _ended(self, ended: Ended) -> None:
        records = self._context.records
        name, now = self._model.name, self._services.clock.now()
        if name in records:
            records[name] = ended.record_after(records[name], now)
        else:
            records.update(self._services.writing.records.models())
        self._version = ended.outcome.settled_version or self._version

    def _committer(self) -> Committer:
        record = self._context.records.get(self._model.name)
        planned_on = record.last_step_seq if record else 0
        committer = Committer(self._services, self._context, self._model.where, planned_on)
        committer.open(self._session)
        return committer

    def _intent(self) -> Intent:
        record = self._context.records.get(self._model.name)
        kept = record.fingerprint if record else None
        return Intent(
            step=self._services.clock.new_id(),
            run=self._context.run,
            model=self._model.name,
            table=self._model.table,
            uri=self._services.project.uri_of(self._model.table),
            kind=StepKind.ALTER,
            strategy=self._model.strategy_name,
            reason="its settings changed",
            triggered_by=self._context.triggered_by,
            run_timestamp=self._context.run_timestamp,
            fingerprint=kept or self._model.fingerprint,
            base_version=self._version,
        )


COMMAND = "snapshot migrate"
_STORED = "penstock_stored"
_MENDED = ("history-settings-changed", "run-time-before-history")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class MigrateReport:
    """What differed, and what a run will do once it does not.

    `opens` and `closes` count versions. `version` is that of the table afterwards.
    """

    model: str
    version: int
    changes: tuple[str, ...] = ()
    adopted: bool = False
    rehashed: bool = False
    dry_run: bool = False
    opens: int = 0
    closes: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        """Whether there is anything to migrate."""
        return self.adopted or bool(self.changes)


def migrate(
    services: Services, name: str, *, adopt: bool = False, dry_run: bool = False
) -> MigrateReport:
    """Hold the laws under the model's settings, count the next run, then set the property.

    No interval and no business value changes. With `adopt` a table that penstock did not make is
    taken over. A dry run writes nothing.
    """
    model = history_model(services, name)
    if not dry_run:
        recover(services).require(model.name)
    context = _context(services, model)
    _refuse(context, model, adopt=adopt)
    facts = facts_of(services, model)
    messages = facts.properties.get(PROPERTY)
    changes = () if messages is None else differences(model, messages)
    report = MigrateReport(model.name, facts.version, changes, messages is None, dry_run=dry_run)
    if not report.differs:
        return report
    services.engine.require()
    with services.engine.session(model.name, model.where) as session:
        return _migrated(_Migration(services, context, model, facts, session), report)


@dataclass(frozen=True, slots=True)
class _Migration:
    """One table that is looked at, and what it says of itself."""

    services: Services
    context: Context
    model: Model
    facts: TableFacts
    session: StepSession

    @property
    def messages(self) -> str | None:
        return self.facts.properties.get(PROPERTY)

    @property
    def uri(self) -> str:
        return self.services.project.uri_of(self.model.table)

    @property
    def wanted(self) -> str:
        """The property that the table is to have, without what its rows tell."""
        if self.messages is None:
            return property_of(self.model)
        return migrated_property(self.model, self.messages)

    @property
    def new_hash(self) -> HashDiffers | None:
        """The hash whose values are to be made anew."""
        change = self.model.history.change if self.model.history else None
        if not isinstance(change, HashDiffers):
            return None
        old = None if self.messages is None else hash_columns(self.messages)
        return change if old != hash_columns(self.wanted) else None


def _context(services: Services, model: Model) -> Context:
    now, records = services.clock.now(), dict(services.reading.records.models())
    return Context(
        run=services.run_id or services.clock.new_id(),
        run_timestamp=now,
        project=services.project,
        view=observe(services, [model.name], records, now),
        records=records,
        triggered_by=COMMAND,
    )


def _refuse(context: Context, model: Model, *, adopt: bool) -> None:
    """Raise what forbids a run of the model, but for what a migration is there to mend."""
    made = plan(context.project, [model.name], context.records, context.view.now, Options())
    for blocked in made.blocked:
        seen = context.view.now.targets.get(model.name)
        facts = seen.facts if seen is not None else None
        messages = facts.properties.get(PROPERTY) if facts else None
        if messages is None:
            mended = adopt and blocked.error.code == "foreign-table"
        else:
            wrong = needs_refresh(differences(model, messages))
            mended = blocked.error.code in _MENDED and not wrong
        if not mended:
            raise blocked.error


def _migrated(work: _Migration, report: MigrateReport) -> MigrateReport:
    claims = claims_on(work.services, work.model, work.wanted)
    new_hash = work.new_hash
    if new_hash and work.facts.schema.find(new_hash.column) is None:
        claims = replace(claims, hash_column=None)  # it is added
    held = hold_laws(work.session, work.uri, work.facts, claims)
    if held.violations:
        raise _no_history(work.model, held)
    counts = _counted(work, new_hash)
    report = replace(
        report,
        rehashed=new_hash is not None,
        opens=counts.opens,
        closes=counts.closed,
        metrics=counts.metrics,
    )
    if report.dry_run:
        return report
    wanted = work.wanted
    if report.adopted:
        wanted = property_of(work.model, _high_time(work.model, held))
    return replace(report, version=_written(work, new_hash, wanted))


def _high_time(model: Model, held: Held) -> dt.datetime | None:
    """Give the greatest instant of a table that others kept, if its instants are run timestamps."""
    micros = held.counts.get(HIGH)
    if micros is None or (model.history and model.history.event_time):
        return None
    return _EPOCH + dt.timedelta(microseconds=int(micros))


def _counted(work: _Migration, new_hash: HashDiffers | None) -> Counts:
    """Classify as the next run would, against the table as the migration leaves it."""
    services, context, model = work.services, work.context, work.model
    inputs = pin_inputs(services, model, context.records, context.view)
    step = Step(model.name, Reason(State.SQL_CHANGED, "its settings changed"), initial=False)
    project_state = Looking(services, context, step, model, inputs).look(work.session)
    if new_hash is not None:
        read = DeltaRead(work.uri, work.facts.version)
        work.session.bind([Relation(InputName(InputKind.THIS, ""), _STORED, read)])
        work.session.define(TARGET_VIEW, with_hash(new_hash, work.facts.schema, _STORED))
    run = model.strategy.work(build_of(services, context, model, project_state))
    return Counts.of(staged(work.session, run, model.where))


def _written(work: _Migration, new_hash: HashDiffers | None, wanted: str) -> int:
    """Make the commits of a migration as a run of its own; give the version after them."""
    services, context = work.services, work.context
    run = services.run_record(context.run, COMMAND, context.run_timestamp, work.model.name)
    with on_record(services, run) as succeeded:
        commits = Resettling(services, context, work.model, work.session, work.facts)
        version = on_worker(services, lambda: commits.take_over(new_hash, wanted))
        succeeded()
    return version


def _no_history(model: Model, held: Held) -> TableError:
    keys = model.strategy.keys
    found = [
        f"{each.law} {each.title}: {each.count} {each.of}{'' if each.count == 1 else 's'}, "
        f"for example {each.samples[0]}"
        for each in held.violations
    ]
    return TableError(
        "not-a-history-table",
        f"{model.table} keeps no history by the key ({', '.join(keys)}): {'; '.join(found)}",
        where=model.where,
        hint="correct its rows or the model's settings; nothing was written",
    )
