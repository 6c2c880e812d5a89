"""When flags open and close and checks stop being pending, as a function of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.core.partition import Grid
from penstock.core.ranges import Ranges, difference, intersection, of_numbers
from penstock.core.step import Intent, Outcome, StepFailure, StepKind
from penstock.state.check_rules import fails, promises, replaced, undoes_failure
from penstock.state.partition_rules import BUILDS
from penstock.state.verdict import RecordedChecks, ords_of

Key = tuple[int, int]
"""A flag: the number of its step and that of its partition."""

ROLLED_BACK = StepFailure("rolled-back", "undone with partitions of the same step that failed")


@dataclass(frozen=True, slots=True)
class KnownFlag:
    """A flag of the model; `grid` is that of its step.

    `closed_by` is the number of the step that closed it, None while it is open.
    """

    key: Key
    grid: Grid
    closed_by: int | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """The partitions of a step whose checks are pending."""

    step_seq: int
    grid: Grid
    ords: Ranges


@dataclass(frozen=True, slots=True)
class EndedStep:
    """A step that made its commit, or had none to make, and what was recorded of its checks.

    `replaces` is False where the records do not go by it, because they are newer or of another
    grid. A step that is `undone` was rolled back before it ended.
    """

    intent: Intent
    checks: RecordedChecks | None
    replaces: bool
    recovered: bool = False
    undone: bool = False


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


def flag_change(
    ended: EndedStep, flags: Iterable[KnownFlag], pending: Iterable[Pending]
) -> FlagChange:
    """Give what the end of a step means for the flags and pending checks of its model.

    A build closes the flags on rows that it made anew; with the records of another grid its flags
    go too. A rollback closes those of the steps that it undoes, and opens again what those steps
    had closed on rows that come back. A build opens its own unless nothing of it stays.
    """
    intent, seq = ended.intent, ended.intent.step_seq
    left = {seq: ords_of(intent)} if _promises(ended) else {}
    opens = () if _leaves_nothing(ended) else fails(intent, ended.checks)
    known = [flag for flag in flags if flag.key[0] < seq]
    if intent.kind is StepKind.ROLLBACK:
        first = intent.restores
        return FlagChange(
            closes=tuple(f.key for f in known if f.closed_by is None and f.key[0] >= first),
            reopens=tuple(f.key for f in known if f.key[0] < first and _in(f, first, seq)),
            pending=left,
        )
    if intent.kind not in BUILDS or not ended.replaces:
        return FlagChange(pending=left, opens=opens)
    gone = replaced(intent, ended.checks)
    less = {
        each.step_seq: gone.left_of(each.ords) if each.grid == intent.grid else ()
        for each in pending
        if each.step_seq < seq
    }
    closes = tuple(
        flag.key
        for flag in known
        if flag.closed_by is None
        and (flag.grid != intent.grid or not gone.left_of(((flag.key[1], flag.key[1]),)))
    )
    return FlagChange(closes=closes, pending=less | left, opens=opens)


def told_of_rollback(
    intent: Intent, outcome: Outcome, changed: FlagChange, ords: Ranges
) -> tuple[tuple[Outcome | StepFailure, Ranges], ...]:
    """Give what the history says of a rollback, with the partitions of which it does.

    One that takes back rows that failed a gate undoes the other partitions of the step too.
    """
    if not undoes_failure(intent) or not changed.closes:
        return ((outcome, ords),)
    failed = of_numbers(number for _, number in changed.closes)
    others = difference(intersection(ords, intent.ords), failed)
    return ((outcome, difference(ords, others)), (ROLLED_BACK, others))


def _in(flag: KnownFlag, first: int, seq: int) -> bool:
    return flag.closed_by is not None and first <= flag.closed_by < seq


def _promises(ended: EndedStep) -> bool:
    return promises(ended.intent, ended.checks, recovered=ended.recovered)


def _leaves_nothing(ended: EndedStep) -> bool:
    return ended.undone or (ended.checks is not None and ended.checks.blocks)
