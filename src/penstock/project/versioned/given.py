"""What one versioned YAML file says, read and checked, before names of other files are known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as made  # a destination has a field of its own

from penstock.core.findings import Finding, Location
from penstock.core.partitions.partition import Grid
from penstock.core.strategy import Layout, PartitionSettings
from penstock.project.checks.phases import NONE, Phases
from penstock.project.files.nodes import YamlNode
from penstock.project.files.references import SqlText
from penstock.project.files.values import Plain
from penstock.project.settings.strategy import CLUSTERED, laid_out
from penstock.project.versioned.fields import SchemaField, find_field

_UNDECLARED = {"HOUR": "timestamp", "RANGE": "bigint"}


@dataclass(frozen=True, slots=True)
class GivenRevision:
    """A revision of a version, or with number 0 the version itself."""

    number: int
    where: Location
    effective_from: dt.date
    dated: Location
    sql: SqlText
    backfill_since: dt.date | None = None
    description: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GivenVersion:
    """A version; `fields` are none where no schema is declared, and None where it is broken."""

    number: int
    own: GivenRevision
    fields: tuple[SchemaField, ...] | None
    declared: Location
    revisions: tuple[GivenRevision, ...] = ()
    checks: Phases = NONE

    @property
    def effective_from(self) -> dt.date:
        """The first partition date it is for."""
        return self.own.effective_from

    @property
    def label(self) -> str:
        """Its name in sentences."""
        return f"v{self.number}"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the rows go; `field` is "" for a table that is one partition.

    `places` tells where `field`, `type` and `cluster` stand.
    """

    dataset: str = ""
    table: str = ""
    field: str = ""
    grid: Grid = Grid()
    cluster: tuple[str, ...] = ()
    layout: str = "auto"
    places: Mapping[str, Location] = made(default_factory=dict)


@dataclass(slots=True)
class VersionedDraft:
    """A versioned model with everything that its own files say."""

    path: str
    where: Location
    name: str = ""
    destination: Destination = Destination()
    versions: tuple[GivenVersion, ...] = ()
    word: str = "table"
    start: dt.date | None = None
    ready_after: dt.timedelta | None = None
    batch_size: int | None = None
    immutable: bool | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    settings: dict[str, Plain] = made(default_factory=dict)
    depends_on: tuple[YamlNode, ...] = ()
    yaml: str = ""
    findings: list[Finding] = made(default_factory=list)

    @property
    def newest(self) -> GivenVersion | None:
        """The version with the greatest `effective_from`."""
        return max(self.versions, key=lambda version: version.effective_from, default=None)

    @property
    def field_type(self) -> str:
        """The Spark type of the partition field in the newest version that declares it."""
        for version in sorted(self.versions, key=lambda v: v.effective_from, reverse=True):
            found = find_field(version.fields or (), self.destination.field)
            if found:
                return str(found.type)
        return _UNDECLARED.get(self.destination.grid.grain, "date")

    @property
    def partition(self) -> PartitionSettings | None:
        """How it is cut into partitions."""
        if self.word != "partition" or not self.destination.field:
            return None
        return PartitionSettings(
            self.destination.field,
            self.field_type,
            self.destination.grid,
            self.start,
            self.ready_after,
            self.batch_size,
        )

    @property
    def lies(self) -> Layout:
        """How the table lies on disk."""
        field, cluster = self.destination.field, self.destination.cluster
        if self.word == "view":
            return Layout()
        if not field:
            return Layout(cluster_by=cluster[:CLUSTERED])
        partition = PartitionSettings(field, self.field_type, self.destination.grid)
        return laid_out(partition, cluster, self.destination.layout, {})
