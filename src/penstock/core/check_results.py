"""What checks said, as reports, stores and artifacts keep it; what a store does with it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.checks.check import CheckScope, OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.findings import Location, Severity
from penstock.core.partitions.partition import Grain, Grid, read_ranges
from penstock.core.partitions.ranges import Ranges, intersection
from penstock.core.records import StepRecord
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


class CheckJournal(Protocol):
    """Writing down what checks said. Every method is one transaction."""

    def record_checks(self, step: str, checked: Checked) -> None:
        """Write what the checks of a running step said; `finish` and `fail` go by it.

        With a `failure` the step ends as FAILED. In the modes `flag` and `rollback` its data is
        recorded all the same, the partitions in `failed` become FAILED and each opens a flag; in
        `block` those keep the data on record, because nothing of them was written. A quarantine is
        remembered. What was recorded first stays. `LeaseLostError` for a step that does not run, or
        whose lease is not its own.
        """

    def settle_checks(self, step: str, checked: Checked) -> None:
        """Write the checks of a step that ended while they were pending.

        A failure then makes the step and its partitions what `finish` would have made of them, as
        far as their rows are still there. A step whose rollback is due, and which another mode is
        given, counts as flagged: the rollback is due no more. Any other step is left as it is.
        """

    def note_checks(
        self,
        run: str,
        model: str,
        report: InvariantReport,
        partitions: tuple[str, ...],
        version: int | None,
    ) -> None:
        """Write what `penstock check` found, of no step."""

    def close_flags(self, flags: Sequence[Flag], why: str, who: str) -> None:
        """Close open flags; a partition that failed only by them is SUCCESS again."""

    def forget_quarantine(self, step: str) -> None:
        """Write that the rows that a step had kept are gone."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A step whose checks still decide something: they are pending, or it must be rolled back.

    `checked` is None while they are pending; its report is empty, `checks_of` tells it.
    """

    step: StepRecord
    checked: Checked | None = None

    @property
    def rollback_due(self) -> bool:
        """Whether its checks have failed, and its rows are to be taken back."""
        return self.checked is not None

    @property
    def sentence(self) -> str:
        """Say what is left to be done."""
        what = "a rollback is due" if self.rollback_due else "checks pending"
        return f"{what}: step {self.step.intent.step}"


class CheckRecords(Protocol):
    """Reading what checks said."""

    def unsettled(self) -> tuple[Unsettled, ...]:
        """Return the steps that ended with pending checks or whose rollback is due, oldest first.

        A step is pending that was recovered after its commit, promised checks, and recorded none,
        as long as some of its rows are there. A rollback is due as long as a flag of its step is
        open.
        """

    def flags(self) -> tuple[Flag, ...]:
        """Return the open flags, by model, step and partition."""

    def quarantines(self) -> tuple[Quarantine, ...]:
        """Return the quarantines that are still there, oldest first."""

    def known_steps(self, steps: Collection[str]) -> frozenset[str]:
        """Return those of the steps that ever began here; a warehouse may hold others' folders."""

    def evaluated(self) -> Mapping[str, frozenset[str]]:
        """Return the definitions of checks that were ever evaluated, by model."""

    def checks_of(
        self, model: str, name: str | None = None, limit: int | None = None
    ) -> tuple[CheckRecord, ...]:
        """Return the history of a model's checks, newest first."""

    def steps_that_skipped(self, model: str, why: str) -> frozenset[str]:
        """Return the steps of a model whose checks were skipped for this reason."""

    def rows_before(
        self,
        model: str,
        partitions: Ranges,
        last: int,
        step_seq: int,
        *,
        with_rows: bool = False,
    ) -> RowsBefore:
        """Return what successes before a step wrote to the partitions and to `last` before them.

        A partition without a success counts as none: `last` others are looked for further down.
        Of a whole table the `last` newest, at least one. Flagged executions do not count, and
        those that wrote no row do not either where only executions `with_rows` are asked for.
        """
