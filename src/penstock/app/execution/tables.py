"""What a step of a whole table finds before it begins, and what must come before its rows."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.target import CheckTarget
from penstock.app.checking.watch import watched
from penstock.app.execution.step_state import StepState
from penstock.app.preparing.statements import build_of
from penstock.app.preparing.step_inputs import Looking, StepInputs, table_gone
from penstock.core.ports.engine import StepSession
from penstock.core.statement import Commit
from penstock.core.steps.inputs import InputPin
from penstock.core.steps.step import Intent
from penstock.core.strategy import Writing
from penstock.plan.schema.evolution import layout_change
from penstock.strategies.reshape import allow_widening, alter_properties


def look(state: StepState, session: StepSession) -> StepState:
    """Open windows, define the query as `penstock_query`, compare it with the table."""
    services, context, step, model = state.services, state.context, state.step, state.model
    found = Looking(services, context, step, model, state.inputs).look(session)
    opened = found.opened
    again = context.options.rerun
    record = context.records.get(model.name)
    kept = tuple(InputPin(name, pin) for name, pin in record.pins.items()) if record else ()
    intent = replace(
        state.intent,
        inputs=state.intent.inputs if again is None else kept,
        windows=opened.windows if opened else (),
        watermarks=opened.watermarks if opened else (),
        lowers_watermarks=step.initial,
        cut_at=context.as_of if opened and opened.is_cut else None,
        passed_by=found.passed_by,
        base_version=found.facts.version if found.facts else None,
    )
    version, options = model.fingerprint.version, context.options
    checks, target = checks_of_step(services.project, model, version, options), None
    if not checks.is_empty:
        target = CheckTarget(
            services=services,
            context=context,
            session=session,
            model=model,
            checks=checks,
            inputs=state.inputs,
            windows=intent.windows,
        )
    is_idle = found.has_nothing_to_read and not step.initial
    return replace(
        state,
        intent=intent,
        step_inputs=found,
        check_target=target,
        late=found.late,
        is_idle=is_idle,
        changes=() if is_idle else schema_changes(found),
    )


def ready_table(state: StepState) -> StepState:
    """Choose the step's work; make the metadata commits that must come before it.

    Where a gate may hold rows back they come once these have passed; a step that has nothing to
    read makes none.
    """
    target, found, model = state.check_target, state.step_inputs, state.model
    if target is None:
        build = build_of(state.services, state.context, model, found)
        state = replace(state, work=model.strategy.work(build))
    else:
        watching, work = watched(target, found, state.said)
        state = replace(state, watch=watching, work=work)
    watch = state.watch
    if state.is_idle:
        return state
    if watch is not None and watch.blocks:
        later = replace(watch, prepare=lambda: _altered(state, found).base_version)
        return replace(state, watch=later)
    return replace(state, intent=_altered(state, found))


def _altered(state: StepState, found: StepInputs) -> Intent:
    """Make the metadata commits; give the intent that follows them."""
    intent, model = state.intent, state.model
    facts, services = found.facts, state.services
    if facts is None or found.table is None or intent.writing is Writing.WHOLE:
        return intent
    target = services.project.sql_of(model.table)
    statements = alter_properties(target, model, facts)
    if found.evolution.widened:
        statements = (*allow_widening(target, facts.properties), *statements)
    record = state.context.records.get(intent.model)
    kept = record.fingerprint if record and record.fingerprint else intent.fingerprint
    base: int | None = facts.version
    for sql in statements:
        altering = replace(intent, base_version=base, fingerprint=kept)
        ended = state.committer.alter(altering, Commit(sql, once=False))
        base = ended.outcome.settled_version
    return replace(intent, base_version=base)


def bring_properties(state: StepState) -> StepState:
    """Bring properties and comments up to date; rows, inputs and watermarks stay on record."""
    services, model, intent = state.services, state.model, state.intent
    record = state.context.records[intent.model]
    session = state.closing.enter_context(services.engine.session(model.name, model.where))
    state.committer.open(session)
    facts = services.log.facts(intent.uri)
    if facts is None or record.fingerprint is None:
        raise table_gone(model)
    # a layout that only a full refresh brings is still to be told of by the next plan
    moved = layout_change(model, facts).moved
    layout = record.fingerprint.layout if moved else model.fingerprint.layout
    made = replace(record.fingerprint, layout=layout)
    intent = replace(intent, base_version=facts.version, fingerprint=made)
    ended = None
    for sql in alter_properties(services.project.sql_of(model.table), model, facts):
        ended = state.committer.alter(intent, Commit(sql, once=False))
        intent = replace(intent, base_version=ended.outcome.settled_version)
    if ended is None:
        raise table_gone(model)
    return replace(state, ended=ended)


def schema_changes(step_inputs: StepInputs) -> tuple[str, ...]:
    """Word how the query's columns change the table."""
    added = tuple(f"added {name}" for name in step_inputs.evolution.added)
    return added + tuple(f"widened {name}" for name in step_inputs.evolution.widened)
