"""The use case `snapshot migrate`: apply a model's new settings to its history table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.app.commands.verify import claims_on, facts_of, history_model, hold_laws
from penstock.app.execution.commit import Committer, refresh_record
from penstock.app.execution.recover import recover
from penstock.app.execution.seed_step import run_plain_step
from penstock.app.observation.observe import observe
from penstock.app.preparing.pins import pin_inputs
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import build_of, run_stages
from penstock.app.preparing.step_inputs import Looking
from penstock.app.services.services import Services
from penstock.app.services.workers import on_record, on_worker
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.history import HashDiffers
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.ports.engine import StepSession
from penstock.core.statement import TARGET_VIEW, Commit, Row, Work
from penstock.core.steps.inputs import DeltaRead, InputPin, Relation
from penstock.core.steps.step import Intent, StepKind
from penstock.plan.cascade import upstream_models
from penstock.plan.history import (
    PROPERTY,
    hash_columns,
    migrated_property,
    needs_refresh,
    property_of,
    rewriting_property,
    setting_differences,
)
from penstock.plan.kinds.tables import detect_table_drift
from penstock.plan.obstacles import table_obstacle
from penstock.plan.steps import Question
from penstock.plan.values import Options, Reason, State, Step
from penstock.strategies.build import properties_sql
from penstock.strategies.history.commit import Counts
from penstock.strategies.history.source import add_hash, rewrite_hash, with_hash
from penstock.strategies.history.verify import HIGH, Violation

COMMAND = "snapshot migrate"
_STORED = "penstock_stored"
_MENDED = {"history-settings-changed", "run-time-before-history"}
_UNBUILT = {"upstream-not-built", "snapshot-not-built", "template-rows-unknown"}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class MigrateReport:
    """What differed, and what the next run will do afterwards.

    `opens` and `closes` count versions. `version` is that of the table afterwards. `uncounted` is
    why the next run could not be counted, "" if it was.
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
    uncounted: str = ""

    @property
    def differs(self) -> bool:
        """Whether there is anything to migrate."""
        return self.adopted or bool(self.changes)


def migrate(
    services: Services, name: str, *, adopt: bool = False, dry_run: bool = False
) -> MigrateReport:
    """Check the invariants under the model's settings, count the next run, then set the property.

    No interval and no business value changes. With `adopt`, a table that penstock did not create is
    taken over. A dry run writes nothing.
    """
    model = history_model(services, name)
    if not dry_run:
        recover(services).require_settled(model.name)
    now, records = services.clock.now(), dict(services.reading.records.models())
    context = Context(
        holder=services.holder(services.run_id or services.clock.new_id()),
        run_timestamp=now,
        project=services.project,
        view=observe(services, [model.name], records, now),
        records=records,
        triggered_by=COMMAND,
    )
    _refuse(context, model, adopt=adopt)
    facts = facts_of(services, model)
    said = facts.properties.get(PROPERTY)
    changes = () if said is None else setting_differences(model, said)
    report = MigrateReport(model.name, facts.version, changes, said is None, dry_run=dry_run)
    if not report.differs:
        return report
    services.engine.require(writes=True)
    with services.engine.session(model.name, model.where) as session:
        migration = _Migration(services, context, model, session, facts, facts.version)
        return migration.migrated(report)


def _refuse(context: Context, model: Model, *, adopt: bool) -> None:
    """Raise what forbids a run of the model, except what a migration fixes."""
    now = context.view.now
    seen = now.targets.get(model.name)
    said = seen.facts.properties.get(PROPERTY) if seen is not None and seen.facts else None
    if said is None:
        mended = {"foreign-table"} if adopt else set()
    else:
        mended = set() if needs_refresh(setting_differences(model, said)) else _MENDED
    # what it reads is needed to count the next run only
    wanted = frozenset((model.name, *(upstream_models(model) if adopt else ())))
    question = Question(context.project, wanted, context.records, now, Options())
    reason = detect_table_drift(context.project, model, context.records, now).reason
    error = table_obstacle(question, {}, model, reason)
    if error is not None and error.code not in mended:
        raise error


