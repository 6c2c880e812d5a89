"""Settling what a crash left undecided: checks that are pending, a rollback that is due.

The rows are committed and recorded. The checks look at that version, and what they say makes of
the records what an undisturbed run would have made (spec/checks.md §5.7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.ground import Ground, Rows
from penstock.app.checking.output import added_rows, replaced_rows
from penstock.app.checking.refusing import Refusal
from penstock.app.checking.staging import drop_staged, staging_folder
from penstock.app.checking.subject import Subject
from penstock.app.checking.telling import told_refused
from penstock.app.checking.undo import can_be_tried_again, flag_if_overwritten
from penstock.app.checking.verdicts import decided
from penstock.app.commit import Committer, Ended
from penstock.app.inputs import Inputs
from penstock.app.observe import View
from penstock.app.reports import ModelResult
from penstock.app.run_context import Context
from penstock.app.share import EVERYTHING
from penstock.app.shop import Shop
from penstock.app.step_results import failed_by, with_checks
from penstock.app.workers import on_record, on_worker
from penstock.core.check_ports import Unsettled
from penstock.core.check_results import Checked, InvariantReport
from penstock.core.checks import OnFailure
from penstock.core.engine_ports import StepSession
from penstock.core.errors import PenstockError, TableError
from penstock.core.model import Model, Writing
from penstock.core.names import InputName
from penstock.core.partition import key_pairs
from penstock.core.pin import DeltaPin
from penstock.core.ranges import Ranges, count, union
from penstock.core.records import Run
from penstock.core.relation import DeltaRead, Read
from penstock.core.step import Intent, Outcome
from penstock.plan.values import Options
from penstock.strategies.relations import leaves


@dataclass(frozen=True, slots=True)
class Settled:
    """What was settled, as results of a run.

    `failed` are partitions by model that nobody may build on now. Of the models in `unlooked` it is
    only because their checks could not be looked at: to build them anew is a way out.
    """

    results: tuple[ModelResult, ...] = ()
    failed: Mapping[str, Ranges] = field(default_factory=dict)
    unlooked: frozenset[str] = frozenset()

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what became of each step."""
        return tuple(
            f"{each.name}: {each.reason}; now {each.status}"
            + (f": {each.error.sentence}" if each.error else "")
            for each in self.results
        )

    def __add__(self, other: Settled) -> Settled:
        """Put together what was settled of two steps."""
        models = self.failed.keys() | other.failed.keys()
        failed = {
            name: union(self.failed.get(name, ()), other.failed.get(name, ()))
            for name in sorted(models)
        }
        unlooked = self.unlooked | other.unlooked
        return Settled((*self.results, *other.results), failed, unlooked)


def settle(shop: Shop, *, writes: bool = True) -> Settled:
    """Settle every step whose checks still decide something; without any start nothing.

    A step that cannot be settled now stays as it is, and its model fails with the reason; the
    others are settled all the same. Without `writes` a rollback that is due is left for the next
    command that writes tables.
    """
    waiting = shop.reading.checks.unsettled()
    if not writes:
        waiting = tuple(each for each in waiting if not each.rollback_due)
    if not waiting:
        return Settled()
    shop.engine.require()
    run = shop.clock.new_id()
    settled = Settled()
    with on_record(shop, _run_of(shop, run)) as succeeded:
        for each in waiting:
            settled += on_worker(shop, partial(_settled, shop, run, each, writes=writes))
        succeeded()
    return settled


def pending_notes(shop: Shop) -> tuple[str, ...]:
    """Say what the next command that writes will settle."""
    waiting = shop.reading.checks.unsettled()
    return tuple(f"{each.step.intent.model}: {each.sentence}" for each in waiting)


def _run_of(shop: Shop, run: str) -> Run:
    now = shop.clock.now()
    target = shop.project.target.name
    return Run(run, "recover", "", target, now, shop.holder(run), now)


def _settled(shop: Shop, run: str, what: Unsettled, *, writes: bool) -> Settled:
    """Settle one step; what keeps it from being settled is its model's failure."""
    intent = what.step.intent
    model = shop.project.models.get(intent.model)
    if model is None or what.step.outcome is None or _is_gone(shop, what):
        shop.writing.journal.settle_checks(intent.step, Checked(OnFailure.FLAG))
        return Settled()
    settling = _Settling(shop, run, what, model, what.step.outcome, writes)
    result = _result(model, what, intent)
    try:
        ended = settling.settle()
    except PenstockError as error:
        if not can_be_tried_again(error):
            raise
        error.hint = error.hint or _WAY_OUT.format(intent)
        stuck = replace(result, status="failed", error=error)
        failed = _within(model, intent, intent.ords, due=what.rollback_due)
        unlooked = frozenset() if what.rollback_due else frozenset({model.name})
        return Settled((stuck,), {model.name: failed}, unlooked)
    result = with_checks(replace(result, version=ended.outcome.settled_version), ended)
    failed = _within(model, intent, failed_by(ended), due=_is_due(ended))
    return Settled((result,), {model.name: failed} if failed else {})


