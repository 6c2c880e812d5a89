"""The definition of drift and of versions, one partition at a time, as slow as it is plain.

Written from the definition alone; the laws hold `resolve` and `judge` to it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.model import Fingerprint, Model, Version
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid, Span
from penstock.plan.values import State

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # all of UTC
MICRO = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Rule:
    """Which range of an input a partition reads: `word` of 6.2, or a `window` around its bounds."""

    word: str
    number: int = 0

    def range(self, span: Span, grid: Grid) -> Span:
        """Give what is read of an input for the bounds of a partition."""
        low, high = span
        if self.word == "all" or (grid.grain is Grain.WHOLE and self.word != "window"):
            return FIRST, LAST
        if self.word in {"week", "month"}:
            return _unit(low, self.word), _unit_after(high, self.word)
        if self.word == "window":
            return low - self.number, high
        if self.word == "trailing":
            number = grid.at(high - 1)
            return grid.lower(number - self.number + 1), grid.upper(number)
        return low, high


def _unit(place: int, unit: str) -> int:
    at = EPOCH + place * MICRO
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    first = day - dt.timedelta(days=day.weekday()) if unit == "week" else day.replace(day=1)
    return (first - EPOCH) // MICRO


def _unit_after(place: int, unit: str) -> int:
    first = _unit(place, unit)
    if first == place:
        return place
    longest = 7 if unit == "week" else 31
    later = first + longest * 86_400_000_000
    return later if unit == "week" else _unit(later, unit)


@dataclass(frozen=True, slots=True)
class Row:
    """The record of one partition; `made` is None if it never succeeded."""

    failed: bool = False
    made: Fingerprint | None = None
    pins: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    settled: int | None = None
    holds_rows: bool = True


@dataclass(frozen=True, slots=True)
class Above:
    """An input: the last data change of each of its partitions, or all commits of a table."""

    table_id: str
    grid: Grid = Grid()
    partitions: Mapping[int, int | None] = field(default_factory=dict)
    commits: Sequence[tuple[int, tuple[Span, ...] | None]] = ()
    is_source: bool = False


@dataclass(frozen=True, slots=True)
class Stood:
    """The target: others' commits with where they touched it, and where its files can hold rows."""

    there: bool = True
    is_ours: bool = True
    foreign: Sequence[tuple[int, tuple[Span, ...] | None]] = ()
    lying: tuple[Span, ...] | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """The SQL that is for a partition now."""

    mark: Fingerprint
    reads: Sequence[tuple[str, Rule]] = ()


def states_of_one(
    span: Span, code: Code | None, row: Row | None, target: Stood, inputs: Mapping[str, Above]
) -> tuple[State, ...]:
    """Give the states of one partition in the order of 8.1; () if it is current."""
    found = {State.NOT_EFFECTIVE} if code is None else set()
    if row is None:
        return tuple(found or {State.NEVER_RUN})
    if row.failed:
        found.add(State.FAILED)
    if row.made is not None:
        found |= set(_of_target(span, row, target))
    if row.made is not None and code is not None:
        found |= set(_of_code(row.made, code.mark))
        for name, rule in code.reads:
            if _is_newer(inputs[name], rule, span, row.pins.get(name)):
                source = inputs[name].is_source
                found.add(State.SOURCE_CHANGED if source else State.UPSTREAM_CHANGED)
    return tuple(state for state in State if state in found)


def _of_target(span: Span, row: Row, target: Stood) -> Iterator[State]:
    if not target.there or not target.is_ours or row.settled is None:
        yield State.MISSING
        return
    later = [spans for version, spans in target.foreign if version > row.settled]
    if any(_meets(span, spans) for spans in later):
        yield State.TAMPERED
        if row.holds_rows and target.lying is not None and not _meets(span, target.lying):
            yield State.MISSING


def _of_code(made: Fingerprint, now: Fingerprint) -> Iterator[State]:
    if made.version != now.version:
        yield State.VERSION_UPGRADED
        return
    if made.canonical != now.canonical:
        yield State.SQL_CHANGED
    if made.schema and now.schema and made.schema != now.schema:
        yield State.SCHEMA_CHANGED


def _is_newer(above: Above, rule: Rule, span: Span, pin: tuple[str, int] | None) -> bool:
    read = pin[1] if pin is not None and pin[0] == above.table_id else -1
    asked = rule.range(span, above.grid)
    if above.grid.grain is not Grain.WHOLE:
        return any(
            commit is not None and commit > read and _meets(asked, (above.grid.span(number),))
            for number, commit in above.partitions.items()
        )
    if read == -1:
        return asked[0] < asked[1]
    return any(version > read and _meets(asked, spans) for version, spans in above.commits)


def _meets(span: Span, others: tuple[Span, ...] | None) -> bool:
    if span[0] >= span[1]:
        return False
    return others is None or any(low < span[1] and span[0] < high for low, high in others)


def chosen(model: Model, run_date: dt.date, number: int) -> str:
    """Give the label of the SQL for one partition by the text of §3; "" if there is none."""
    day = run_date
    if model.grid.grain is not Grain.RANGE:
        day = (EPOCH + model.grid.lower(number) * MICRO).date()
        if model.partition and model.partition.start and day < model.partition.start:
            return ""
    begun = [v for v in model.versions if v.effective_from and v.effective_from <= day]
    if not begun:
        return ""
    return _revised(max(begun, key=lambda v: v.effective_from or day), run_date, day)


def _revised(version: Version, run_date: dt.date, day: dt.date) -> str:
    fit = [
        (body.effective_from, body.fingerprint.revision, body.fingerprint.label)
        for body in version.revisions
        if body.effective_from and body.effective_from <= run_date
        if body.backfill_since is None or day >= body.backfill_since
    ]
    return max(fit)[2] if fit else version.body.fingerprint.label
