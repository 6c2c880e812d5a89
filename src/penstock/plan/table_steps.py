"""From a reason to the step of a model of one partition, or to leaving it as it is."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.model import Model
from penstock.core.ranges import WHOLE
from penstock.core.records import ModelRecord
from penstock.plan.cascade import is_looked_at_alone
from penstock.plan.drift.detect import detect_table_drift
from penstock.plan.drift.target import is_replaced
from penstock.plan.history import must_look
from penstock.plan.obstacles import table_obstacle
from penstock.plan.question import LEFT, Decided, Earlier, Question, waits_for
from penstock.plan.schema.evolution import LayoutChange, layout_change
from penstock.plan.values import Estimate, Observed, Reason, State, Step


def table_step(
    question: Question, model: Model, reason: Reason, waits: tuple[str, ...], *, anew: bool = False
) -> Step:
    """Give the step that builds a model after those it waits for; `anew` from all its inputs."""
    record, options = question.records.get(model.name), question.options
    built = record is not None and record.succeeded_once
    adopted = reason.state is State.FOREIGN_TABLE and (options.adopt or model.keeps_history)
    replaced = is_replaced(record, question.now.targets.get(model.name, Observed()))
    initial = (
        anew
        or replaced
        or options.full_refresh
        or reason.state is State.MISSING
        or not (built or adopted)
    )
    executed = ""
    if record and record.fingerprint and record.fingerprint.sql != model.fingerprint.sql:
        executed = record.fingerprint.sql
    return Step(
        model=model.name,
        reason=reason,
        initial=initial,
        upstream=waits,
        planned_on=record.last_step_seq if record else 0,
        executed=executed,
        estimate=_estimate(record),
        notes=(*_notes(model, reason, initial=initial), *_taken(question, model)),
    )


def left_current(question: Question, model: Model, waits: tuple[str, ...]) -> Decided:
    """Plan no build of a model; its properties and comments may still need a step."""
    record = question.records[model.name]
    facts = question.now.targets.get(model.name, Observed()).facts
    change = layout_change(model, facts) if facts else LayoutChange()
    notes: tuple[str, ...] = ()
    if change.moved:
        drops = " and drops its versions" if model.keeps_history else ""
        notes = (f"{model.name}: {change.moved}; --full-refresh writes the table anew{drops}",)
    if change.told:
        return Decided(steps=(_alteration(model, record),), notes=notes, hands_on=waits)
    return Decided(
        notes=notes,
        hands_on=waits,
        is_current=True,
        is_cosmetic=_is_cosmetic(model, record),
    )


def passed_note(model: Model, reason: Reason) -> tuple[str, ...]:
    """Say what no window of a run reads again."""
    if not reason.passed:
        return ()
    command = f"penstock sync --select {model.name}"
    why = f"{reason.detail} changed rows that it had read"
    if reason.state is State.TAMPERED:
        why = reason.detail
    return (f"{model.name}: {why}; {command} re-makes it",)


def postponed(question: Question, model: Model, reason: Reason) -> Decided:
    """Leave out a model whose first version is still to come; what reads it cannot be built."""
    notes = (f"{model.name}: {reason}",) if model.name in question.selected else ()
    return Decided(notes=notes, is_unborn=True)


def _alteration(model: Model, record: ModelRecord) -> Step:
    reason = Reason(State.CURRENT, "its properties or comments changed", drift=False)
    return Step(
        model.name, reason, initial=False, planned_on=record.last_step_seq, only_alters=True
    )


def _estimate(record: ModelRecord | None) -> Estimate | None:
    if record is None or not record.succeeded_once:
        return None
    return Estimate(record.rows_written, record.bytes_written, record.duration_ms / 1000)


def _notes(model: Model, reason: Reason, *, initial: bool) -> tuple[str, ...]:
    """Say what an ordinary run of an incremental model leaves as it is."""
    states = {reason.state, *reason.also}
    if reason.state is State.MISSING:
        return ("the table is gone: full rebuild from all inputs",)
    if initial or not (model.strategy.keeps_rows or model.keeps_history):
        return ()
    reads_all = not (model.strategy.adds_again or model.keeps_history)
    if reads_all and model.strategy.window is None:
        wrong = states & {State.SQL_CHANGED, State.TAMPERED}
        return (
            ("rows that the query no longer gives stay; --full-refresh drops them",)
            if wrong
            else ()
        )
    kept, others = _KEPT[model.keeps_history]
    notes = (kept,) if State.SQL_CHANGED in states else ()
    return (*notes, others) if State.TAMPERED in states else notes


_KEPT = {
    False: (
        "rows loaded before keep what the earlier SQL made; --full-refresh re-makes them",
        "rows that others changed stay as they are; --full-refresh re-makes them",
    ),
    True: (
        "versions opened before keep what the earlier SQL made; --full-refresh would drop them all",
        "versions that others changed stay as they are; --full-refresh would drop them all",
    ),
}
"""What is said of rows by earlier SQL and by others, of tables (False) and of histories (True)."""


def _taken(question: Question, model: Model) -> tuple[str, ...]:
    """Say what it means to take over a table that somebody else writes."""
    owner = question.now.targets.get(model.name, Observed()).owner
    if owner is None:
        return ()
    return (f"takes the table from {owner}, whose next run will be refused",)


def _is_cosmetic(model: Model, record: ModelRecord) -> bool:
    return record.fingerprint is not None and record.fingerprint.sql != model.fingerprint.sql


def reason_of(question: Question, model: Model) -> Reason:
    """Give the state of a table without partitions, or of a view."""
    project, records, now = question.project, question.records, question.now
    return detect_table_drift(project, model, records, now).reason


def decide_run(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Bring a model up to date with its code, its inputs and the steps before it."""
    reason = reason_of(question, model)
    if reason.state is State.NOT_EFFECTIVE:
        return postponed(question, model, reason)
    error = table_obstacle(question, earlier, model, reason)
    if error is not None:
        return Decided(error=error)
    waits = waits_for(earlier, model)
    settled = reason.state is State.CURRENT or reason.passed
    due = _though_current(question, model, waits) if settled else reason
    if due is None:
        left = left_current(question, model, waits)
        return replace(left, notes=(*left.notes, *passed_note(model, reason)))
    return Decided(steps=(table_step(question, model, due, waits),), todo=WHOLE)