_WAY_OUT = "penstock rollback {0.model} --to {0.step} takes back the rows that nobody could look at"


def _is_gone(shop: Shop, what: Unsettled) -> bool:
    """Whether the table that held the rows is no more, or another one stands in its place."""
    outcome = what.step.outcome
    if not what.step.intent.uri or outcome is None:
        return False
    try:
        facts = shop.log.facts(what.step.intent.uri)
    except TableError:
        return False  # nobody can tell; looking at its rows says so
    return facts is None or outcome.table_id not in ("", facts.table_id)


def _is_due(ended: Ended) -> bool:
    """Whether its rows are still to be taken back."""
    checked = ended.checked
    if checked is None or checked.failure is None or ended.undone is not None:
        return False
    return checked.mode is OnFailure.ROLLBACK and ended.outcome.version is not None


def _within(model: Model, intent: Intent, failed: Ranges, *, due: bool) -> Ranges:
    """Give what may not be built on: all where a rollback is due, or partitions are others now."""
    return EVERYTHING if failed and (due or model.grid != intent.grid) else failed


def _result(model: Model, what: Unsettled, intent: Intent) -> ModelResult:
    return ModelResult(
        name=model.name,
        table=model.table,
        strategy=model.strategy_name,
        status="success",
        reason="its rollback was due" if what.rollback_due else "its checks were pending",
        step=intent.step,
        partitions=key_pairs(intent.grid, intent.ords),
        trigger=intent.triggered_by,
        count=count(intent.ords),
    )


@dataclass(frozen=True, slots=True)
class _Settling:
    """One step that is being settled."""

    shop: Shop
    run: str
    what: Unsettled
    model: Model
    outcome: Outcome
    writes: bool

    def settle(self) -> Ended:
        """Evaluate what is pending, undo what must be undone."""
        shop, intent, model = self.shop, self.what.step.intent, self.model
        context = self._context(intent)
        with shop.engine.session(model.name, model.where) as session:
            checked = self.what.checked
            if checked is None:
                checked = self._checked(context, session)
                shop.writing.journal.settle_checks(intent.step, checked)
            ended = Ended(intent, self.outcome, checked=checked)
            if not self.writes:
                return ended
            return Committer(shop, context, model.where, None).undo(session, ended)

    def _checked(self, context: Context, session: StepSession) -> Checked:
        """Look at the rows; those of a step that the model would not make so now fail unlooked."""
        intent, model = self.what.step.intent, self.model
        if model.grid == intent.grid and model.strategy_name == intent.strategy:
            return self._evaluate(context, session)
        ground = Ground(intent.run_timestamp, grid=intent.grid, partitions=intent.ords)
        refusal = Refusal(f"{model.name} is built otherwise now than by step {intent.step}")
        checks = checks_of_step(
            self.shop.project, model, intent.fingerprint.version, context.options
        ).after
        results = tuple(told_refused(check, ground, refusal) for check in checks)
        version = self.outcome.stands_at
        return decided(intent, OnFailure.FLAG, InvariantReport((), results), version)

    def _evaluate(self, context: Context, session: StepSession) -> Checked:
        shop, intent, outcome = self.shop, self.what.step.intent, self.outcome
        subject = self._subject(context, session)
        folder = staging_folder(shop, intent.table, intent.step)
        version = outcome.stands_at
        if version is not None and shop.places.missing_files(intent.uri, version):
            version = None  # VACUUM took it
        try:
            step = self._rows(subject, version, folder)
            table = subject.at_version(version) if subject.checks.needs_table else None
            results = subject.look_after(step, table, None, intent.step_seq)
        finally:
            drop_staged(shop, intent.table, intent.step)
        mode = OnFailure(intent.on_failure or OnFailure.FLAG)
        found = decided(intent, mode, InvariantReport((), results), version)
        return flag_if_overwritten(shop, intent, found)

    def _rows(self, subject: Subject, version: int | None, folder: str) -> Rows | None:
        """Give the rows of the step; the batch of a MERGE is gone, so there the whole table."""
        model = subject.model
        if model.partition is not None:
            return replaced_rows(subject, version)
        adds = model.writing is Writing.ADDED
        intent, made = self.what.step.intent, self.outcome.version
        if adds and version is not None and intent.base_version is not None and made is not None:
            return added_rows(subject.session, intent.uri, made, folder)
        return subject.left_of_step(version)

    def _subject(self, context: Context, session: StepSession) -> Subject:
        intent, model = self.what.step.intent, self.model
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
