"""How a step ended: which records it may change, and what it wrote to its partitions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.partitions.ranges import Ranges, count, difference
from penstock.core.records import Status
from penstock.core.steps.step import Intent, Outcome, StepFailure
from penstock.state.transitions.model_state import (
    Executed,
    ModelState,
    PartitionState,
    StoredStep,
    is_whole,
)
from penstock.state.transitions.runs import Runs, changed, cut, ranges_of, spread

Written = tuple[int | None, int | None]
"""Rows and bytes of one partition; None where nobody knows."""


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step that ended, and which records it is too old to change."""

    step: StoredStep
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


def executed(
    step: StoredStep, runs: Runs[Written], failure: StepFailure | None = None
) -> tuple[Executed, ...]:
    """Give what the history says of what a step wrote, or why it did not."""
    if step.ended is None:
        raise ValueError(f"step {step.intent.step} has not ended")
    fingerprint, at = step.intent.fingerprint, step.ended
    return tuple(
        Executed(step.seq, low, high, fingerprint, at, rows, size, failure)
        for low, high, (rows, size) in runs
    )


def written(intent: Intent, outcome: Outcome, ords: Ranges) -> Runs[Written]:
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
