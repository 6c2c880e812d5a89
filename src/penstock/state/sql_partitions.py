"""The records of a model's partitions: a row for each, written all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, bindparam, case, delete, func, true, update

from penstock.core.ranges import Ranges, difference, holds, numbers
from penstock.core.records import Status
from penstock.core.step import Outcome, StepFailure, StepKind
from penstock.state.check_rules import undoes_failure
from penstock.state.flag_rules import FlagChange, told_of_rollback
from penstock.state.partition_rules import RowsByPartition, leaves_history
from penstock.state.sql_database import upsert
from penstock.state.sql_ending import Cells, Ending, Told, append_history
from penstock.state.sql_rollback import number_in, restored, written_since
from penstock.state.tables import partition_state

STATE = partition_state.c
TRUE = true()


def write_success(ending: Ending, outcome: Outcome, changed: FlagChange, *, is_ours: bool) -> None:
    """Write the history of every partition and the records that the step is not older than.

    With `is_ours` False, of another grid than the records, only the history.
    """
    match ending.intent.kind:
        case StepKind.ALTER:
            return
        case StepKind.CREATE:
            if is_ours:
                _update(ending, {"commit_version": None, "settled_version": None})
        case StepKind.REWRITE:
            if is_ours:
                _rewrite(ending, outcome)
        case StepKind.ROLLBACK:
            _roll_back(ending, outcome, changed, is_ours=is_ours)
        case StepKind.BUILD | StepKind.SEED:
            _build(ending, outcome, is_ours=is_ours)


def write_failure(ending: Ending, failure: StepFailure, *, is_ours: bool) -> None:
    """Write the history, and of each partition that its last execution failed."""
    if not leaves_history(ending.intent, succeeded=False):
        return
    ords = ending.intent.ords
    keys = _keys(ending, ords)
    append_history(ending, [Told(each, keys[each], *ending.unwritten) for each in keys], failure)
    if is_ours:
        values: Cells = {"status": str(Status.FAILED)}
        _upsert(ending, [{**values, "ord": each, "partition": keys[each]} for each in keys])


def _build(ending: Ending, outcome: Outcome, *, is_ours: bool) -> None:
    failing, failure = ending.failing, ending.end.failure
    built = difference(ending.intent.ords, failing) if ending.end.blocked else ending.intent.ords
    keys, written = _keys(ending, ending.intent.ords), RowsByPartition(outcome, built)
    told = [
        Told(each, keys[each], *(written.of(each) if holds(built, each) else (0, 0)))
        for each in keys
    ]
    good = [each for each in told if not holds(failing, each.ord)]
    bad = [each for each in told if holds(failing, each.ord)]
    append_history(ending, good, outcome)
    append_history(ending, bad, failure or outcome)
    if not is_ours:
        return
    failed: Cells = {"status": str(Status.FAILED)}
    same: Cells = {
        "status": str(Status.SUCCESS),
        "fingerprint_id": ending.mark,
        "step_seq": ending.seq,
        "commit_version": outcome.version,
        "settled_version": outcome.stands_at,
        "executed_at": ending.end.at,
        "execution_time_ms": ending.end.duration_ms,
    }
    _upsert(ending, [{**same, **_cells(each)} for each in good])
    if ending.end.blocked:
        _upsert(ending, [{**failed, "ord": e.ord, "partition": e.partition} for e in bad])
    else:
        _upsert(ending, [{**same, **_cells(each), **failed} for each in bad])


def _rewrite(ending: Ending, outcome: Outcome) -> None:
    values: Cells = {"settled_version": outcome.stands_at}
    if outcome.version is not None:
        values["commit_version"] = outcome.version
    _update(ending, values, STATE.settled_version.is_not(None))


def _roll_back(ending: Ending, outcome: Outcome, changed: FlagChange, *, is_ours: bool) -> None:
    ords = written_since(ending, is_ours=is_ours)
    keys, written, before = _keys(ending, ords), RowsByPartition(outcome, ords), restored(ending)
    marks = {each: number_in(before.get(each, {}), "fingerprint_id") for each in keys}
    for what, part in told_of_rollback(ending.intent, outcome, changed, ords):
        told = [Told(n, keys[n], *written.of(n), mark=marks[n]) for n in numbers(part)]
        append_history(ending, told, what)
    if not is_ours:
        return
    same: Cells = {"commit_version": outcome.version, "settled_version": outcome.stands_at}
    back = [{**same, **before[n], "ord": n, "partition": keys[n]} for n in keys if n in before]
    _upsert(ending, back)
    gone = [each for each in keys if each not in before]
    _forget(ending, gone)
    if undoes_failure(ending.intent):
        failed: Cells = {"status": str(Status.FAILED)}
        _upsert(ending, [{**failed, "ord": each, "partition": keys[each]} for each in gone])


def _keys(ending: Ending, ords: Ranges) -> dict[int, str]:
    return {number: ending.intent.grid.key(number) for number in numbers(ords)}


def _cells(told: Told) -> Cells:
    return {
        "ord": told.ord,
        "partition": told.partition,
        "rows_written": told.rows,
        "bytes_written": told.size_bytes,
    }


def _upsert(ending: Ending, rows: Sequence[Cells]) -> None:
    """Write records with the same columns; those that are newer than the step stay."""
    if not rows:
        return
    statement = upsert(ending.connection, partition_state)
    new = statement.excluded
    values: dict[str, ColumnElement[Any]] = {
        name: new[name] for name in rows[0] if name not in {"ord", "partition"}
    }
    if "commit_version" in values:  # a step that changed nothing leaves it
        values["commit_version"] = func.coalesce(new.commit_version, STATE.commit_version)
    last = case((STATE.last_step_seq > ending.seq, STATE.last_step_seq), else_=ending.seq)
    ending.connection.execute(
        statement.on_conflict_do_update(
            index_elements=[STATE.model_id, STATE.ord],
            set_={**values, "last_step_seq": last},
            where=ending.is_open(),
        ),
        [{**row, "model_id": ending.model, "last_step_seq": ending.seq} for row in rows],
    )


def _update(ending: Ending, values: Cells, where: ColumnElement[bool] = TRUE) -> None:
    """Change every record of the model that the step is not older than."""
    last = case((STATE.last_step_seq > ending.seq, STATE.last_step_seq), else_=ending.seq)
    ending.connection.execute(
        update(partition_state)
        .where(STATE.model_id == ending.model, ending.is_open(), where)
        .values(last_step_seq=last, **values)
    )


def _forget(ending: Ending, ords: Sequence[int]) -> None:
    if ords:
        statement = delete(partition_state).where(
            STATE.model_id == ending.model, STATE.ord == bindparam("gone"), ending.is_open()
        )
        ending.connection.execute(statement, [{"gone": each} for each in ords])
