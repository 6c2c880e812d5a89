"""One step from pins to record."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from functools import partial

from penstock.app.checking.gates import Ahead, look_ahead, look_at_views, version_of
from penstock.app.checking.watch import check_target_of, watched
from penstock.app.execution.building import build, build_nothing
from penstock.app.execution.commit import Committer, Ended
from penstock.app.execution.partitions import execute_partitions
from penstock.app.observation.inputs import pin_inputs
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import intent_of
from penstock.app.preparing.step_inputs import Looking, StepInputs, table_gone
from penstock.app.services.services import Services
from penstock.core.engine_ports import StepSession
from penstock.core.model import Writing
from penstock.core.statement import Commit
from penstock.core.step import Intent
from penstock.plan.schema.evolution import layout_change
from penstock.plan.values import Step
from penstock.strategies.alter import allow_widening, alter_properties


def execute(services: Services, context: Context, step: Step, held: Ahead | None = None) -> Ended:
    """Do one step: pin, look, begin, commit, finish.

    An error before `begin` is recorded without a lease; one after it fails the begun step. What
    raises is a `PenstockError`, `TakenOut`, or a bug. What is `held` was said already ahead of the
    step that these partitions are left of.
    """
    if step.partitions:
        return execute_partitions(services, context, step, held)
    model = services.project.models[step.model]
    committer = Committer(services, context, model.where, step.planned_on)
    intent = intent_of(services, context, step, model)
    with committer.rejecting(intent):
        inputs = pin_inputs(services, model, context.records, context.view)
    intent = replace(intent, inputs=inputs.pins)
    committer.await_target(intent)
    if not step.only_alters:
        with committer.rejecting(intent):
            look_at_views(services, context, step.key, intent, inputs)
    with services.engine.session(model.name, model.where) as session:
        if step.only_alters:
            return _only_alter(services, context, committer, session, intent)
        with committer.rejecting(intent):
            step_inputs = Looking(services, context, step, model, inputs).look(session)
        intent = _promised(intent, step_inputs, context.as_of, step)
        check_target = check_target_of(services, context, session, model, inputs, step_inputs)
        with committer.rejecting(intent):
            told = look_ahead(check_target, intent)
        watch, work = watched(check_target, step_inputs, told)
        if step_inputs.has_nothing_to_read and not step.initial:
            return build_nothing(committer, intent, step_inputs.late, watch)
        alter = partial(_alter, services, context, committer, session, intent, step_inputs)
        if watch is not None and watch.blocks:
            watch = replace(watch, prepare=lambda: alter().base_version)
        else:
            intent = alter()
        ended = build(committer, session, intent, work, step_inputs.late, watch)
    if model.is_view and watch is not None and ended.checked is not None:
        context.views.keep(version_of(services, model, inputs), ended.checked.report)
    return replace(ended, schema_changes=schema_changes(step_inputs))


def _only_alter(
    services: Services, context: Context, committer: Committer, session: StepSession, intent: Intent
) -> Ended:
    """Bring properties and comments up to date; rows, inputs and watermarks stay on record."""
    model = services.project.models[intent.model]
    record = context.records[intent.model]
    facts = services.log.facts(intent.uri)
    if facts is None or record.fingerprint is None:
        raise table_gone(model)
    moved = layout_change(model, facts).moved
    layout = record.fingerprint.layout if moved else model.fingerprint.layout
    made = replace(record.fingerprint, layout=layout)
    intent = replace(intent, base_version=facts.version, fingerprint=made)
    ended = None
    for sql in alter_properties(services.project.sql_of(model.table), model, facts):
        ended = committer.alter(session, intent, Commit(sql, once=False))
        intent = replace(intent, base_version=ended.outcome.settled_version)
    if ended is None:
        raise table_gone(model)
    return ended


def _promised(
    intent: Intent, step_inputs: StepInputs, as_of: dt.datetime | None, step: Step
) -> Intent:
    """Add what is known now: windows, the watermarks to leave, the version before."""
    opened = step_inputs.opened
    return replace(
        intent,
        windows=opened.windows if opened else (),
        watermarks=opened.watermarks if opened else (),
        lowers_watermarks=step.initial,
        cut_at=as_of if opened and opened.is_cut else None,
        passed_by=step_inputs.passed_by,
        base_version=step_inputs.facts.version if step_inputs.facts else None,
    )


def _alter(  # the sides of one step
    services: Services,
    context: Context,
    committer: Committer,
    session: StepSession,
    intent: Intent,
    step_inputs: StepInputs,
) -> Intent:
    """Make the metadata commits that must come before the build; give the intent that follows."""
    facts, model = step_inputs.facts, services.project.models[intent.model]
    if facts is None or step_inputs.table is None or model.writing is Writing.WHOLE:
        return intent
    target = services.project.sql_of(model.table)
    statements = alter_properties(target, model, facts)
    if step_inputs.evolution.widened:
        statements = (*allow_widening(target, facts.properties), *statements)
    record = context.records.get(intent.model)
    kept = record.fingerprint if record and record.fingerprint else intent.fingerprint
    base: int | None = facts.version
    for sql in statements:
        altering = replace(intent, base_version=base, fingerprint=kept)
        base = committer.alter(session, altering, Commit(sql, once=False)).outcome.settled_version
    return replace(intent, base_version=base)


def schema_changes(step_inputs: StepInputs) -> tuple[str, ...]:
    """Word how the query's columns change the table."""
    added = tuple(f"added {name}" for name in step_inputs.evolution.added)
    return added + tuple(f"widened {name}" for name in step_inputs.evolution.widened)
