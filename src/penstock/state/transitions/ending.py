"""A step that ends: what it leaves of its partitions, in the history, and beside them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.core.ranges import Ranges, count, difference, intersection, union
from penstock.core.records import Status
from penstock.core.step import Intent, Outcome, StepFailure, StepKind
from penstock.state.transitions import rollback
from penstock.state.transitions.checks import fails, flag_change, undoes_failure, with_flags
from penstock.state.transitions.events import Failed, Finished
from penstock.state.transitions.model_state import (
    BUILDS,
    REMAKES,
    RESHAPES,
    Executed,
    Key,
    ModelState,
    PartitionState,
    StepState,
    TargetState,
    is_whole,
)
from penstock.state.transitions.runs import (
    Runs,
    changed,
    cut,
    filled,
    joined,
    overlaid,
    ranges_of,
    spread,
)
from penstock.state.transitions.verdict import ords_of
from penstock.state.transitions.watermarks import high_time_after, moves

Written = tuple[int | None, int | None]
"""Rows and bytes of one partition; None where nobody knows."""

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
    end = _End(step, event.outcome, settles=settles, by_time=event.by_time)
    if step.intent.kind is StepKind.ROLLBACK:
        records = _rolled_back(records, end, change.closes, is_ours=is_ours)
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
    end = _End(step, None, settles=settles)
    if not _leaves_history(step.intent, succeeded=False):
        return replace(records, partitions=end.touched(records)) if is_ours else records
    written: Written = (None, None) if event.skipped else (0, 0)
    told = _executed(step, spread(ords_of(step.intent), written), event.failure)
    after = end.failing(records.partitions, ords_of(step.intent))
    return replace(
        records,
        partitions=after if is_ours else records.partitions,
        history=records.history + told,
    )


@dataclass(frozen=True, slots=True)
class _End:
    """A step that ended, and which records it is too old to change."""

    step: StepState
    outcome: Outcome | None
    settles: bool
    by_time: bool = False

    @property
    def intent(self) -> Intent:
        """What the step intended."""
        return self.step.intent

    def put(self, before: PartitionState | None, after: PartitionState) -> PartitionState:
        """Give the record of a partition that the step leaves, unless it is newer than the step."""
        if before is None:
            return replace(after, last_step_seq=self.step.seq)
        last = max(before.last_step_seq, self.step.seq)
        if self._opens(before):
            return replace(after, last_step_seq=last)
        # The next plan of a whole table is held against the number of its last step.
        return replace(before, last_step_seq=last) if is_whole(self.intent) else before

    def committed(self, before: PartitionState | None) -> int | None:
        """Give the version of the last commit: a step that changed nothing leaves it."""
        if self.outcome is not None and self.outcome.version is not None:
            return self.outcome.version
        return before.commit_version if before else None

    def failing(self, partitions: Runs[PartitionState], ords: Ranges) -> Runs[PartitionState]:
        """Say of partitions that their last execution failed."""
        new = PartitionState(Status.FAILED, self.step.seq)
        return changed(
            partitions, ords, lambda was: self.put(was, replace(was or new, status=Status.FAILED))
        )

    def touched(self, records: ModelState) -> Runs[PartitionState]:
        """Note a step that leaves the record of a whole table as it is; of others nothing."""
        if not is_whole(self.intent):
            return records.partitions
        new = PartitionState(Status.SUCCESS, self.step.seq)
        return changed(records.partitions, ((0, 0),), lambda was: self.put(was, was or new))

    def dropped(
        self, partitions: Runs[PartitionState], ords: Ranges, left: PartitionState | None
    ) -> Runs[PartitionState]:
        """Write of partitions that what they held was taken back; None leaves no record."""

        def after(was: PartitionState | None) -> PartitionState | None:
            if was is not None and not self._opens(was):
                return self.put(was, was)
            return None if left is None else self.put(was, left)

        return changed(partitions, ords, after)

    def restored(self, before: PartitionState | None, after: PartitionState) -> PartitionState:
        """Give the record of a partition whose rows of before come back with the step's commit."""
        return self.put(before, replace(after, commit_version=self.committed(before)))

    def _opens(self, before: PartitionState) -> bool:
        """Whether the step is not older than a record."""
        if self.by_time:
            made, ended = before.executed_at, self.step.ended
            return made is None or ended is None or made <= ended
        # What is newer, in spite of `settles`, made the table ready inside of this step.
        return self.settles or before.last_step_seq <= self.step.seq


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


def _finished_step(step: StepState, event: Finished) -> StepState:
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
    records: ModelState, step: StepState, outcome: Outcome, *, settles: bool
) -> ModelState:
    known = records.targets.get(step.target)
    before = known.high_time if known else None
    seen = TargetState(outcome.table_id, outcome.settled_version)
    if known is not None and not settles:
        seen = known
    high = high_time_after(step.intent, outcome, before, settles=settles)
    return replace(records, targets={**records.targets, step.target: replace(seen, high_time=high)})


