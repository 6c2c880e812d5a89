"""The content of one versioned YAML file, and the rules between its parts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as made  # a draft has a field of its own
from itertools import chain, pairwise

from penstock.core.columns.types import (
    ArrayType,
    ColumnType,
    MapType,
    ScalarType,
    StructType,
    widens,
)
from penstock.core.findings import Finding, Location, Severity
from penstock.core.partitions import calendar
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.strategy import DELETION_VECTORS, Layout, PartitionSettings
from penstock.project.checks.phases import NONE, Phases
from penstock.project.files.references import SqlText
from penstock.project.files.values import Plain, did_you_mean, shown_type
from penstock.project.settings.strategy import CLUSTERED, laid_out
from penstock.project.versioned.schema import SchemaField, find_field
from penstock.project.versioned.sections import DatedSection, DestinationSection, VersionedSection

_UNDECLARED = {"HOUR": "timestamp", "RANGE": "bigint"}


@dataclass(frozen=True, slots=True)
class GivenRevision:
    """A revision of a version, or with number 0 the version itself."""

    section: DatedSection
    number: int
    effective_from: dt.date
    sql: SqlText
    backfill_since: dt.date | None = None

    @property
    def dated(self) -> Location:
        """The place of its date."""
        return self.section.place("effective_from")


@dataclass(frozen=True, slots=True)
class GivenVersion:
    """A version; `fields` are empty if no schema is declared, and None if it is broken."""

    number: int
    own: GivenRevision
    fields: tuple[SchemaField, ...] | None
    revisions: tuple[GivenRevision, ...] = ()
    checks: Phases = NONE

    @property
    def effective_from(self) -> dt.date:
        """The first partition date it applies to."""
        return self.own.effective_from

    @property
    def declared(self) -> Location:
        """The place of its schema."""
        return self.own.section.place("schema")

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"v{self.number}"


@dataclass(slots=True)
class VersionedDraft:
    """A versioned model with the content of its own files; `grid` is how it is partitioned."""

    path: str
    section: VersionedSection
    where: Location
    destination: DestinationSection
    grid: Grid = Grid()
    versions: tuple[GivenVersion, ...] = ()
    word: str = "table"
    start: dt.date | None = None
    settings: dict[str, Plain] = made(default_factory=dict)
    yaml: str = ""

    @property
    def field(self) -> str:
        """The partition field, "" for an unpartitioned table."""
        return self.destination.partition.field if self.destination.partition else ""

    @property
    def newest(self) -> GivenVersion | None:
        """The version with the greatest `effective_from`."""
        return max(self.versions, key=lambda version: version.effective_from, default=None)

    @property
    def field_type(self) -> str:
        """The Spark type of the partition field in the newest version that declares it."""
        for version in sorted(self.versions, key=lambda v: v.effective_from, reverse=True):
            found = find_field(version.fields or (), self.field)
            if found:
                return str(found.type)
        return _UNDECLARED.get(self.grid.grain, "date")

    @property
    def partition(self) -> PartitionSettings | None:
        """How it is partitioned."""
        if self.word != "partition" or not self.field:
            return None
        said = self.section
        timing = (self.start, said.ready_after, said.batch_size, said.lookback)
        return PartitionSettings(self.field, self.field_type, self.grid, *timing)

    @property
    def lies(self) -> Layout:
        """The layout of the table on disk."""
        to = self.destination
        if self.word == "view":
            return Layout()
        vectors = to.deletion_vectors
        properties = {} if vectors is None else {DELETION_VECTORS: str(vectors).lower()}
        if not self.field:
            return Layout(cluster_by=to.cluster[:CLUSTERED], properties=properties)
        partition = PartitionSettings(self.field, self.field_type, self.grid)
        return laid_out(partition, to.cluster, to.layout, properties)


_TIMES = ("timestamp", "timestamp_ntz")
_DAYS = ("date", *_TIMES)
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


def check_rules(draft: VersionedDraft) -> None:
    """Report contradictions; a field that versions share is one finding."""
    parts = (_dates(draft.versions), _boundaries(draft), _fields(draft), _changes(draft.versions))
    draft.section.findings += chain.from_iterable(parts)


def grows(old: ColumnType, new: ColumnType) -> bool:
    """Return whether every old value is valid in the new type, ignoring removed fields."""
    match old, new:
        case ScalarType(one), ScalarType(other):
            return one == other or widens(one, other)
        case ArrayType(), ArrayType():
            return grows(old.element, new.element)
        case MapType(), MapType():
            return grows(old.key, new.key) and grows(old.value, new.value)
        case StructType(), StructType():
            both = ((each, new.find(each.name)) for each in old.fields)
            return all(grows(each.type, now.type) for each, now in both if now)
    return False


def _dates(versions: tuple[GivenVersion, ...]) -> Iterator[Finding]:
    seen: dict[dt.date, GivenVersion] = {}
    for version in versions:
        first = seen.setdefault(version.effective_from, version)
        if first is not version:
            both = f"versions {first.number} and {version.number}"
            sentence = f"{both} are both effective from {version.effective_from}"
            hint = "a repair of a version is a revision: sql_revisions"
            yield Finding(version.own.dated, "duplicate-effective-from", sentence, hint)
        for each in version.revisions:
            if each.effective_from < version.effective_from:
                label = f"{version.label}.r{each.number}"
                yield _early("revision-before-version", label, each, version)
    for one, two in pairwise(sorted(versions, key=lambda version: version.number)):
        if two.effective_from < one.effective_from:
            yield _early("version-order", two.label, two.own, one)


def _early(code: str, label: str, item: GivenRevision, other: GivenVersion) -> Finding:
    before = f"before {other.label} ({other.effective_from})"
    sentence = f"{label} is effective from {item.effective_from}, {before}"
    return Finding(item.dated, code, sentence, severity=Severity.WARNING)


def _boundaries(draft: VersionedDraft) -> Iterator[Finding]:
    grid = draft.grid
    if grid.grain not in (Grain.WEEK, Grain.MONTH, Grain.YEAR):
        return
    previous = ""
    for version in sorted(draft.versions, key=lambda each: each.effective_from):
        start = version.effective_from
        number = grid.at(calendar.day_number(start.year, start.month, start.day) * calendar.DAY)
        if grid.date(number) != start:
            kept = f"keeps {previous}" if previous else "has no version"
            key = f"{grid.grain} partition {grid.key(number)}"
            sentence = f"{version.label} starts on {start}; {key} {kept}"
            code = "version-inside-partition"
            yield Finding(version.own.dated, code, sentence, severity=Severity.WARNING)
        previous = version.label


def _fields(draft: VersionedDraft) -> Iterator[Finding]:
    typed: set[Location] = set()
    for version in (each for each in draft.versions if each.fields):
        fields = version.fields or ()
        names = [each.name for each in fields]
        found = find_field(fields, draft.field)
        if found and found.where not in typed:
            typed.add(found.where)
            yield from _field_type(version, found, draft.grid.grain)
        elif draft.field and not found:
            sentence = f'{version.label}: partition field "{draft.field}" is not in the schema'
            hint = did_you_mean(draft.field, names)
            yield Finding(version.declared, "partition-field-missing", sentence, hint)
        for column in draft.destination.cluster:
            if not find_field(fields, column):
                sentence = f'{version.label}: cluster column "{column}" is not in the schema'
                hint = did_you_mean(column, names)
                yield Finding(version.declared, "cluster-field-missing", sentence, hint)


def _field_type(version: GivenVersion, field: SchemaField, grain: Grain) -> Iterator[Finding]:
    allowed = {Grain.HOUR: _TIMES, Grain.RANGE: _INTEGERS}.get(grain, _DAYS)
    if str(field.type) in allowed or grain is Grain.WHOLE:
        return
    *first, last = (name.upper() for name in allowed)
    is_now = f'"{field.name}" is {shown_type(field.type)}'
    sentence = f"{version.label}: {grain} needs {', '.join(first)} or {last}; {is_now}"
    yield Finding(field.where, "partition-type-mismatch", sentence)


def _changes(versions: tuple[GivenVersion, ...]) -> Iterator[Finding]:
    declared = [version for version in versions if version.fields]
    for old, new in pairwise(sorted(declared, key=lambda version: version.effective_from)):
        for was in old.fields or ():
            now = find_field(new.fields or (), was.name)
            warning = Severity.WARNING
            if now is None:
                sentence = f'{new.label}: "{was.name}" is gone; {old.label} has it'
                hint = "rows of this version have NULL there"
                yield Finding(new.declared, "column-removed", sentence, hint, warning)
            elif not grows(was.type, now.type):
                change = f"from {shown_type(was.type)} to {shown_type(now.type)}"
                sentence = f'{new.label}: "{now.name}" changes {change} (breaking)'
                hint = "the table is rewritten, with --allow-breaking"
                yield Finding(now.where, "column-type-changed", sentence, hint, warning)
