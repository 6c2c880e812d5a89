"""The ports to what runs: its records, its leases, and what ran before."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from penstock.core.check_results import CheckJournal
from penstock.core.records import (
    Begun,
    Holder,
    HookRecord,
    Lease,
    PartitionCounts,
    Run,
    Status,
    StepRecord,
)
from penstock.core.steps.step import Intent, Outcome, StepFailure

if TYPE_CHECKING:
    from penstock.core.check_results import Checked


class Journal(CheckJournal, Protocol):
    """Records runs, steps and check results. Every method is one transaction."""

    def start_run(self, run: Run) -> None:
        """Write the run as RUNNING; writing it twice has the same effect as once."""

    def end_run(self, run: str, status: Status, *, holds: bool = False) -> None:
        """Write how the run ended and release the leases that it still holds.

        With `holds`, a run that was interrupted twice keeps them: one of its statements may still
        commit.
        """

    def begin(
        self,
        intent: Intent,
        contents: Mapping[str, str],
        holder: Holder,
        planned_on: int | None,
        above: int = 0,
    ) -> Begun:
        """Take the target's lease and write the step as RUNNING; do both or neither.

        The step's number is greater than all numbers here and than `above`, the one in the target's
        log: a restored store may lack some. A step that has begun is returned unchanged.

        Raises `LeaseHeldError`, and `PlanOutdatedError` if the target's last step is not
        `planned_on` (None: do not compare).
        """

    def finish(self, step: str, outcome: Outcome, *, recovered: bool = False) -> None:
        """Write success: records, watermarks, history, lease; or raise `LeaseLostError`."""

    def fail(self, step: str, failure: StepFailure, *, recovered: bool = False) -> None:
        """Write failure: status and history; the records of the last success stay."""

    def reject(
        self, intent: Intent, failure: StepFailure, holder: Holder, checked: Checked | None = None
    ) -> None:
        """Write a step that failed before it began, without a lease.

        With `checked`, a gate failed: the step is SKIPPED, its partitions are FAILED.
        """

    def running(self) -> tuple[StepRecord, ...]:
        """Return the steps recorded as RUNNING."""


class Leases(Protocol):
    """The right to write a target. Every method is one transaction."""

    def holds(self, step: str) -> bool:
        """Return whether the step's run still owns the target with its token."""

    def renew(self, run: str) -> None:
        """Extend the expiry of every lease that the run still owns."""

    def taken(self) -> tuple[Lease, ...]:
        """Return the leases that are currently held."""

    def clock_skew(self) -> dt.timedelta:
        """Return how far the clock of the store's server is ahead of ours; 0 for a file."""

    def unlock(self, target: str, token: int | None = None) -> bool:
        """Drop the lease of a target; return False if it is free, or held with another token."""


class HookRecords(Protocol):
    """Records of hooks. Every method is one transaction."""

    def note(self, hooks: Sequence[HookRecord]) -> None:
        """Write hooks that are to run, or how they ended; a hook replaces its earlier record.

        While a hook of a step is to run, the end of the step keeps its lease.
        """

    def due(self) -> tuple[HookRecord, ...]:
        """Return hooks that are to run after recorded steps: new ones, and those that failed.

        Oldest first. Steps that failed a check, whose checks are pending, or that a rollback undid
        have none.
        """

    def of_run(self, run: str) -> tuple[HookRecord, ...]:
        """Return the hooks of a run, in the order in which they ran."""

    def granted(self) -> Mapping[str, HookRecord]:
        """Return the grants that ran last, by model, also if they failed."""


class RunRecords(Protocol):
    """Reads runs and steps in bulk; steps still RUNNING are among them."""

    def latest_runs(self, limit: int) -> tuple[Run, ...]:
        """Return the latest runs, newest first."""

    def settled(self) -> Mapping[str, int | None]:
        """Return the newest version of each model's table that its steps settled."""

    def steps_of(
        self,
        names: Collection[str],
        latest: int,
        ran: Collection[str] = (),
        numbers: Collection[int] = (),
    ) -> tuple[StepRecord, ...]:
        """Return the latest steps of each model, those of runs, and those with some numbers.

        Each comes once, in the order of the numbers; its intent lacks windows and watermarks.
        """

    def written(self, names: Collection[str]) -> Mapping[str, PartitionCounts]:
        """Return what steps wrote to the partitions of each model that has some."""
