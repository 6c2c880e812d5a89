"""What a run decides of a model of one partition: it is built where anything differs."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.model import Model
from penstock.plan.cascade import WHOLE, is_looked_at_alone
from penstock.plan.decided import Decided, Earlier, waits_for
from penstock.plan.drift import drift
from penstock.plan.history import must_look
from penstock.plan.obstacles import table_obstacle
from penstock.plan.question import Question
from penstock.plan.table_steps import left_current, passed_note, postponed, table_step
from penstock.plan.values import Reason, State


def decide_run(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Bring a model up to date with its code, its inputs and the steps before it."""
    reason = drift(question.project, model, question.records, question.now)
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
    if model.is_snapshot:
        why = must_look(question.project, model, question.now, question.options)
        if why:
            return Reason(State.CURRENT, why, drift=False)
    if waits and (not model.is_view or is_looked_at_alone(question.project, model)):
        return Reason.after(waits)
    return None
