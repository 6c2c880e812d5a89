"""The records of checks: flags that open and close, pending checks, and the history."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.check_results import WHOLE_GROUP, CheckRecord, CheckResult, InvariantReport
from penstock.core.checks.check import OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.errors import UsageError
from penstock.core.partitions.partition import Grid, read_ranges, write_ranges
from penstock.core.partitions.ranges import Ranges, difference, holds, numbers
from penstock.core.steps.step import Intent, StepKind
from penstock.core.strategy import Writing
from penstock.state.transitions.model_state import (
    BUILDS,
    FlagState,
    Key,
    ModelState,
    StoredStep,
    ords_of,
)


@dataclass(frozen=True, slots=True)
class FlagChange:
    """The changes at the end of a step: `closes` and `reopens` come before `opens`.

    `pending` are the partitions still to be checked, by the numbers of steps; empty if there are
    none. `opens` are partitions of the step that ended.
    """

    closes: tuple[Key, ...] = ()
    reopens: tuple[Key, ...] = ()
    pending: Mapping[int, Ranges] = field(default_factory=dict)
    opens: Ranges = ()


def flag_change(records: ModelState, step: StoredStep, *, replaces: bool) -> FlagChange:
    """Return the changes to flags and pending checks when a step of the model ends.

    A build closes the flags on rows that it replaced; if the records have another grid, its flags
    are removed too. A rollback closes the flags of the steps that it undoes, and reopens those that
    these steps had closed on restored rows. A build opens its own flags unless none of its rows
    stay. `replaces` is False if the records do not follow the step, because they are newer or of
    another grid.
    """
    intent = step.intent
    promised = intent.kind in BUILDS and intent.on_failure in (OnFailure.FLAG, OnFailure.ROLLBACK)
    is_left = promised and step.recovered and step.verdict is None
    left = {step.seq: ords_of(intent)} if is_left else {}
    known = {key: flag for key, flag in records.flags.items() if key[0] < step.seq}
    if intent.kind is StepKind.ROLLBACK:
        return replace(_undone_flags(records, step, known), pending=left)
    opens = () if step.undone_by or step.blocks else step.failing
    if intent.kind not in BUILDS or not replaces:
        return FlagChange(pending=left, opens=opens)
    anew = _rewritten_ranges(step)

    def stays(other: StoredStep, ords: Ranges) -> Ranges:
        if anew is None or other.intent.grid != intent.grid:
            return ()
        return difference(ords, anew)

    less = {
        other.seq: stays(other, other.pending)
        for other in records.steps.values()
        if other.pending and other.seq < step.seq
    }
    closes = tuple(
        (seq, number)
        for (seq, number), flag in known.items()
        if flag.closed is None and not stays(records.steps[seq], ((number, number),))
    )
    return FlagChange(closes=closes, pending=less | left, opens=opens)


def with_flags(records: ModelState, step: StoredStep, change: FlagChange) -> ModelState:
    """Return the records with changed flags and pending checks after a step ended."""
    records = close(records, change.closes, step.end, (step.intent.step, step.executed_by))
    again = {
        key: replace(records.flags[key], closed=None, why="", who="") for key in change.reopens
    }
    steps = {seq: replace(records.steps[seq], pending=left) for seq, left in change.pending.items()}
    opened = new_flags(step, change.opens, step.end)
    return replace(
        records, flags={**records.flags, **again, **opened}, steps={**records.steps, **steps}
    )


def close(
    records: ModelState, keys: Iterable[Key], at: dt.datetime, by: tuple[str, str]
) -> ModelState:
    """Return the records with flags closed, with reason and user; closed ones stay closed."""
    why, who = by
    changed = {
        key: replace(records.flags[key], closed=at, why=why, who=who)
        for key in keys
        if key in records.flags and records.flags[key].closed is None
    }
    return replace(records, flags={**records.flags, **changed})


def new_flags(step: StoredStep, failed: Ranges, at: dt.datetime) -> dict[Key, FlagState]:
    """Return a flag for each failed partition."""
    verdict = step.verdict
    if verdict is None:
        return {}

    def gates_of(number: int) -> tuple[str, ...]:
        return tuple(name for name, ords in verdict.gates if holds(ords, number))

    return {
        (step.seq, number): FlagState(gates_of(number), at, verdict.version)
        for number in numbers(failed)
    }


def _rewritten_ranges(step: StoredStep) -> Ranges | None:
    """Return the partitions whose rows a step replaced; None for all of its model."""
    intent, blocked = step.intent, step.failing if step.blocks else ()
    if not intent.grid.is_whole:
        return difference(ords_of(intent), blocked)
    overwrites = intent.kind is StepKind.SEED or intent.writing is Writing.WHOLE
    return None if not blocked and (overwrites or intent.lowers_watermarks) else ()


def _undone_flags(
    records: ModelState, step: StoredStep, flags: Mapping[Key, FlagState]
) -> FlagChange:
    first = step.intent.restores
    number_of = {other.intent.step: other.seq for other in records.steps.values()}
    return FlagChange(
        closes=tuple(key for key, f in flags.items() if f.closed is None and key[0] >= first),
        reopens=tuple(
            key
            for key, f in flags.items()
            if f.closed is not None and key[0] < first <= number_of.get(f.why, 0) < step.seq
        ),
    )


# The history of checks: what a report leaves of each of them, one row per failing group.


@dataclass(frozen=True, slots=True)
class Asked:
    """Which step's checks were evaluated, and on which partitions; "" for `penstock check`."""

    model: str
    run: str
    partitions: tuple[str, ...]
    grid: Grid
    step: str = ""

    @classmethod
    def by(cls, intent: Intent) -> Asked:
        """Return the value for a step."""
        return cls(intent.model, intent.run, intent.partitions, intent.grid, intent.step)


