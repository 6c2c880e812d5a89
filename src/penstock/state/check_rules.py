"""What results, flags and pending checks amount to, as functions of values: every store obeys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.core.check_results import (
    WHOLE_GROUP,
    CheckRecord,
    CheckResult,
    CheckStatus,
    GroupValue,
    InvariantReport,
    Sample,
)
from penstock.core.checks import OnFailure, Phase
from penstock.core.errors import UsageError
from penstock.core.partition import Grid, read_ranges, write_ranges
from penstock.core.ranges import Ranges, difference
from penstock.core.step import Intent, StepKind
from penstock.core.strategy import Writing
from penstock.state.partition_rules import BUILDS
from penstock.state.verdict import RecordedChecks, ords_of


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose checks were evaluated, and of which partitions; `step` is "" for `penstock check`."""

    model: str
    run: str
    partitions: tuple[str, ...]
    grid: Grid
    step: str = ""

    @classmethod
    def by(cls, intent: Intent) -> Asked:
        """Tell of a step."""
        return cls(intent.model, intent.run, intent.partitions, intent.grid, intent.step)


def records_of(
    asked: Asked, report: InvariantReport, version: int | None, at: dt.datetime
) -> tuple[CheckRecord, ...]:
    """Give the history of a report: of each check a row per failing group, one for the others.

    `version` is that which `after` looked at. A check began as long before `at` as it lasted.
    """
    return tuple(
        CheckRecord(
            model=asked.model,
            step=asked.step,
            run=asked.run,
            result=_kept(row),
            partitions=partitions,
            version=version if result.phase is Phase.AFTER else None,
            started=at - dt.timedelta(microseconds=round(result.duration * 1_000_000)),
        )
        for result in report.all
        for row, partitions in _rows(result, asked)
    )


def read_value(document: Mapping[str, Any]) -> GroupValue:
    """Read what was measured of a group from the fields of its value."""
    return GroupValue(**{**document, "status": CheckStatus(document["status"])})


def read_sample(document: Mapping[str, Any]) -> Sample:
    """Read a sample from its fields."""
    return Sample(tuple(document["columns"]), tuple(tuple(row) for row in document["rows"]))


def promises(intent: Intent, verdict: RecordedChecks | None, *, recovered: bool) -> bool:
    """Whether checks of rows that are committed are still to be looked at."""
    modes = (OnFailure.FLAG, OnFailure.ROLLBACK)
    promised = intent.kind in BUILDS and intent.on_failure in modes
    return promised and recovered and verdict is None


def fails(intent: Intent, verdict: RecordedChecks | None) -> Ranges:
    """Give the partitions that are FAILED although their step made a commit."""
    if verdict is None or verdict.failure is None or intent.kind not in BUILDS:
        return ()
    return verdict.failed


def undoes_failure(intent: Intent) -> bool:
    """Whether a rollback takes back rows that failed a gate, so that its records stay FAILED."""
    return intent.kind is StepKind.ROLLBACK and intent.on_failure == OnFailure.ROLLBACK


@dataclass(frozen=True, slots=True)
class Replaced:
    """The rows that a step made anew; `every` means all of its model."""

    ords: Ranges = ()
    every: bool = False

    def left_of(self, ords: Ranges) -> Ranges:
        """Give those of the partitions whose rows are still there."""
        return () if self.every else difference(ords, self.ords)


def replaced(intent: Intent, verdict: RecordedChecks | None) -> Replaced:
    """Tell which rows of steps before it a build made anew."""
    if intent.kind not in BUILDS:
        return Replaced()
    blocked = verdict.failed if verdict is not None and verdict.blocks else ()
    if not intent.grid.is_whole:
        return Replaced(difference(ords_of(intent), blocked))
    overwrites = intent.kind is StepKind.SEED or intent.writing is Writing.WHOLE
    return Replaced(every=not blocked and (overwrites or intent.lowers_watermarks))


def _rows(result: CheckResult, asked: Asked) -> Iterator[tuple[CheckResult, tuple[str, ...]]]:
    failing = [value for value in result.values if value.status is CheckStatus.FAILED]
    if not result.values or (result.failed and not failing):
        about = _compact(result.partitions, asked) if result.failed else asked.partitions
        yield replace(result, partitions=about if result.failed else ()), about
        return
    for place, value in enumerate(failing):
        about = _about(result, value, asked)
        yield _failing_row(result, value, about, first=place == 0), about
    for status in (CheckStatus.PASSED, CheckStatus.SKIPPED):
        same = tuple(value for value in result.values if value.status is status)
        if same:
            about = _compact([value.group for value in same], asked)
            yield _shared_row(result, status, same), about


def _failing_row(
    result: CheckResult, value: GroupValue, about: tuple[str, ...], *, first: bool
) -> CheckResult:
    """Give what is said of one group; of a result with one group all that it says."""
    if len(result.values) == 1:
        return replace(result, status=CheckStatus.FAILED, partitions=about)
    return replace(
        result,
        status=CheckStatus.FAILED,
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
        message=_agreed(value.message for value in values) or "",
        details=_agreed(value.details for value in values),
        partitions=(),
        values=tuple(values),
        failures=sum(counted) if counted else None,
        sample=None,
        error=None,
    )


def _agreed(texts: Iterable[str | None]) -> str | None:
    found = set(texts)
    return found.pop() if len(found) == 1 else None


def _about(result: CheckResult, value: GroupValue, asked: Asked) -> tuple[str, ...]:
    if value.group != WHOLE_GROUP:
        return (value.group,)
    return _compact(result.partitions, asked)


def _compact(keys: Sequence[str], asked: Asked) -> tuple[str, ...]:
    """Write keys as ranges; `*`, and no keys at all, stand for all that was asked."""
    if not keys or WHOLE_GROUP in keys:
        return asked.partitions
    if asked.grid.is_whole:
        return tuple(keys)
    try:
        return write_ranges(asked.grid, read_ranges(asked.grid, tuple(keys)))
    except UsageError:  # keys of a grid that the model has no more
        return tuple(keys)


def _kept(result: CheckResult) -> CheckResult:
    """Give a result with texts that every database keeps, and a duration in microseconds."""
    return replace(
        result,
        message=_text(result.message),
        details=None if result.details is None else _text(result.details),
        duration=round(result.duration * 1_000_000) / 1_000_000,
    )


def _text(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
