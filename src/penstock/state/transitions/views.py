"""What the records of a model amount to, as the ports tell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.check_results import Checked, Flag, RowsBefore
from penstock.core.checks import OnFailure
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grid
from penstock.core.partitions.ranges import Ranges, merged
from penstock.core.ports.checks import Unsettled
from penstock.core.records import (
    Execution,
    LeastPin,
    PartitionGroup,
    PartitionRun,
    PartitionsRecord,
    Status,
)
from penstock.core.steps.inputs import Pin
from penstock.core.steps.token import pin_parts
from penstock.state.transitions.model_record import greatest, model_record
from penstock.state.transitions.model_state import (
    BUILDS,
    Executed,
    Key,
    ModelState,
    PartitionState,
    StoredStep,
)
from penstock.state.transitions.runs import filled, joined

RECOVER = "recover"  # what the history says triggered a step that recovery ended

Numbers = Mapping[Fingerprint | None, int]
"""The numbers under which a store names the fingerprints of a model."""

PinCount = tuple[str, str, int, int, int]
"""Pins of one kind of one table: kind, table id, least version, how many, the newest step."""


def partitions_record(records: ModelState, known: Numbers) -> PartitionsRecord | None:
    """Give what is known of all partitions of a model; None for one that has none."""
    record = None if records.is_whole else model_record(records)
    if record is None:
        return None
    pins = step_pins(records)
    found: dict[str, list[PinCount]] = {}
    for number, of_step in pins.items():
        for name, pin in of_step.items():
            kind, text, version = pin_parts(pin)
            found.setdefault(name, []).append((kind, text, version, 1, number))
    return PartitionsRecord(
        model=records.model,
        table_id=record.table_id,
        groups=_groups(records, known),
        pins={name: least_pin(each) for name, each in sorted(found.items())},
        steps=len(pins),
        last_step_seq=record.last_step_seq,
        executed_at=record.executed_at,
        grid=records.grid,
    )


def partition_runs(records: ModelState, known: Numbers) -> tuple[PartitionRun, ...]:
    """Give the partitions of a model, neighbours of which the same is known together."""
    if records.is_whole:
        return ()
    filled_by: dict[int, list[tuple[int, int]]] = {}
    for each in records.history:
        if each.rows:
            filled_by.setdefault(each.step_seq, []).append((each.low, each.high))
    has_rows = {number: merged(found) for number, found in filled_by.items()}
    pieces = [
        (start, stop, (state, is_filled is not None))
        for low, high, state in records.partitions
        for start, stop, is_filled in filled(
            tuple((low, high, True) for low, high in has_rows.get(state.step_seq, ())),
            ((low, high),),
        )
    ]
    return tuple(
        PartitionRun(
            low=low,
            high=high,
            status=state.status,
            fingerprint=known.get(state.fingerprint, 0),
            step_seq=state.step_seq,
            last_step_seq=state.last_step_seq,
            commit_version=state.commit_version,
            settled_version=state.settled_version,
            holds_rows=holds_rows,
            executed_at=state.executed_at,
        )
        for low, high, (state, holds_rows) in joined(pieces)
    )


def step_pins(records: ModelState) -> dict[int, dict[str, Pin]]:
    """Give the pins of the steps that built a model's partitions as they are now."""
    if records.is_whole:
        return {}
    built = sorted({state.step_seq for _, _, state in records.partitions if state.step_seq})
    inputs = {number: records.steps[number].intent.inputs for number in built}
    return {
        number: {each.input: each.pin for each in sorted(given, key=lambda each: each.input)}
        for number, given in inputs.items()
    }


def least_pin(found: Iterable[PinCount]) -> LeastPin:
    """Give the oldest pin of an input; its kind is that of the newest step."""
    found = sorted(found, key=lambda each: each[4])
    return LeastPin(
        kind=found[-1][0],
        version=min(version for _, _, version, _, _ in found),
        table_ids=frozenset(table_id for _, table_id, _, _, _ in found),
        steps=sum(count for _, _, _, count, _ in found),
    )


def executions(records: ModelState) -> list[Execution]:
    """Give the history, newest step first, then by partition."""
    newest = sorted(records.history, key=lambda each: -each.step_seq)
    found = [(n, each) for each in newest for n in range(each.low, each.high + 1)]
    found.sort(key=lambda pair: (-pair[1].step_seq, pair[0]))
    return [_execution(records.steps[each.step_seq], number, each) for number, each in found]


