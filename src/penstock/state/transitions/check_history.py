"""The history of checks: what a report leaves of each of them, one row per failing group."""

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
from penstock.core.checks import Phase
from penstock.core.errors import UsageError
from penstock.core.partitions.partition import Grid, read_ranges, write_ranges
from penstock.core.steps.step import Intent


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
