"""What stores do with checks: parts of `Journal` and `Records` (`core/ports.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.core.check_results import (
    Checked,
    CheckRecord,
    Flag,
    InvariantReport,
    Quarantine,
    RowsBefore,
)
from penstock.core.ranges import Ranges
from penstock.core.records import StepRecord


class CheckJournal(Protocol):
    """Writing down what checks said. Every method is one transaction."""

    def record_checks(self, step: str, checked: Checked) -> None:
        """Write what the checks of a running step said; `finish` and `fail` go by it.

        With a `failure` the step ends as FAILED. In the modes `flag` and `rollback` its data is
        recorded all the same, the partitions in `failed` become FAILED and each opens a flag; in
        `block` those keep the data on record, because nothing of them was written. A quarantine is
        remembered. `LeaseLostError` if the target is not ours.
        """
        ...

    def settle_checks(self, step: str, checked: Checked) -> None:
        """Write the checks of a step that ended while they were pending.

        A failure then makes the step and its partitions what `finish` would have made of them.
        """
        ...

    def note_checks(
        self,
        run: str,
        model: str,
        report: InvariantReport,
        partitions: tuple[str, ...],
        version: int | None,
    ) -> None:
        """Write what `penstock check` found, of no step."""
        ...

    def close_flags(self, flags: Sequence[Flag], why: str, who: str) -> None:
        """Close open flags; a partition that failed only by them is SUCCESS again."""
        ...

    def forget_quarantine(self, step: str) -> None:
        """Write that the rows that a step had kept are gone."""
        ...


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A step whose checks still decide something: they are pending, or it must be rolled back.

    `checked` is None while they are pending.
    """

    step: StepRecord
    checked: Checked | None = None


class CheckRecords(Protocol):
    """Reading what checks said."""

    def unsettled(self) -> tuple[Unsettled, ...]:
        """Give the steps that ended with pending checks or whose rollback is due, oldest first.

        A step is pending that was recovered after its commit, promised checks, and recorded none.
        """
        ...

    def flags(self) -> tuple[Flag, ...]:
        """Give the open flags, by model, step and partition."""
        ...

    def quarantines(self) -> tuple[Quarantine, ...]:
        """Give the quarantines that are still there, oldest first."""
        ...

    def evaluated(self) -> Mapping[str, frozenset[str]]:
        """Give the definitions of checks that were ever evaluated, by model."""
        ...

    def checks_of(
        self, model: str, name: str | None = None, limit: int | None = None
    ) -> tuple[CheckRecord, ...]:
        """Give the history of a model's checks, newest first."""
        ...

    def rows_before(self, model: str, partitions: Ranges, last: int, step_seq: int) -> RowsBefore:
        """Give what successes before a step wrote to the partitions and to `last` before them.

        A partition without a success counts as none: `last` others are looked for further down.
        Of a whole table the `last` newest, at least one. Flagged executions do not count.
        """
        ...
