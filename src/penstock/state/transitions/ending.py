"""The end of a step: its partitions, its history and other records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.core.columns.typed import TypedValue
from penstock.core.partitions.ranges import Ranges, count, difference
from penstock.core.records import Status, WatermarkChange
from penstock.core.steps.step import Intent, Outcome, StepFailure, StepKind
from penstock.state.transitions import rollback
from penstock.state.transitions.checks import flag_change, with_flags
from penstock.state.transitions.model_state import (
    BUILDS,
    REMAKES,
    Executed,
    Failed,
    Finished,
    Key,
    ModelState,
    PartitionState,
    StoredStep,
    ords_of,
)
from penstock.state.transitions.precedence import (
    is_newer,
    is_newest,
    taking_grid,
    with_target,
    without_old_table,
)
from penstock.state.transitions.runs import (
    Runs,
    alter,
    compare_runs,
    cut,
    overlay,
    ranges_of,
    spread,
)

Written = tuple[int | None, int | None]  # rows and bytes of a partition; None: nobody knows
Change = Callable[[PartitionState], PartitionState | None]
MOST_FOREIGN = 19  # others' changes that a record names beside the first


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step that ended, and the records that it is too old to change."""

    step: StoredStep
    outcome: Outcome
    settles: bool
    of_log: bool = False

    @property
    def intent(self) -> Intent:
        """The step's intent."""
        return self.step.intent

    def pick(self, before: PartitionState | None, after: PartitionState) -> PartitionState:
        """Return the record of a partition after the step, unless it is newer."""
        if before is None:
            return replace(after, last_step_seq=self.step.seq)
        last = max(before.last_step_seq, self.step.seq)
        if self.is_newer(before):
            return replace(after, last_step_seq=last)
        # The next plan of a whole table is held against the number of its last step.
        return replace(before, last_step_seq=last) if self.intent.grid.is_whole else before

    def is_newer(self, before: PartitionState) -> bool:
        """Return whether the step is at least as new as a record."""
        if self.of_log:
            return is_newer(self.outcome, before)
        # What is newer, in spite of `settles`, made the table ready inside of this step.
        return self.settles or before.last_step_seq <= self.step.seq

    def commit_version(self, before: PartitionState | None) -> int | None:
        """Return the version of the last commit: a step without changes does not move it."""
        if self.outcome.version is not None:
            return self.outcome.version
        return before.commit_version if before else None

    def set_failed(self, partitions: Runs[PartitionState], ords: Ranges) -> Runs[PartitionState]:
        """Record for partitions that their last execution failed."""
        new = PartitionState(Status.FAILED, self.step.seq)
        return alter(
            partitions, ords, lambda was: self.pick(was, replace(was or new, status=Status.FAILED))
        )

    def executed(
        self, runs: Runs[Written], failure: StepFailure | None = None
    ) -> tuple[Executed, ...]:
        """Return the history of what the step wrote, or why it did not."""
        seq, fingerprint, at = self.step.seq, self.intent.fingerprint, self.step.end
        return tuple(
            Executed(seq, low, high, fingerprint, at, rows, size, failure)
            for low, high, (rows, size) in runs
        )

    def written_runs(self, ords: Ranges) -> Runs[Written]:
        """Return what the step wrote to each of some partitions."""
        outcome = self.outcome
        one: Written = (outcome.rows.written, outcome.bytes_written)
        if self.intent.grid.is_whole:
            return spread(ords, one)
        if outcome.version is None:
            return spread(ords, (0, 0))
        if not outcome.partitions:
            return spread(ords, one if count(ords) == 1 else (None, None))
        given = {each.ord: (each.rows, each.size_bytes) for each in outcome.partitions}
        known = cut(tuple((number, number, given[number]) for number in sorted(given)), ords)
        rest: Runs[Written] = spread(difference(ords, ranges_of(known)), (0, 0))
        return tuple(sorted((*known, *rest), key=lambda run: run[0]))