def _though_current(question: Question, model: Model, waits: tuple[str, ...]) -> Reason | None:
    """Say why a model is built although nothing differs; None if it is not."""
    if question.options.full_refresh:
        return Reason(State.CURRENT, "full refresh asked for")
    if model.keeps_history:
        why = must_look(question.project, model, question.now, question.options)
        if why:
            return Reason(State.CURRENT, why, drift=False)
    if waits and (not model.is_view or is_looked_at_alone(question.project, model)):
        return Reason.after(waits)
    return None


def decide_sync(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Repair a model if that is asked for, or make it after what is repaired above it.

    Histories are never made again.
    """
    if model.keeps_history:
        return Decided()
    reason = reason_of(question, model)
    if reason.state is State.NOT_EFFECTIVE:
        return postponed(question, model, reason)
    waits = waits_for(earlier, model)
    is_asked = _is_asked(question, model, reason)
    # A view has no rows to make anew, but what reads it needs it to be there, and as the code is.
    matters = not model.is_view or _drifted(reason) or is_looked_at_alone(question.project, model)
    follows = question.scope.cascade and bool(waits) and matters
    if not is_asked and not follows and not _is_left_undone(question, model, reason):
        if model.name in question.selected and not _drifted(reason):
            return left_current(question, model, waits)
        return Decided(hands_on=waits if model.is_view else ())
    error = table_obstacle(question, earlier, model, reason)
    if error is not None:
        return Decided(error=error)
    if is_asked and reason.state is State.CURRENT:
        reason = Reason(State.CURRENT, "asked for", drift=False)
    elif not is_asked and not _drifted(reason):
        reason = Reason.after(waits)
    step = _step(question, model, reason, waits)
    trigger = question.scope.trigger if is_asked else "cascade"
    return Decided(steps=(replace(step, trigger=trigger),), todo=WHOLE)


def _is_asked(question: Question, model: Model, reason: Reason) -> bool:
    if model.name not in question.selected:
        return False
    if question.scope.force or question.options.full_refresh:
        return True
    states = question.scope.states
    return _drifted(reason) and (not states or bool({reason.state, *reason.also} & states))


def _is_left_undone(question: Question, model: Model, reason: Reason) -> bool:
    """Whether a cascade that stopped half way would have made the model, which nobody selected."""
    if model.name in question.selected or model.name not in question.scope.followed:
        return False
    return _drifted(reason) and reason.state in LEFT


def _drifted(reason: Reason) -> bool:
    return reason.state is not State.CURRENT and reason.drift


def _step(question: Question, model: Model, reason: Reason, waits: tuple[str, ...]) -> Step:
    anew = model.strategy.keeps_rows and _has_wrong_rows(question, model, reason)
    step = table_step(question, model, reason, waits, anew=anew)
    return replace(step, notes=(*step.notes, "full refresh")) if anew else step


def _has_wrong_rows(question: Question, model: Model, reason: Reason) -> bool:
    """Whether a table holds rows that no ordinary step would mend.

    A step that only failed is done again, and new rows are taken by their window; but a failure
    hides no other drift, or the next success would tell of rows that nobody re-made as current.
    """
    if reason.state is not State.FAILED:
        return reason.state is not State.NEVER_RUN
    others = set(reason.also)
    if model.strategy.window is not None:
        others -= {State.SOURCE_CHANGED, State.UPSTREAM_CHANGED}
    return bool(others or reason.stale or question.now.below.get(model.name))
