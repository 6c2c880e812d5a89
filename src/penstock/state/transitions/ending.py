"""A step that ends: what it leaves of its partitions, in the history, and beside them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

from penstock.core.partitions.ranges import difference
from penstock.core.records import Status
from penstock.core.steps.step import Intent, Outcome, StepKind
from penstock.state.transitions import rollback
from penstock.state.transitions.checks import fails, flag_change, with_flags
from penstock.state.transitions.events import Failed, Finished
from penstock.state.transitions.model_state import (
    BUILDS,
    REMAKES,
    RESHAPES,
    Executed,
    ModelState,
    PartitionState,
    StoredStep,
    TargetState,
    is_whole,
)
from penstock.state.transitions.runs import (
    Runs,
    changed,
    cut,
    ranges_of,
    spread,
)
from penstock.state.transitions.step_end import StepEnd, Written, executed, written
from penstock.state.transitions.verdict import ords_of
from penstock.state.transitions.watermarks import high_time_after, moves

MILLISECOND = dt.timedelta(milliseconds=1)


def finished(records: ModelState, event: Finished) -> ModelState:
    """Give the records after a success, or after a commit whose rows failed their checks.

    A change of metadata alone (`alter`) leaves rows, inputs and status as the last build left them.
    """
    settles = _settles(records, event)
    step = _finished_step(records.steps[event.step_seq], event)
    records = _with_target(records.with_step(step), step, event.outcome, settles=settles)
    records, is_ours = _taking_grid(records, step, succeeded=True, settles=settles)
    if step.intent.kind is StepKind.ROLLBACK:
        records = rollback.undone(records, step)
    change = flag_change(records, step, replaces=is_ours and (settles or not event.by_time))
    records = with_flags(records, step, change)
    end = StepEnd(step, event.outcome, settles=settles, by_time=event.by_time)
    if step.intent.kind is StepKind.ROLLBACK:
        records = rollback.rolled_back(records, end, change.closes, is_ours=is_ours)
    else:
        after = _partitions_after(records, end) if is_ours else records.partitions
        records = replace(records, partitions=after, history=records.history + _history_of(end))
    blocks = step.verdict is not None and step.verdict.blocks
    if not settles or blocks:
        return records
    moved = moves(step.intent, records, event.at)
    return replace(records, watermarks=records.watermarks + moved)


def failed(records: ModelState, event: Failed) -> ModelState:
    """Give the records after a failure: of a partition only that its last execution failed."""
    settles = _settles(records, event)
    before = records.steps[event.step_seq]
    step = replace(
        before,
        status=Status.SKIPPED if event.skipped else Status.FAILED,
        ended=event.at,
        duration_ms=max(0, (event.at - before.started) // MILLISECOND),
        recovered=event.recovered,
        failure=event.failure,
    )
    records, is_ours = _taking_grid(records.with_step(step), step, succeeded=False, settles=settles)
    end, ords = StepEnd(step, None, settles=settles), ords_of(step.intent)
    leaves_history = _leaves_history(step.intent, succeeded=False)
    if is_ours and (leaves_history or is_whole(step.intent)):
        records = replace(records, partitions=end.failing(records.partitions, ords))
    unwritten: Written = (None, None) if event.skipped else (0, 0)
    rows = executed(step, spread(ords, unwritten), event.failure) if leaves_history else ()
    return replace(records, history=records.history + rows)


def _settles(records: ModelState, event: Finished | Failed) -> bool:
    """Whether the records say nothing that is newer than the step."""
    if isinstance(event, Finished) and event.by_time:
        made = [state.executed_at for _, _, state in records.partitions]
        return all(each is None or each <= event.at for each in made)
    step = records.steps[event.step_seq]
    return not any(
        other.seq > step.seq
        and other.ended is not None
        and not (other.intent.run == step.intent.run and other.intent.kind in RESHAPES)
        for other in records.steps.values()
    )


def _finished_step(step: StoredStep, event: Finished) -> StoredStep:
    failure = step.verdict.failure if step.verdict else None
    metrics = dict(sorted(event.outcome.metrics.items()))
    return replace(
        step,
        status=Status.FAILED if failure else Status.SUCCESS,
        ended=event.at,
        duration_ms=event.outcome.duration_ms,
        recovered=event.recovered,
        # What each partition got is the history's to tell.
        outcome=replace(event.outcome, metrics=metrics, partitions=()),
        failure=failure,
    )


def _with_target(
    records: ModelState, step: StoredStep, outcome: Outcome, *, settles: bool
) -> ModelState:
    known = records.targets.get(step.target)
    before = known.high_time if known else None
    seen = TargetState(outcome.table_id, outcome.settled_version)
    if known is not None and not settles:
        seen = known
    high = high_time_after(step.intent, outcome, before, settles=settles)
    return replace(records, targets={**records.targets, step.target: replace(seen, high_time=high)})


def _taking_grid(
    records: ModelState, step: StoredStep, *, succeeded: bool, settles: bool
) -> tuple[ModelState, bool]:
    """Tell whether the records are of the step's grid, or give way to it now.

    A failure or a change of properties takes it only where there are none; a step that is older
    than the records never does. A whole table that keeps its record still learns of the step.
    """
    if records.grid == step.intent.grid:
        return records, True
    rebuilds = succeeded and step.intent.kind is not StepKind.ALTER
    if settles and (rebuilds or not records.partitions):
        return replace(records, grid=step.intent.grid, partitions=()), True
    if not records.is_whole:
        return records, False

    def learnt(was: PartitionState | None) -> PartitionState | None:
        if was is None:
            return None
        status = Status.FAILED if settles and not succeeded else was.status
        return replace(was, status=status, last_step_seq=max(was.last_step_seq, step.seq))

    return replace(records, partitions=changed(records.partitions, ((0, 0),), learnt)), False


def _leaves_history(intent: Intent, *, succeeded: bool) -> bool:
    """Whether the end of a step is told in the history of partitions.

    Making or rewriting a table is not, nor is a change of properties where there are many, nor an
    attempt to take rows back that failed a gate: the next command tries again.
    """
    if intent.kind is StepKind.ROLLBACK and intent.on_failure and not succeeded:
        return False
    if is_whole(intent):
        return not succeeded or intent.kind not in REMAKES
    return intent.kind in {*BUILDS, StepKind.ROLLBACK}


def _history_of(end: StepEnd) -> tuple[Executed, ...]:
    """Give what the history says of a success; of rows that failed, why."""
    step, outcome, ords = end.step, end.outcome, ords_of(end.intent)
    if outcome is None or not _leaves_history(step.intent, succeeded=True):
        return ()
    failing, verdict = fails(step.intent, step.verdict), step.verdict
    blocks = verdict is not None and verdict.blocks
    held_back = failing if blocks else ()
    rows = written(step.intent, outcome, difference(ords, held_back))
    bad = spread(held_back, (0, 0)) if blocks else cut(rows, failing)
    good = cut(rows, difference(ords, failing))
    return (*executed(step, good), *executed(step, bad, verdict.failure if verdict else None))


def _partitions_after(records: ModelState, end: StepEnd) -> Runs[PartitionState]:
    match end.intent.kind:
        case StepKind.BUILD | StepKind.SEED:
            return _built(records, end)
        case StepKind.ALTER:
            return _each(records, end, _altered) if is_whole(end.intent) else records.partitions
        case StepKind.CREATE:
            return _each(records, end, _emptied)
        case StepKind.REWRITE:
            return _each(records, end, _rewritten)
        case StepKind.ROLLBACK:
            raise ValueError("a rollback leaves what is in the history")


def _built(records: ModelState, end: StepEnd) -> Runs[PartitionState]:
    step, outcome = end.step, end.outcome
    ords, failing = ords_of(step.intent), fails(step.intent, step.verdict)
    if outcome is None:
        return records.partitions
    new = PartitionState(
        status=Status.SUCCESS,
        last_step_seq=step.seq,
        fingerprint=step.intent.fingerprint,
        step_seq=step.seq,
        # A partition's rows are seen at their commit, a whole table stands where the step left it.
        settled_version=outcome.settled_version if is_whole(step.intent) else outcome.stands_at,
        executed_at=step.ended,
    )

    def built(status: Status) -> Callable[[PartitionState | None], PartitionState]:
        done = replace(new, status=status)
        return lambda was: end.put(was, replace(done, commit_version=end.committed(was)))

    after = changed(records.partitions, difference(ords, failing), built(Status.SUCCESS))
    if step.verdict is not None and step.verdict.blocks:
        return end.failing(after, failing)
    return changed(after, failing, built(Status.FAILED))


def _each(
    records: ModelState,
    end: StepEnd,
    change: Callable[[PartitionState, StepEnd], PartitionState | None],
) -> Runs[PartitionState]:
    """Change every record; a whole table has one from its first step on, whatever that made."""
    records = replace(records, partitions=end.touched(records))

    def after(was: PartitionState | None) -> PartitionState | None:
        new = was and change(was, end)
        return was if was is None or new is None else end.put(was, new)

    return changed(records.partitions, ranges_of(records.partitions), after)


def _altered(was: PartitionState, end: StepEnd) -> PartitionState | None:
    if end.outcome is None:
        return None
    fingerprint, settled = end.intent.fingerprint, end.outcome.settled_version
    return replace(was, fingerprint=fingerprint, settled_version=settled)


def _emptied(was: PartitionState, end: StepEnd) -> PartitionState:
    kept = was.commit_version if is_whole(end.intent) else None
    return replace(was, commit_version=kept, settled_version=None)


def _rewritten(was: PartitionState, end: StepEnd) -> PartitionState | None:
    if was.settled_version is None or end.outcome is None:
        return None
    return replace(was, commit_version=end.committed(was), settled_version=end.outcome.stands_at)