def after_success(records: ModelState, event: Finished) -> ModelState:
    """Return the records after a success, or after a commit whose rows failed their checks.

    A change of metadata alone (`alter`) does not change the records of rows, inputs and status.
    """
    step = _finished_step(records.steps[event.step_seq], event)
    records = without_old_table(records, step, event) if event.new_table else records
    settles = is_newest(records, event)
    records = with_target(records.with_step(step), step, event.outcome, settles=settles)
    records, is_ours = taking_grid(records, step, succeeded=True, settles=settles)
    if step.intent.kind is StepKind.ROLLBACK:
        records = rollback.set_undone(records, step)
    if step.intent.kind is StepKind.ACCEPT:
        records = _without_foreign(records)
    change = flag_change(records, step, replaces=is_ours and (settles or not event.of_log))
    records = with_flags(records, step, change)
    end = StepEnd(step, event.outcome, settles=settles, of_log=event.of_log)
    if step.intent.kind is StepKind.ROLLBACK:
        records = _roll_back(records, end, change.closes, is_ours=is_ours)
    else:
        leave = _accept if step.intent.kind is StepKind.ACCEPT else _partitions_after
        after = leave(records, end) if is_ours else records.partitions
        records = replace(records, partitions=after, history=records.history + _history_of(end))
    if not settles or step.blocks:
        return records
    return replace(records, watermarks=records.watermarks + moves(step.intent, records, event.at))


def _without_foreign(records: ModelState) -> ModelState:
    """Remove others' changes from the steps of the current rows; the accepting step has them."""
    for _, _, state in records.partitions:
        if (made := records.steps.get(state.step_seq)) is not None:
            passed_by = tuple(name for name in made.intent.passed_by if name != records.model)
            intent = replace(made.intent, foreign=(), passed_by=passed_by)
            records = records.with_step(replace(made, intent=intent))
    return records


