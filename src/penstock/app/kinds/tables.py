"""A whole table or view: whether it must be built, what it reads, what comes before."""

from __future__ import annotations

from dataclasses import replace

from penstock.app.checking.watch import watched
from penstock.app.execution.commit import alter_each
from penstock.app.execution.step_state import Share, StepRun, StepState, open_session
from penstock.app.observation.late_rows import changed_below
from penstock.app.observation.log_reader import open_log_reader
from penstock.app.observation.observe import observe
from penstock.app.observation.project_state import survey as look_at_project
from penstock.app.preparing.pins import Inputs, pin_inputs
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import build_of
from penstock.app.preparing.step_inputs import Looking
from penstock.app.services.services import Services, in_one_state
from penstock.core.errors import error_of_warnings
from penstock.core.facts import TableFacts
from penstock.core.partitions.ranges import intersection
from penstock.core.ports.engine import StepSession
from penstock.core.steps.step import Intent
from penstock.core.strategy import Writing
from penstock.plan.kinds.tables import detect_table_drift
from penstock.plan.planner import plan
from penstock.plan.values import State, Step
from penstock.strategies.reshape import preparing_sql

NOTHING_CHANGED = "its upstream made no change"


def share_of(services: Services, context: Context, step: Step) -> Share:
    """Keep the whole step: it has no parts that could be left out."""
    del services, context
    return Share((step,))


def step_to_run(services: Services, context: Context, step: Step) -> Step | str:
    """Decide about a step that waited for others, once these have ended.

    If none of them made a change, there is nothing to do, except perhaps a change of its
    properties.
    """
    return _due_step(services, context, step) if step.reason.pending else step


@in_one_state
def _due_step(services: Services, context: Context, step: Step) -> Step | str:
    model, now = services.project.models[step.model], context.view.now
    if step.trigger != "run" and model.strategy.window is not None:
        below = changed_below(open_log_reader(services), model.name, context.upstreams)
        return step if below else NOTHING_CHANGED  # new rows are for the next run's window
    reason = detect_table_drift(services.project, model, context.records, now).reason
    if reason.state is not State.CURRENT and not reason.passed:
        return step
    made = plan(services.project, [step.model], context.records, now, context.options)
    return made.steps[0] if made.steps else NOTHING_CHANGED


@in_one_state
def replan(services: Services, context: Context, step: Step) -> Step | None:
    """Decide about a step again, from the current store, log and sources.

    None means that another run has brought the model up to date. Sources are read again because
    that run may have read newer versions than this one planned with.
    """
    renew(services, context, step)
    project, records = services.project, context.records
    made = plan(project, [step.model], records, context.view.now, context.options)
    if made.blocked:
        raise made.blocked[0].error
    found = next((each for each in made.steps if each.key == step.key), None)
    if found is None:
        return None
    if step.trigger == "run" or found.only_alters:
        return found
    # what only a sync decides stays: a table that was to be made anew still is
    initial = found.initial or step.initial
    return replace(found, initial=initial, trigger=step.trigger, notes=step.notes)


def renew(services: Services, context: Context, step: Step) -> None:
    """Read the records, the table and the inputs of a step again."""
    context.records.update(services.reading.records.models())
    context.view.renew(observe(services, [step.model], context.records, context.run_timestamp))


@in_one_state
def renewed_step(services: Services, context: Context, step: Step, *, forced: bool) -> Step | None:
    """Return a step based on the newest one of its table, if something of it drifts."""
    renew(services, context, step)
    if not forced:
        now = look_at_project(services, (step.model,), context.run_timestamp).verdict(step.model)
        if not intersection(now.drifted, step.partitions):
            return None
    record = context.records.get(step.model)
    return replace(step, planned_on=record.last_step_seq if record else 0)


def complete_intent(run: StepRun, intent: Intent) -> Intent:
    """Add nothing."""
    del run
    return intent


def pin_versions(run: StepRun) -> Inputs:
    """Pin the versions of all inputs."""
    return pin_inputs(run.services, run.model, run.context.records, run.context.view)


def inspect(state: StepState) -> StepState:
    """Open the session; find windows, columns and facts. Writes nothing."""
    return examine(state, Looking)


def examine(state: StepState, way: type[Looking], session: StepSession | None = None) -> StepState:
    """Read what a step needs with a given function, in a session of its own if necessary."""
    run = open_session(state.run, session)
    looking = way(run.services, run.context, run.step, run.model, state.inputs, state.intent.uri)
    with run.committer.rejecting(state.intent):
        found = looking.inspect(run.committer.session)
        strict = run.context.options.strict
        if strict and (warned := error_of_warnings(found.notes, run.model.where)) is not None:
            raise warned
        intent = looking.with_findings(state.intent, found)
    changes = () if found.is_idle else found.schema_changes
    return replace(state, intent=intent, step_inputs=found, changes=changes)


def prepare(state: StepState) -> StepState:
    """Choose the step's work; make the metadata commits that must precede it.

    If a gate may hold rows back, the commits come once the rows have passed; a step with nothing to
    read makes none.
    """
    run, target, found, model = state.run, state.check_target, state.step_inputs, state.run.model
    if target is None:
        build = build_of(run.services, run.context, model, found)
        state = replace(state, work=(found.work or model.strategy.work)(build))
    else:
        watching, work = watched(target, found, state.results)
        state = replace(state, watch=watching, work=work)
    watch, facts = state.watch, found.facts
    if found.is_idle or facts is None or found.table is None or model.writing is Writing.WHOLE:
        return state
    if watch is not None and watch.blocks:
        later = replace(watch, prepare=lambda: _alter_metadata(state, facts).base_version)
        return replace(state, watch=later)
    return replace(state, intent=_alter_metadata(state, facts))


def _alter_metadata(state: StepState, facts: TableFacts) -> Intent:
    """Make the metadata commits; return the intent after them."""
    run, intent, model = state.run, state.intent, state.run.model
    widens = bool(state.step_inputs.evolution.widened)
    target = run.services.project.sql_of(model.table)
    statements = preparing_sql(target, model, facts, widens=widens)
    record = run.context.records.get(intent.model)
    kept = record.fingerprint if record and record.fingerprint else intent.fingerprint
    altering = replace(intent, base_version=facts.version, fingerprint=kept)
    altered, _ = alter_each(run.committer, altering, statements)
    return replace(intent, base_version=altered.base_version)


def note_success(context: Context, step: Step) -> None:
    """Record nothing."""
    del context, step
