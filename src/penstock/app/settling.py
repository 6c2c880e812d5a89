"""Settling what a crash left undecided: checks that are pending, a rollback that is due.

The rows are committed and recorded. The checks look at that version, and what they say makes of
the records what an undisturbed run would have made (spec/checks.md §5.7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.ground import Rows
from penstock.app.checking.output import replaced_rows
from penstock.app.checking.staging import drop_staged, staging_folder
from penstock.app.checking.subject import Subject
from penstock.app.checking.undo import refused_by_others
from penstock.app.checking.verdicts import decided
from penstock.app.commit import Committer, Ended
from penstock.app.heartbeat import beating
from penstock.app.inputs import Inputs
from penstock.app.observe import View
from penstock.app.reports import ModelResult
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.app.step_results import failed_by, with_checks
from penstock.core.check_ports import Unsettled
from penstock.core.check_results import Checked, InvariantReport
from penstock.core.checks import OnFailure
from penstock.core.engine_ports import StepSession
from penstock.core.model import Append, Model, Table
from penstock.core.names import InputName, quoted
from penstock.core.pin import DeltaPin
from penstock.core.ranges import Ranges, count
from penstock.core.records import Run, Status, StepRecord
from penstock.core.relation import DeltaRead, Read
from penstock.core.step import Intent, Outcome
from penstock.plan.values import Options
from penstock.strategies.relations import leaves


@dataclass(frozen=True, slots=True)
class Settled:
    """What was settled, as results of a run; `failed` are partitions by model."""

    results: tuple[ModelResult, ...] = ()
    failed: Mapping[str, Ranges] = field(default_factory=dict)


def settle(shop: Shop, *, writes: bool = True) -> Settled:
    """Settle every step whose checks still decide something; without any start nothing.

    Without `writes` a rollback that is due is left for the next command that writes tables.
    """
    waiting = shop.reading.records.unsettled()
    if not writes:
        waiting = tuple(each for each in waiting if each.checked is None)
    if not waiting:
        return Settled()
    shop.engine.require()
    run = shop.clock.new_id()
    journal = shop.writing.journal
    journal.start_run(_run_of(shop, run))
    status = Status.FAILED
    try:
        with beating(journal, run, shop.project.lease.heartbeat.total_seconds()):
            ended = [(each.step, _Settling(shop, run, each, writes).settle()) for each in waiting]
        status = Status.SUCCESS
    finally:
        journal.end_run(run, status)
    results = tuple(_result(shop, step, one) for step, one in ended if one is not None)
    failed = {one.intent.model: failed_by(one) for _, one in ended if one and failed_by(one)}
    return Settled(results, failed)


def pending_notes(shop: Shop) -> tuple[str, ...]:
    """Say what the next command that writes will settle."""
    return tuple(
        f"{each.step.intent.model}: step {each.step.intent.step} is to be rolled back"
        if each.checked is not None
        else f"{each.step.intent.model}: checks of step {each.step.intent.step} are pending"
        for each in shop.reading.records.unsettled()
    )


def _run_of(shop: Shop, run: str) -> Run:
    now = shop.clock.now()
    target = shop.project.target.name
    return Run(run, "recover", "", target, now, shop.holder(run), now)


def _result(shop: Shop, step: StepRecord, ended: Ended) -> ModelResult:
    model = shop.project.models[ended.intent.model]
    intent = ended.intent
    result = ModelResult(
        name=model.name,
        table=model.table,
        strategy=model.strategy_name,
        status="success",
        reason="its checks were pending",
        version=ended.outcome.settled_version,
        step=step.intent.step,
        partitions=tuple(
            (low, high or low)
            for low, _, high in (each.partition("..") for each in intent.partitions)
        ),
        trigger=intent.triggered_by,
        count=count(intent.ords),
    )
    return with_checks(result, ended)


@dataclass(frozen=True, slots=True)
class _Settling:
    """One step that is being settled."""

    shop: Shop
    run: str
    what: Unsettled
    writes: bool

    def settle(self) -> Ended | None:
        """Evaluate what is pending, undo what must be undone; None for a model that is gone."""
        shop, step = self.shop, self.what.step
        model = shop.project.models.get(step.intent.model)
        outcome = step.outcome
        if model is None or outcome is None:
            shop.writing.journal.settle_checks(step.intent.step, Checked(OnFailure.FLAG))
            return None
        context = self._context(step.intent)
        with shop.engine.session(model.name, model.where) as session:
            checked = self.what.checked
            if checked is None:
                checked = self._evaluate(context, session, model, outcome)
                shop.writing.journal.settle_checks(step.intent.step, checked)
            ended = Ended(step.intent, outcome, checked=checked)
            if not self.writes:
                return ended
            return Committer(shop, context, model.where, None).undo(session, ended)

    def _evaluate(
        self, context: Context, session: StepSession, model: Model, outcome: Outcome
    ) -> Checked:
        shop, intent = self.shop, self.what.step.intent
        subject = self._subject(context, session, model)
        folder = staging_folder(shop, intent.table, intent.step)
        version = outcome.stands_at
        if version is not None and shop.places.missing_files(intent.uri, version):
            version = None  # VACUUM took it
        try:
            step = self._rows(subject, outcome, version, folder)
            table = subject.at_version(version) if subject.checks.needs_table else None
            results = subject.look_after(step, table, None, intent.step_seq)
        finally:
            drop_staged(shop, intent.table, intent.step)
        mode = OnFailure(intent.on_failure or OnFailure.FLAG)
        found = decided(intent, mode, InvariantReport((), results), version)
        return refused_by_others(shop, intent, found)

    def _rows(
        self, subject: Subject, outcome: Outcome, version: int | None, folder: str
    ) -> Rows | None:
        """Give the rows of the step; the batch of a MERGE is gone, so there the whole table."""
        model = subject.model
        if model.partition is not None:
            return replaced_rows(subject, version)
        strategy = model.strategy
        adds = isinstance(strategy, Append) or (
            isinstance(strategy, Table) and strategy.overwrite_partitions
        )
        base = self.what.step.intent.base_version
        if adds and version is not None and base is not None and outcome.version is not None:
            view = "check_added_rows"
            uri = self.what.step.intent.uri
            columns = subject.session.added(uri, outcome.version, f"{folder}/added", view)
            return Rows(f"SELECT * FROM {quoted(view)}", columns)
        return subject.at_version(version)

    def _subject(self, context: Context, session: StepSession, model: Model) -> Subject:
        intent = self.what.step.intent
        return Subject(
            shop=self.shop,
            context=context,
            session=session,
            model=model,
            checks=checks_of_step(
                self.shop.project, model, intent.fingerprint.version, context.options
            ),
            inputs=Inputs(self._reads(model), intent.inputs),
            windows=intent.windows,
            partitions=intent.ords,
        )

    def _reads(self, model: Model) -> dict[InputName, Read]:
        """Give how inputs are read at the versions that the step pinned."""
        project, intent = self.shop.project, self.what.step.intent
        pins = {pin.input: pin.pin for pin in intent.inputs}
        found: dict[InputName, Read] = {}
        for name in leaves(project, model):
            pin = pins.get(name.name)
            if isinstance(pin, DeltaPin):
                source = project.sources.get(name.name)
                uri = source.path if source else project.uri_of(project.table_of(name))
                found[name] = DeltaRead(uri, pin.version)
        return found

    def _context(self, intent: Intent) -> Context:
        shop = self.shop
        return Context(
            run=self.run,
            run_timestamp=intent.run_timestamp,
            project=shop.project,
            view=View.empty(intent.run_timestamp),
            records=dict(shop.reading.records.models()),
            options=Options(),
        )
