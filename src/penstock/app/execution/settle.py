"""Settle what a crash left open: pending checks, due rollbacks.

The rows are committed and recorded. The checks run on that version, and their results change the
records as an uninterrupted run would have done.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.flags import drop_staged, staging_folder
from penstock.app.checking.results import CheckedRows, CheckInputs, decided, refused
from penstock.app.checking.target import CheckTarget
from penstock.app.checking.watch import added_rows, replaced_rows
from penstock.app.execution.commit import Committer, Ended
from penstock.app.execution.results import failed_partitions, with_checks
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.outcomes import can_be_tried_again, flag_if_overwritten
from penstock.app.preparing.pins import Inputs
from penstock.app.preparing.run_context import Context
from penstock.app.reports import ModelResult
from penstock.app.run_report import Settled
from penstock.app.services.services import Services
from penstock.app.services.workers import on_record, on_worker
from penstock.core.check_results import Checked, InvariantReport, Unsettled
from penstock.core.checks.check import OnFailure
from penstock.core.errors import PenstockError, TableError
from penstock.core.model import Model
from penstock.core.names import InputName
from penstock.core.partitions.partition import key_pairs
from penstock.core.partitions.ranges import Ranges, count
from penstock.core.project import Project
from penstock.core.steps.inputs import DeltaPin, DeltaRead, Read
from penstock.core.steps.step import Intent, Outcome
from penstock.core.strategy import Writing
from penstock.strategies.relations import input_tables

EVERYTHING: Ranges = ((-(2**62), 2**62),)


def settle(services: Services, *, writes: bool = True) -> Settled:
    """Settle every step with open checks; start nothing if there is none.

    If a step cannot be settled now, it stays open and its model fails with the reason; the others
    are settled. Without `writes`, a due rollback is left for the next command that writes tables.
    """
    waiting = services.reading.checks.unsettled()
    if not writes:
        waiting = tuple(each for each in waiting if not each.rollback_due)
    if not waiting:
        return Settled()
    services.engine.require()
    run = services.clock.new_id()
    settled = Settled()
    record = services.run_record(run, "recover", services.clock.now())
    with on_record(services, record) as succeeded:
        for each in waiting:
            settled += on_worker(services, partial(_settle, services, run, each, writes=writes))
        succeeded()
    return settled


def _settle(services: Services, run: str, what: Unsettled, *, writes: bool) -> Settled:
    """Settle one step; if that is impossible, its model fails."""
    intent = what.step.intent
    model = services.project.models.get(intent.model)
    if model is None or what.step.outcome is None or _is_gone(services, what):
        services.writing.journal.settle_checks(intent.step, Checked(OnFailure.FLAG))
        return Settled()
    reason = "its rollback was due" if what.rollback_due else "its checks were pending"
    result = replace(
        ModelResult.of(model, "success", reason),
        step=intent.step,
        partitions=key_pairs(intent.grid, intent.ords),
        trigger=intent.triggered_by,
        count=count(intent.ords),
    )
    try:
        ended = _end_settled(services, run, what, model, what.step.outcome, writes=writes)
    except PenstockError as error:
        if not can_be_tried_again(error):
            raise
        error.hint = error.hint or _WAY_OUT.format(intent)
        stuck = replace(result, status="failed", error=error)
        regridded = model.grid != intent.grid
        failed = EVERYTHING if what.rollback_due or regridded else intent.ords
        unlooked = frozenset() if what.rollback_due else frozenset({model.name})
        return Settled((stuck,), {model.name: failed}, unlooked)
    result = with_checks(replace(result, version=ended.outcome.settled_version), ended)
    failed, checked = failed_partitions(ended), ended.checked
    is_due = checked is not None and checked.mode is OnFailure.ROLLBACK and ended.undone is None
    is_due = is_due and ended.outcome.version is not None
    if failed and (is_due or model.grid != intent.grid):
        failed = EVERYTHING  # nothing may be built on, or its partitions are others now
    return Settled((result,), {model.name: failed} if failed else {})


_WAY_OUT = "penstock rollback {0.model} --to {0.step} removes the rows that no check has seen"


def _is_gone(services: Services, what: Unsettled) -> bool:
    """Return whether the table of the rows is gone or was replaced."""
    outcome = what.step.outcome
    if not what.step.intent.uri or outcome is None:
        return False
    try:
        facts = services.log.facts(what.step.intent.uri)
    except TableError:
        return False  # nobody can tell; looking at its rows says so
    return facts is None or outcome.table_id not in ("", facts.table_id)


def _end_settled(  # one step that is being settled
    services: Services, run: str, what: Unsettled, model: Model, outcome: Outcome, *, writes: bool
) -> Ended:
    """Evaluate pending checks, and undo what must be undone."""
    intent, checked = what.step.intent, what.checked
    context = Context(
        holder=services.holder(run),
        run_timestamp=intent.run_timestamp,
        project=services.project,
        view=ObservedTables.empty(intent.run_timestamp),
        records=dict(services.reading.records.models()),
    )
    with services.engine.session(model.name, model.where) as session:
        if checked is None:
            version = intent.fingerprint.version
            target = CheckTarget(
                services=services,
                context=context,
                session=session,
                model=model,
                checks=checks_of_step(services.project, model, version, context.options),
                inputs=Inputs(_pinned_reads(services.project, model, intent), intent.inputs),
                windows=intent.windows,
                partitions=intent.ords,
            )
            checked = _check_rows(target, intent, outcome)
            services.writing.journal.settle_checks(intent.step, checked)
        ended = Ended(intent, outcome, checked=checked)
        if not writes:
            return ended
        committer = Committer(services, context, model.where, None)
        committer.session = session
        return committer.undo(ended)


def _check_rows(target: CheckTarget, intent: Intent, outcome: Outcome) -> Checked:
    """Check the rows; rows that the model's code would not produce now fail without checks."""
    services, model, version = target.services, target.model, outcome.stands_at
    if model.grid != intent.grid or model.strategy_name != intent.strategy:
        given = CheckInputs(intent.run_timestamp, grid=intent.grid, partitions=intent.ords)
        why = f"{model.name} is built otherwise now than by step {intent.step}"
        results = tuple(refused(check, given, why) for check in target.checks.after)
        return decided(intent, OnFailure.FLAG, InvariantReport((), results), version)
    if version is not None and services.places.missing_files(intent.uri, version):
        version = None  # VACUUM took it
    try:
        step = _rows_to_check(target, intent, outcome.version, version)
        table = target.at_version(version) if target.checks.needs_table else None
        results = target.look_after(step, table, None, intent.step_seq)
    finally:
        drop_staged(services, intent.table, intent.step)
    mode = OnFailure(intent.on_failure or OnFailure.FLAG)
    found = decided(intent, mode, InvariantReport((), results), version)
    return flag_if_overwritten(services, intent, found)


def _rows_to_check(
    target: CheckTarget, intent: Intent, number: int | None, version: int | None
) -> CheckedRows | None:
    """Return the rows of the step; for a MERGE the whole table, because its input is gone."""
    if target.model.partition is not None:
        return replaced_rows(target, version)
    adds = target.model.writing is Writing.ADDED and intent.base_version is not None
    if adds and version is not None and number is not None:
        folder = staging_folder(target.services, intent.table, intent.step)
        return added_rows(target.session, intent.uri, number, folder)
    return target.left_of_step(version)


def _pinned_reads(project: Project, model: Model, intent: Intent) -> dict[InputName, Read]:
    """Return how to read inputs at the pinned versions of the step."""
    pins = {pin.input: pin.pin for pin in intent.inputs}
    elsewhere = {each.input: each.uri for each in intent.deferred}
    found: dict[InputName, Read] = {}
    for name in input_tables(project, model):
        pin = pins.get(name.name)
        if isinstance(pin, DeltaPin):
            source = project.sources.get(name.name)
            own = source.path if source else project.uri_of(project.table_of(name))
            uri = elsewhere.get(name.name) or own
            found[name] = DeltaRead(uri, pin.version)
    return found
