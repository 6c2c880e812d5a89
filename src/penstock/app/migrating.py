"""The use case `snapshot migrate`: a history table takes over its model's new settings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.app.inputs import pin_inputs
from penstock.app.look import Looking
from penstock.app.observe import observe
from penstock.app.recover import recover
from penstock.app.resettling import Resettling
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.app.stages import staged
from penstock.app.verifying import Held, claims_on, facts_of, history_model, hold_laws
from penstock.app.workers import on_record, on_worker
from penstock.app.works import build_of, work_of
from penstock.core.engine_ports import StepSession
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.history import HashDiffers, Snapshot
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.records import Run
from penstock.core.relation import DeltaRead, Relation
from penstock.core.statement import TARGET_VIEW
from penstock.plan.history import (
    PROPERTY,
    differences,
    hash_columns,
    migrated_property,
    needs_refresh,
    property_of,
)
from penstock.plan.planner import plan
from penstock.plan.values import Options, Reason, State, Step
from penstock.strategies.history.counts import Counts
from penstock.strategies.history.rehash import with_hash
from penstock.strategies.history.verify import HIGH

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


def migrate(shop: Shop, name: str, *, adopt: bool = False, dry_run: bool = False) -> MigrateReport:
    """Hold the laws under the model's settings, count the next run, then set the property.

    No interval and no business value changes. With `adopt` a table that penstock did not make is
    taken over. A dry run writes nothing.
    """
    model = history_model(shop, name)
    if not dry_run:
        recover(shop).require(model.name)
    context = _context(shop, model)
    _refuse(context, model, adopt=adopt)
    facts = facts_of(shop, model)
    told = facts.properties.get(PROPERTY)
    changes = () if told is None else differences(model, told)
    report = MigrateReport(model.name, facts.version, changes, told is None, dry_run=dry_run)
    if not report.differs:
        return report
    shop.engine.require()
    with shop.engine.session(model.name, model.where) as session:
        return _migrated(_Migration(shop, context, model, facts, session), report)


@dataclass(frozen=True, slots=True)
class _Migration:
    """One table that is looked at, and what it says of itself."""

    shop: Shop
    context: Context
    model: Model
    facts: TableFacts
    session: StepSession

    @property
    def told(self) -> str | None:
        return self.facts.properties.get(PROPERTY)

    @property
    def uri(self) -> str:
        return self.shop.project.uri_of(self.model.table)

    @property
    def wanted(self) -> str:
        """The property that the table is to have, without what its rows tell."""
        if self.told is None:
            return property_of(self.model)
        return migrated_property(self.model, self.told)

    @property
    def new_hash(self) -> HashDiffers | None:
        """The hash whose values are to be made anew."""
        change = self.model.strategy.change if isinstance(self.model.strategy, Snapshot) else None
        if not isinstance(change, HashDiffers):
            return None
        old = None if self.told is None else hash_columns(self.told)
        return change if old != hash_columns(self.wanted) else None


def _context(shop: Shop, model: Model) -> Context:
    now, records = shop.clock.now(), dict(shop.reading.records.models())
    return Context(
        run=shop.run_id or shop.clock.new_id(),
        run_timestamp=now,
        project=shop.project,
        view=observe(shop, [model.name], records, now),
        records=records,
        triggered_by=COMMAND,
    )


def _refuse(context: Context, model: Model, *, adopt: bool) -> None:
    """Raise what forbids a run of the model, but for what a migration is there to mend."""
    made = plan(context.project, [model.name], context.records, context.view.now, Options())
    for blocked in made.blocked:
        seen = context.view.now.targets.get(model.name)
        facts = seen.facts if seen is not None else None
        told = facts.properties.get(PROPERTY) if facts else None
        if told is None:
            mended = adopt and blocked.error.code == "foreign-table"
        else:
            wrong = needs_refresh(differences(model, told))
            mended = blocked.error.code in _MENDED and not wrong
        if not mended:
            raise blocked.error


def _migrated(work: _Migration, report: MigrateReport) -> MigrateReport:
    claims = claims_on(work.shop, work.model, work.wanted)
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
    if micros is None or (isinstance(model.strategy, Snapshot) and model.strategy.event_time):
        return None
    return _EPOCH + dt.timedelta(microseconds=int(micros))


def _counted(work: _Migration, new_hash: HashDiffers | None) -> Counts:
    """Classify as the next run would, against the table as the migration leaves it."""
    shop, context, model = work.shop, work.context, work.model
    inputs = pin_inputs(shop, model, context.records, context.view)
    step = Step(model.name, Reason(State.SQL_CHANGED, "its settings changed"), initial=False)
    looked = Looking(shop, context, step, model, inputs).look(work.session)
    if new_hash is not None:
        read = DeltaRead(work.uri, work.facts.version)
        work.session.bind([Relation(InputName(InputKind.THIS, ""), _STORED, read)])
        work.session.define(TARGET_VIEW, with_hash(new_hash, work.facts.schema, _STORED))
    run = work_of(shop, context, build_of(shop, model, looked))
    return Counts.of(staged(work.session, run, model.where))


def _written(work: _Migration, new_hash: HashDiffers | None, wanted: str) -> int:
    """Make the commits of a migration as a run of its own; give the version after them."""
    shop, context = work.shop, work.context
    run = Run(
        id=context.run,
        command=COMMAND,
        arguments=work.model.name,
        target=shop.project.target.name,
        run_timestamp=context.run_timestamp,
        holder=shop.holder(context.run),
        started=shop.clock.now(),
    )
    with on_record(shop, run) as succeeded:
        commits = Resettling(shop, context, work.model, work.session, work.facts)
        version = on_worker(shop, lambda: commits.take_over(new_hash, wanted))
        succeeded()
    return version


def _no_history(model: Model, held: Held) -> TableError:
    keys = model.strategy.keys if isinstance(model.strategy, Snapshot) else ()
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
