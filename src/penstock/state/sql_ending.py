"""A step that ends, with the numbers that its rows carry, and the history that it leaves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, insert, true

from penstock.core.ranges import Ranges
from penstock.core.records import Status
from penstock.core.step import Intent, Outcome, StepFailure
from penstock.state.check_rules import fails
from penstock.state.partition_rules import Written
from penstock.state.parts import RECOVER
from penstock.state.tables import execution_history, partition_state
from penstock.state.verdict import RecordedChecks

Cells = dict[str, object]


@dataclass(frozen=True, slots=True)
class End:
    """How a step ended. `at` is when, `new_id` names its rows in the history.

    `settles` is False for a step that is older than what the records already say. With `by_time`,
    for steps that the logs tell of, what is older is told by the time and not by the number.
    `skipped` is set for a step that never began because of a check, `undone` for one that a
    rollback took back before it ended.
    """

    intent: Intent
    at: dt.datetime
    duration_ms: int
    executed_by: str
    new_id: Callable[[], str]
    recovered: bool = False
    settles: bool = True
    by_time: bool = False
    verdict: RecordedChecks | None = None
    skipped: bool = False
    undone: bool = False

    @property
    def failure(self) -> StepFailure | None:
        """Why its checks make a step fail that has made its commit."""
        return self.verdict.failure if self.verdict else None

    @property
    def blocked(self) -> bool:
        """Whether the partitions that failed were not written."""
        return self.verdict is not None and self.verdict.blocks


@dataclass(frozen=True, slots=True)
class Ending:
    """A step that ends in a transaction; `model` and `mark` are numbers of rows."""

    connection: Connection
    end: End
    model: int
    mark: int

    @property
    def intent(self) -> Intent:
        """What the step intended."""
        return self.end.intent

    @property
    def seq(self) -> int:
        """The step's number."""
        return self.end.intent.step_seq

    @property
    def failing(self) -> Ranges:
        """The partitions that failed a gate after the step's commit."""
        return fails(self.intent, self.end.verdict)

    @property
    def unwritten(self) -> Written:
        """Rows and bytes that the history tells of a step without a commit."""
        return (None, None) if self.end.skipped else (0, 0)

    def is_open(self) -> ColumnElement[bool]:
        """Say of which records of partitions the step is not older."""
        made = partition_state.c.executed_at
        if self.end.by_time:
            return made.is_(None) | (made <= self.end.at)
        if self.end.settles:  # what is newer made the table ready inside of this step
            return true()
        return partition_state.c.last_step_seq <= self.seq


@dataclass(frozen=True, slots=True)
class Told:
    """One partition in the history, with what was written to it."""

    ord: int
    partition: str
    rows: int | None
    size_bytes: int | None
    mark: int | None = None


def append_history(ending: Ending, partitions: Iterable[Told], what: Outcome | StepFailure) -> None:
    """Append a row per partition; `Told.mark` stands for another fingerprint than the step's."""
    end = ending.end
    same = {
        "model_id": ending.model,
        "step_seq": ending.seq,
        "executed_at": end.at,
        "execution_time_ms": end.duration_ms,
        "triggered_by": RECOVER if end.recovered else end.intent.triggered_by,
        "executed_by": end.executed_by,
        **_result(what),
    }
    rows = [
        {
            **same,
            "id": end.new_id(),
            "ord": told.ord,
            "partition": told.partition,
            "fingerprint_id": told.mark or ending.mark,
            "rows_written": told.rows,
            "bytes_written": told.size_bytes,
        }
        for told in partitions
    ]
    if rows:
        ending.connection.execute(insert(execution_history), rows)


def _result(what: Outcome | StepFailure) -> Mapping[str, object]:
    if isinstance(what, Outcome):
        return {"status": str(Status.SUCCESS)}
    return {
        "status": str(Status.FAILED),
        "error_code": what.code,
        "error_message": what.message,
    }
