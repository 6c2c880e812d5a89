"""What stores do with checks: parts of `Journal` and `Records` (`core/ports/ports.py`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.core.partitions.ranges import Ranges
from penstock.core.records import StepRecord

if TYPE_CHECKING:
    from penstock.core.check_results import (
        Checked,
        CheckRecord,
        Flag,
        InvariantReport,
        Quarantine,
        RowsBefore,
    )


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
