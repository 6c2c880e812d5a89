"""Records in memory, told by replaying the steps in the order in which they ended."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.ranges import difference, holds, numbers
from penstock.core.records import ModelRecord, Status
from penstock.core.step import Outcome, StepFailure, StepKind
from penstock.state import memory_flags
from penstock.state.check_rules import fails, undoes_failure
from penstock.state.flag_rules import FlagChange, told_of_rollback
from penstock.state.memory_picture import (
    PartitionRow,
    Picture,
    blocks,
    keys_of,
    row_again,
    status_after,
    unwritten,
)
from penstock.state.memory_tables import MemoryEvent, MemoryStep, MemoryTables
from penstock.state.partition_rules import (
    RowsByPartition,
    is_whole,
    leaves_history,
    takes_grid,
)


def pictures(tables: MemoryTables) -> dict[str, Picture]:
    """Give what is on record of every model that ended a step."""
    found: dict[str, Picture] = {}
    ended = [step for step in tables.steps.values() if step.ended is not None]
    events = list(reversed(tables.events))
    for step in sorted(ended, key=lambda step: step.ended_as):
        while events and events[-1].after <= step.ended_as:
            _happen(found, tables, events.pop())
        picture = found.setdefault(step.intent.model, Picture())
        _replay(picture, step, tables)
        picture.steps.append(step)
    while events:
        _happen(found, tables, events.pop())
    return found


def _happen(found: dict[str, Picture], tables: MemoryTables, event: MemoryEvent) -> None:
    if event.settles:
        step = tables.steps[event.settles]
        memory_flags.settle(found[step.intent.model], step, event)
    for picture in found.values():
        memory_flags.close(picture, event)


def _replay(picture: Picture, step: MemoryStep, tables: MemoryTables) -> None:
    is_ours = _take_grid(picture, step)
    if step.intent.kind is StepKind.ROLLBACK and step.outcome is not None:
        picture.undo(step, tables.of_model(step.intent.model))
    changed = FlagChange()
    if step.outcome is not None:
        changed = memory_flags.change(picture, step, is_ours=is_ours)
    if is_whole(step.intent):
        _end_whole(picture, step, is_ours=is_ours)
    elif step.outcome is None:
        _fail_partitions(picture, step, is_ours=is_ours)
    elif step.intent.kind is StepKind.ROLLBACK:
        _roll_back(picture, step, step.outcome, changed, is_ours=is_ours)
    else:
        _end_partitions(picture, step, step.outcome, is_ours=is_ours)


def _take_grid(picture: Picture, step: MemoryStep) -> bool:
    succeeded, settles = step.outcome is not None, step.settles
    if picture.grid == step.intent.grid:
        return True
    has_rows = picture.has_rows
    if takes_grid(step.intent, succeeded=succeeded, settles=settles, has_rows=has_rows):
        picture.grid, picture.whole, picture.rows = step.intent.grid, None, {}
        return True
    if picture.whole is not None:
        last = max(picture.whole.last_step_seq, step.intent.step_seq)
        picture.whole = replace(picture.whole, last_step_seq=last)
        if settles and not succeeded:
            picture.whole = replace(picture.whole, status=Status.FAILED)
    return False


def _end_whole(picture: Picture, step: MemoryStep, *, is_ours: bool) -> None:
    outcome, failure = step.outcome, _failure_of(step, 0)
    if leaves_history(step.intent, succeeded=outcome is not None):
        rows = unwritten(step)
        if outcome is not None and not (failure and blocks(step)):
            rows = (outcome.rows.written, outcome.bytes_written)
        mark = None
        if outcome is not None and step.intent.kind is StepKind.ROLLBACK:
            back = picture.restored(step).get(0)
            mark = back.execution.fingerprint if back else None
        picture.tell(step, 0, rows, ",".join(step.intent.partitions), mark, failure)
    if not is_ours:
        return
    number = step.intent.step_seq
    status = Status.FAILED if outcome is None else Status.SUCCESS
    before = picture.whole or ModelRecord(step.intent.model, status, 0)
    after = replace(before, last_step_seq=max(before.last_step_seq, number))
    if step.settles and outcome is not None:
        after = _succeed(picture, after, step, outcome)
    elif step.settles:
        after = replace(after, status=status)
    picture.whole = after


def _succeed(
    picture: Picture, before: ModelRecord, step: MemoryStep, outcome: Outcome
) -> ModelRecord:
    version = outcome.version if outcome.version is not None else before.commit_version
    match step.intent.kind:
        case StepKind.ALTER:
            mark = step.intent.fingerprint
            return replace(before, fingerprint=mark, settled_version=outcome.settled_version)
        case StepKind.CREATE:
            return replace(before, settled_version=None)
        case StepKind.REWRITE:
            if before.settled_version is None:
                return before
            settled = outcome.stands_at
            return replace(before, commit_version=version, settled_version=settled)
        case StepKind.ROLLBACK:
            return _whole_again(picture, before, step, outcome)
        case StepKind.BUILD | StepKind.SEED:
            if _failure_of(step, 0) and blocks(step):
                return replace(before, status=Status.FAILED)
            built = _built(before, step, outcome, version)
            return replace(built, status=Status.FAILED) if _failure_of(step, 0) else built


def _built(
    before: ModelRecord, step: MemoryStep, outcome: Outcome, version: int | None
) -> ModelRecord:
    return replace(
        before,
        status=Status.SUCCESS,
        step=step.intent.step,
        step_seq=step.intent.step_seq,
        fingerprint=step.intent.fingerprint,
        table_id=outcome.table_id,
        commit_version=version,
        settled_version=outcome.settled_version,
        pins={given.input: given.pin for given in step.intent.inputs},
        executed_at=step.ended,
        duration_ms=step.duration_ms,
        rows_written=outcome.rows.written,
        bytes_written=outcome.bytes_written,
        cut_at=step.intent.cut_at,
        passed_by=step.intent.passed_by,
    )


def _whole_again(
    picture: Picture, before: ModelRecord, step: MemoryStep, outcome: Outcome
) -> ModelRecord:
    past = picture.restored(step).get(0)
    if past is None or past.step.outcome is None:
        status = Status.FAILED if undoes_failure(step.intent) else Status.SUCCESS
        return ModelRecord(before.model, status, before.last_step_seq)
    version = outcome.version if outcome.version is not None else before.commit_version
    again = _built(before, past.step, past.step.outcome, version)
    status = status_after(picture, step.intent, past)
    return replace(again, status=status, settled_version=outcome.stands_at)


def _fail_partitions(picture: Picture, step: MemoryStep, *, is_ours: bool) -> None:
    if not leaves_history(step.intent, succeeded=False):
        return
    number = step.intent.step_seq
    for each, key in keys_of(step, step.intent.ords).items():
        picture.tell(step, each, unwritten(step), key, failure=step.failure)
        if is_ours:
            before = picture.rows.get(each, PartitionRow(Status.FAILED, number))
            picture.put(each, step, replace(before, status=Status.FAILED))


def _end_partitions(picture: Picture, step: MemoryStep, outcome: Outcome, *, is_ours: bool) -> None:
    kind = step.intent.kind
    if kind not in {StepKind.ALTER, StepKind.CREATE, StepKind.REWRITE}:
        _build(picture, step, outcome, is_ours=is_ours)
    elif is_ours and kind is StepKind.CREATE:
        for each in list(picture.rows):
            picture.forget(each, step)
    elif is_ours and kind is StepKind.REWRITE:
        for each, row in list(picture.rows.items()):
            if row.settled_version is not None:
                settled = outcome.stands_at
                after = replace(row, commit_version=outcome.version, settled_version=settled)
                picture.put(each, step, after)


def _build(picture: Picture, step: MemoryStep, outcome: Outcome, *, is_ours: bool) -> None:
    ords = step.intent.ords
    held = fails(step.intent, step.verdict) if blocks(step) else ()
    written = RowsByPartition(outcome, difference(ords, held))
    for each, key in keys_of(step, ords).items():
        failure = _failure_of(step, each)
        if holds(held, each):
            picture.tell(step, each, (0, 0), key, failure=failure)
            if is_ours:
                before = picture.rows.get(each, PartitionRow(Status.FAILED, 0))
                picture.put(each, step, replace(before, status=Status.FAILED))
            continue
        picture.tell(step, each, written.of(each), key, failure=failure)
        row = PartitionRow(
            status=Status.FAILED if failure else Status.SUCCESS,
            last_step_seq=step.intent.step_seq,
            mark=step.intent.fingerprint,
            step_seq=step.intent.step_seq,
            commit_version=outcome.version,
            settled_version=outcome.stands_at,
            executed_at=step.ended,
            duration_ms=step.duration_ms,
            written=written.of(each),
        )
        if is_ours:
            picture.put(each, step, row)


def _roll_back(
    picture: Picture, step: MemoryStep, outcome: Outcome, changed: FlagChange, *, is_ours: bool
) -> None:
    intent = step.intent
    ords, before = picture.written_since(step, is_ours=is_ours), picture.restored(step)
    written = RowsByPartition(outcome, ords)
    for what, part in told_of_rollback(intent, outcome, changed, ords):
        failure = None if isinstance(what, Outcome) else what
        for each, key in keys_of(step, part).items():
            mark = before[each].execution.fingerprint if each in before else None
            picture.tell(step, each, written.of(each), key, mark, failure)
    for each in numbers(ords) if is_ours else ():
        past = before.get(each)
        if past is not None:
            status = status_after(picture, intent, past)
            picture.put(each, step, row_again(past, step, outcome, status))
        elif picture.is_open(each, step):
            picture.rows.pop(each, None)
            if undoes_failure(intent):
                picture.put(each, step, PartitionRow(Status.FAILED, intent.step_seq))


def _failure_of(step: MemoryStep, number: int) -> StepFailure | None:
    """Give why a step did not succeed for one of its partitions."""
    if step.outcome is None:
        return step.failure
    failing = fails(step.intent, step.verdict)
    return step.verdict.failure if step.verdict and holds(failing, number) else None
