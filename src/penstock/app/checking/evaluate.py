"""Evaluating the checks of one phase: what is measured, what it means, how it is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.app.checking.asking import Answer, asked
from penstock.app.checking.chosen import skipped
from penstock.app.checking.ground import Ground
from penstock.app.checking.judging import Base, judge, passing, rows_written
from penstock.app.checking.placing import Placed, Skip, place
from penstock.app.checking.querying_sql import evaluate_sql
from penstock.app.checking.refusing import Refusal
from penstock.app.checking.sampling import sampled
from penstock.app.checking.telling import told, told_refused
from penstock.core.check_results import CheckResult, CheckStatus, GroupValue
from penstock.core.checks import Check, RowCountChange, SqlCheck
from penstock.core.engine_ports import StepSession
from penstock.strategies.checks.observe import taken
from penstock.strategies.checks.typed import measured


def evaluate(
    session: StepSession, checks: Sequence[Check], ground: Ground, *, sampling: bool = True
) -> tuple[CheckResult, ...]:
    """Give one result per check, in their order; all are evaluated, whatever fails.

    Typed checks over the same rows share one query, and what was observed while the rows were
    written is not asked for again. A check that Spark cannot evaluate is failed; a job that was
    lost or cancelled is raised, as is everything else that is no error of a query. Without
    `sampling`, as for a check without sample, no cell of a row leaves Spark.
    """
    wanted = [check if sampling else replace(check, sample=False) for check in checks]
    phase = _Phase(session, ground)
    for number, check in enumerate(wanted):
        phase.place(number, check)
    phase.ask()
    phase.judge()
    return tuple(phase.results[number] for number in range(len(wanted)))


@dataclass(slots=True)
class _Phase:
    """The checks of one phase on their way to results, by their place in the list."""

    session: StepSession
    ground: Ground
    placed: dict[int, Placed] = field(default_factory=dict)
    answers: dict[int, Answer] = field(default_factory=dict)
    results: dict[int, CheckResult] = field(default_factory=dict)

    def place(self, number: int, check: Check) -> None:
        """Find where a check looks; SQL checks are done with that."""
        if isinstance(check.rule, SqlCheck):
            self.results[number] = evaluate_sql(self.session, check, check.rule, self.ground)
            return
        match place(check, self.ground, self.session):
            case Skip(reason):
                (self.results[number],) = skipped([check], reason)
            case Refusal() as refusal:
                self.results[number] = told_refused(check, self.ground, refusal)
            case Placed() as placed:
                self.placed[number] = placed

    def ask(self) -> None:
        """Take what was observed, and ask for everything else."""
        for number, placed in self.placed.items():
            seen = self._observed(placed)
            if seen is not None:
                self.answers[number] = seen
        left = [number for number in self.placed if number not in self.answers]
        found = asked(self.session, [self.placed[number] for number in left])
        for number, answer in zip(left, found, strict=True):
            if isinstance(answer, Refusal):
                check = self.placed[number].check
                self.results[number] = told_refused(check, self.ground, answer)
            else:
                self.answers[number] = answer

    def judge(self) -> None:
        """Judge all checks; changes of row counts last, because they look at what passed."""
        changes = []
        for number, answer in self.answers.items():
            placed = self.placed[number]
            if isinstance(placed.check.rule, RowCountChange):
                changes.append(number)
                continue
            values = [*judge(placed, placed.groups, answer.groups, Base(self.ground))]
            self._tell(number, values)
        for number, found in self._changes(changes).items():
            self._tell(number, found)

    def _changes(self, checks: Sequence[int]) -> dict[int, list[GroupValue]]:
        """Judge changes partition by partition: one that passed is a base of later ones."""
        found: dict[int, list[GroupValue]] = {number: [] for number in checks}
        good = passing(self.ground, self.results.values())
        written: dict[int, int] = {}
        for turn in range(max((len(self.placed[each].groups) for each in checks), default=0)):
            for number in checks:
                placed, answers = self.placed[number], self.answers[number].groups
                groups = placed.groups[turn : turn + 1]
                found[number] += judge(placed, groups, answers, Base(self.ground, written))
            failed = any(_fails_gate(self.placed[each], found[each], turn) for each in checks)
            if not failed:
                written |= self._rows(checks, turn, good)
        return found

    def _rows(self, checks: Sequence[int], turn: int, good: frozenset[int]) -> dict[int, int]:
        """Give how many rows the step wrote to one partition, unless it failed a gate."""
        rows: dict[int, int] = {}
        for each in checks:
            rows |= rows_written(self.placed[each], turn, self.answers[each].groups)
        return {number: count for number, count in rows.items() if number in good}

    def _observed(self, placed: Placed) -> Answer | None:
        """Give what was seen of the step's rows while they were written."""
        observed = self.ground.observed
        if observed is None or not placed.is_step or len(placed.groups) != 1:
            return None
        seen = taken(measured(placed.check, placed.rows.columns), observed)
        return None if seen is None else Answer({placed.groups[0].key: seen})

    def _tell(self, number: int, values: Sequence[GroupValue]) -> None:
        placed, seconds = self.placed[number], self.answers[number].seconds
        sample, detailed = sampled(self.session, placed, values)
        check = placed.check
        self.results[number] = told(check, self.ground, detailed, seconds=seconds, sample=sample)


def _fails_gate(placed: Placed, values: Sequence[GroupValue], turn: int) -> bool:
    """Whether the group whose turn it was fails a gate."""
    found = values[turn : turn + 1]
    return placed.check.is_gate and any(each.status is CheckStatus.FAILED for each in found)
