"""What is on record of one model in memory while its steps are replayed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from penstock.core.check_results import Flag
from penstock.core.model import Fingerprint
from penstock.core.partition import Grid
from penstock.core.ranges import Ranges, holds, numbers, of_numbers, union
from penstock.core.records import Execution, ModelRecord, Status
from penstock.core.step import Intent, Outcome, StepFailure, StepKind
from penstock.state.check_rules import undoes_failure
from penstock.state.memory_tables import MemoryStep
from penstock.state.partition_rules import BUILDS, Written
from penstock.state.parts import RECOVER
from penstock.state.verdict import ords_of

REMAKES = (StepKind.CREATE, StepKind.REWRITE)


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """The record of one partition; `mark` is None if it never succeeded."""

    status: Status
    last_step_seq: int
    mark: Fingerprint | None = None
    step_seq: int = 0
    commit_version: int | None = None
    settled_version: int | None = None
    executed_at: dt.datetime | None = None
    duration_ms: int = 0
    written: Written = (0, 0)


@dataclass(frozen=True, slots=True)
class Past:
    """One row of the history, with the step that it is of."""

    step: MemoryStep
    ord: int
    execution: Execution


@dataclass(slots=True)
class Picture:
    """Records, history, and what was rolled back: by a step's number that of the rollback.

    `whole` is the record of a model of one partition, `rows` are those of the others. `flags` are
    open, `closed` those that were, with the number of the step that closed them, 0 for a person.
    `pending` are the partitions of steps that are to be checked.
    """

    grid: Grid = Grid()
    whole: ModelRecord | None = None
    rows: dict[int, PartitionRow] = field(default_factory=dict)
    past: list[Past] = field(default_factory=list)
    steps: list[MemoryStep] = field(default_factory=list)
    undone: dict[int, int] = field(default_factory=dict)
    flags: dict[tuple[int, int], Flag] = field(default_factory=dict)
    closed: dict[tuple[int, int], tuple[Flag, int]] = field(default_factory=dict)
    pending: dict[int, Ranges] = field(default_factory=dict)

    @property
    def has_rows(self) -> bool:
        """Whether anything is on record."""
        return bool(self.rows) or self.whole is not None

    @property
    def is_cut(self) -> bool:
        """Whether the model has partitions."""
        return self.grid != Grid()

    @property
    def newest(self) -> dt.datetime | None:
        """When the newest success on record ended."""
        made = [row.executed_at for row in self.rows.values()]
        made += [self.whole.executed_at] if self.whole else []
        return max((each for each in made if each is not None), default=None)

    def tell(
        self,
        step: MemoryStep,
        number: int,
        written: Written,
        partition: str,
        mark: Fingerprint | None = None,
        failure: StepFailure | None = None,
    ) -> None:
        """Append to the history; `mark` stands for another fingerprint than the step's."""
        if step.ended is None:
            raise ValueError(f"step {step.intent.step} has not ended")
        execution = Execution(
            model=step.intent.model,
            partition=partition,
            step=step.intent.step,
            step_seq=step.intent.step_seq,
            fingerprint=mark or step.intent.fingerprint,
            executed_at=step.ended,
            duration_ms=step.duration_ms,
            rows_written=written[0],
            bytes_written=written[1],
            status=Status.FAILED if failure else Status.SUCCESS,
            triggered_by=RECOVER if step.recovered else step.intent.triggered_by,
            executed_by=step.executed_by,
            failure=failure,
        )
        self.past.append(Past(step, number, execution))

    def is_open(self, number: int, step: MemoryStep) -> bool:
        """Whether the step is not older than the record of a partition."""
        row = self.rows.get(number)
        if row is None:
            return True
        if step.by_time:
            ended = step.ended
            return row.executed_at is None or ended is None or row.executed_at <= ended
        return step.settles or row.last_step_seq <= step.intent.step_seq

    def put(self, number: int, step: MemoryStep, row: PartitionRow) -> None:
        """Write the record of a partition unless it is newer than the step."""
        if self.is_open(number, step):
            before = self.rows.get(number, row)
            last = max(before.last_step_seq, step.intent.step_seq)
            commit = row.commit_version
            if commit is None:
                commit = before.commit_version
            self.rows[number] = replace(row, last_step_seq=last, commit_version=commit)

    def forget(self, number: int, step: MemoryStep) -> None:
        """Write that the rows of a partition are gone, with the table that they were in."""
        if self.is_open(number, step):
            row = self.rows[number]
            last = max(row.last_step_seq, step.intent.step_seq)
            gone = replace(row, commit_version=None, settled_version=None, last_step_seq=last)
            self.rows[number] = gone

    def undo(self, step: MemoryStep, steps: Iterable[MemoryStep]) -> None:
        """Note what a rollback undoes; what those steps had undone counts again."""
        first, seq = step.intent.restores, step.intent.step_seq
        known = {s.intent.step_seq for s in steps if not s.by_time or s.ended_as < step.ended_as}
        for number in known:
            by = self.undone.get(number, 0)
            if number < first <= by < seq:
                del self.undone[number]
            elif first <= number < seq and by < seq:
                self.undone[number] = seq

    def is_flagged(self, past: Past) -> bool:
        """Whether rows of an execution were flagged, be it that the flag is closed."""
        key = past.execution.step_seq, past.ord
        return key in self.flags or key in self.closed

    def succeeded(self, past: Past) -> bool:
        """Whether it is a success that no check and no rollback took back later."""
        if past.execution.status is not Status.SUCCESS:
            return False
        return past.execution.step_seq not in self.undone and not self.is_flagged(past)

    def restored(self, step: MemoryStep) -> dict[int, Past]:
        """Give what was written last to each partition before `restores`."""
        found = [
            past
            for past in self.past
            if past.execution.step_seq < step.intent.restores
            and past.execution.step_seq not in self.undone
            and (past.execution.status is Status.SUCCESS or self.is_flagged(past))
            and past.step.intent.kind in BUILDS
            and past.step.intent.grid == step.intent.grid
        ]
        return {past.ord: past for past in sorted(found, key=lambda p: p.execution.step_seq)}

    def written_since(self, step: MemoryStep, *, is_ours: bool) -> Ranges:
        """Give the partitions that steps from `restores` on have written, those it names too."""
        first, seq = step.intent.restores, step.intent.step_seq
        undone = [
            other
            for other in self.steps
            if first <= other.intent.step_seq < seq and other.outcome is not None
        ]
        if any(other.intent.kind in REMAKES for other in undone):
            found = {*(self.rows if is_ours else ()), *self.restored(step)}
        else:
            found = {
                past.ord
                for past in self.past
                if past.step in undone and past.step.intent.grid == step.intent.grid
            }
        return union(of_numbers(found), step.intent.ords)


