"""One step from pins to record: its phases in their order (design: the commit protocol)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.gates import Ahead, look_ahead, look_at_views, version_of
from penstock.app.checking.target import CheckTarget
from penstock.app.execution.commit import Committer, Ended, alter_each
from penstock.app.execution.step_state import Staged, StepRun, StepState, WorkKind
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import decide
from penstock.app.preparing.step_inputs import table_gone_error
from penstock.app.services.services import Services
from penstock.core.errors import DataError, IncrementalConfigError
from penstock.core.steps.inputs import ViewPin
from penstock.core.steps.step import Intent, Outcome, StepKind
from penstock.plan.evolution import layout_changes
from penstock.plan.values import Step
from penstock.strategies.reshape import alter_properties


def update_properties(state: StepState) -> StepState:
    """Bring properties and comments up to date; rows, inputs and watermarks stay on record."""
    run, intent = state.run, state.intent
    services, model, record = run.services, run.model, run.context.records[intent.model]
    session = run.closing.enter_context(services.engine.session(model.name, model.where))
    run.committer.session = session
    facts = services.log.facts(intent.uri)
    if facts is None or record.fingerprint is None:
        raise table_gone_error(model)
    # a layout that only a full refresh brings is still to be told of by the next plan
    moved = layout_changes(model, facts)
    layout = record.fingerprint.layout if moved else model.fingerprint.layout
    made = replace(record.fingerprint, layout=layout)
    intent = replace(intent, base_version=facts.version, fingerprint=made)
    statements = alter_properties(services.project.sql_of(model.table), model, facts)
    _, ended = alter_each(run.committer, intent, statements)
    if ended is None:
        raise table_gone_error(model)
    return replace(state, ended=ended)


def pin(state: StepState) -> StepState:
    """Fix the versions of all inputs, once nobody else writes the target.

    Checks of views are looked at as they are pinned: a view has no rows of its own to hold back.
    """
    run, intent = state.run, state.intent
    # the wait comes first, or the pins would be older than what the other run has written meanwhile
    run.committer.await_target(intent)
    with run.committer.rejecting(intent):
        inputs = run.ahead.inputs if run.ahead else run.kind.pin_versions(run)
        intent = replace(intent, inputs=inputs.pins)
        reads_views = any(isinstance(each.pin, ViewPin) for each in inputs.pins)
        if reads_views and not (run.ahead or run.step.only_alters):
            where = run.services, run.context, run.step.key
            look_at_views(*where, intent, inputs, run.step.partitions)
    return replace(state, intent=intent, inputs=inputs)


def inspect(state: StepState) -> StepState:
    """Open the session; find windows, columns and facts. Nothing is written."""
    state = state.run.kind.inspect(state)
    run = state.run
    version = run.segment.version if run.segment else None
    checks = (version or run.model).checks
    if not (checks.before or checks.after):
        return state
    number = version.number if version else run.model.fingerprint.version
    target = CheckTarget(
        services=run.services,
        context=run.context,
        session=run.committer.session,
        model=run.model,
        checks=checks_of_step(run.services.project, run.model, number, run.context.options),
        inputs=state.inputs,
        windows=state.intent.windows,
        partitions=run.step.partitions,
        body=run.segment.body if run.segment else None,
        slice_view=state.step_inputs.slice_view,
    )
    return replace(state, check_target=target)


def check_before(state: StepState) -> StepState:
    """Evaluate the checks of the input rows; a failed gate takes partitions out of the step."""
    run, target = state.run, state.check_target
    if run.ahead is not None:
        return replace(state, results=run.ahead.results)
    if target is None or not target.checks.before:
        return state
    with run.committer.rejecting(state.intent):
        return replace(state, results=look_ahead(target, state.intent))


def begin(state: StepState) -> StepState:
    """Make the table ready, each change a step of its own; write the step down, take the lease."""
    state = state.run.kind.prepare(state)
    promised = state.watch.promised(state.intent) if state.watch else state.intent
    return replace(state, intent=state.run.committer.begin(promised))


def stage(state: StepState) -> StepState:
    """Run the stages and decide the statement; where a gate blocks, check its rows beside it."""
    if state.step_inputs.is_idle:
        return state
    committer, watch, begun = state.run.committer, state.watch, state.intent
    committer.fault("after-begin")
    if watch is not None:
        state.run.closing.callback(watch.clean, begun)
    with committer.failing(begun):
        decided = decide(committer.session, state.work, committer.where)
        if watch is None:
            return replace(state, staged=Staged(decided))
        if not watch.blocks:
            return replace(state, staged=Staged(*watch.passing(decided)))
        statement, checked = watch.hold(begun, decided)
        committer.fault("after-evaluating")
    committer.record(begun, checked)
    committer.fault("after-checks")
    kept_back = checked.failure is not None and statement is None
    staged = Staged(replace(decided, statement=statement), is_kept_back=kept_back)
    return replace(state, staged=staged, checked=checked)


def write(state: StepState) -> StepState:
    """Make the one commit, or none where nothing is to be written; find out what it did."""
    committer, begun, watch, decided = (
        state.run.committer,
        state.intent,
        state.watch,
        state.staged.decided,
    )
    if decided is None or state.staged.is_kept_back:
        return replace(state, outcome=_add_late(state, committer.empty_outcome(begun)))
    if watch is not None and watch.prepare is not None and decided.statement is not None:
        # only now, so that rows that a gate kept back leave the table as it was
        begun = committer.prepare(begun, decided.statement, watch.prepare)
    return replace(state, intent=begun, outcome=_add_late(state, committer.apply(begun, decided)))


def _add_late(state: StepState, outcome: Outcome) -> Outcome:
    """Add the rows that no commit tells of: those that came late, and those without a time."""
    late, opened = state.step_inputs.late, state.step_inputs.windows
    nulls = opened.null_rows if opened else 0
    return replace(outcome, rows=replace(outcome.rows, late=late, null_time=nulls))


def check_after(state: StepState) -> StepState:
    """Look at what the commit wrote; a look that cannot end leaves the step to `recover`."""
    committer, watch, begun = state.run.committer, state.watch, state.intent
    if watch is None or state.checked is not None:
        return state
    if state.staged.decided is None:
        with committer.failing(begun):
            checked = watch.unchanged(begun)
        committer.record(begun, checked)
        return replace(state, checked=checked)
    checked = watch.look_after(begun, state.outcome, state.staged.decided, state.staged.observed)
    committer.record(begun, checked)
    committer.fault("after-checks")
    return replace(state, checked=checked)


def record(state: StepState) -> StepState:
    """Write down what the step did; take it back, as another step, where a gate asks for it."""
    run, begun, checked = state.run, state.intent, state.checked
    if checked is not None and checked.failure is not None and state.staged.is_kept_back:
        run.services.writing.journal.fail(begun.step, checked.failure)
        ended = Ended(begun, state.outcome, checked=checked)
    else:
        ended = run.committer.finish(begun, state.outcome, checked)
    if state.watch is not None and not state.watch.blocks:
        # after `finish`: a crash in between leaves a step that the next command takes back
        ended = run.committer.undo(ended)
    if checked is not None and run.model.is_view:
        version = version_of(run.services, run.model, state.inputs)
        run.context.views.keep(version, checked.report)
    notes = (*ended.notes, *state.step_inputs.notes)
    return replace(state, ended=replace(ended, schema_changes=state.changes, notes=notes))


Phase = Callable[[StepState], StepState]
PHASES: tuple[Phase, ...] = (pin, inspect, check_before, begin, stage, write, check_after, record)
"""A crash is safe between any two: before `begin` nothing is on record, from then on `recover`
finds out from the table's log whether `write` was reached, and does the rest.
"""
PROPERTIES: tuple[Phase, ...] = (pin, update_properties)
"""What a step does that touches no row."""


def execute(
    services: Services, context: Context, kind: WorkKind, step: Step, ahead: Ahead | None = None
) -> Ended:
    """Do one step; `ahead` is what was said ahead of the one that its partitions are left of.

    An error before `begin` is recorded without a lease; one after it fails the begun step. What
    raises is a `PenstockError`, `TakenOut`, or a bug.
    """
    model = context.project.models[step.model]
    segment = next(iter(step.work.segments(model)), None)
    where = (segment.body if segment else model).where
    committer = Committer(services, context, where, step.planned_on)
    with ExitStack() as closing:
        run = StepRun(services, context, kind, step, model, committer, closing, segment, ahead)
        state = StepState(run, kind.complete_intent(run, initial_intent(run)))
        try:
            for phase in PROPERTIES if step.only_alters else PHASES:
                state = phase(state)
        except DataError as error:
            if type(error) is not DataError or model.strategy.window is None:
                raise
            raise _window_error(error) from error
    if state.ended is None:
        raise TypeError("a step ended without its last phase")
    return state.ended


def _window_error(error: DataError) -> IncrementalConfigError:
    """Say of rows that were refused that it was a model with windows that refused them."""
    code, sentence, where = error.code, error.sentence, error.where
    return IncrementalConfigError(code, sentence, where=where, hint=error.hint)


def initial_intent(run: StepRun) -> Intent:
    """Return what a step intends before anything was looked at."""
    services, context, step, model = run.services, run.context, run.step, run.model
    return Intent(
        step=services.clock.new_id(),
        run=context.holder.run,
        model=model.name,
        table=model.table,
        uri="" if model.is_view else services.project.uri_of(model.table),
        kind=StepKind.BUILD,
        strategy=model.strategy_name,
        reason=str(step.reason),
        triggered_by=step.trigger if step.trigger != "run" else context.triggered_by,
        run_timestamp=context.run_timestamp,
        fingerprint=(run.segment.body if run.segment else model).fingerprint,
        writing=model.writing,
    )