@dataclass(slots=True)
class _Migration:
    """One history table whose settings change; records of inputs and code stay as they are.

    `facts` is the state of the table at the start, `version` its current version: if others write
    in between, every commit is refused.
    """

    services: Services
    context: Context
    model: Model
    session: StepSession
    facts: TableFacts
    version: int

    def migrated(self, report: MigrateReport) -> MigrateReport:
        """Check the invariants, count, and write unless it is a dry run."""
        model, said = self.model, self.facts.properties.get(PROPERTY)
        wanted = property_of(model) if said is None else migrated_property(model, said)
        change = model.history.change if model.history else None
        old = None if said is None else hash_columns(said)
        new_hash = None
        if isinstance(change, HashDiffers) and old != hash_columns(wanted):
            new_hash = change  # its values are to be made anew
        claims = claims_on(self.services, model, wanted)
        if new_hash and self.facts.schema.find(new_hash.column) is None:
            claims = replace(claims, hash_column=None)  # it is added
        uri = self.services.project.uri_of(model.table)
        counted, violations = hold_laws(self.session, uri, self.facts, claims)
        if violations:
            raise _no_history(model, violations)
        counts, uncounted = Counts(), ""
        try:
            counts = self._count_changes(uri, new_hash)
        except TableError as error:
            if not report.adopted or error.code not in _UNBUILT:
                raise
            uncounted = error.sentence
        report = replace(
            report,
            rehashed=new_hash is not None,
            uncounted=uncounted,
            opens=counts.opens,
            closes=counts.closed,
            metrics=counts.metrics,
        )
        if report.dry_run:
            return report
        if report.adopted:
            wanted = property_of(model, _high_time(model, counted))
        self._write(new_hash, wanted)
        return replace(report, version=self.version)

    def _count_changes(self, uri: str, new_hash: HashDiffers | None) -> Counts:
        """Classify as the next run would, against the table after the migration."""
        services, context, model = self.services, self.context, self.model
        inputs = pin_inputs(services, model, context.records, context.view)
        step = Step(model.name, Reason(State.SQL_CHANGED, "its settings changed"), initial=False)
        step_inputs = Looking(services, context, step, model, inputs, uri).inspect(self.session)
        if new_hash is not None:
            read = DeltaRead(uri, self.facts.version)
            self.session.bind([Relation(InputName(InputKind.THIS, ""), _STORED, read)])
            self.session.define(TARGET_VIEW, with_hash(new_hash, self.facts.schema, _STORED))
        run = model.strategy.work(build_of(services, context, model, step_inputs))
        return Counts.of(run_stages(self.session, run, model.where))

    def _write(self, new_hash: HashDiffers | None, wanted: str) -> None:
        """Make all commits in a separate run, hashes before the property."""

        def take_over() -> None:
            if new_hash is not None:
                self._rehash(new_hash)
            self._say(wanted)

        run = self.services.run_record(
            self.context.holder.run, COMMAND, self.context.run_timestamp, self.model.name
        )
        with on_record(self.services, run) as succeeded:
            on_worker(self.services, take_over)
            succeeded()

    def _say(self, text: str) -> None:
        """Set the property of the table to `text`."""
        target = self.services.project.sql_of(self.model.table)
        assignment = properties_sql({PROPERTY: text})
        self._commit(f"ALTER TABLE {target} SET TBLPROPERTIES ({assignment})")

    def _rehash(self, change: HashDiffers) -> None:
        """Recompute the row hashes of current versions.

        Until the property has the new settings, it matches no model: so hashes of one list of
        columns are never compared with hashes of the other.
        """
        history, target = self.model.history, self.services.project.sql_of(self.model.table)
        if history is None:
            return
        text = self.facts.properties.get(PROPERTY)
        if text is not None and hash_columns(text) is not None:
            self._say(rewriting_property(text))
        if self.facts.schema.find(change.column) is None:
            self._commit(add_hash(change, target))
        rewrite = rewrite_hash(change, history.columns, self.facts.schema, target)
        self._commit(rewrite, of_rows=True)

    def _commit(self, sql: str, *, of_rows: bool = False) -> None:
        """Commit; a commit of rows keeps the pins, code and watermark of the last build.

        Readers see that the table changed. A table without a recorded build gets none here, because
        a run must still read its inputs.
        """
        model, records = self.model, self.context.records
        record = records.get(model.name)
        committer = Committer(
            self.services, self.context, model.where, record.last_step_seq if record else 0
        )
        committer.session = self.session
        intent = Intent(
            step=self.services.clock.new_id(),
            run=self.context.holder.run,
            model=model.name,
            table=model.table,
            uri=self.services.project.uri_of(model.table),
            kind=StepKind.ALTER,
            strategy=model.strategy_name,
            reason="its settings changed",
            triggered_by=self.context.triggered_by,
            run_timestamp=self.context.run_timestamp,
            fingerprint=(record.fingerprint if record else None) or model.fingerprint,
            base_version=self.version,
        )
        if of_rows and record is not None and record.succeeded_once:
            pins = tuple(InputPin(name, pin) for name, pin in record.pins.items())
            high = record.high_time or self.context.run_timestamp
            intent = replace(intent, kind=StepKind.BUILD, inputs=pins, run_timestamp=high)
            ended = run_plain_step(committer, intent, Work.just(Commit(sql, exclusive=True)))
        else:
            ended = committer.alter(intent, Commit(sql, exclusive=True, once=of_rows))
        refresh_record(self.services, records, model.name)
        self.version = ended.outcome.settled_version or self.version


def _high_time(model: Model, row: Row) -> dt.datetime | None:
    """Return the latest timestamp of an adopted table whose timestamps are run times."""
    micros = row.get(HIGH)
    if micros is None or (model.history and model.history.event_time):
        return None
    return _EPOCH + dt.timedelta(microseconds=int(micros))


def _no_history(model: Model, violations: Sequence[Violation]) -> TableError:
    keys = model.strategy.keys
    found = [
        f"{each.law} {each.title}: {each.count} {each.of}{'' if each.count == 1 else 's'}, "
        f"for example {each.samples[0]}"
        for each in violations
    ]
    return TableError(
        "not-a-history-table",
        f"{model.table} keeps no history by the key ({', '.join(keys)}): {'; '.join(found)}",
        where=model.where,
        hint="correct its rows or the model's settings; nothing was written",
    )
