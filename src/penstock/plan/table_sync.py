"""What a sync decides of a model of one partition: it repairs drift, or follows a repair above."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.model import Model, window_settings
from penstock.plan.cascade import WHOLE, is_looked_at_alone
from penstock.plan.decided import Decided, Earlier, waits_for
from penstock.plan.drift import drift
from penstock.plan.obstacles import table_obstacle
from penstock.plan.question import LEFT, Question
from penstock.plan.table_steps import keeps_rows, left_current, postponed, table_step
from penstock.plan.values import Reason, State, Step


def decide_sync(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Repair a model if that is asked for, or make it after what is repaired above it.

    Histories are never made again.
    """
    if model.is_snapshot:
        return Decided()
    reason = drift(question.project, model, question.records, question.now)
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
    anew = keeps_rows(model.strategy) and _has_wrong_rows(question, model, reason)
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
    if window_settings(model.strategy) is not None:
        others -= {State.SOURCE_CHANGED, State.UPSTREAM_CHANGED}
    return bool(others or reason.stale or question.now.below.get(model.name))
