"""What can be wrong with a mapping: too narrow, of another kind, or a model that reads too much.

Mappings are compared on sample partitions: around year ends, leap days, weeks, and wherever a
mapping holds a fixed position.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.findings import Finding, Location, Severity
from penstock.core.model import Body, Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.bounds import (
    MONTHS,
    SIZES,
    Bound,
    Ceiled,
    Floored,
    Lower,
    Moved,
    Upper,
)
from penstock.core.partitions.calendar import DAY, HOUR, day_number
from penstock.core.partitions.mapping import (
    Calendar,
    Computed,
    Everything,
    RangeMapping,
    Same,
    Trailing,
    reading,
)
from penstock.core.partitions.partition import Grain, Grid, Span, overlapping
from penstock.core.partitions.ranges import Ranges, difference, merged
from penstock.project.input_ranges.bounds import fixed_positions

_MOST = 2_000
_FEW = ((2023, 12, 22, 22), (2024, 2, 26, 8), (2024, 6, 28, 4))
_MANY = ((2023, 12, 1, 500),)
"""First days, and how many follow."""


def first_partition(model: Model) -> int | None:
    """Give the first partition that is ever built, None where there is no first."""
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


def is_mismatch(mapping: RangeMapping, below: Grid, grid: Grid) -> bool:
    """Whether a mapping says a thing that its two grids do not know."""
    if isinstance(mapping, Everything):
        return False
    is_unit = isinstance(mapping, Calendar)
    if grid.grain is Grain.WHOLE:
        return is_unit and below.grain is Grain.RANGE
    is_range = below.grain is Grain.RANGE, grid.grain is Grain.RANGE
    return is_range[0] != is_range[1] or (is_unit and is_range[0])


def over_column(mapping: RangeMapping, column: str, grid: Grid) -> RangeMapping:
    """Write a declared mapping as bounds on a column; everything where no column is given.

    Such an input has no partitions: the last N are those of the grid of the model that reads it.
    """
    if not column:
        return Everything()
    low: Bound = Lower()
    high: Bound = Upper()
    match mapping:
        case Same():
            pass
        case Calendar(unit):
            low, high = Floored(Lower(), unit), Ceiled(Upper(), unit)
        case Trailing(count):
            unit = grid.grain.value.lower()
            if unit in MONTHS:
                low = Moved(Upper(), months=-count * MONTHS[unit])
            else:
                low = Moved(Upper(), micros=-count * SIZES.get(unit, grid.interval))
        case _:
            return mapping
    return Computed(column, ((low, high),))


def is_narrower(mapping: RangeMapping, read: RangeMapping, model: Model, grid: Grid) -> bool:
    """Whether a declared mapping leaves out what the SQL reads, in any sample partition."""
    declared, inferred = reading(mapping, grid), reading(read, grid)
    for number in _samples(model, read, _FEW):
        span = model.grid.span(number)
        if difference(_places(inferred(span), grid), _places(declared(span), grid)):
            return True
    return False


def narrower(name: InputName, column: str, read: RangeMapping, where: Location) -> Finding:
    """Say that a declared mapping leaves out what the SQL reads."""
    sentence = f"the SQL reads more of {name} than its entry in depends_on says"
    entry = f"model: {name}, partitions: auto" + (f", column: {column}" if column else "")
    if isinstance(read, Everything):
        entry = f"model: {name}, partitions: all"
    hint = f"depends_on: [{{{entry}}}]"
    return Finding(where, "mapping-narrower-than-sql", sentence, hint, Severity.WARNING)


def mismatch(name: InputName, model: Model, grid: Grid, where: Location) -> Finding:
    """Say that a mapping joins time and integers."""
    sentence = f"{model.name} has {_word(model.grid)} partitions, {name} has {_word(grid)}"
    hint = f"depends_on: [{{model: {name}, partitions: all}}]"
    return Finding(where, "mapping-domain-mismatch", sentence, hint)


def read_whole(name: InputName, body: Body, *, unclear: bool = False) -> Finding:
    """Say that a partition reads all of an input, or may do so for all that is known."""
    does = f"{body.fingerprint.label} reads all of {name}"
    if unclear:
        does = f"no condition of {body.fingerprint.label} says as a range what it reads of {name}"
    sentence = f"{does}, so any change of it concerns every partition"
    hint = f"depends_on: [{{model: {name}, partitions: all}}]"
    if name.kind is InputKind.EXTERNAL:
        hint = "filter it by a partition parameter, or declare it as a source"
    return Finding(body.where, "upstream-mapping-all", sentence, hint, Severity.WARNING)


def self_reading(model: Model, body: Body, mapping: RangeMapping, where: Location) -> list[Finding]:
    """Find whether a model reads of itself what is not before the partition that it builds."""
    grid = model.grid
    read = reading(mapping, grid)
    for number in _samples(model, mapping, _MANY):
        span = grid.span(number)
        if any(high > span[0] for _, high in read(span)):
            key = grid.key(number)
            label = body.fingerprint.label
            sentence = f"{label} reads of {model.name} itself what is not before {key} to build it"
            field = model.partition.field if model.partition else ""
            hint = f"bound it: {field} < @partition_date"
            return [Finding(where, "self-dependency-unbounded", sentence, hint)]
    return []


def _samples(
    model: Model, mapping: RangeMapping, days: tuple[tuple[int, int, int, int], ...]
) -> list[int]:
    grid = model.grid
    first = first_partition(model)
    if grid.grain is Grain.RANGE:
        last = grid.last_number
        edge = min(_MOST, last + 1)
        numbers = {*range(edge), *range(last + 1 - edge, last + 1)}
    else:
        starts = [
            (day_number(y, m, d) + each) * DAY for y, m, d, count in days for each in range(count)
        ]
        hours = (0, 1, 12, 23) if grid.grain is Grain.HOUR else (0,)
        numbers = {grid.at(start + hour * HOUR) for start in starts for hour in hours}
    if first is not None:
        numbers |= set(range(first, first + 8))
    for position in _fixed(mapping):
        at = grid.at(position)
        numbers |= set(range(at - 3, at + 4))
    low, high = grid.domain
    low = low if first is None else max(low, first)
    return sorted(number for number in numbers if low <= number <= high)


def _fixed(mapping: RangeMapping) -> Iterator[int]:
    if isinstance(mapping, Computed):
        for pair in mapping.ranges:
            for bound in pair:
                yield from fixed_positions(bound)


def _places(spans: tuple[Span, ...], grid: Grid) -> Ranges:
    """Give what spans touch: partitions of the input, or positions where it has none."""
    if grid.grain is not Grain.WHOLE:
        return overlapping(grid, spans)
    return merged((low, high - 1) for low, high in spans)


def _word(grid: Grid) -> str:
    return "RANGE" if grid.grain is Grain.RANGE else str(grid.grain.value)
