"""A whole table or view: whether it drifted, and the step to fix it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from penstock.core.model import Model
from penstock.core.partitions.ranges import WHOLE
from penstock.core.project import Project
from penstock.core.records import ModelRecord, PartitionRun, Status
from penstock.core.strategy import Writing
from penstock.plan.cascade import is_decided_alone
from penstock.plan.changes import (
    code_drift,
    current_pins,
    sources_below,
    table_input_differences,
)
from penstock.plan.evolution import has_other_description, layout_changes
from penstock.plan.history import feed_notes, refresh_reason
from penstock.plan.obstacles import in_time_order, table_obstacle
from penstock.plan.rerun import unbuilt_error
from penstock.plan.slices import no_slice_note, slice_differences
from penstock.plan.steps import LEFT, Agenda, Decided, Earlier, Question, waits_for, way_out
from penstock.plan.values import (
    Estimate,
    Now,
    Observed,
    Options,
    Reason,
    SlicesNow,
    State,
    Step,
    error_line,
)
from penstock.plan.verdict import (
    Difference,
    Piece,
    Verdict,
    first_reason,
    foreign_detail,
    gap_line,
    is_replaced,
    target_differences,
    unbuilt_reasons,
)


def build_step(question: Question, model: Model, step: Step) -> Decided:
    """Plan the one step that builds a table."""
    del question, model
    return Decided(steps=(step,), todo=WHOLE)


def decide(
    question: Question, earlier: Earlier, model: Model, built: Callable[..., Decided] = build_step
) -> Decided:
    """Bring a table or view up to date with its code, its inputs and the steps before it.

    A sync repairs it only if that is requested or follows from another repair; histories never.
    `build_step` plans the step that builds it, or a replacement.
    """
    scope, is_selected = question.scope, model.name in question.selected
    found = detect_table_drift(question.project, model, question.records, question.now).reason
    if scope.syncs and model.keeps_history:
        is_tampered = is_selected and State.TAMPERED in found.states
        return Decided(notes=(f"{model.name}: {found.detail}; {way_out(model)}",) * is_tampered)
    if found.state is State.NOT_EFFECTIVE:
        return postponed_decision(question, model, found)
    waits = waits_for(earlier, model)
    due, trigger = (_repair_reason if scope.syncs else _run_reason)(question, model, found, waits)
    if due is not None or not scope.syncs:
        error = table_obstacle(question, earlier, model, found, reads=due is not None)
        if error is not None:
            return Decided(error=error)
    if due is not None:
        step = _build_step(question, model, due, waits, trigger)
        if step.initial and question.options.rerun is not None:
            return Decided(error=unbuilt_error(model))  # the range would be all that it holds
        return in_time_order(question, model, built(question, model, step))
    if scope.syncs and not (is_selected and not found.is_drift):
        return Decided(hands_on=waits if model.is_view else ())
    left = current_decision(question, model, waits)
    if not found.passed:
        return left
    why = f"{found.detail} changed rows that it had read"
    why = f"{why}; penstock sync --select {model.name} rebuilds it"
    if found.state is State.TAMPERED:
        why = f"{found.detail}; {way_out(model)}"
    return replace(left, notes=(*left.notes, f"{model.name}: {why}"))


def _build_step(
    question: Question, model: Model, due: Reason, waits: tuple[str, ...], trigger: str
) -> Step:
    """Return the step that builds a table."""
    keeps = model.strategy.keeps_rows or bool(model.query.deltas)
    anew = question.scope.syncs and keeps and _has_wrong_rows(question, model, due)
    step = table_step(question, model, due, waits, anew=anew)
    notes = (*step.notes, "full refresh") if anew else step.notes
    return replace(step, trigger=trigger, notes=notes)


def _run_reason(
    question: Question, model: Model, drift: Reason, waits: tuple[str, ...]
) -> tuple[Reason | None, str]:
    """Return why a run builds a model; None if it does not."""
    if question.options.rerun is not None:
        low, high = question.options.rerun
        why = f"rerun [{low.text}, {high.text}]"
        return Reason(State.CURRENT, why, drift=False), question.scope.trigger
    due = None if drift.state is State.CURRENT or drift.passed else drift
    if due is None and question.options.slice:
        due = Reason(State.CURRENT, f"slice {question.options.slice} asked for", drift=False)
    if due is None and question.options.full_refresh:
        due = Reason(State.CURRENT, "full refresh asked for")
    if due is None and model.keeps_history:
        why = refresh_reason(question.project, model, question.now, question.options)
        due = Reason(State.CURRENT, why, drift=False) if why else None
    if due is None and waits and _is_due(question, model):
        due = Reason.after(waits)
    return due, question.scope.trigger


def _repair_reason(
    question: Question, model: Model, drift: Reason, waits: tuple[str, ...]
) -> tuple[Reason | None, str]:
    """Return why a sync builds a model, and its trigger; None if it does not."""
    scope, is_selected = question.scope, model.name in question.selected
    forced = scope.force or question.options.full_refresh
    fits = not scope.states or bool(scope.states.intersection(drift.states))
    if is_selected and (forced or (drift.is_drift and fits)):
        asked = Reason(State.CURRENT, "asked for", drift=False)
        return asked if drift.state is State.CURRENT else drift, scope.trigger
    # a cascade that stopped would have made it
    undone = not is_selected and model.name in scope.followed
    follows = undone and drift.is_drift and drift.state in LEFT
    matters = drift.is_drift or _is_due(question, model)
    if not follows and not (scope.cascade and waits and matters):
        return None, ""
    return drift if drift.is_drift else Reason.after(waits), "cascade"


def _is_due(question: Question, model: Model) -> bool:
    """Return whether a model must be built because of its inputs.

    A view has no rows to rebuild, but its readers need it to exist with its current code.
    """
    return not model.is_view or is_decided_alone(question.project, model)


def _has_wrong_rows(question: Question, model: Model, reason: Reason) -> bool:
    """Return whether a table has wrong rows that an ordinary step does not fix.

    A failed step is repeated, and windows read new rows. But a failure must not hide other drift,
    or the next success would report wrong rows as current.
    """
    others = {reason.state, *reason.also} - {State.NEVER_RUN, State.FAILED}
    if model.name in question.now.slices:
        others.discard(State.SOURCE_CHANGED)
    if reason.state is not State.FAILED:
        return bool(others)
    if model.strategy.window is not None:
        others -= {State.SOURCE_CHANGED, State.UPSTREAM_CHANGED}
    return bool(others or reason.stale or question.now.below.get(model.name))


def current_decision(question: Question, model: Model, waits: tuple[str, ...]) -> Decided:
    """Plan no build of a model; its properties and comments may still need a step."""
    record = question.records.get(model.name)  # none of an entity that no slice has reached yet
    facts = question.now.targets.get(model.name, Observed()).facts
    moved = layout_changes(model, facts) if facts else ""
    notes: tuple[str, ...] = ()
    if moved:
        drops = " and drops its versions" if model.keeps_history else ""
        notes = (f"{model.name}: {moved}; --full-refresh rewrites the table{drops}",)
    if facts and has_other_description(model, facts):
        reason = Reason(State.CURRENT, "its properties or comments changed", drift=False)
        seq = record.last_step_seq if record else 0
        step = Step(model.name, reason, initial=False, planned_on=seq, only_alters=True)
        return Decided(steps=(step,), notes=notes, hands_on=waits)
    made = record.fingerprint if record else None
    is_cosmetic = made is not None and made.sql != model.fingerprint.sql
    return Decided(notes=notes, hands_on=waits, is_current=True, is_cosmetic=is_cosmetic)


def postponed_decision(question: Question, model: Model, reason: Reason) -> Decided:
    """Leave out a model whose first version is in the future; its readers cannot be built."""
    notes = (f"{model.name}: {reason}",) if model.name in question.selected else ()
    return Decided(notes=notes, is_unborn=True)


def table_step(
    question: Question, model: Model, reason: Reason, waits: tuple[str, ...], *, anew: bool = False
) -> Step:
    """Return the step that builds a model after those it waits for; `anew` rebuilds it."""
    record, options = question.records.get(model.name), question.options
    built = record is not None and record.succeeded_once
    adopted = State.FOREIGN_TABLE in reason.states and (options.adopt or model.keeps_history)
    seen = question.now.targets.get(model.name, Observed())
    initial = (
        anew
        or is_replaced(record.table_id if record else "", seen)
        or options.full_refresh
        or State.MISSING in reason.states
        or not (built or adopted)
    )
    notes, owner = _kept_notes(model, reason, initial=initial), seen.owner
    if owner is not None:
        notes = (*notes, f"takes the table from {owner}, whose next run will be refused")
    if not initial:
        pins = current_pins(question.project, model, question.records, question.now)
        how = (question.project, model, record, pins, options)
        notes = (*notes, *feed_notes(*how, reason.states))
    executed, estimate = "", None
    if record is not None and built:
        took = record.duration_ms / 1000
        estimate = Estimate(record.rows_written, record.bytes_written, took)
    if record and record.fingerprint and record.fingerprint.sql != model.fingerprint.sql:
        executed = record.fingerprint.sql
    return Step(
        model=model.name,
        reason=reason,
        initial=initial,
        upstream=waits,
        planned_on=record.last_step_seq if record else 0,
        executed=executed,
        estimate=estimate,
        notes=notes,
        kind=_initial_kind(model, options, seen, initial=initial),
    )


def _initial_kind(model: Model, options: Options, target: Observed, *, initial: bool) -> str:
    """Return why a step of a whole table reads its rows; "" leaves it to its windows."""
    if options.rerun is not None:
        return "rerun"
    anew = initial and options.full_refresh and target.there
    if anew or not (initial or model.is_view or model.writing is not Writing.WHOLE):
        return "full"
    return "initial" if initial and not model.is_view else ""


def _kept_notes(model: Model, reason: Reason, *, initial: bool) -> tuple[str, ...]:
    """Return what an ordinary run of an incremental model leaves unchanged."""
    states = reason.states
    if State.MISSING in states:
        return ("the table is gone: full rebuild from all inputs",)
    if initial or not (model.strategy.keeps_rows or model.keeps_history):
        return ()
    reads_less = model.strategy.adds_again or model.strategy.window or model.entity
    gone = "rows that the query no longer gives stay; --full-refresh drops them"
    kept = _KEPT[model.keeps_history] if reads_less or model.keeps_history else gone
    notes = (kept,) if State.SQL_CHANGED in states else ()
    return (*notes, way_out(model)) if State.TAMPERED in states else notes


_KEPT = {
    False: "rows loaded before keep what the earlier code made; --full-refresh rebuilds them",
    True: "versions opened before keep what the earlier SQL made; "
    "--full-refresh would drop them all",
}
"""Notes on rows of earlier code, for tables (False) and for histories (True)."""


def link(agenda: Agenda, step: Step) -> Step:
    """Wait for all steps of the models that a step needs, and of those that only checks read."""
    keys = [key for key in step.upstream if key not in agenda.by_model]
    named = {key.partition(" ")[0] for key in step.upstream} - {step.model}
    return replace(
        step,
        upstream=tuple(sorted({*keys, *agenda.keys(named)})),
        later_than=tuple(agenda.keys(agenda.project.models[step.model].order_after)),
    )


_INPUTS = (State.SOURCE_CHANGED, State.UPSTREAM_CHANGED)


_ORDER = {state: number for number, state in enumerate(State)}


def detect_table_drift(
    project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now
) -> Verdict:
    """Return the verdict on an unpartitioned table, or a view: on its partition `*`."""
    record = records.get(model.name)
    seen = now.targets.get(model.name, Observed())
    reason = _reason(project, model, records, now)
    because = (reason.detail,) if reason.detail else ()
    piece = Piece(*WHOLE[0], reason, because)
    made, code = record.fingerprint if record else None, model.fingerprint
    cosmetic = made is not None and made.sql != code.sql and made.canonical == code.canonical
    lines = [gap_line(model, seen.gap)] if seen.gap is not None else []
    if record is None and reason.state is State.CURRENT:
        lines.append(no_slice_note(now.slices.get(model.name)))
    return Verdict(
        model.name,
        WHOLE,
        pieces=() if reason.state is State.CURRENT else (piece,),
        recorded=WHOLE if record is not None and record.succeeded_once else (),
        cosmetic=int(cosmetic),
        lines=tuple(lines),
        owner=seen.owner,
        gap=seen.gap,
        of_table=True,
    )


def _reason(project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now) -> Reason:
    """Return the first state that applies to the model, with the others in `also`.

    New input of a windowed model is not drift, because its window reads the new rows; the reason
    then has `drift=False`. Upstream changes below the watermark are drift until a step reads
    everything; so are foreign changes of its table.
    """
    record = records.get(model.name)
    # a failure is seen before the table is, and hides nothing that forbids a step
    found = sorted(_differences(project, model, records, now), key=lambda each: _ORDER[each.state])
    is_windowed, beside = model.strategy.window is not None, list(_foreign(model, record))
    if not is_windowed and not model.query.deltas and not beside:
        return first_reason(found)
    passed, lasting = record.passed_by if record is not None else (), list(beside)
    if stale := {*now.below.get(model.name, ()), *passed} - {model.name}:
        lasting.append(Difference(State.UPSTREAM_CHANGED, ", ".join(sorted(stale))))
    only_new = bool(found) and found[0].state in _INPUTS  # the next window takes what is new
    if lasting and (only_new or not found):
        return replace(first_reason([*lasting, *found]), stale=True, passed=not found)
    reason = first_reason([*found, *beside])
    return replace(reason, stale=bool(lasting), drift=not (only_new and is_windowed))


def _foreign(model: Model, record: ModelRecord | None) -> Iterator[Difference]:
    """Yield the drift of foreign rows that later steps kept."""
    if record is None or _is_scratch(model):
        return
    if record.foreign:
        yield Difference(State.TAMPERED, foreign_detail(record.foreign))
    elif model.name in record.passed_by:
        yield Difference(State.TAMPERED, "rows that others changed stay as they are")


def _is_scratch(model: Model) -> bool:
    """Return whether each pass of a package rewrites the whole table, so damage is temporary."""
    return model.strategy.by_passes and model.writing is Writing.WHOLE


def _differences(
    project: Project, model: Model, records: Mapping[str, ModelRecord], now: Now
) -> Iterator[Difference]:
    record, seen = records.get(model.name), now.targets.get(model.name, Observed())
    begins = model.fingerprint.effective_from
    if begins is not None and begins > now.run_timestamp.date():
        yield Difference(State.NOT_EFFECTIVE, f"its first version is effective from {begins}")
        return
    if model.name in now.unreadable:
        yield Difference(State.UNREADABLE, error_line(now.unreadable[model.name]))
        return
    if record is None or not record.succeeded_once:
        silent = State.NEVER_RUN if no_slice_note(now.slices.get(model.name)) else None
        states = unbuilt_reasons(model, record, seen)
        yield from (each for each in states if each.state is not silent)
        return
    if record.status is Status.FAILED:
        code = record.failure.code if record.failure else ""
        yield Difference(State.FAILED, code)
    if not model.is_view:
        left = record.settled_version or 0  # what nobody noted since then is not known either
        run = PartitionRun(0, 0, record.status, 0, record.step_seq, 0, None, left, holds_rows=True)
        of_table = target_differences(model, (run,), seen, record.table_id)
        is_scratch = _is_scratch(model)
        yield from (e for e in of_table if not (is_scratch and e.state is State.TAMPERED))
    if record.fingerprint is not None:
        found = code_drift(record.fingerprint, model.fingerprint, now.meaning, now.explain)
        yield from (Difference(*each) for each in found if each[0] is not State.CURRENT)
    by_manifest = project.package_of(model.name) is not None  # that tells what is new to it
    if not by_manifest and (not model.is_view or is_decided_alone(project, model)):
        # a view has no rows that could be stale, but checks that somebody must look at
        yield from table_input_differences(project, model, record, records, now)
    yield from _source_differences(project, model, now)


def _source_differences(project: Project, model: Model, now: Now) -> Iterator[Difference]:
    """Return drift for slices that are not processed, and for sources that cannot be read."""
    for detail in slice_differences(now.slices.get(model.name, SlicesNow())):
        yield Difference(State.SOURCE_CHANGED, detail)
    for name in sources_below(project, model) if now.broken else ():
        if name in now.broken:
            yield Difference(State.UNREADABLE, error_line(now.broken[name]))
