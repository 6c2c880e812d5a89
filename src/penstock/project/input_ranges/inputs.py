"""Facts about an input, and possible errors in how a partition reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

from penstock.core.findings import Finding, Location, Severity
from penstock.core.model import Body, Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.calendar import DAY, HOUR, day_number
from penstock.core.partitions.mapping import (
    MONTHS,
    SIZES,
    At,
    Bound,
    Calendar,
    Ceiled,
    Computed,
    Everything,
    Floored,
    Lower,
    Moved,
    RangeMapping,
    Same,
    Trailing,
    Upper,
    reading,
)
from penstock.core.partitions.partition import Grain, Grid, Span, overlapping
from penstock.core.partitions.ranges import Ranges, difference, merged
from penstock.project.files.values import digest
from penstock.project.input_ranges.bounds import leaves

RULES = 3
"""Incremented when the same SQL gives other mappings, so that the cache is recomputed."""


class Found(StrEnum):
    """How a mapping was found; an input without a known range is read whole.

    For an `unclear` input some conditions are not recognised, for `unread` SQL nothing is known.
    """

    INFERRED = "inferred"
    WHOLE = "whole"
    VIEW = "view"
    UNCLEAR = "unclear"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class InputShape:
    """Facts about an input without reading its table.

    `field` and `type` are those of its partitions, "" without partitions; with a `field` the grid
    may still be `*`: then mappings are about that column. `columns` are None if not all are known.
    `view` are the texts of its query if it is a view.
    """

    field: str = ""
    type: str = ""
    columns: tuple[str, ...] | None = None
    grid: Grid = Grid()
    view: tuple[str, ...] = ()


class Inferred(NamedTuple):
    """The range of one input, and how it was found."""

    mapping: RangeMapping
    outcome: Found


@dataclass(frozen=True, slots=True)
class Declared:
    """An entry of `depends_on`; `mapping` is None for `auto`, `column` "" if not given."""

    input: InputName
    mapping: RangeMapping | None
    column: str
    where: Location


def as_input(name: InputName) -> InputName:
    """Return the name of a model for `this`, and any other name unchanged."""
    return InputName(InputKind.MODEL, name.name) if name.kind is InputKind.THIS else name


def inference_key(
    texts: tuple[str, ...], grid: Grid, inputs: Mapping[InputName, InputShape]
) -> str:
    """Return the cache key of an inference."""
    return digest(repr((RULES, texts, grid, sorted(inputs.items()))))


_MOST = 2_000
_FEW = ((2023, 12, 22, 22), (2024, 2, 26, 8), (2024, 6, 28, 4))
_MANY = ((2023, 12, 1, 500),)
"""First days of samples, each with a number of days."""


def first_partition(model: Model) -> int | None:
    """Return the first partition that is ever built, None if there is no first one."""
    part = model.partition
    if part is None or part.grid.grain is Grain.WHOLE:
        return None
    if part.grid.grain is Grain.RANGE:
        return part.grid.at(part.grid.start)
    dates = [version.effective_from for version in model.versions]
    first = part.start or min((date for date in dates if date), default=None)
    if first is None:
        return None
    return part.grid.at(day_number(first.year, first.month, first.day) * DAY)


def _write_entry(name: InputName, partitions: str) -> str:
    return f"depends_on: [{{model: {name}, partitions: {partitions}}}]"


def mismatch(
    name: InputName, entry: Declared, mapping: RangeMapping, model: Model, grid: Grid
) -> list[Finding]:
    """Return the error if a mapping joins time and integers, or integers and calendar units."""
    below = model.grid
    is_unit = isinstance(mapping, Calendar) and below.grain is Grain.RANGE
    is_other = (below.grain is Grain.RANGE) != (grid.grain is Grain.RANGE)
    is_odd = is_unit or (is_other and grid.grain is not Grain.WHOLE)
    if isinstance(mapping, Everything) or not is_odd:
        return []
    sentence = f"{model.name} has {below.grain} partitions, {name} has {grid.grain}"
    return [Finding(entry.where, "mapping-domain-mismatch", sentence, _write_entry(name, "all"))]


def over_column(mapping: RangeMapping, column: str, grid: Grid) -> RangeMapping:
    """Return a declared mapping as bounds on a column; everything if no column is given.

    Such an input has no partitions: "the last N" counts partitions of the model that reads it.
    """
    if not column:
        return Everything()
    pair: tuple[Bound, Bound]
    match mapping:
        case Same():
            pair = Lower(), Upper()
        case Calendar(unit):
            pair = Floored(Lower(), unit), Ceiled(Upper(), unit)
        case Trailing(count):
            unit = grid.grain.value.lower()
            months = MONTHS.get(unit, 0)
            micros = 0 if months else SIZES.get(unit, grid.interval)
            pair = Moved(Upper(), -count * months, -count * micros), Upper()
        case _:
            return mapping
    return Computed(column, (pair,))


def narrower(
    name: InputName,
    entry: Declared,
    mapping: RangeMapping,
    read: RangeMapping,
    model: Model,
    grid: Grid,
) -> list[Finding]:
    """Return an error if a declared mapping omits rows that the SQL reads, in any sample."""
    declared, inferred = reading(mapping, grid), reading(read, grid)
    spans = map(model.grid.span, _samples(model, read, _FEW))
    if not any(difference(_places(inferred(s), grid), _places(declared(s), grid)) for s in spans):
        return []
    sentence = f"the SQL reads more of {name} than its entry in depends_on says"
    auto = f"auto, column: {entry.column}" if entry.column else "auto"
    hint = _write_entry(name, "all" if isinstance(read, Everything) else auto)
    return [Finding(entry.where, "mapping-narrower-than-sql", sentence, hint, Severity.WARNING)]


def read_whole(name: InputName, body: Body, *, unclear: bool = False) -> Finding:
    """Return a warning if a partition reads, or may read, all of an input."""
    label, known = body.fingerprint.label, name.kind is not InputKind.EXTERNAL
    unsaid = f"no condition of {label} says as a range what it reads of {name}"
    does = unsaid if unclear else f"{label} reads all of {name}"
    sentence = f"{does}, so any change of it concerns every partition"
    otherwise = "filter it by a partition parameter, or declare it as a source"
    hint = _write_entry(name, "all") if known else otherwise
    return Finding(body.where, "upstream-mapping-all", sentence, hint, Severity.WARNING)


def self_reading(model: Model, body: Body, mapping: RangeMapping, where: Location) -> list[Finding]:
    """Return an error if a model reads rows of itself that are not before its partition."""
    grid, read = model.grid, reading(mapping, model.grid)
    for number in _samples(model, mapping, _MANY):
        start, end = grid.span(number)
        if any(high > start for _, high in read((start, end))):
            reads = f"{body.fingerprint.label} reads of {model.name} itself"
            sentence = f"{reads} what is not before {grid.key(number)} to build it"
            hint = f"bound it: {model.partition.field if model.partition else ''} < @partition_date"
            return [Finding(where, "self-dependency-unbounded", sentence, hint)]
    return []


def _samples(
    model: Model, mapping: RangeMapping, days: tuple[tuple[int, int, int, int], ...]
) -> list[int]:
    grid, first = model.grid, first_partition(model)
    if grid.grain is Grain.RANGE:
        end = grid.last_number + 1
        numbers = {*range(min(_MOST, end)), *range(max(end - _MOST, 0), end)}
    else:
        starts = ((day_number(*day) + n) * DAY for *day, count in days for n in range(count))
        hours = (0, 1, 12, 23) if grid.grain is Grain.HOUR else (0,)
        numbers = {grid.at(start + hour * HOUR) for start in starts for hour in hours}
    if first is not None:
        numbers.update(range(first, first + 8))
    bounds = chain.from_iterable(mapping.ranges if isinstance(mapping, Computed) else ())
    fixed = [leaf.position for each in bounds for leaf in leaves(each) if isinstance(leaf, At)]
    numbers.update(at + near for at in map(grid.at, fixed) for near in range(-3, 4))
    low, high = grid.domain
    return sorted(n for n in numbers if max(low, low if first is None else first) <= n <= high)


def _places(spans: tuple[Span, ...], grid: Grid) -> Ranges:
    """Return what spans overlap: partitions of the input, or positions if it has none."""
    if grid.grain is not Grain.WHOLE:
        return overlapping(grid, spans)
    return merged((low, high - 1) for low, high in spans)
