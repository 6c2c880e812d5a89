"""Reading what checks said, in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from penstock.core.check_ports import Unsettled
from penstock.core.check_results import CheckRecord, CheckStatus, Flag, Quarantine, RowsBefore
from penstock.core.checks import OnFailure
from penstock.core.partition import Grid
from penstock.core.ranges import Ranges
from penstock.core.records import StepRecord
from penstock.state.memory_picture import Past, Picture
from penstock.state.memory_replay import pictures
from penstock.state.memory_tables import MemoryStep, MemoryTables, MemoryTransactions
from penstock.state.partition_rules import BUILDS


class MemoryCheckRecords:
    """Reads what is remembered of checks."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions

    def unsettled(self) -> tuple[Unsettled, ...]:
        """Give the steps that ended with pending checks or whose rollback is due, oldest first."""
        with self._transactions.read() as tables:
            steps = sorted(tables.steps.values(), key=lambda step: step.intent.step_seq)
            known = pictures(tables)
        found = []
        for step in steps:
            picture, seq = known.get(step.intent.model, Picture()), step.intent.step_seq
            if step.ended is None or seq in picture.undone:
                continue
            if seq in picture.pending:
                found.append(Unsettled(step_record(step)))
            elif _is_due(step, picture):
                verdict = step.settled or step.verdict
                found.append(Unsettled(step_record(step), verdict.checked() if verdict else None))
        return tuple(found)

    def flags(self) -> tuple[Flag, ...]:
        """Give the open flags, by model, step and partition."""
        with self._transactions.read() as tables:
            found = [f for picture in pictures(tables).values() for f in picture.flags.values()]
        return tuple(sorted(found, key=lambda each: (each.model, each.step_seq, each.ord)))

    def quarantines(self) -> tuple[Quarantine, ...]:
        """Give the quarantines that are still there, oldest first."""
        with self._transactions.read() as tables:
            number = {step: found.intent.step_seq for step, found in tables.steps.items()}
            found = [each.kept for each in tables.quarantines.values() if each.dropped is None]
        return tuple(sorted(found, key=lambda kept: number[kept.step]))

    def known_steps(self, steps: Collection[str]) -> frozenset[str]:
        """Give those of the steps that ever began here."""
        with self._transactions.read() as tables:
            return frozenset(tables.steps.keys() & steps)

    def evaluated(self) -> Mapping[str, frozenset[str]]:
        """Give the definitions of checks that were ever evaluated, by model."""
        found: dict[str, set[str]] = defaultdict(set)
        with self._transactions.read() as tables:
            for record in (each for batch in tables.results for each in batch):
                if record.result.status is not CheckStatus.SKIPPED:
                    found[record.model].add(record.result.definition)
        return {model: frozenset(found[model]) for model in sorted(found)}

    def checks_of(
        self, model: str, name: str | None = None, limit: int | None = None
    ) -> tuple[CheckRecord, ...]:
        """Give the history of a model's checks, newest first."""
        with self._transactions.read() as tables:
            every = [record for batch in reversed(tables.results) for record in batch]
        told = [r for r in every if r.model == model and name in {None, r.result.name}]
        return tuple(told)[:limit]

    def steps_that_skipped(self, model: str, why: str) -> frozenset[str]:
        """Give the steps of a model whose checks were skipped for this reason."""
        return frozenset(
            record.step
            for record in self.checks_of(model)
            if record.step
            and record.result.status is CheckStatus.SKIPPED
            and record.result.message == why
        )

    def rows_before(
        self,
        model: str,
        partitions: Ranges,
        last: int,
        step_seq: int,
        *,
        with_rows: bool = False,
    ) -> RowsBefore:
        """Give what successes before a step wrote to the partitions and to `last` before them."""
        with self._transactions.read() as tables:
            picture = pictures(tables).get(model, Picture())
            grid = _grid(tables, picture, step_seq)
        done = sorted(_successes(picture, grid, step_seq), key=lambda past: past.execution.step_seq)
        told = [(past.ord, past.execution.rows_written or 0) for past in done]
        rows = [each for each in told if each[1] >= int(with_rows)]
        if grid == Grid():
            newest = [written for _, written in reversed(rows)]
            return RowsBefore(recent=tuple(newest[: max(last, 1)]))
        if not partitions:
            return RowsBefore()
        low, high = partitions[0][0], partitions[-1][1]
        below = sorted({number for number, _ in rows if number < low}, reverse=True)[:last]
        first = min(below, default=low)
        wanted = {number: written for number, written in rows if first <= number <= high}
        return RowsBefore(dict(sorted(wanted.items())))


def step_record(step: MemoryStep) -> StepRecord:
    """Give a step as records tell it, without what each partition got."""
    outcome = step.outcome
    if outcome is not None:
        metrics = dict(sorted(outcome.metrics.items()))
        outcome = replace(outcome, partitions=(), metrics=metrics)
    return StepRecord(
        intent=step.intent,
        status=step.status,
        started=step.started,
        lease_token=step.lease_token,
        ended=step.ended,
        outcome=outcome,
        failure=step.failure,
    )


def _is_due(step: MemoryStep, picture: Picture) -> bool:
    """Whether rows of a step are to be taken back: not if no flag is open on them any more."""
    verdict = step.settled or step.verdict
    if verdict is None or verdict.mode is not OnFailure.ROLLBACK:
        return False
    committed = step.outcome is not None and step.outcome.version is not None
    return committed and any(seq == step.intent.step_seq for seq, _ in picture.flags)


def _grid(tables: MemoryTables, picture: Picture, step_seq: int) -> Grid:
    grids = {step.intent.step_seq: step.intent.grid for step in tables.steps.values()}
    return grids.get(step_seq, picture.grid)


def _successes(picture: Picture, grid: Grid, step_seq: int) -> list[Past]:
    return [
        past
        for past in picture.past
        if past.execution.step_seq < step_seq
        and past.execution.rows_written is not None
        and picture.succeeded(past)
        and past.step.intent.kind in BUILDS
        and past.step.intent.grid == grid
    ]
