"""Which records a finished step may change: none that are newer, or of another table or grid."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.records import Status
from penstock.core.steps.step import Outcome, StepKind
from penstock.state.transitions.model_state import (
    BUILDS,
    RESHAPES,
    Failed,
    Finished,
    ModelState,
    PartitionState,
    StoredStep,
    TargetState,
)
from penstock.state.transitions.runs import alter


def is_newest(records: ModelState, event: Finished | Failed) -> bool:
    """Return whether no record is newer than the step."""
    if isinstance(event, Finished) and event.of_log:
        return all(is_newer(event.outcome, state) for _, _, state in records.partitions)
    step = records.steps[event.step_seq]
    return not any(
        other.seq > step.seq
        and other.ended is not None
        and not (other.intent.run == step.intent.run and other.intent.kind in RESHAPES)
        for other in records.steps.values()
    )


def is_newer(outcome: Outcome, than: PartitionState) -> bool:
    """Return whether a step is after a record in the log; without a commit it counts as later.

    Times are not used: clocks of several machines disagree, and are set back.
    """
    version, known = outcome.settled_version, than.settled_version
    if version is None or known is None:
        return True
    return version > known or (outcome.version is None and version == known)


def without_old_table(records: ModelState, step: StoredStep, event: Finished) -> ModelState:
    """Mark all recorded rows as gone if the step wrote another table in their place."""
    known = records.targets.get(step.target)
    if known is None or known.table_id == event.outcome.table_id:
        return records
    gone = tuple(
        (low, high, replace(s, settled_version=None)) for low, high, s in records.partitions
    )
    return replace(records, partitions=gone)


def with_target(
    records: ModelState, step: StoredStep, outcome: Outcome, *, settles: bool
) -> ModelState:
    """Record facts of the table and, after a build that committed, its latest run timestamp.

    A first load or a full refresh sets it to its run timestamp, other steps only raise it.
    """
    intent, known = step.intent, records.targets.get(step.target)
    high = known.high_time if known else None
    if outcome.version is not None and intent.kind in BUILDS:
        at = intent.run_timestamp
        high = at if high is None or (settles and intent.lowers_watermarks) else max(high, at)
    new = TargetState(outcome.table_id, outcome.settled_version)
    seen = known if known is not None and not settles else new
    return replace(records, targets={**records.targets, step.target: replace(seen, high_time=high)})


def taking_grid(
    records: ModelState, step: StoredStep, *, succeeded: bool, settles: bool
) -> tuple[ModelState, bool]:
    """Return the records, and whether they have the step's grid or change to it now.

    A failure or a change of properties sets the grid only if there are no records. For a whole
    table that keeps its record, the step is still recorded.
    """
    if records.grid == step.intent.grid:
        return records, True
    rebuilds = succeeded and step.intent.kind is not StepKind.ALTER
    if settles and (rebuilds or not records.partitions):
        return replace(records, grid=step.intent.grid, partitions=()), True
    if not records.grid.is_whole:
        return records, False

    def learnt(was: PartitionState | None) -> PartitionState | None:
        if was is None:
            return None
        status = Status.FAILED if settles and not succeeded else was.status
        return replace(was, status=status, last_step_seq=max(was.last_step_seq, step.seq))

    return replace(records, partitions=alter(records.partitions, ((0, 0),), learnt)), False