def after_failure(records: ModelState, event: Failed) -> ModelState:
    """Return the records after a failure: it only sets the last execution of a partition."""
    settles, before = is_newest(records, event), records.steps[event.step_seq]
    step = replace(
        before,
        status=Status.SKIPPED if event.skipped else Status.FAILED,
        ended=event.at,
        duration_ms=max(0, (event.at - before.started) // dt.timedelta(milliseconds=1)),
        recovered=event.recovered,
        failure=event.failure,
    )
    records, is_ours = taking_grid(records.with_step(step), step, succeeded=False, settles=settles)
    end, ords = StepEnd(step, Outcome(None), settles=settles), ords_of(step.intent)
    leaves_history = _leaves_history(step.intent, succeeded=False)
    if is_ours and (leaves_history or step.intent.grid.is_whole):
        records = replace(records, partitions=end.set_failed(records.partitions, ords))
    rows: Written = (None, None) if event.skipped else (0, 0)
    executed = end.executed(spread(ords, rows), event.failure) if leaves_history else ()
    return replace(records, history=records.history + executed)


def _finished_step(step: StoredStep, event: Finished) -> StoredStep:
    failure = step.verdict.failure if step.verdict else None
    known = () if event.outcome.replaced else step.intent.foreign
    by_version = {each.version: each for each in (*known, *event.outcome.foreign)}
    foreign = tuple(by_version[version] for version in sorted(by_version))
    metrics = dict(sorted(event.outcome.metrics.items()))
    return replace(
        step,
        intent=replace(step.intent, foreign=foreign[:1] + foreign[1:][-MOST_FOREIGN:]),
        status=Status.FAILED if failure else Status.SUCCESS,
        ended=event.at,
        duration_ms=event.outcome.duration_ms,
        recovered=event.recovered,
        # What each partition got is the history's to tell.
        outcome=replace(event.outcome, metrics=metrics, partitions=(), foreign=(), replaced=False),
        failure=failure,
    )


def _leaves_history(intent: Intent, *, succeeded: bool) -> bool:
    """Return whether the end of a step is part of the history of partitions.

    Creating or rewriting a table is not, nor is a change of properties with many partitions, nor a
    failed attempt to undo rows that failed a gate: the next command tries again.
    """
    if intent.kind is StepKind.ROLLBACK and intent.on_failure and not succeeded:
        return False
    if intent.grid.is_whole:
        return not succeeded or intent.kind not in REMAKES
    return intent.kind in {*BUILDS, StepKind.ROLLBACK}


def _history_of(end: StepEnd) -> tuple[Executed, ...]:
    """Return the history of a success, with the reason for rows that failed."""
    step, ords, failing = end.step, ords_of(end.intent), end.step.failing
    if not _leaves_history(step.intent, succeeded=True):
        return ()
    rows = end.written_runs(difference(ords, failing) if step.blocks else ords)
    bad = spread(failing, (0, 0)) if step.blocks else cut(rows, failing)
    good = cut(rows, difference(ords, failing))
    why = step.verdict.failure if step.verdict else None
    return (*end.executed(good), *end.executed(bad, why))


def _partitions_after(records: ModelState, end: StepEnd) -> Runs[PartitionState]:
    whole, outcome = end.intent.grid.is_whole, end.outcome

    def beside_others(was: PartitionState, settled: int | None) -> int | None:
        return was.settled_version if outcome.foreign else settled  # still to be reported

    def altered(was: PartitionState) -> PartitionState:
        settled = beside_others(was, outcome.settled_version)
        return replace(was, fingerprint=end.intent.fingerprint, settled_version=settled)

    def emptied(was: PartitionState) -> PartitionState:
        kept = was.commit_version if whole else None
        return replace(was, commit_version=kept, settled_version=None)

    def rewritten(was: PartitionState) -> PartitionState | None:
        if was.settled_version is None:
            return None
        settled = beside_others(was, outcome.stands_at)
        return replace(was, commit_version=end.commit_version(was), settled_version=settled)

    match end.intent.kind:
        case StepKind.BUILD | StepKind.SEED:
            return _build(records, end)
        case StepKind.ALTER:
            return _change_each(records, end, altered) if whole else records.partitions
        case StepKind.CREATE:
            return _change_each(records, end, emptied)
        case StepKind.REWRITE:
            return _change_each(records, end, rewritten)
        case kind:
            raise ValueError(f"a {kind} makes no rows")


def _accept(records: ModelState, end: StepEnd) -> Runs[PartitionState]:
    """Keep the rows as they are; models that read them see a change."""
    outcome, ords = end.outcome, ords_of(end.intent)

    def stands(was: PartitionState) -> PartitionState:
        if was.settled_version is None:
            return was
        at = max([*(each.version for each in outcome.foreign), was.commit_version or 0])
        return replace(was, commit_version=at, settled_version=outcome.settled_version)

    if end.intent.grid.is_whole:
        return _change_each(records, end, stands)
    return alter(records.partitions, ords, lambda was: was and end.pick(was, stands(was)))


def _build(records: ModelState, end: StepEnd) -> Runs[PartitionState]:
    step, outcome = end.step, end.outcome
    new = PartitionState(
        status=Status.SUCCESS,
        last_step_seq=step.seq,
        fingerprint=step.intent.fingerprint,
        step_seq=step.seq,
        # A partition's rows are seen at their commit, a whole table stands where the step left it.
        settled_version=(
            outcome.settled_version if step.intent.grid.is_whole else outcome.known_to
        ),
        executed_at=step.ended,
    )

    def built(status: Status) -> Callable[[PartitionState | None], PartitionState]:
        done = replace(new, status=status)
        return lambda was: end.pick(was, replace(done, commit_version=end.commit_version(was)))

    good = difference(ords_of(step.intent), step.failing)
    after = alter(records.partitions, good, built(Status.SUCCESS))
    if step.blocks:
        return end.set_failed(after, step.failing)
    return alter(after, step.failing, built(Status.FAILED))


def _change_each(records: ModelState, end: StepEnd, change: Change) -> Runs[PartitionState]:
    """Change every record; a whole table has one from its first step of any kind."""
    partitions = records.partitions
    if end.intent.grid.is_whole:
        new = PartitionState(Status.SUCCESS, end.step.seq)
        partitions = alter(partitions, ((0, 0),), lambda was: end.pick(was, was or new))

    def after(was: PartitionState | None) -> PartitionState | None:
        return end.pick(was, new) if was is not None and (new := change(was)) else was

    return alter(partitions, ranges_of(partitions), after)


def _roll_back(
    records: ModelState, end: StepEnd, closes: tuple[Key, ...], *, is_ours: bool
) -> ModelState:
    """Return the earlier records, and a history of the rollback."""
    intent = end.intent
    back = rollback.last_written(records, intent)
    ords = rollback.written_since(records, end.step, ranges_of(back), is_ours=is_ours)
    runs = end.written_runs(ords)
    rows = tuple(
        replace(each, fingerprint=was.fingerprint if was else each.fingerprint)
        for failure, part in rollback.failures_of(intent, closes, ords)
        for low, high, got, was in compare_runs(cut(runs, part), cut(back, part))
        if got is not None
        for each in end.executed(((low, high, got),), failure)
    )
    records = replace(records, history=records.history + rows)
    if not is_ours:
        return records
    fails = rollback.undoes_failure(intent)
    left = None
    if intent.grid.is_whole or fails:
        left = PartitionState(Status.FAILED if fails else Status.SUCCESS, end.step.seq)

    def dropped(was: PartitionState | None) -> PartitionState | None:
        if was is not None and not end.is_newer(was):
            return end.pick(was, was)
        return None if left is None else end.pick(was, left)

    def restored(was: PartitionState | None, again: PartitionState) -> PartitionState:
        return end.pick(was, replace(again, commit_version=end.commit_version(was)))

    partitions = alter(records.partitions, difference(ords, ranges_of(back)), dropped)
    again = rollback.runs_after_undo(records, end.step, cut(back, ords), end.outcome)
    return replace(records, partitions=overlay(partitions, again, restored))


def moves(intent: Intent, records: ModelState, at: dt.datetime) -> tuple[WatermarkChange, ...]:
    """Return the changes of watermarks after a success: only upwards.

    With `lowers_watermarks`, those of the intent replace the model's. A rollback restores their
    earlier values.
    """
    current = records.current_watermarks
    new: rollback.Values
    if intent.kind is StepKind.ROLLBACK:
        now, before = (
            {k: str(v) for k, v in current.items()},
            rollback.watermarks_before(records, intent),
        )
        new = {k: before.get(k) for k in sorted({*now, *before}) if now.get(k) != before.get(k)}
    else:
        wanted = {(each.input, each.column): each.value for each in intent.watermarks}
        is_reset, gone = intent.lowers_watermarks, sorted(current.keys() - wanted.keys())
        moved = {k for k, v in wanted.items() if _may_move(v, current.get(k), lowers=is_reset)}
        # one that a person set is a step's again once it was read, though nothing lay above
        by_hand = {(each.input, each.column): not each.step for each in records.watermarks}
        moved |= {k for k, v in wanted.items() if by_hand.get(k) and current.get(k) == v}
        new = {k: str(v) for k, v in wanted.items() if k in moved} | dict.fromkeys(
            gone if is_reset else ()
        )
    return tuple(
        WatermarkChange(intent.model, *key, value, at, step=intent.step)
        for key, value in new.items()
    )


def _may_move(value: TypedValue, now: TypedValue | None, *, lowers: bool) -> bool:
    if now is None or lowers:
        return str(now) != str(value)
    try:
        return now < value
    except TypeError:  # the column changed its type: the plan allowed it, the new type counts
        return True
