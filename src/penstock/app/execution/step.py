"""One step from pins to record: its phases in their order (design: the commit protocol)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from penstock.app.checking.chosen import checks_of_step
from penstock.app.checking.gates import Ahead, look_ahead, look_at_views, version_of
from penstock.app.checking.target import CheckTarget
from penstock.app.checking.watch import watched
from penstock.app.execution.commit import Committer, Ended, alter_each
from penstock.app.execution.partitions import read_by, ready_partitions
from penstock.app.execution.step_state import StepState, known
from penstock.app.preparing.pass_inputs import PassLooking
from penstock.app.preparing.pins import pin_names
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.slice_inputs import SliceLooking
from penstock.app.preparing.statements import build_of, decide
from penstock.app.preparing.step_inputs import Looking, table_gone
from penstock.app.services.services import Services
from penstock.core.errors import DataError, IncrementalConfigError, error_of_warnings
from penstock.core.facts import TableFacts
from penstock.core.model import Body, Model
from penstock.core.partitions.partition import write_ranges
from penstock.core.ports.engine import StepSession
from penstock.core.steps.inputs import ViewPin
from penstock.core.steps.step import Intent, Outcome, StepKind
from penstock.core.strategy import Writing
from penstock.plan.evolution import moved_layout
from penstock.plan.resolve import body_of
from penstock.plan.values import Step
from penstock.strategies.entities.strategy import strategy_of_entity
from penstock.strategies.relations import leaves
from penstock.strategies.reshape import alter_properties, prepared


def ready_table(state: StepState) -> StepState:
    """Choose the step's work; make the metadata commits that must come before it.

    Where a gate may hold rows back they come once these have passed; a step that has nothing to
    read makes none.
    """
    target, found, model = state.check_target, state.step_inputs, state.model
    if target is None:
        build = build_of(state.services, state.context, model, found)
        state = replace(state, work=(found.work or model.strategy.work)(build))
    else:
        watching, work = watched(target, found, state.said)
        state = replace(state, watch=watching, work=work)
    watch, facts = state.watch, found.facts
    if found.is_idle or facts is None or found.table is None or model.writing is Writing.WHOLE:
        return state
    if watch is not None and watch.blocks:
        later = replace(watch, prepare=lambda: _altered(state, facts).base_version)
        return replace(state, watch=later)
    return replace(state, intent=_altered(state, facts))


def _altered(state: StepState, facts: TableFacts) -> Intent:
    """Make the metadata commits; give the intent that follows them."""
    intent, model, found = state.intent, state.model, state.step_inputs
    target = state.services.project.sql_of(model.table)
    statements = prepared(target, model, facts, widens=bool(found.evolution.widened))
    record = state.context.records.get(intent.model)
    kept = record.fingerprint if record and record.fingerprint else intent.fingerprint
    altering = replace(intent, base_version=facts.version, fingerprint=kept)
    altered, _ = alter_each(state.committer, altering, statements)
    return replace(intent, base_version=altered.base_version)


def bring_properties(state: StepState) -> StepState:
    """Bring properties and comments up to date; rows, inputs and watermarks stay on record."""
    services, model, intent = state.services, state.model, state.intent
    record = state.context.records[intent.model]
    session = state.closing.enter_context(services.engine.session(model.name, model.where))
    state.committer.session = session
    facts = services.log.facts(intent.uri)
    if facts is None or record.fingerprint is None:
        raise table_gone(model)
    # a layout that only a full refresh brings is still to be told of by the next plan
    moved = moved_layout(model, facts)
    layout = record.fingerprint.layout if moved else model.fingerprint.layout
    made = replace(record.fingerprint, layout=layout)
    intent = replace(intent, base_version=facts.version, fingerprint=made)
    statements = alter_properties(services.project.sql_of(model.table), model, facts)
    _, ended = alter_each(state.committer, intent, statements)
    if ended is None:
        raise table_gone(model)
    return replace(state, ended=ended)


def pin(state: StepState) -> StepState:
    """Fix the versions of all inputs, once nobody else writes the target.

    Checks of views are looked at as they are pinned: a view has no rows of its own to hold back.
    """
    services, context, step, intent = state.services, state.context, state.step, state.intent
    # the wait comes first, or the pins would be older than what the other run has written meanwhile
    state.committer.await_target(intent)
    with state.committer.rejecting(intent):
        if state.held:
            inputs = state.held.inputs
        else:  # the own table of partitions later, as it may not be there yet
            model, body = state.model, state.body
            names = read_by(state, body, own=False) if body else leaves(services.project, model)
            inputs = pin_names(services, model, names, context.records, context.view)
            if step.session is not None:
                inputs = context.passes.pinned(step.session, inputs)
        intent = replace(intent, inputs=inputs.pins)
        reads_views = any(isinstance(each.pin, ViewPin) for each in inputs.pins)
        if reads_views and not (state.held or step.only_alters):
            look_at_views(services, context, step.key, intent, inputs, step.partitions)
    return replace(state, intent=intent, inputs=inputs)


def look(state: StepState) -> StepState:
    """Open the session; find windows, columns and facts. Nothing is written."""
    committer, services, context = state.committer, state.services, state.context
    model, version = state.model, state.version
    session = committer.session = _session_of(state)
    way = _looking_at(state.step, model)
    with committer.rejecting(state.intent):
        # that of partitions is described later: SQL that reads its own table needs it to be there
        if state.body is None:
            uri, inputs = state.intent.uri, state.inputs
            looking = way(services, context, state.step, model, inputs, uri)
            found = looking.look(session)
            warned = error_of_warnings(found.notes, model.where) if context.options.strict else None
            if warned is not None:
                raise warned
            intent = looking.promised(state.intent, found)
            changes = () if found.is_idle else found.schema_changes
            state = replace(state, intent=intent, step_inputs=found, changes=changes)
        checks = (version or model).checks
        if not (checks.before or checks.after):
            return state
        number = version.number if version else model.fingerprint.version
        target = CheckTarget(
            services=services,
            context=context,
            session=session,
            model=model,
            checks=checks_of_step(services.project, model, number, context.options),
            inputs=state.inputs,
            windows=state.intent.windows,
            partitions=state.step.partitions,
            body=state.body,
            slice_view=state.step_inputs.slice_view,
        )
        return replace(state, check_target=target)


def _session_of(state: StepState) -> StepSession:
    """Open the session of a step; the base tables of a pass share one, which their pass ends."""
    own = state.step.session
    shared = state.context.passes.session(own) if own is not None else None
    if shared is not None:
        return shared
    opened = state.services.engine.session(state.model.name, state.committer.where)
    return state.closing.enter_context(opened)


def _looking_at(step: Step, model: Model) -> type[Looking]:
    """Say how a step looks at what it reads."""
    if step.session is not None:
        return PassLooking
    return Looking if model.entity is None else SliceLooking


def check_before(state: StepState) -> StepState:
    """Evaluate the checks of the input rows; a failed gate takes partitions out of the step."""
    target = state.check_target
    if state.held is not None:
        return replace(state, said=state.held.results)
    if target is None or not target.checks.before:
        return state
    with state.committer.rejecting(state.intent):
        return replace(state, said=look_ahead(target, state.intent))


def begin(state: StepState) -> StepState:
    """Make the table ready, each change a step of its own; write the step down, take the lease."""
    state = ready_table(state) if state.body is None else ready_partitions(state)
    promised = state.watch.promised(state.intent) if state.watch else state.intent
    return replace(state, intent=state.committer.begin(promised))


def stage(state: StepState) -> StepState:
    """Run the stages and decide the statement; where a gate blocks, check its rows beside it."""
    if state.step_inputs.is_idle:
        return state
    committer, watch, begun = state.committer, state.watch, state.intent
    committer.fault("after-begin")
    if watch is not None:
        state.closing.callback(watch.clean, begun)
    with committer.failing(begun):
        decided = decide(committer.session, state.work, committer.where)
        if watch is None:
            return replace(state, decided=decided)
        if not watch.blocks:
            decided, observed = watch.passing(decided)
            return replace(state, decided=decided, observed=observed)
        statement, checked = watch.hold(begun, decided)
        committer.fault("after-evaluating")
    committer.record(begun, checked)
    committer.fault("after-checks")
    kept_back = checked.failure is not None and statement is None
    published = replace(decided, statement=statement)
    return replace(state, decided=published, checked=checked, is_kept_back=kept_back)


def write(state: StepState) -> StepState:
    """Make the one commit, or none where nothing is to be written; find out what it did."""
    committer, begun, watch = state.committer, state.intent, state.watch
    if state.decided is None or state.is_kept_back:
        return replace(state, outcome=_counted(state, committer.unchanged(begun)))
    statement = state.decided.statement
    if watch is not None and watch.prepare is not None and statement is not None:
        # only now, so that rows that a gate kept back leave the table as it was
        begun = committer.prepared(begun, statement, watch.prepare)
    outcome = committer.made(begun, state.decided)
    return replace(state, intent=begun, outcome=_counted(state, outcome))


def _counted(state: StepState, outcome: Outcome) -> Outcome:
    """Add the rows that no commit tells of: those that came late, and those without a time."""
    found = state.step_inputs
    nulls = found.opened.null_rows if found.opened else 0
    return replace(outcome, rows=replace(outcome.rows, late=found.late, null_time=nulls))


def check_after(state: StepState) -> StepState:
    """Look at what the commit wrote; a look that cannot end leaves the step to `recover`."""
    committer, watch, begun = state.committer, state.watch, state.intent
    if watch is None or state.checked is not None:
        return state
    if state.decided is None:
        with committer.failing(begun):
            checked = watch.unchanged(begun)
        committer.record(begun, checked)
        return replace(state, checked=checked)
    checked = watch.look(begun, state.outcome, state.decided, state.observed)
    committer.record(begun, checked)
    committer.fault("after-checks")
    return replace(state, checked=checked)


def record(state: StepState) -> StepState:
    """Write down what the step did; take it back, as another step, where a gate asks for it."""
    committer, begun, checked = state.committer, state.intent, state.checked
    if checked is not None and checked.failure is not None and state.is_kept_back:
        state.services.writing.journal.fail(begun.step, checked.failure)
        ended = Ended(begun, state.outcome, checked=checked)
    else:
        ended = committer.finish(begun, state.outcome, checked)
    if state.watch is not None and not state.watch.blocks:
        # after `finish`: a crash in between leaves a step that the next command takes back
        ended = committer.undo(ended)
    if checked is not None and state.model.is_view:
        version = version_of(state.services, state.model, state.inputs)
        state.context.views.keep(version, checked.report)
    notes = (*ended.notes, *state.step_inputs.notes)
    return replace(state, ended=replace(ended, schema_changes=state.changes, notes=notes))


Phase = Callable[[StepState], StepState]
PHASES: tuple[Phase, ...] = (pin, look, check_before, begin, stage, write, check_after, record)
"""A crash is safe between any two: before `begin` nothing is on record, from then on `recover`
finds out from the table's log whether `write` was reached, and does the rest.
"""
PROPERTIES: tuple[Phase, ...] = (pin, bring_properties)
"""What a step does that touches no row."""


def execute(services: Services, context: Context, step: Step, held: Ahead | None = None) -> Ended:
    """Do one step; what is `held` was said ahead of the one that its partitions are left of.

    An error before `begin` is recorded without a lease; one after it fails the begun step. What
    raises is a `PenstockError`, `TakenOut`, or a bug.
    """
    model = context.project.models[step.model]
    version, body = None, None
    if model.partition is not None:
        version, body = body_of(model, step.version, step.revision)
    intent = intended(services, context, step, model, body)
    committer = Committer(services, context, (body or model).where, step.planned_on)
    with ExitStack() as closing:
        state = StepState(services, context, step, model, committer, closing, intent)
        state = replace(state, version=version, body=body, held=held)
        try:
            for phase in PROPERTIES if step.only_alters else PHASES:
                state = phase(state)
        except DataError as error:
            if type(error) is not DataError or model.strategy.window is None:
                raise
            raise _of_window(error) from error
    return known(state.ended)


def _of_window(error: DataError) -> IncrementalConfigError:
    """Say of rows that were refused that it was a model with windows that refused them."""
    code, sentence, where = error.code, error.sentence, error.where
    return IncrementalConfigError(code, sentence, where=where, hint=error.hint)


def intended(
    services: Services, context: Context, step: Step, model: Model, body: Body | None
) -> Intent:
    """Return what a step intends before anything was looked at."""
    partitions = write_ranges(step.grid, step.partitions)
    return Intent(
        step=services.clock.new_id(),
        run=context.holder.run,
        model=model.name,
        table=model.table,
        uri="" if model.is_view else services.project.uri_of(model.table),
        kind=StepKind.BUILD,
        strategy=_strategy_of(context, model),
        reason=str(step.reason),
        triggered_by=step.trigger if step.trigger != "run" else context.triggered_by,
        run_timestamp=step.moment or context.run_timestamp,
        fingerprint=body.fingerprint if body else model.fingerprint,
        writing=model.writing,
        grid=step.grid,
        partitions=partitions,
        lane=partitions[0] if step.at_once else _lane_of(model),
        slice=step.slice.id if step.slice else None,
    )


def _lane_of(model: Model) -> str:
    """Tell apart the steps of entities that share a table: they may write it at the same time."""
    return model.name if model.entity is not None and model.entity.scope is not None else ""


def _strategy_of(context: Context, model: Model) -> str:
    """Return the word of what writes the rows: the model's strategy, unless another was forced."""
    forced = context.options.strategy
    if model.entity is None or forced is None:
        return model.strategy_name
    return strategy_of_entity(model.entity, forced).name