def _taking_grid(
    records: ModelState, step: StepState, *, succeeded: bool, settles: bool
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


def _history_of(end: _End) -> tuple[Executed, ...]:
    """Give what the history says of a success; of rows that failed, why."""
    step, outcome, ords = end.step, end.outcome, ords_of(end.intent)
    if outcome is None or not _leaves_history(step.intent, succeeded=True):
        return ()
    failing, verdict = fails(step.intent, step.verdict), step.verdict
    blocks = verdict is not None and verdict.blocks
    held_back = failing if blocks else ()
    written = _written(step.intent, outcome, difference(ords, held_back))
    bad = spread(held_back, (0, 0)) if blocks else cut(written, failing)
    good = cut(written, difference(ords, failing))
    return (*_executed(step, good), *_executed(step, bad, verdict.failure if verdict else None))


def _executed(
    step: StepState, written: Runs[Written], failure: StepFailure | None = None
) -> tuple[Executed, ...]:
    if step.ended is None:
        raise ValueError(f"step {step.intent.step} has not ended")
    mark, at = step.intent.fingerprint, step.ended
    return tuple(
        Executed(step.seq, low, high, mark, at, rows, size, failure)
        for low, high, (rows, size) in written
    )


def _written(intent: Intent, outcome: Outcome, ords: Ranges) -> Runs[Written]:
    """Give what a step wrote to each of some partitions."""
    one: Written = (outcome.rows.written, outcome.bytes_written)
    if is_whole(intent):
        return spread(ords, one)
    if outcome.version is None:
        return spread(ords, (0, 0))
    if not outcome.partitions:
        return spread(ords, one if count(ords) == 1 else (None, None))
    given = {each.ord: (each.rows, each.size_bytes) for each in outcome.partitions}
    named = tuple((number, number, given[number]) for number in sorted(given))
    known = cut(named, ords)
    rest: Runs[Written] = spread(difference(ords, ranges_of(known)), (0, 0))
    return tuple(sorted((*known, *rest), key=lambda run: run[0]))


def _partitions_after(records: ModelState, end: _End) -> Runs[PartitionState]:
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


def _built(records: ModelState, end: _End) -> Runs[PartitionState]:
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
    records: ModelState, end: _End, change: Callable[[PartitionState, _End], PartitionState | None]
) -> Runs[PartitionState]:
    """Change every record; a whole table has one from its first step on, whatever that made."""
    records = replace(records, partitions=end.touched(records))

    def after(was: PartitionState | None) -> PartitionState | None:
        new = was and change(was, end)
        return was if was is None or new is None else end.put(was, new)

    return changed(records.partitions, ranges_of(records.partitions), after)


def _altered(was: PartitionState, end: _End) -> PartitionState | None:
    if end.outcome is None:
        return None
    mark, settled = end.intent.fingerprint, end.outcome.settled_version
    return replace(was, fingerprint=mark, settled_version=settled)


def _emptied(was: PartitionState, end: _End) -> PartitionState:
    kept = was.commit_version if is_whole(end.intent) else None
    return replace(was, commit_version=kept, settled_version=None)


def _rewritten(was: PartitionState, end: _End) -> PartitionState | None:
    if was.settled_version is None or end.outcome is None:
        return None
    return replace(was, commit_version=end.committed(was), settled_version=end.outcome.stands_at)


def _rolled_back(
    records: ModelState, end: _End, closes: tuple[Key, ...], *, is_ours: bool
) -> ModelState:
    """Give the records that were there before, and a history that says so."""
    step, outcome = end.step, end.outcome
    if outcome is None:
        return records
    back = rollback.restored(records, step.intent)
    ords = rollback.written_since(records, step, ranges_of(back), is_ours=is_ours)
    written = _written(step.intent, outcome, ords)
    told = tuple(
        replace(each, low=low, high=high, fingerprint=was.fingerprint if was else each.fingerprint)
        for failure, part in rollback.parts(step.intent, closes, ords)
        for each in _executed(step, cut(written, part), failure)
        for low, high, was in filled(back, ((each.low, each.high),))
    )
    partitions = records.partitions
    if is_ours:
        left = None
        if is_whole(step.intent) or undoes_failure(step.intent):
            status = Status.FAILED if undoes_failure(step.intent) else Status.SUCCESS
            left = PartitionState(status, step.seq)
        gone = difference(ords, ranges_of(back))
        partitions = end.dropped(partitions, gone, left)
        partitions = overlaid(partitions, _again(records, end, cut(back, ords)), end.restored)
    return replace(records, partitions=partitions, history=records.history + told)


def _again(records: ModelState, end: _End, back: Runs[rollback.Restored]) -> Runs[PartitionState]:
    """Give what comes back: FAILED where its rows are flagged, or undone with rows that failed."""
    undone = ords_of(end.intent) if undoes_failure(end.intent) else ()
    result: list[tuple[int, int, PartitionState]] = []
    for low, high, was in back:
        state = PartitionState(
            status=Status.SUCCESS,
            last_step_seq=end.step.seq,
            fingerprint=was.fingerprint,
            step_seq=was.step_seq,
            settled_version=end.outcome.stands_at if end.outcome else None,
            executed_at=records.steps[was.step_seq].ended,
        )
        bad = intersection(((low, high),), union(records.open_flags_of(was.step_seq), undone))
        result += spread(difference(((low, high),), bad), state)
        result += spread(bad, replace(state, status=Status.FAILED))
    return joined(result)
