"""Judging `row_count_change` partition by partition: one that passed is a base of later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.app.checking.asking import Answered
from penstock.app.checking.ground import Ground
from penstock.app.checking.judging import RowsToCompare, judge
from penstock.core.check_results import CheckStatus, GroupValue
from penstock.core.ranges import Ranges, holds
from penstock.strategies.checks.measured import whole
from penstock.strategies.checks.phase import ROWS


def judge_changes(
    checks: Sequence[Answered], ground: Ground, passing: Ranges
) -> list[list[GroupValue]]:
    """Give the values of the groups of each check; `passing` fail no gate of another type."""
    found: list[list[GroupValue]] = [[] for _ in checks]
    written: dict[int, int] = {}
    for turn in range(max((len(each.placed.groups) for each in checks), default=0)):
        base = RowsToCompare(ground, dict(written))
        for each, values in zip(checks, found, strict=True):
            groups = each.placed.groups[turn : turn + 1]
            values.extend(judge(each.placed, groups, each.answer.groups, base))
        judged = zip(checks, found, strict=True)
        if not any(_fails_gate(each, values, turn) for each, values in judged):
            for each in checks:
                rows = _rows_written(each, turn)
                written |= {n: count for n, count in rows.items() if holds(passing, n)}
    return found


def _fails_gate(answered: Answered, values: Sequence[GroupValue], turn: int) -> bool:
    """Whether the group whose turn it was fails a gate."""
    found = values[turn : turn + 1]
    is_gate = answered.placed.check.is_gate
    return is_gate and any(each.status is CheckStatus.FAILED for each in found)


def _rows_written(answered: Answered, turn: int) -> Mapping[int, int]:
    """Give all rows of one partition of a step, whatever the check leaves out of them."""
    placed = answered.placed
    return {
        group.number: whole(answered.answer.groups.get(group.key, {}), ROWS)
        for group in placed.groups[turn : turn + 1]
        if placed.is_step and group.number is not None
    }
