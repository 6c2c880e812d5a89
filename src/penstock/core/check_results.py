"""What checks said, as reports, stores and artifacts keep it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.check_type import CheckStatus, GroupValue
from penstock.core.checks import CheckScope, OnFailure, Phase
from penstock.core.findings import Location, Severity
from penstock.core.partitions.partition import Grain, Grid, read_ranges
from penstock.core.partitions.ranges import Ranges, intersection
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.steps.step import StepFailure

WHOLE_GROUP = "*"


@dataclass(frozen=True, slots=True)
class Sample:
    """A few rows that break a check, every cell a text, None for NULL."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


RESULT_COLUMNS = "phase check=name status severity message partitions failures"
"""What notebooks show of each result."""


@dataclass(frozen=True, slots=True)
class CheckResult(ShownInNotebooks):
    """What one check of one phase said of all groups of a step.

    `partitions` are the groups that failed as gravely as `severity`, in their order. `failures`
    counts failing rows where the type counts rows. `error` is the code of a check that could not be
    evaluated. `duration` is in seconds; checks that share a query share it. `definition` is that of
    the check.
    """

    _columns = RESULT_COLUMNS

    name: str
    type: str
    phase: Phase
    severity: Severity
    status: CheckStatus
    message: str
    details: str | None = None
    partitions: tuple[str, ...] = ()
    values: tuple[GroupValue, ...] = ()
    failures: int | None = None
    sample: Sample | None = None
    error: str | None = None
    duration: float = 0.0
    definition: str = ""
    scope: CheckScope = CheckScope.STEP
    where: Location | None = None

    @property
    def failed(self) -> bool:
        """Whether it was looked at and does not hold."""
        return self.status is CheckStatus.FAILED

    @property
    def failed_gate(self) -> bool:
        """Whether it stops something."""
        return self.failed and self.severity is Severity.ERROR

    def failed_ords(self, grid: Grid, ords: Ranges) -> Ranges:
        """Return those of some partitions that fail it; one that names none, or `*`, covers all."""
        if not self.failed:
            return ()
        if grid.grain is Grain.WHOLE or not self.partitions or WHOLE_GROUP in self.partitions:
            return ords
        return intersection(read_ranges(grid, self.partitions), ords)


@dataclass(frozen=True, slots=True)
class InvariantReport(ShownInNotebooks):
    """What the checks of one step said, by phase."""

    _rows = "all"
    _columns = RESULT_COLUMNS

    before: tuple[CheckResult, ...] = ()
    after: tuple[CheckResult, ...] = ()

    @property
    def all(self) -> tuple[CheckResult, ...]:
        """Those of both phases."""
        return (*self.before, *self.after)

    def has_errors(self) -> bool:
        """Whether a gate failed in either phase."""
        return self.has_before_errors() or self.has_after_errors()

    def has_before_errors(self) -> bool:
        """Whether a gate failed before the step."""
        return any(result.failed_gate for result in self.before)

    def has_after_errors(self) -> bool:
        """Whether a gate failed after the step."""
        return any(result.failed_gate for result in self.after)

    def has_warnings(self) -> bool:
        """Whether a check failed that stops nothing."""
        return any(result.failed and not result.failed_gate for result in self.all)

    def all_passed(self) -> bool:
        """Whether nothing failed; what was skipped did not."""
        return not any(result.failed for result in self.all)


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Where the staged rows of groups that failed a gate are kept, and until when.

    `failed` are the partitions as numbers of the model's grid, `((0, 0),)` for a whole table.
    """

    step: str
    model: str
    uri: str
    table: str
    failed: Ranges
    rows: int
    expires: dt.datetime


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks of a step said and what follows from it, recorded before the step ends.

    `version` is the Delta version that `after` looked at, None where it looked at staged rows.
    With a `failure` the step counts as FAILED, and `failed` are the partitions that failed a gate,
    as numbers of the step's grid, `((0, 0),)` for a whole table.
    """

    mode: OnFailure
    report: InvariantReport = InvariantReport()
    version: int | None = None
    failure: StepFailure | None = None
    failed: Ranges = ()
    quarantine: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """An open note: rows of one group that a step committed failed these gates."""

    step: str
    step_seq: int
    model: str
    ord: int
    partition: str
    checks: tuple[str, ...]
    opened: dt.datetime
    version: int | None = None


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """One row of the history of checks; `step` is "" for `penstock check`.

    `partitions` are ranges of keys, the groups that the row is about.
    """

    model: str
    step: str
    run: str
    result: CheckResult
    partitions: tuple[str, ...]
    version: int | None
    started: dt.datetime


@dataclass(frozen=True, slots=True)
class RowsBefore:
    """Rows that earlier successes of a model wrote, for `row_count_change`.

    `by_partition` is what the last success of each partition wrote, by its number; `recent` what
    the last successes of a whole table wrote, newest first. Flagged executions are left out.
    """

    by_partition: Mapping[int, int] = field(default_factory=dict)
    recent: tuple[int, ...] = ()
