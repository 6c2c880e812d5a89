"""Slices of an entity in a plan: which ones a run processes, in which order, and when."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.core.entities.slices import ListedSlice
from penstock.core.errors import PenstockError, TableError, UsageError, error_of_warnings
from penstock.core.findings import some
from penstock.core.model import Model
from penstock.core.partitions.ranges import WHOLE
from penstock.core.records import ModelRecord, SliceRecord, Status
from penstock.plan.kinds import tables
from penstock.plan.kinds.tables import current_decision
from penstock.plan.slices import NEAR, DividedSlices, full_slice_name
from penstock.plan.steps import Decided, Earlier, Question
from penstock.plan.values import Options, SlicesNow, State, Step
from penstock.plan.work import SliceWork

link = tables.link
_APART = dt.timedelta(microseconds=1)
_NEARBY = dt.timedelta(seconds=1)
"""The greatest drift of a run's processing times, a microsecond apart, from the given time."""


@dataclass(frozen=True, slots=True)
class SlicesToRun:
    """The slices of one run in order, with notes, or the error if none can run."""

    slices: tuple[ListedSlice, ...] = ()
    notes: tuple[str, ...] = ()
    error: PenstockError | None = None


def decide(question: Question, earlier: Earlier, model: Model) -> Decided:
    """Decide about an entity as about any table, except that its slices build it."""
    return tables.decide(question, earlier, model, _slice_steps_of)


def _slice_steps_of(question: Question, model: Model, step: Step) -> Decided:
    """Plan a step per waiting slice, or for all slices if the table is rebuilt."""
    slices = question.now.slices.get(model.name)
    first = first_moment(question, model, initial=step.initial)
    if slices is None:  # a source that is read whole
        return tables.build_step(question, model, replace(step, work=SliceWork(first)))
    found = slices_to_run(model, slices, question.options, step)
    steps = tuple(slice_steps(step, first, found.slices))
    if steps or found.error:
        return Decided(steps, found.notes, found.error, todo=WHOLE if steps else ())
    left = current_decision(question, model, step.upstream)  # code that changed has no rows to make
    failed = last_failure(question.records.get(model.name))
    return replace(left, notes=(*left.notes, *failed, *found.notes, *step.notes))


def slices_to_run(model: Model, now: SlicesNow, options: Options, step: Step) -> SlicesToRun:
    """Return the slices of a run: the waiting ones, the named one, or all for a rebuild.

    If a table is rebuilt, it is an error if processed slices no longer exist: their rows would be
    lost silently. `--full-refresh` accepts that.
    """
    found = DividedSlices.of(now)
    if step.initial and found.removed and not options.full_refresh:
        is_gone = step.reason.state is State.MISSING
        return SlicesToRun(error=_missing(model, found.removed, is_gone=is_gone))
    if options.slice:
        return _slice_by_name(model, now.there, options.slice)
    if step.initial:
        skipped = tuple(each for each in now.recorded if each.status is Status.SKIPPED)
        found = replace(DividedSlices.of(SlicesNow(now.there, skipped)), removed=found.removed)
    if options.strict and (error := error_of_warnings(found.warnings, model.where)):
        return SlicesToRun(error=error)
    return SlicesToRun(found.waiting, tuple(f"{model.name}: {note}" for note in found.notes))


def first_moment(question: Question, model: Model, *, initial: bool) -> dt.datetime:
    """Return the processing time of the first slice of an entity.

    No two slices share a time: if the same time is requested again, for example after a kill, the
    remaining slices continue after those that had it. A rebuild begins at the time itself.
    """
    now, record = question.now, question.records.get(model.name)
    asked = question.options.processing_time or now.run_timestamp
    slices = now.slices.get(model.name, SlicesNow()).recorded
    had = [each.moment for each in slices if each.status is Status.SUCCESS and each.moment]
    if record is not None and record.high_time is not None:
        had.append(record.high_time)
    last = max(had, default=None)
    if initial or last is None or not asked <= last < asked + _NEARBY:
        return asked
    return last + _APART


def slice_steps(step: Step, first: dt.datetime, slices: Sequence[ListedSlice]) -> Iterator[Step]:
    """Split the step of an entity into one step per slice, each after the previous one.

    Their processing times are a microsecond apart.
    """
    later, before = replace(step, initial=False, kind="", notes=()), ""
    for number, each in enumerate(slices):
        work = SliceWork(first + _APART * number, each)
        cut = replace(later, upstream=(before,)) if before else step
        before = work.key(step.model)
        yield replace(cut, work=work)


def last_failure(record: ModelRecord | None) -> tuple[str, ...]:
    """Return a note on a failed step that no run repeats because its slices are processed."""
    if record is None or record.failure is None:
        return ()
    return (f"{record.model}: its last step failed ({record.failure.code}), and no slice waits",)


def _missing(model: Model, missing: Sequence[SliceRecord], *, is_gone: bool) -> TableError:
    named = some([each.id.name for each in missing], NEAR)
    what = "is gone, and so is" if is_gone else "would be rebuilt, and missing is"
    return TableError(
        "missing-slices",
        f"{model.table} {what} what made its rows: {named}",
        where=model.where,
        hint="deliver it again, or make the table of what is there: "
        f"penstock run --select {model.name} --full-refresh",
    )


def _slice_by_name(model: Model, there: Sequence[ListedSlice], name: str) -> SlicesToRun:
    known = {each.id.name: each for each in there}
    try:
        wanted = full_slice_name(model.name, known, name)
    except UsageError as error:
        return SlicesToRun(error=error)
    if known[wanted].is_incomplete:
        sentence = f"slice {wanted} of {model.name} is still being written"
        hint = "wait until it is done"
        return SlicesToRun(error=UsageError("slice-incomplete", sentence, hint=hint))
    return SlicesToRun((known[wanted],))