def status_after(picture: Picture, intent: Intent, past: Past) -> Status:
    """Give the status of what a rollback brings back: flagged, or undone with what failed."""
    is_open = (past.execution.step_seq, past.ord) in picture.flags
    failed = undoes_failure(intent) and holds(ords_of(intent), past.ord)
    return Status.FAILED if is_open or failed else Status.SUCCESS


def row_again(past: Past, step: MemoryStep, outcome: Outcome, status: Status) -> PartitionRow:
    """Give the record that a rollback leaves of a success before it."""
    execution = past.execution
    return PartitionRow(
        status=status,
        last_step_seq=step.intent.step_seq,
        mark=execution.fingerprint,
        step_seq=execution.step_seq,
        commit_version=outcome.version,
        settled_version=outcome.stands_at,
        executed_at=execution.executed_at,
        duration_ms=execution.duration_ms,
        written=(execution.rows_written, execution.bytes_written),
    )


def keys_of(step: MemoryStep, ords: Ranges) -> dict[int, str]:
    """Give the keys of partitions by their numbers."""
    return {number: step.intent.grid.key(number) for number in numbers(ords)}


def blocks(step: MemoryStep) -> bool:
    """Whether the partitions that failed a gate were not written."""
    return step.verdict is not None and step.verdict.blocks


def unwritten(step: MemoryStep) -> Written:
    """Give rows and bytes that the history tells of a step without a commit."""
    return (None, None) if step.status is Status.SKIPPED else (0, 0)
