"""One step from pins to record."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from functools import partial

from penstock.app.checking.gates import Ahead, look_ahead, look_at_views, version_of
from penstock.app.checking.watch import subject_of, watched
from penstock.app.execution.building import build, build_nothing
from penstock.app.execution.commit import Committer, Ended
from penstock.app.execution.partitions import execute_partitions
from penstock.app.observation.inputs import pin_inputs
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import intent_of
from penstock.app.preparing.step_inputs import Looked, Looking, table_gone
from penstock.app.services.services import Shop
from penstock.core.engine_ports import StepSession
from penstock.core.model import Writing
from penstock.core.statement import Commit
from penstock.core.step import Intent
from penstock.plan.schema.evolution import layout_change
from penstock.plan.values import Step
from penstock.strategies.alter import allow_widening, alter_properties


def execute(shop: Shop, context: Context, step: Step, held: Ahead | None = None) -> Ended:
    """Do one step: pin, look, begin, commit, finish.

    An error before `begin` is recorded without a lease; one after it fails the begun step. What
    raises is a `PenstockError`, `TakenOut`, or a bug. What is `held` was said already ahead of the
    step that these partitions are left of.
    """
    if step.partitions:
        return execute_partitions(shop, context, step, held)
    model = shop.project.models[step.model]
    committer = Committer(shop, context, model.where, step.planned_on)
    intent = intent_of(shop, context, step, model)
    with committer.rejecting(intent):
        inputs = pin_inputs(shop, model, context.records, context.view)
    intent = replace(intent, inputs=inputs.pins)
    committer.await_target(intent)
    if not step.only_alters:
        with committer.rejecting(intent):
            look_at_views(shop, context, step.key, intent, inputs)
    with shop.engine.session(model.name, model.where) as session:
        if step.only_alters:
            return _only_alter(shop, context, committer, session, intent)
        with committer.rejecting(intent):
            looked = Looking(shop, context, step, model, inputs).look(session)
        intent = _promised(intent, looked, context.as_of, step)
        subject = subject_of(shop, context, session, model, inputs, looked)
        with committer.rejecting(intent):
            told = look_ahead(subject, intent)
        watch, work = watched(subject, looked, told)
        if looked.has_nothing_to_read and not step.initial:
            return build_nothing(committer, intent, looked.late, watch)
        alter = partial(_alter, shop, context, committer, session, intent, looked)
        if watch is not None and watch.blocks:
            watch = replace(watch, prepare=lambda: alter().base_version)
        else:
            intent = alter()
        ended = build(committer, session, intent, work, looked.late, watch)
    if model.is_view and watch is not None and ended.checked is not None:
        context.views.keep(version_of(shop, model, inputs), ended.checked.report)
    return replace(ended, schema_changes=schema_changes(looked))


def _only_alter(
    shop: Shop, context: Context, committer: Committer, session: StepSession, intent: Intent
) -> Ended:
    """Bring properties and comments up to date; rows, inputs and watermarks stay on record."""
    model = shop.project.models[intent.model]
    record = context.records[intent.model]
    facts = shop.log.facts(intent.uri)
    if facts is None or record.fingerprint is None:
        raise table_gone(model)
    moved = layout_change(model, facts).moved
    layout = record.fingerprint.layout if moved else model.fingerprint.layout
    made = replace(record.fingerprint, layout=layout)
    intent = replace(intent, base_version=facts.version, fingerprint=made)
    ended = None
    for sql in alter_properties(shop.project.sql_of(model.table), model, facts):
        ended = committer.alter(session, intent, Commit(sql, once=False))
        intent = replace(intent, base_version=ended.outcome.settled_version)
    if ended is None:
        raise table_gone(model)
    return ended


def _promised(intent: Intent, looked: Looked, as_of: dt.datetime | None, step: Step) -> Intent:
    """Add what is known now: windows, the watermarks to leave, the version before."""
    opened = looked.opened
    return replace(
        intent,
        windows=opened.windows if opened else (),
        watermarks=opened.watermarks if opened else (),
        lowers_watermarks=step.initial,
        cut_at=as_of if opened and opened.is_cut else None,
        passed_by=looked.passed_by,
        base_version=looked.facts.version if looked.facts else None,
    )


def _alter(  # the sides of one step
    shop: Shop,
    context: Context,
    committer: Committer,
    session: StepSession,
    intent: Intent,
    looked: Looked,
) -> Intent:
    """Make the metadata commits that must come before the build; give the intent that follows."""
    facts, model = looked.facts, shop.project.models[intent.model]
    if facts is None or looked.table is None or model.writing is Writing.WHOLE:
        return intent
    target = shop.project.sql_of(model.table)
    statements = alter_properties(target, model, facts)
    if looked.evolution.widened:
        statements = (*allow_widening(target, facts.properties), *statements)
    record = context.records.get(intent.model)
    kept = record.fingerprint if record and record.fingerprint else intent.fingerprint
    base: int | None = facts.version
    for sql in statements:
        altering = replace(intent, base_version=base, fingerprint=kept)
        base = committer.alter(session, altering, Commit(sql, once=False)).outcome.settled_version
    return replace(intent, base_version=base)


def schema_changes(looked: Looked) -> tuple[str, ...]:
    """Word how the query's columns change the table."""
    added = tuple(f"added {name}" for name in looked.evolution.added)
    return added + tuple(f"widened {name}" for name in looked.evolution.widened)