_NUL = "\N{REPLACEMENT CHARACTER}"


def records_of(
    origin: Asked, report: InvariantReport, version: int | None, at: dt.datetime
) -> tuple[CheckRecord, ...]:
    """Return the history of a report: one row per failing group of a check, one row otherwise.

    `version` is the one that `after` read. A check began its duration before `at`.
    """
    return tuple(
        CheckRecord(
            model=origin.model,
            step=origin.step,
            run=origin.run,
            # texts that every database keeps, and a duration in microseconds
            result=replace(
                row,
                message=row.message.replace("\0", _NUL),
                details=row.details and row.details.replace("\0", _NUL),
                duration=round(row.duration * 1_000_000) / 1_000_000,
            ),
            partitions=partitions,
            version=version if result.phase is Phase.AFTER else None,
            started=at - dt.timedelta(microseconds=round(result.duration * 1_000_000)),
        )
        for result in report.all
        for row, partitions in _rows(result, origin)
    )


def _rows(result: CheckResult, origin: Asked) -> Iterator[tuple[CheckResult, tuple[str, ...]]]:
    failing = [value for value in result.values if value.status is CheckStatus.FAILED]
    if not result.values or (result.failed and not failing):
        about = _short_keys(result.partitions, origin) if result.failed else origin.partitions
        yield replace(result, partitions=about if result.failed else ()), about
        return
    for place, value in enumerate(failing):
        is_group = value.group != WHOLE_GROUP
        about = (value.group,) if is_group else _short_keys(result.partitions, origin)
        yield _failing_row(result, value, about, first=place == 0), about
    for status in (CheckStatus.PASSED, CheckStatus.SKIPPED):
        same = tuple(value for value in result.values if value.status is status)
        if same:
            about = _short_keys([value.group for value in same], origin)
            yield _shared_row(result, status, same), about


def _failing_row(
    result: CheckResult, value: GroupValue, about: tuple[str, ...], *, first: bool
) -> CheckResult:
    """Return the row of one group; for a result with one group, everything in it."""
    if len(result.values) == 1:
        return replace(result, status=CheckStatus.FAILED, partitions=about)
    return replace(
        result,
        status=CheckStatus.FAILED,
        severity=value.severity or result.severity,
        message=value.message or result.message,
        details=value.details if value.message else result.details,
        partitions=about,
        values=(value,),
        failures=value.failures,
        sample=result.sample if first else None,
    )


def _shared_row(
    result: CheckResult, status: CheckStatus, values: Sequence[GroupValue]
) -> CheckResult:
    if result.status is status:
        return replace(result, values=tuple(values), partitions=())
    counted = [value.failures for value in values if value.failures is not None]
    return replace(
        result,
        status=status,
        message=_shared_text(value.message for value in values) or "",
        details=_shared_text(value.details for value in values),
        partitions=(),
        values=tuple(values),
        failures=sum(counted) if counted else None,
        sample=None,
        error=None,
    )


def _shared_text(texts: Iterable[str | None]) -> str | None:
    found = set(texts)
    return found.pop() if len(found) == 1 else None


def _short_keys(keys: Sequence[str], origin: Asked) -> tuple[str, ...]:
    """Return keys as ranges; `*`, and no keys at all, mean all evaluated partitions."""
    if not keys or WHOLE_GROUP in keys:
        return origin.partitions
    if origin.grid.is_whole:
        return tuple(keys)
    try:
        return write_ranges(origin.grid, read_ranges(origin.grid, tuple(keys)))
    except UsageError:  # keys of a grid that the model has no more
        return tuple(keys)
