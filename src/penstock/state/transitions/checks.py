"""What checks decide of a step's rows: which fail, which flags open and close, what is pending."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.core.checks import OnFailure
from penstock.core.partitions.partition import Grain
from penstock.core.partitions.ranges import Ranges, difference, numbers
from penstock.core.steps.step import Intent, StepKind
from penstock.core.strategy import Writing
from penstock.state.transitions.model_state import (
    BUILDS,
    FlagState,
    Key,
    ModelState,
    StoredStep,
)
from penstock.state.transitions.verdict import RecordedChecks, ords_of


@dataclass(frozen=True, slots=True)
class FlagChange:
    """What the end of a step does: `closes` and `reopens` come before `opens`.

    `pending` are the partitions that are left to be looked at, by the numbers of steps; none where
    nothing is left. `opens` are partitions of the step that ended.
    """

    closes: tuple[Key, ...] = ()
    reopens: tuple[Key, ...] = ()
    pending: Mapping[int, Ranges] = field(default_factory=dict)
    opens: Ranges = ()


def fails(intent: Intent, verdict: RecordedChecks | None) -> Ranges:
    """Give the partitions that are FAILED although their step made a commit."""
    if verdict is None or verdict.failure is None or intent.kind not in BUILDS:
        return ()
    return verdict.failed


def undoes_failure(intent: Intent) -> bool:
    """Whether a rollback takes back rows that failed a gate, so that its records stay FAILED."""
    return intent.kind is StepKind.ROLLBACK and intent.on_failure == OnFailure.ROLLBACK


def flag_change(records: ModelState, step: StoredStep, *, replaces: bool) -> FlagChange:
    """Give what the end of a step means for the flags and pending checks of its model.

    A build closes the flags on rows that it made anew; with the records of another grid its flags
    go too. A rollback closes those of the steps that it undoes, and opens again what those steps
    had closed on rows that come back. A build opens its own unless nothing of it stays. `replaces`
    is False where the records do not go by the step, because they are newer or of another grid.
    """
    intent, verdict = step.intent, step.verdict
    left = {step.seq: ords_of(intent)} if _promises(step) else {}
    known = {key: flag for key, flag in records.flags.items() if key[0] < step.seq}
    if intent.kind is StepKind.ROLLBACK:
        return replace(_taken_back(records, step, known), pending=left)
    nothing_stays = step.undone_by or (verdict is not None and verdict.blocks)
    opens = () if nothing_stays else fails(intent, verdict)
    if intent.kind not in BUILDS or not replaces:
        return FlagChange(pending=left, opens=opens)
    gone = _replaced(intent, verdict)
    less = {
        other.seq: gone.left_of(other.pending) if other.intent.grid == intent.grid else ()
        for other in records.steps.values()
        if other.pending and other.seq < step.seq
    }
    closes = tuple(
        key
        for key, flag in known.items()
        if flag.closed is None
        and (
            records.steps[key[0]].intent.grid != intent.grid
            or not gone.left_of(((key[1], key[1]),))
        )
    )
    return FlagChange(closes=closes, pending=less | left, opens=opens)


def with_flags(records: ModelState, step: StoredStep, change: FlagChange) -> ModelState:
    """Give the records after the flags and pending checks changed with the end of a step."""
    if step.ended is None:
        raise ValueError(f"step {step.intent.step} has not ended")
    records = closed(records, change.closes, step.ended, (step.intent.step, step.executed_by))
    again = {
        key: replace(records.flags[key], closed=None, why="", who="") for key in change.reopens
    }
    steps = {seq: replace(records.steps[seq], pending=left) for seq, left in change.pending.items()}
    opened = opened_flags(step, change.opens, step.ended)
    return replace(
        records, flags={**records.flags, **again, **opened}, steps={**records.steps, **steps}
    )


def closed(
    records: ModelState, keys: Iterable[Key], at: dt.datetime, by: tuple[str, str]
) -> ModelState:
    """Give the records with flags closed, `by` what and whom; those that are closed stay so."""
    why, who = by
    changed = {
        key: replace(records.flags[key], closed=at, why=why, who=who)
        for key in keys
        if key in records.flags and records.flags[key].closed is None
    }
    return replace(records, flags={**records.flags, **changed})


def opened_flags(step: StoredStep, failed: Ranges, at: dt.datetime) -> dict[Key, FlagState]:
    """Give a flag for each partition that failed."""
    verdict = step.verdict
    if verdict is None:
        return {}
    return {
        (step.seq, number): FlagState(verdict.gates_of(number), at, verdict.version)
        for number in numbers(failed)
    }


@dataclass(frozen=True, slots=True)
class _Replaced:
    """The rows that a step made anew; `every` means all of its model."""

    ords: Ranges = ()
    every: bool = False

    def left_of(self, ords: Ranges) -> Ranges:
        """Give those of the partitions whose rows are still there."""
        return () if self.every else difference(ords, self.ords)


def _replaced(intent: Intent, verdict: RecordedChecks | None) -> _Replaced:
    blocked = verdict.failed if verdict is not None and verdict.blocks else ()
    if intent.grid.grain is not Grain.WHOLE:
        return _Replaced(difference(ords_of(intent), blocked))
    overwrites = intent.kind is StepKind.SEED or intent.writing is Writing.WHOLE
    return _Replaced(every=not blocked and (overwrites or intent.lowers_watermarks))


def _promises(step: StoredStep) -> bool:
    """Whether checks of rows that are committed are still to be looked at."""
    modes = (OnFailure.FLAG, OnFailure.ROLLBACK)
    promised = step.intent.kind in BUILDS and step.intent.on_failure in modes
    return promised and step.recovered and step.verdict is None


def _taken_back(
    records: ModelState, step: StoredStep, known: Mapping[Key, FlagState]
) -> FlagChange:
    first = step.intent.restores
    number_of = {other.intent.step: other.seq for other in records.steps.values()}
    return FlagChange(
        closes=tuple(key for key, f in known.items() if f.closed is None and key[0] >= first),
        reopens=tuple(
            key
            for key, f in known.items()
            if f.closed is not None and key[0] < first <= number_of.get(f.why, 0) < step.seq
        ),
    )
