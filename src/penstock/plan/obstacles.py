"""What keeps a model from being planned: a lost source, an upstream never built, its table."""

from __future__ import annotations

from penstock.core.errors import PenstockError, TableError
from penstock.core.model import Model
from penstock.plan.cascade import upstream_models
from penstock.plan.changes import means_same
from penstock.plan.drift.inputs import sources_below
from penstock.plan.history import history_refusal, not_delta
from penstock.plan.question import Decided, Earlier, Question
from penstock.plan.refusals import (
    foreign_table,
    source_mutated,
    table_of_another_store,
    unrecorded,
    unrecorded_commit,
)
from penstock.plan.values import Observed, Reason, State


def table_obstacle(
    question: Question, earlier: Earlier, model: Model, reason: Reason
) -> PenstockError | None:
    """Find what keeps a model of one partition from being planned; `reason` is its drift."""
    return (
        question.now.unreadable.get(model.name)
        or obstacle(question, earlier, model)
        or _refusal(question, model, reason)
        or _mutated(question, model)
    )


def obstacle(question: Question, earlier: Earlier, model: Model) -> PenstockError | None:
    """Find what is missing above a model: the path of a source, the table of an upstream."""
    for name in sources_below(question.project, model):
        if name in question.now.broken:
            return question.now.broken[name]
    for name in upstream_models(model):
        record = question.records.get(name)
        if _is_built(question, earlier, name) or (record is not None and record.succeeded_once):
            continue
        if name in question.project.seeds:
            return TableError(
                "seed-not-loaded",
                f"{model.name} reads the seed {name}, which was never loaded",
                where=model.where,
                hint="run: penstock seed",
            )
        return _not_built(model, question.project.models[name])
    return None


def _is_built(question: Question, earlier: Earlier, name: str) -> bool:
    """Whether the plan sees to a table; where it cannot, what reads the table is skipped."""
    above = earlier.get(name, Decided())
    return (name in question.selected or bool(above.todo)) and not above.is_unborn


def _not_built(model: Model, upstream: Model) -> TableError:
    if upstream.keeps_history:
        return TableError(
            "snapshot-not-built",
            f"model {model.name!r} reads snapshot {upstream.name!r}, which has no table yet",
            where=model.where,
            hint=f"penstock snapshot run --select {upstream.name}",
        )
    wanted = upstream.name if model.keeps_history else f"+{model.name}"
    return TableError(
        "upstream-not-built",
        f"{model.name} reads {upstream.name}, which was never built",
        where=model.where,
        hint=f"run: penstock run --select {wanted}",
    )


def _refusal(question: Question, model: Model, reason: Reason) -> PenstockError | None:
    """Find states of a table in which nothing of its model may run."""
    options, is_foreign = question.options, State.FOREIGN_TABLE in (reason.state, *reason.also)
    if reason.state is State.UNRECORDED:
        seen = question.now.targets.get(model.name, Observed())
        if not seen.unrecorded:
            return unrecorded(model)
        return None if options.full_refresh else unrecorded_commit(model, reason.detail)
    seen = question.now.targets.get(model.name, Observed())
    if seen.owner is not None and (model.keeps_history or not options.adopt):
        takes = "" if model.keeps_history else "--adopt"
        return table_of_another_store(model, seen.owner, question.project.name, takes)
    if model.keeps_history:
        record = question.records.get(model.name)
        if options.full_refresh and not is_foreign:
            return not_delta(model, seen, record)
        return history_refusal(model, seen, record, reason, question.now)
    if is_foreign and not options.adopt:
        hint = f"to take it over: penstock run --select {model.name} --adopt"
        return foreign_table(model, hint)
    return None


def _mutated(question: Question, model: Model) -> PenstockError | None:
    record, now = question.records.get(model.name), model.fingerprint
    made = record.fingerprint if record else None
    if not model.immutable or question.options.allow_source_mutation or made is None:
        return None
    if made.label != now.label or means_same(made, now, question.now.meaning):
        return None
    return source_mutated(model, now, "rows", model.where)
