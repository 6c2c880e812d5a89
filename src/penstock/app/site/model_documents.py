"""What the page of a model shows, as values; see `penstock.app.site.documents` for their units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """A column of an input."""

    node: str
    column: str


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column; `origins` are the columns that it is computed from, null if that is not known."""

    name: str
    type: str
    description_html: str
    checks: tuple[str, ...]
    origins: tuple[ColumnOrigin, ...] | None


@dataclass(frozen=True, slots=True)
class CodeText:
    """One text of a model's code, a line of highlighted HTML each.

    `id` is its digest. `partitions` are those that it is for, as words; "" for texts that only
    built partitions of the past.
    """

    id: str
    label: str
    partitions: str
    language: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One execution of a model, newest first; `table_version` is that of its commit.

    `versions_opened` and `versions_closed` are null for tables without a history.
    """

    step: str
    run: str
    partitions: str
    status: str
    started: str
    seconds: float
    rows: int | None
    bytes: int | None
    table_version: int | None
    versions_opened: int | None
    versions_closed: int | None
    code: str
    reason: str
    error: str
    hint: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation of a check."""

    at: str
    status: str
    value: float | None
    limit: float | None
    step: str
    sentence: str


@dataclass(frozen=True, slots=True)
class BandPoint:
    """A number that was compared with earlier ones: of a partition, or of a time."""

    at: str
    status: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check of a model with its evaluations, oldest first.

    `band` are the numbers of a check that compares them with earlier ones, in order.
    """

    name: str
    type: str
    phase: str
    column: str
    on_failure: str
    description_html: str
    evaluations: tuple[Evaluation, ...]
    band: tuple[BandPoint, ...]


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A slice of an entity."""

    name: str
    status: str
    at: str
    rows: int | None
    why: str


@dataclass(frozen=True, slots=True)
class PackagePart:
    """One fact of a session package: its manifest, limits or quarantine."""

    section: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ModelDocument:
    """`data/model-N.js`: one model's page, without its partitions."""

    name: str
    description_html: str
    place: str
    exposures: tuple[str, ...]
    columns: tuple[ColumnRow, ...]
    written: CodeText | None
    codes: tuple[CodeText, ...]
    executions: tuple[ExecutionRow, ...]
    checks: tuple[CheckRow, ...]
    slices: tuple[SliceRow, ...]
    package: tuple[PackagePart, ...]


@dataclass(frozen=True, slots=True)
class BuiltBy:
    """A step that built partitions."""

    step: str
    run: str
    at: str
    seconds: float
    rows: int | None
    bytes: int | None
    table_version: int | None
    code: str
    inputs: tuple[InputVersion, ...]


@dataclass(frozen=True, slots=True)
class InputVersion:
    """The version of an input that a step read, and the one that is there now."""

    node: str
    read: str
    now: str


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """Neighbouring partitions of which the same is true, both ends inclusive.

    `state` and `also` are indices of `ProjectDocument.states`, `code` is the id of the text that is
    for them now, `built_by` an index of `PartitionsDocument.steps`, -1 if nothing built them.
    `rows` and `bytes` have what was written to each, one number if all are equal, none if unknown.
    """

    low: int
    high: int
    state: int
    also: tuple[int, ...]
    is_pending: bool
    is_drifted: bool
    because: tuple[str, ...]
    version: int | None
    revision: int | None
    code: str
    built_by: int
    rows: tuple[int, ...]
    bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MappedRange:
    """Partitions from `low` to `high`, and those of an input that each of them reads.

    Each reads from `first` to `last`; if it `moves`, the partition n above `low` reads those n
    above both.
    """

    low: int
    high: int
    first: int
    last: int
    moves: bool


@dataclass(frozen=True, slots=True)
class PartitionMapping:
    """What partitions of a model read of an input with partitions; no ranges for all of it."""

    node: str
    ranges: tuple[MappedRange, ...]


@dataclass(frozen=True, slots=True)
class PartitionsDocument:
    """`data/partitions-N.js`: the partitions of one model, as ranges in ascending order.

    `grain` is `hour`, `day`, `week`, `month`, `year`, `range`, or `*` for the whole table.
    Positions count: hours and days from 1970-01-01; weeks from Monday, 1970-01-05; months as
    year * 12 + month - 1; years from 0; of a `range`, position p is
    [start + p * width, start + (p + 1) * width).
    """

    name: str
    grain: str
    start: int
    width: int
    ranges: tuple[PartitionRange, ...]
    steps: tuple[BuiltBy, ...]
    mappings: tuple[PartitionMapping, ...]
