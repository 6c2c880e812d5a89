"""Check results for reports, stores and artifacts, and what a store does with them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.checks.check import CheckScope, OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue, Values
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
"""The columns that notebooks show for each result."""


@dataclass(frozen=True, slots=True)
class CheckResult(ShownInNotebooks):
    """The result of one check in one phase, for all groups of a step.

    `partitions` are the groups that failed with this `severity`, in order. `failures` counts
    failing rows if the type counts rows. `error` is the code of a check that could not be
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
        """Whether it was evaluated and failed."""
        return self.status is CheckStatus.FAILED

    @property
    def failed_gate(self) -> bool:
        """Whether it failed and is a gate."""
        return self.failed and self.severity is Severity.ERROR

    def failed_ords(self, grid: Grid, ords: Ranges) -> Ranges:
        """Return which of some partitions fail it; no partitions, or `*`, means all of them."""
        if not self.failed:
            return ()
        if grid.grain is Grain.WHOLE or not self.partitions or WHOLE_GROUP in self.partitions:
            return ords
        return intersection(read_ranges(grid, self.partitions), ords)


@dataclass(frozen=True, slots=True)
class InvariantReport(ShownInNotebooks):
    """The check results of one step, by phase."""

    _rows = "all"
    _columns = RESULT_COLUMNS

    before: tuple[CheckResult, ...] = ()
    after: tuple[CheckResult, ...] = ()

    @property
    def all(self) -> tuple[CheckResult, ...]:
        """The results of both phases."""
        return (*self.before, *self.after)

    def has_errors(self) -> bool:
        """Return whether a gate failed in either phase."""
        return self.has_before_errors() or self.has_after_errors()

    def has_before_errors(self) -> bool:
        """Return whether a gate failed before the step."""
        return any(result.failed_gate for result in self.before)

    def has_after_errors(self) -> bool:
        """Return whether a gate failed after the step."""
        return any(result.failed_gate for result in self.after)

    def has_warnings(self) -> bool:
        """Return whether a check failed that is not a gate."""
        return any(result.failed and not result.failed_gate for result in self.all)

    def all_passed(self) -> bool:
        """Return whether no check failed; a skipped check did not fail."""
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
    """The check results of a step and their consequences, recorded before the step ends.

    `version` is the Delta version that `after` checks read, None if they read staged rows. With a
    `failure` the step counts as FAILED, and `failed` are the partitions that failed a gate, as
    numbers of the step's grid, `((0, 0),)` for a whole table.
    """

    mode: OnFailure
    report: InvariantReport = InvariantReport()
    version: int | None = None
    failure: StepFailure | None = None
    failed: Ranges = ()
    quarantine: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """An open flag: committed rows of one group failed these gates."""

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

    `partitions` are ranges of keys: the groups of this row.
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
    """Row counts of earlier successes of a model, for `row_count_change`.

    `by_partition` is the count of each partition's last success, by its number; `recent` are the
    counts of the last successes of a whole table, newest first. Flagged executions are left out.
    """

    by_partition: Mapping[int, int] = field(default_factory=dict)
    recent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ValuesBefore:
    """Earlier measured values of one check, for `anomaly`; only those marked `basis` are compared.

    `by_partition` are the newest ones of each partition, by its number; `recent` are those of whole
    tables, newest first, each with its time.
    """

    by_partition: Mapping[int, Values] = field(default_factory=dict)
    recent: tuple[tuple[dt.datetime, Values], ...] = ()
    basis: str = ""


class CheckJournal(Protocol):
    """Records check results. Every method is one transaction."""

    def record_checks(self, step: str, checked: Checked) -> None:
        """Record the check results of a running step; `finish` and `fail` follow them.

        With a `failure` the step ends as FAILED. In the modes `flag` and `rollback` its data is
        recorded too, the partitions in `failed` become FAILED, and each opens a flag. In `block`
        those partitions keep their records, because none of their rows were written. A quarantine
        is recorded. Results that are already recorded stay. Raises `LeaseLostError` if the step is
        not running, or no longer owns its lease.
        """

    def settle_checks(self, step: str, checked: Checked) -> None:
        """Record the checks of a step that ended while they were pending.

        A failure gives the step and its partitions the state that `finish` would have given them,
        as far as their rows still exist. If a step has a due rollback and gets another mode, it
        counts as flagged and the rollback is no longer due. Any other step is unchanged.
        """

    def note_checks(
        self,
        run: str,
        model: str,
        report: InvariantReport,
        partitions: tuple[str, ...],
        version: int | None,
    ) -> None:
        """Record the results of `penstock check`, which belong to no step."""

    def close_flags(self, flags: Sequence[Flag], why: str, who: str) -> None:
        """Close open flags; a partition that failed only because of them is SUCCESS again."""

    def keep_quarantine(self, step: str, quarantine: Quarantine | None) -> None:
        """Record where a running step keeps records that it leaves out; None: they are gone.

        Rows that a gate holds back later replace it. Raises `LeaseLostError` like `record_checks`.
        """


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A step whose checks are pending, or that must be rolled back.

    `checked` is None while they are pending; with an empty report, `checks_of` has the results.
    """

    step: StepRecord
    checked: Checked | None = None

    @property
    def rollback_due(self) -> bool:
        """Whether its checks failed and its rows must be undone."""
        return self.checked is not None

    @property
    def sentence(self) -> str:
        """Return what is left to do."""
        what = "a rollback is due" if self.rollback_due else "checks pending"
        return f"{what}: step {self.step.intent.step}"


class CheckRecords(Protocol):
    """Reads recorded check results."""

    def unsettled(self) -> tuple[Unsettled, ...]:
        """Return the steps with pending checks or a due rollback, oldest first.

        A step is pending if it was recovered after its commit, promised checks, and recorded none,
        as long as some of its rows exist. A rollback is due as long as a flag of its step is open.
        """

    def flags(self) -> tuple[Flag, ...]:
        """Return the open flags, by model, step and partition."""

    def quarantines(self) -> tuple[Quarantine, ...]:
        """Return the existing quarantines, oldest first."""

    def known_steps(self, steps: Collection[str]) -> frozenset[str]:
        """Return which of the steps began in this store; a warehouse may hold folders of others."""

    def evaluated(self) -> Mapping[str, frozenset[str]]:
        """Return the definitions of all checks that have results, by model."""

    def checks_of(
        self, model: str, name: str | None = None, limit: int | None = None
    ) -> tuple[CheckRecord, ...]:
        """Return the history of a model's checks, newest first."""

    def newest_of(self, limits: Mapping[str, int]) -> Mapping[str, tuple[CheckRecord, ...]]:
        """Return the same for many models, up to a limit each; without models that have none."""

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
        """Return row counts of successes before a step: of its partitions and `last` before them.

        Partitions without a success are skipped in the search for `last`. For a whole table,
        returns the `last` newest, at least one. Flagged executions do not count; with `with_rows`,
        nor do those that wrote no row.
        """

    def values_before(self, model: str, check: str, step_seq: int, limit: int) -> ValuesBefore:
        """Return what an `after` check measured, in its newest `limit` records.

        Values of a step count if its partition succeeded or its flag was accepted; those that were
        rolled back do not. A value of `penstock check` counts for a partition unless a gate failed,
        and for a view; a table without partitions would be counted twice. Of whole tables only
        steps before `step_seq` count: partitions are compared with others, which may be newer.
        """
