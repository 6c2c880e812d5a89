"""Writing what checks said, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.check_results import Checked, Flag, InvariantReport
from penstock.core.checks import OnFailure
from penstock.core.partition import Grid
from penstock.core.ranges import intersection
from penstock.core.records import Status
from penstock.state.check_rules import Asked, records_of
from penstock.state.lease import lease_lost
from penstock.state.memory_replay import pictures
from penstock.state.memory_tables import (
    MemoryEvent,
    MemoryQuarantine,
    MemoryStep,
    MemoryTables,
    MemoryTransactions,
)
from penstock.state.parts import Parts
from penstock.state.verdict import RecordedChecks


class MemoryCheckJournal:
    """Writes what checks said and what follows from it."""

    def __init__(self, transactions: MemoryTransactions, parts: Parts) -> None:
        self._transactions = transactions
        self._parts = parts

    def record_checks(self, step: str, checked: Checked) -> None:
        """Write what the checks of a running step said; `finish` and `fail` go by it."""
        with self._transactions.write() as tables:
            found = tables.step(step)
            if found.status is not Status.RUNNING or not tables.owns(found):
                raise lease_lost(step, found.target)
            if found.verdict is None:
                verdict = self._record(tables, found, checked)
                tables.steps[step] = replace(found, verdict=verdict)

    def settle_checks(self, step: str, checked: Checked) -> None:
        """Write the checks of a step that ended while they were pending."""
        with self._transactions.write() as tables:
            found = tables.step(step)
            if found.verdict or found.settled:
                if checked.mode is not OnFailure.ROLLBACK:
                    tables.steps[step] = _let_stay(found)
                return
            picture = pictures(tables).get(found.intent.model)
            left = picture.pending.get(found.intent.step_seq) if picture else None
            if picture is None or left is None or found.intent.step_seq in picture.undone:
                return
            left = intersection(checked.failed, left)
            verdict = self._record(tables, found, replace(checked, failed=left))
            settled = replace(found, settled=verdict)
            if verdict.failure:
                settled = replace(settled, status=Status.FAILED, failure=verdict.failure)
            tables.steps[step] = settled
            now = self._parts.clock.now()
            tables.events.append(MemoryEvent(tables.ended, now, settles=step))

    def note_checks(
        self,
        run: str,
        model: str,
        report: InvariantReport,
        partitions: tuple[str, ...],
        version: int | None,
    ) -> None:
        """Write what `penstock check` found, of no step."""
        with self._transactions.write() as tables:
            picture = pictures(tables).get(model)
            asked = Asked(model, run, partitions, picture.grid if picture else Grid())
            tables.remember(records_of(asked, report, version, self._parts.clock.now()))

    def close_flags(self, flags: Sequence[Flag], why: str, who: str) -> None:
        """Close open flags; a partition that failed only by them is SUCCESS again."""
        keys = tuple((flag.step_seq, flag.ord) for flag in flags)
        with self._transactions.write() as tables:
            now = self._parts.clock.now()
            tables.events.append(MemoryEvent(tables.ended, now, closes=keys, why=why, who=who))

    def forget_quarantine(self, step: str) -> None:
        """Write that the rows that a step had kept are gone."""
        with self._transactions.write() as tables:
            found = tables.quarantines.get(step)
            if found is not None and found.dropped is None:
                now = self._parts.clock.now()
                tables.quarantines[step] = replace(found, dropped=now)

    def _record(self, tables: MemoryTables, step: MemoryStep, checked: Checked) -> RecordedChecks:
        now = self._parts.clock.now()
        asked = Asked.by(step.intent)
        tables.remember(records_of(asked, checked.report, checked.version, now))
        if checked.quarantine is not None:
            kept = replace(checked.quarantine, step=step.intent.step, model=step.intent.model)
            tables.quarantines[step.intent.step] = MemoryQuarantine(kept)
        return RecordedChecks.of(checked, step.intent)


def _let_stay(step: MemoryStep) -> MemoryStep:
    """Give a step of which a rollback was due with rows that stay, flagged."""

    def changed(verdict: RecordedChecks | None) -> RecordedChecks | None:
        due = verdict is not None and verdict.mode is OnFailure.ROLLBACK
        return replace(verdict, mode=OnFailure.FLAG) if verdict is not None and due else verdict

    if step.status is not Status.FAILED:
        return step
    return replace(step, verdict=changed(step.verdict), settled=changed(step.settled))
