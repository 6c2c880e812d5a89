"""The record of a model that is one partition: the row with the number 0."""

from __future__ import annotations

from sqlalchemy import insert, select, update

from penstock.core.ranges import holds
from penstock.core.records import Status
from penstock.core.step import Outcome, StepFailure, StepKind
from penstock.state.check_rules import undoes_failure
from penstock.state.partition_rules import leaves_history
from penstock.state.sql_ending import Cells, Ending, Told, append_history
from penstock.state.sql_rollback import number_in, restored
from penstock.state.tables import partition_state

ORD = 0
EMPTY: Cells = {
    "status": str(Status.SUCCESS),
    "fingerprint_id": None,
    "step_seq": None,
    "commit_version": None,
    "settled_version": None,
    "executed_at": None,
    "execution_time_ms": 0,
    "rows_written": 0,
    "bytes_written": 0,
}
"""The record of a model whose only rows were rolled back."""


def write_success(ending: Ending, outcome: Outcome, *, is_ours: bool) -> None:
    """Write the history and, where the step is not older than the record, the record."""
    if leaves_history(ending.intent, succeeded=True):
        blocked = ending.end.blocked and _fails(ending)
        rows, size = (0, 0) if blocked else (outcome.rows.written, outcome.bytes_written)
        told = Told(ORD, _partition(ending), rows, size, mark=_restored_mark(ending))
        failure = ending.end.failure if _fails(ending) else None
        append_history(ending, [told], failure or outcome)
    if is_ours:
        _upsert(ending, _after(ending, outcome) if ending.end.settles else {})


def write_failure(ending: Ending, failure: StepFailure, *, is_ours: bool) -> None:
    """Write the history and that the last execution failed."""
    if leaves_history(ending.intent, succeeded=False):
        append_history(ending, [Told(ORD, _partition(ending), *ending.unwritten)], failure)
    if is_ours and ending.end.settles:
        _upsert(ending, {"status": str(Status.FAILED)})


def touch(ending: Ending, *, fails: bool) -> None:
    """Note a step that leaves the record as it is, or that failed."""
    row = partition_state.c.model_id == ending.model, partition_state.c.ord == ORD
    last = ending.connection.scalar(select(partition_state.c.last_step_seq).where(*row))
    if last is not None:
        values: Cells = {"last_step_seq": max(last, ending.seq)}
        values |= {"status": str(Status.FAILED)} if fails else {}
        ending.connection.execute(update(partition_state).where(*row).values(values))


def _after(ending: Ending, outcome: Outcome) -> Cells:
    match ending.intent.kind:
        case StepKind.ALTER:
            return {"fingerprint_id": ending.mark, "settled_version": outcome.settled_version}
        case StepKind.CREATE:
            return {"settled_version": None}
        case StepKind.REWRITE:
            return _rewritten(ending, outcome)
        case StepKind.ROLLBACK:
            return _rolled_back(ending, outcome)
        case StepKind.BUILD | StepKind.SEED:
            return _built(ending, outcome)


def _built(ending: Ending, outcome: Outcome) -> Cells:
    status: Cells = {"status": str(Status.FAILED if _fails(ending) else Status.SUCCESS)}
    if ending.end.blocked and _fails(ending):
        return status
    values: Cells = {
        **status,
        "fingerprint_id": ending.mark,
        "step_seq": ending.seq,
        "settled_version": outcome.settled_version,
        "executed_at": ending.end.at,
        "execution_time_ms": ending.end.duration_ms,
        "rows_written": outcome.rows.written,
        "bytes_written": outcome.bytes_written,
    }
    return values | _committed(outcome)


def _rewritten(ending: Ending, outcome: Outcome) -> Cells:
    state = partition_state.c
    holds = select(state.ord).where(
        state.model_id == ending.model, state.ord == ORD, state.settled_version.is_not(None)
    )
    if ending.connection.scalar(holds) is None:
        return {}
    return {"settled_version": outcome.stands_at, **_committed(outcome)}


def _rolled_back(ending: Ending, outcome: Outcome) -> Cells:
    before = restored(ending).get(ORD)
    if before is None:
        failed = undoes_failure(ending.intent)
        return {**EMPTY, "status": str(Status.FAILED if failed else Status.SUCCESS)}
    return {
        **before,
        "settled_version": outcome.stands_at,
        **_committed(outcome),
    }


def _restored_mark(ending: Ending) -> int | None:
    if ending.intent.kind is not StepKind.ROLLBACK:
        return None
    return number_in(restored(ending).get(ORD, {}), "fingerprint_id")


def _fails(ending: Ending) -> bool:
    return holds(ending.failing, ORD)


def _committed(outcome: Outcome) -> Cells:
    return {} if outcome.version is None else {"commit_version": outcome.version}


def _upsert(ending: Ending, values: Cells) -> None:
    connection = ending.connection
    row = partition_state.c.model_id == ending.model, partition_state.c.ord == ORD
    last = connection.scalar(select(partition_state.c.last_step_seq).where(*row))
    values = {**values, "partition": _partition(ending)}
    values["last_step_seq"] = max(last or 0, ending.seq)
    if last is None:
        values = {"status": str(Status.SUCCESS)} | values  # an alter comes before any build
        connection.execute(insert(partition_state).values(model_id=ending.model, ord=ORD, **values))
        return
    connection.execute(update(partition_state).where(*row).values(values))


def _partition(ending: Ending) -> str:
    return ",".join(ending.intent.partitions)
