"""From what was measured to what it means, group by group."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from penstock.app.checking.ground import Ground
from penstock.app.checking.placing import Group, Placed
from penstock.core.check_results import GroupValue
from penstock.core.checks import RowCountChange
from penstock.core.partition import Grain
from penstock.strategies.checks.measured import (
    ROWS,
    Measured,
    Setting,
    Values,
    Verdict,
    whole,
)
from penstock.strategies.checks.phase import named
from penstock.strategies.checks.typed import judged, measured
from penstock.strategies.checks.written import MESSAGE, number, shortened

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TIMELESS = (Grain.WHOLE, Grain.RANGE)


@dataclass(frozen=True, slots=True)
class RowsToCompare:
    """What the rows of a group are compared with, and the rows that this step wrote so far.

    `written` are the rows of partitions that passed every gate, by number.
    """

    ground: Ground
    written: Mapping[int, int] = field(default_factory=dict)

    def of(self, rule: RowCountChange, group: Group, *, is_partition: bool) -> Fraction | None:
        """Give the base of a group, None where no execution came before."""
        known = self.ground.bases
        if not is_partition:
            recent = known.recent[: rule.last or 1]
            return Fraction(sum(recent), len(recent)) if recent else None
        assert group.number is not None  # noqa: S101  a partition has one
        if rule.last is None:
            rows = known.by_partition.get(group.number)
            return None if rows is None else Fraction(rows)
        earlier = {**known.by_partition, **self.written}
        before = sorted((each for each in earlier if each < group.number), reverse=True)
        found = [earlier[each] for each in before[: rule.last]]
        return Fraction(sum(found), len(found)) if found else None


def judge(
    placed: Placed, groups: Sequence[Group], answers: Mapping[str, Values], base: RowsToCompare
) -> Iterator[GroupValue]:
    """Say what the answers mean for some groups of a check; a group without one has no rows."""
    checks = {each.group: each.check for each in placed.by_group}
    shared = None if placed.by_group else measured(placed.check, placed.rows.columns)
    for group in groups:
        check = checks.get(group, placed.check)
        means = shared or measured(check, placed.rows.columns)
        values = _values(means, answers.get(group.key, {}))
        at = _setting(placed, group, base)
        verdict = judged(check, means, values, at)
        if at.before is not None:
            values = {**values, "base": number(at.before)}
        yield group_value(group, values, verdict)


def group_value(group: Group, values: Values, verdict: Verdict) -> GroupValue:
    """Put together what is told of a group."""
    return GroupValue(
        group.key,
        verdict.status,
        values,
        shortened(verdict.message, MESSAGE),
        verdict.details,
        verdict.failures,
    )


def _values(means: Measured, row: Values) -> Values:
    """Give the values of a group by their own names; without rows there is nothing to measure."""
    found = {name: row.get(named(sql)) for name, sql in means.aggregates.items()}
    return found if whole(found, ROWS) else {ROWS: "0", **means.empty}


def _setting(placed: Placed, group: Group, base: RowsToCompare) -> Setting:
    ground, rule = base.ground, placed.check.rule
    is_partition = _is_partition(placed, group, ground)
    reference = (ground.moment - _EPOCH) // dt.timedelta(microseconds=1)
    if is_partition and group.number is not None and ground.grid.grain not in _TIMELESS:
        reference = min(reference, ground.grid.upper(group.number))
    before = None
    if isinstance(rule, RowCountChange):
        before = base.of(rule, group, is_partition=is_partition)
    return Setting(reference, before, adds=ground.adds and placed.is_step)


def _is_partition(placed: Placed, group: Group, ground: Ground) -> bool:
    """Whether a group is what a step wrote to one partition."""
    has_number = group.number is not None and ground.grid.grain is not Grain.WHOLE
    return placed.is_step and has_number
