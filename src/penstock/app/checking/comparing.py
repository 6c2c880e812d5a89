"""The values of a check's groups, and their comparison with earlier runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from penstock.app.checking.placing import Group, Probe
from penstock.app.checking.results import CheckInputs
from penstock.core.check_results import WHOLE_GROUP, ValuesBefore
from penstock.core.checks.check import Check
from penstock.core.checks.check_type import (
    ROWS,
    CheckStatus,
    CheckType,
    GroupMeasures,
    GroupValue,
    Values,
)
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.partitions.ranges import Ranges, holds
from penstock.core.statement import OBSERVED_ROWS
from penstock.project.files.values import digest
from penstock.strategies.checks import queries
from penstock.strategies.checks.literals import MESSAGE, micros_of, number, shortened
from penstock.strategies.checks.typed import verdict_of

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TIMELESS = (Grain.WHOLE, Grain.RANGE)
_BASIS, _VALUE = "basis", "value"
_WEEK = {Grain.DAY: 7, Grain.HOUR: 7 * 24}
"""After how many partitions the same weekday, and hour, comes again."""


@dataclass(slots=True)
class _StepValues:
    """What the groups of this step that passed have written and measured, by partition."""

    rows: dict[int, int] = field(default_factory=dict)
    values: dict[str, dict[int, Values]] = field(default_factory=dict)
    """By check."""


def group_value(
    probe: Probe, group: Group, inputs: CheckInputs, so_far: _StepValues | None = None
) -> GroupValue:
    """Return the value of a group; `so_far` is about earlier groups of the step."""
    so_far = so_far or _StepValues()
    means, row = group.means or probe.means, probe.answer(group)
    values: Values = {name: row.get(queries.alias(sql)) for name, sql in means.aggregates.items()}
    if not GroupMeasures(values).rows:  # without rows there is nothing to measure
        values = {ROWS: "0", **means.empty}
    partition = None
    if probe.is_step and inputs.grid.grain is not Grain.WHOLE:
        partition = group.number  # the group is what a step wrote to one partition
    reference = micros_of(inputs.run_timestamp - _EPOCH)
    if partition is not None and inputs.grid.grain not in _TIMELESS:
        reference = min(reference, inputs.grid.upper(partition))
    before = _base(probe.check.rule, partition, inputs, so_far.rows)
    earlier, known = _earlier(probe.check, group, inputs, so_far)
    adds = inputs.adds and probe.is_step
    found = GroupMeasures(values, reference, before, adds, tuple(earlier))
    value = verdict_of(probe.check, means, found)
    if before is not None:
        known = {"base": number(before)}
    message = shortened(value.message, MESSAGE)
    values = {**values, **value.values, **known}
    return replace(value, group=group.key, values=values, message=message)


def _base(
    rule: CheckType, partition: int | None, inputs: CheckInputs, written: Mapping[int, int]
) -> Fraction | None:
    """Return the rows to compare a group with, None if there was no earlier execution."""
    bases, last = inputs.bases, rule.runs_before
    if last is None:
        return None
    if partition is None:
        counts = list(bases.recent[: last or 1])
    elif not last:
        counts = [bases.by_partition[partition]] if partition in bases.by_partition else []
    else:
        earlier = {**bases.by_partition, **written}
        before = sorted((each for each in earlier if each < partition), reverse=True)
        counts = [earlier[each] for each in before[:last]]
    return Fraction(sum(counts), len(counts)) if counts else None


def basis_of(check: Check, grid: Grid) -> str:
    """Return a digest of the number that a check measures; its bounds are not part of it."""
    parts = (check.conditions, check.query, check.scope, grid)
    return digest(repr(parts))[:12]


def _earlier(
    check: Check, group: Group, inputs: CheckInputs, so_far: _StepValues
) -> tuple[list[float], Values]:
    """Return the earlier values to compare a group with, and how they are found again.

    Those of a partition are its nearest neighbours', before and after it, never its own.
    """
    history, known = check.rule.own_history, inputs.earlier.get(check.name, ValuesBefore())
    if history is None:
        return [], {}
    again: Values = {_BASIS: known.basis}
    if group.key == WHOLE_GROUP:
        day = inputs.run_timestamp.weekday()
        recent = (
            values for at, values in known.recent if not history.same_weekday or at.weekday() == day
        )
        found = [value for each in recent if (value := _number(each, known.basis)) is not None]
        return found[: history.last], again
    place, every = group.number or 0, _WEEK.get(inputs.grid.grain, 1) * history.same_weekday
    others = {
        at: value
        for at, each in {**known.by_partition, **so_far.values.get(check.name, {})}.items()
        if at != place and (not every or (at - place) % every == 0)
        if (value := _number(each, known.basis)) is not None
    }
    nearest = sorted(others, key=lambda at: (abs(at - place), at))[: history.last]
    return [others[at] for at in nearest], again


def _number(values: Values, basis: str) -> float | None:
    value = values.get(_VALUE)
    return None if value is None or values.get(_BASIS) != basis else float(value)


def judge_changes(
    changes: Sequence[Probe], inputs: CheckInputs, passing: Ranges
) -> list[list[GroupValue]]:
    """Return the values of the groups of each check; `passing` fail no gate of another type.

    Groups are compared in order: the rows of a group that passes, even those a check leaves out,
    are a base for later groups, and so is what was measured of it.
    """
    found: list[list[GroupValue]] = [[] for _ in changes]
    so_far = _StepValues()
    for turn in range(max((len(each.groups) for each in changes), default=0)):
        fails_gate, rows, values_now = False, dict[int, int](), dict[str, dict[int, Values]]()
        for each, values in zip(changes, found, strict=True):
            for group in each.groups[turn : turn + 1]:
                values.append(group_value(each, group, inputs, so_far))
                fails_gate |= each.check.is_gate and values[-1].status is CheckStatus.FAILED
                if group.number is None or not holds(passing, group.number):
                    continue
                if each.is_step:
                    rows[group.number] = GroupMeasures(each.answer(group)).count(OBSERVED_ROWS)
                if group.key != WHOLE_GROUP:
                    values_now[each.check.name] = {group.number: values[-1].values}
        if not fails_gate:
            so_far.rows |= rows
            for name, own in values_now.items():
                so_far.values.setdefault(name, {}).update(own)
    return found
