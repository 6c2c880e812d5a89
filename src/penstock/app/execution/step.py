"""One step from pins to record: its phases in order (docs/ARCHITECTURE.md, commit protocol)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from penstock.app.checking.bad_records import keep_bad_records, settle_at_end
from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.gates import Ahead, look_ahead, look_at_views, version_of
from penstock.app.checking.target import CheckTarget
from penstock.app.execution.commit import Committer, Ended, alter_each
from penstock.app.execution.hooks import promise_after, run_after, run_before
from penstock.app.execution.step_state import Staged, StepRun, StepState, WorkKind
from penstock.app.execution.template_rows import read_rows
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import decide
from penstock.app.preparing.step_inputs import table_gone_error
from penstock.app.services.services import Services
from penstock.core.errors import DataError, IncrementalConfigError
from penstock.core.steps.inputs import ViewPin
from penstock.core.steps.step import Intent, Outcome, StepKind
from penstock.plan.evolution import layout_changes
from penstock.plan.values import Step
from penstock.strategies.history.feed import READS_ALL
from penstock.strategies.reshape import alter_properties


def update_properties(state: StepState) -> StepState:
    """Update properties and comments; the records of rows, inputs and watermarks stay."""
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
    """Pin the versions of all inputs, once no other run writes the target.

    Checks of views are evaluated here: a view has no stored rows to hold back. So are the queries
    whose rows the template reads, or that of a view that the step reads.
    """
    run, intent, models = state.run, state.intent, state.run.context.project.models
    # the wait comes first, or the pins would be older than what the other run has written meanwhile
    run.committer.await_target(intent)
    with run.committer.rejecting(intent):
        inputs = run.ahead.inputs if run.ahead else run.kind.pin_versions(run)
        intent = replace(intent, inputs=inputs.pins, deferred=inputs.deferred)
        reads_views = any(isinstance(each.pin, ViewPin) for each in inputs.pins)
        if reads_views and not (run.ahead or run.step.only_alters):
            where = run.services, run.context, run.step.key
            look_at_views(*where, intent, inputs, run.step.partitions)
    state = replace(state, intent=intent, inputs=inputs)
    views = (models[each.input] for each in inputs.pins if isinstance(each.pin, ViewPin))
    readers = [each for each in (run.model, *views) if each.query.reads]
    if readers and not run.step.only_alters:
        read_rows(state, readers)
    return state


def inspect(state: StepState) -> StepState:
    """Open the session; find windows, columns and facts. Writes nothing."""
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
    """Evaluate the checks of the input rows; a failed gate removes partitions from the step."""
    run, target = state.run, state.check_target
    if run.ahead is not None:
        return replace(state, results=run.ahead.results)
    if target is None or not target.checks.before:
        return state
    with run.committer.rejecting(state.intent):
        return replace(state, results=look_ahead(target, state.intent))


def begin(state: StepState) -> StepState:
    """Prepare the table, one step per change; record the step and take the lease."""
    state = state.run.kind.prepare(state)
    promise_after(state)
    promised = state.watch.promised(state.intent) if state.watch else state.intent
    return replace(state, intent=state.run.committer.begin(promised))


def stage(state: StepState) -> StepState:
    """Run the stages and decide the statement; if a gate blocks, check its rows beside it."""
    if state.step_inputs.is_idle:
        return state
    committer, watch, begun = state.run.committer, state.watch, state.intent
    committer.fault("after-begin")
    entity = state.run.model.entity
    if entity and entity.keeps_bad_records:
        state.run.closing.callback(settle_at_end, state.run.services, state.run.model)
    if state.step_inputs.bad_sql:
        with committer.failing(begun):
            where = state.run.services, committer.session, begun, state.step_inputs.bad_sql
            keep_bad_records(*where, committer.fault)
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
    """Make the one commit, or none if there is nothing to write; read what it did."""
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
    """Add counts that no commit contains: late rows, and rows without a time."""
    late, opened = state.step_inputs.late, state.step_inputs.windows
    nulls = opened.null_rows if opened else 0
    return replace(outcome, rows=replace(outcome.rows, late=late, null_time=nulls))


def check_after(state: StepState) -> StepState:
    """Check what the commit wrote; if that cannot finish, the step is left to `recover`."""
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
    """Record what the step did; undo it with another step if a gate requires that."""
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
    decided, found = state.staged.decided, state.step_inputs
    why = decided.row.get(READS_ALL) if decided is not None else None
    remarks = (f"all rows were read: {why}",) if why else found.versions.remarks
    notes = (*ended.notes, *found.notes, *remarks)
    return replace(state, ended=replace(ended, schema_changes=state.changes, notes=notes))


Phase = Callable[[StepState], StepState]
PHASES: tuple[Phase, ...] = (
    *(run_before, pin, inspect, check_before, begin, stage, write, check_after, record),
    run_after,
)
"""A crash is safe between any two phases: before `begin` nothing is on record, after it
`recover` reads from the table's log whether `write` was reached, and does the rest.
"""
PROPERTIES: tuple[Phase, ...] = (pin, update_properties)
"""The phases of a step that changes no rows."""


def execute(
    services: Services, context: Context, kind: WorkKind, step: Step, ahead: Ahead | None = None
) -> Ended:
    """Run one step; `ahead` are check results from the step that it is the rest of.

    An error before `begin` is recorded without a lease; an error after it fails the step. Raises
    only `PenstockError`, `TakenOut`, or a bug.
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
    """Explain refused rows: the windows of a model refused them."""
    code, sentence, where = error.code, error.sentence, error.where
    return IncrementalConfigError(code, sentence, where=where, hint=error.hint)


def initial_intent(run: StepRun) -> Intent:
    """Return the intent of a step before anything is read."""
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