def open_flags(records: ModelState) -> list[Flag]:
    """Give the open flags of a model."""
    return [
        _flag(records, key, records.steps[key[0]])
        for key, flag in records.flags.items()
        if flag.closed is None
    ]


def unsettled(records: ModelState) -> list[Unsettled]:
    """Give the steps of a model with pending checks, and those whose rollback is due."""
    found = []
    for step in records.steps.values():
        if step.ended is None or step.undone_by:
            continue
        if step.pending:
            found.append(Unsettled(step.record))
        elif _is_due(records, step):
            found.append(Unsettled(step.record, _checked(step)))
    return found


def rows_before(
    records: ModelState, asked: tuple[Ranges, int], step_seq: int, *, with_rows: bool
) -> RowsBefore:
    """Give what successes before a step wrote to partitions, and to so many before them."""
    partitions, last = asked
    step = records.steps.get(step_seq)
    grid = step.intent.grid if step else records.grid
    done = [each for each in _successes(records, grid) if each.step_seq < step_seq]
    rows = [
        (number, each.rows or 0)
        for each in sorted(done, key=lambda each: each.step_seq)
        for number in range(each.low, each.high + 1)
        if each.rows is not None
        and each.rows >= int(with_rows)
        and (each.step_seq, number) not in records.flags
    ]
    if grid == Grid():
        newest = [written for _, written in reversed(rows)]
        return RowsBefore(recent=tuple(newest[: max(last, 1)]))
    if not partitions:
        return RowsBefore()
    low, high = partitions[0][0], partitions[-1][1]
    below = sorted({number for number, _ in rows if number < low}, reverse=True)[:last]
    first = min(below, default=low)
    wanted = {number: written for number, written in rows if first <= number <= high}
    return RowsBefore(dict(sorted(wanted.items())))


def _groups(records: ModelState, known: Numbers) -> tuple[PartitionGroup, ...]:
    found: dict[tuple[int, Status], list[tuple[int, int, PartitionState]]] = {}
    for low, high, state in records.partitions:
        key = known.get(state.fingerprint, 0), state.status
        found.setdefault(key, []).append((low, high, state))
    return tuple(
        PartitionGroup(
            fingerprint=number,
            status=status,
            count=sum(high - low + 1 for low, high, _ in runs),
            low=min(low for low, _, _ in runs),
            high=max(high for _, high, _ in runs),
            commit_high=greatest(each.commit_version for _, _, each in runs),
            settled_low=min(
                (v for _, _, e in runs if (v := e.settled_version) is not None), default=None
            ),
            unsettled=sum(
                high - low + 1
                for low, high, each in runs
                if each.fingerprint and each.settled_version is None
            ),
        )
        for (number, status), runs in sorted(found.items())
    )


def _execution(step: StoredStep, number: int, each: Executed) -> Execution:
    return Execution(
        model=step.intent.model,
        partition=step.intent.grid.key(number),
        step=step.intent.step,
        step_seq=step.seq,
        fingerprint=each.fingerprint,
        executed_at=each.at,
        duration_ms=step.duration_ms,
        rows_written=each.rows,
        bytes_written=each.size_bytes,
        status=Status.FAILED if each.failure else Status.SUCCESS,
        triggered_by=RECOVER if step.recovered else step.intent.triggered_by,
        executed_by=step.executed_by,
        failure=each.failure,
    )


def _flag(records: ModelState, key: Key, step: StoredStep) -> Flag:
    flag = records.flags[key]
    return Flag(
        step=step.intent.step,
        step_seq=step.seq,
        model=records.model,
        ord=key[1],
        partition=step.intent.grid.key(key[1]),
        checks=flag.checks,
        opened=flag.opened,
        version=flag.version,
    )


def _is_due(records: ModelState, step: StoredStep) -> bool:
    """Whether rows of a step are to be taken back: not if no flag is open on them any more."""
    is_meant = step.verdict is not None and step.verdict.mode is OnFailure.ROLLBACK
    committed = step.outcome is not None and step.outcome.version is not None
    return is_meant and committed and bool(records.open_flags_of(step.seq))


def _checked(step: StoredStep) -> Checked | None:
    return step.verdict.checked() if step.verdict else None


def _successes(records: ModelState, grid: Grid) -> list[Executed]:
    return [
        each
        for each in records.history
        if each.failure is None
        and not records.steps[each.step_seq].undone_by
        and records.steps[each.step_seq].intent.kind in BUILDS
        and records.steps[each.step_seq].intent.grid == grid
    ]
