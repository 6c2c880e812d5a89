"""The journal in memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from penstock.core.check_results import Checked
from penstock.core.errors import PlanOutdatedError
from penstock.core.records import Begun, Holder, Lease, Run, Status, StepRecord
from penstock.core.step import Intent, Outcome, StepFailure
from penstock.state.lease import Request, grant, lease_lost, step_ended
from penstock.state.memory_check_journal import MemoryCheckJournal
from penstock.state.memory_end import end
from penstock.state.memory_tables import MemoryStep, MemoryTables
from penstock.state.partition_rules import RESHAPES
from penstock.state.parts import executed_by


class MemoryJournal(MemoryCheckJournal):
    """Writes runs, steps and what they leave."""

    def start_run(self, run: Run) -> None:
        """Write the run as RUNNING."""
        with self._transactions.write() as tables:
            tables.runs[run.id] = replace(run, status=Status.RUNNING, ended=None)

    def end_run(self, run: str, status: Status, *, holds: bool = False) -> None:
        """Write how the run ended and release whatever it still holds, unless it `holds` on."""
        with self._transactions.write() as tables:
            if run in tables.runs:
                now = self._parts.clock.now()
                tables.runs[run] = replace(tables.runs[run], status=status, ended=now)
            kept = {name: lease for name, lease in tables.leases.items() if lease.run != run}
            tables.leases = tables.leases if holds else kept

    def begin(
        self,
        intent: Intent,
        contents: Mapping[str, str],
        holder: Holder,
        planned_on: int | None,
        above: int = 0,
    ) -> Begun:
        """Take the target's lease and write the step as RUNNING, or do nothing at all."""
        with self._transactions.write() as tables:
            now = self._parts.clock.now()
            token = self._take(tables, str(intent.table), holder, now)
            others = [s for s in tables.of_model(intent.model) if s.intent.run != intent.run]
            last = others[-1].intent.step_seq if others else 0
            if planned_on is not None and last > planned_on:
                raise PlanOutdatedError(str(intent.table))
            number = max(tables.next_step_seq(), above + 1)
            given = replace(intent, step_seq=number, epoch=tables.epoch)
            tables.contents = {**contents, **tables.contents}
            tables.steps[intent.step] = MemoryStep(given, now, executed_by(holder), token)
        return Begun(number, token, tables.epoch)

    def holds(self, step: str) -> bool:
        """Whether the step's run still owns the target with the token it was given."""
        with self._transactions.read() as tables:
            return tables.owns(tables.step(step))

    def renew(self, run: str) -> None:
        """Push out the expiry of every lease the run still owns."""
        with self._transactions.write() as tables:
            now = self._parts.clock.now()
            for name, held in tables.leases.items():
                if held.run == run:
                    expires = now + self._parts.lease.length
                    tables.leases[name] = replace(held, heartbeat=now, expires=expires)

    def finish(self, step: str, outcome: Outcome, *, recovered: bool = False) -> None:
        """Write success: step, partitions, watermarks, history, lease."""
        with self._transactions.write() as tables:
            found = tables.step(step)
            if found.outcome is not None:
                return
            if recovered and found.status is not Status.RUNNING:
                raise step_ended(step, found.status)
            if not recovered and not (found.status is Status.RUNNING and tables.owns(found)):
                raise lease_lost(step, found.target)
            ended = self._ended(tables, found, recovered=recovered)
            failure = found.verdict.failure if found.verdict else None
            done = replace(
                ended,
                status=Status.FAILED if failure else Status.SUCCESS,
                outcome=outcome,
                failure=failure,
                duration_ms=outcome.duration_ms,
            )
            end(tables, done)
            tables.release_after(found)
            self._parts.fault("during-finish")

    def fail(self, step: str, failure: StepFailure, *, recovered: bool = False) -> None:
        """Write failure: status and history; what the last success left stays."""
        with self._transactions.write() as tables:
            found = tables.step(step)
            if found.status is not Status.RUNNING:
                return
            ended = self._ended(tables, found, recovered=recovered)
            end(tables, replace(ended, status=Status.FAILED, failure=failure))
            tables.release_after(found)

    def reject(
        self, intent: Intent, failure: StepFailure, holder: Holder, checked: Checked | None = None
    ) -> None:
        """Write a step that failed before it began, without a lease."""
        with self._transactions.write() as tables:
            given = replace(intent, step_seq=tables.next_step_seq())
            step = MemoryStep(given, self._parts.clock.now(), executed_by(holder))
            tables.steps[intent.step] = step
            if checked is not None:
                step = replace(step, verdict=self._record(tables, step, checked))
            ended = self._ended(tables, step, recovered=False)
            status = Status.FAILED if checked is None else Status.SKIPPED
            end(tables, replace(ended, status=status, failure=failure))

    def running(self) -> tuple[StepRecord, ...]:
        """Give the steps that are written as RUNNING, in the order they began."""
        with self._transactions.read() as tables:
            found = [step for step in tables.steps.values() if step.status is Status.RUNNING]
        return tuple(
            StepRecord(step.intent, step.status, step.started, step.lease_token)
            for step in sorted(found, key=lambda step: step.intent.step_seq)
        )

    def leases(self) -> tuple[Lease, ...]:
        """Give the leases that are taken, expired ones too, by target."""
        with self._transactions.read() as tables:
            return tuple(held for _, held in sorted(tables.leases.items()))

    def unlock(self, target: str) -> bool:
        """Drop the lease of a target, whoever holds it; False if nobody does."""
        with self._transactions.write() as tables:
            return tables.leases.pop(target, None) is not None

    def _take(self, tables: MemoryTables, target: str, holder: Holder, now: dt.datetime) -> int:
        request = Request(target, holder, now, self._parts.lease.length, self._parts.is_gone)
        lease = grant(request, tables.leases.get(target), tables.tokens.get(target, 0))
        tables.leases[target] = lease
        tables.tokens[target] = lease.token
        return lease.token

    def _ended(self, tables: MemoryTables, step: MemoryStep, *, recovered: bool) -> MemoryStep:
        now = self._parts.clock.now()
        others = tables.of_model(step.intent.model)
        last = max(
            (
                other.intent.step_seq
                for other in others
                if other.ended is not None
                and not (other.intent.run == step.intent.run and other.intent.kind in RESHAPES)
            ),
            default=0,
        )
        return replace(
            step,
            ended=now,
            duration_ms=max(0, (now - step.started) // dt.timedelta(milliseconds=1)),
            recovered=recovered,
            settles=last <= step.intent.step_seq,
        )
