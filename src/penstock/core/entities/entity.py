"""Entities: a bronze place, a fixed pipeline and a silver table, as values.

The terms are those of docs/entities.md: a slice is one file or one folder of files, read once and
as a whole; the final name of a column is its name in the silver table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from penstock.core.entities.reading import BadRecords, Events, Reading
from penstock.core.entities.slices import Ordering
from penstock.core.entities.transformations import Transformation
from penstock.core.findings import Location
from penstock.core.history import Retention
from penstock.core.names import TableName
from penstock.core.strategy import OnSchemaChange

NOWHERE = Location("")
_LEFT_OUT = re.compile(r"[\s+,\-.;{}()=]")


@lru_cache(10_000)  # asked for many times of each column
def normalised(name: str) -> str:
    """Return a column's name in a silver table: without blanks and characters that Delta refuses.

    >>> normalised("Order Date"), normalised("a.b"), normalised("a/b"), normalised(" - ")
    ('OrderDate', 'ab', 'a/b', '')
    """
    return _LEFT_OUT.sub("", name)


class ProcessType(StrEnum):
    """How the rows of a slice reach the silver table."""

    FULL = "full"
    MERGE = "merge"
    HISTORIC = "historic"


class FieldRole(StrEnum):
    """The role of a column."""

    BUSINESS_KEY = "businesskey"
    PARTITION = "partition"
    CALCULATED = "calculated"


class HashKind(StrEnum):
    """How the source hash is computed from a row's text."""

    SHA256 = "sha256"
    XXHASH64 = "xxhash64"


class LastSeen(StrEnum):
    """When the last-seen time of an unchanged row is updated."""

    EVERY_RUN = "every_run"
    ON_CHANGE = "on_change"


@dataclass(frozen=True, slots=True)
class EntityColumn:
    """An entity's declaration of one column; `name` is that in the slice, "" for a new column.

    `type` is Spark's short spelling, "" if the slice decides. `expression` makes it calculated. For
    an expression, `reads` are the column names in it, as written; `literal` is its value as text if
    it is a literal. `volatile` are functions whose result differs between runs, including those of
    columns that it reads, and `transformations` those in transformations. `where` is its place.
    """

    name: str
    newname: str = ""
    type: str = ""
    roles: frozenset[FieldRole] = frozenset()
    expression: str = ""
    reads: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    literal: str = ""
    where: Location = field(default=NOWHERE, compare=False)

    @property
    def final_name(self) -> str:
        """The name of the column in the silver table: renamed, then normalised."""
        return normalised(self.newname or self.name)

    @property
    def made_name(self) -> str:
        """The name it has until it is renamed."""
        return self.name or self.newname

    @property
    def is_calculated(self) -> bool:
        """Whether it has an expression."""
        return bool(self.expression)


@dataclass(frozen=True, slots=True)
class WatermarkEntry:
    """A column with a watermark; `column` is a final name.

    `expression` is a template over the watermark, without the quotes around it. `operation` (`and`,
    `or`) joins it to the previous entry in its group; for the first entry, to the previous group.
    """

    column: str
    operation: str = "and"
    group: int = 0
    expression: str = "${last_value}"
    where: Location = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class RunText:
    """A text that may contain the day of a run: `text`, then the rendered `template`.

    Without `today`, everything is in `text`, which contains no template.
    """

    text: str
    template: str = ""

    def __str__(self) -> str:
        """Return both parts as users know them."""
        return self.text + self.template


@dataclass(frozen=True, slots=True)
class Slices:
    """A folder in which every match of `pattern` is one slice."""

    path: RunText
    pattern: str = "*.parquet"
    ordering: Ordering = Ordering()

    def __str__(self) -> str:
        """Return what is read, and how."""
        order = f", order {self.ordering}" if self.ordering.is_chosen else ""
        return f"{self.path}, slices {self.pattern}{order}"


@dataclass(frozen=True, slots=True)
class WholeFolder:
    """A folder that is read as one dataset; its path is the same every day."""

    path: RunText

    def __str__(self) -> str:
        """Return what is read, and how."""
        return f"{self.path}, read whole"


@dataclass(frozen=True, slots=True)
class WholeTable:
    """A table that is read as one dataset, by its full name, which is the same every day."""

    name: RunText

    def __str__(self) -> str:
        """Return what is read."""
        return f"table {self.name}"


Bronze = Slices | WholeFolder | WholeTable


@dataclass(frozen=True, slots=True)
class EntitySettings:
    """The settings of an entity; `layout` and `retention` are those of history tables.

    `reading` is how records become rows, `events` which of them are changes.
    """

    delete_missing: bool = False
    allow_empty: bool = False
    allow_empty_delete: bool = False
    require_success: bool = False
    hash: HashKind = HashKind.SHA256
    last_seen: LastSeen = LastSeen.EVERY_RUN
    on_schema_change: OnSchemaChange = OnSchemaChange.APPEND
    table_properties: Mapping[str, str] = field(default_factory=dict)
    layout: str = ""
    retention: Retention | None = None
    reading: Reading = Reading()
    events: Events = Events()


@dataclass(frozen=True, slots=True)
class EntityScope:
    """The rows of a table that belong to an entity: those whose `column` equals the literal.

    `literal` is SQL as written in the project; two spellings of one value are two literals.
    """

    column: str
    literal: str


@dataclass(frozen=True, slots=True)
class SystemNames:
    """The names of the columns that penstock adds to a silver table.

    >>> SystemNames("dlf_").source_hash, SystemNames("").last_seen
    ('dlf_SourceHash', 'lastSeen')
    """

    prefix: str = ""

    def __call__(self, word: str) -> str:
        """Return a word with the prefix."""
        return self.prefix + word

    @property
    def source_hash(self) -> str:
        """The hash that detects changed rows."""
        return self("SourceHash")

    @property
    def valid_from(self) -> str:
        """The start of a version of a row."""
        return self("ValidFrom")

    @property
    def valid_to(self) -> str:
        """The end of a version of a row."""
        return self("ValidTo")

    @property
    def is_current(self) -> str:
        """Whether a version is current."""
        return self("IsCurrent")

    @property
    def filename(self) -> str:
        """The slice of a row."""
        return self("source_filename")

    @property
    def metadata(self) -> str:
        """Metadata of a slice; never hashed."""
        return self("metadata")

    @property
    def deleted(self) -> str:
        """The delete flag."""
        return self("deleted")

    @property
    def last_seen(self) -> str:
        """When a step last saw a row."""
        return self("lastSeen")


@dataclass(frozen=True, slots=True)
class EntityEnvironment:
    """A document's settings for the location of its entities; `root` is absolute, or a URI."""

    name: str = ""
    root: str = ""
    timezone: str = "UTC"
    prefix: str = ""
    log_level: str = "WARN"
    log_appender_type: str = ""
    log_output: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity with every setting resolved.

    `model` is its unique name: its silver table, with `@id` if the table is shared. `table` is the
    table, in the folder `path` if it is outside the warehouse and the catalog. `connection` is ""
    if it has none. `names` are the values for templates, beside the day. `where` is the place of
    its name in the file.
    """

    name: str
    model: str
    table: TableName
    process: ProcessType
    bronze: Bronze
    where: Location = field(compare=False)
    path: str = ""
    id: int | None = None
    connection: str = ""
    destination: str = ""
    group: str = ""
    connection_group: str = ""
    enabled: bool = True
    secure: bool = False
    prefix: str = ""
    timezone: str = "UTC"
    columns: tuple[EntityColumn, ...] = ()
    watermark: tuple[WatermarkEntry, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    settings: EntitySettings = EntitySettings()
    scope: EntityScope | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def business_keys(self) -> tuple[str, ...]:
        """The final names of the columns that identify its rows, in order."""
        return self._with(FieldRole.BUSINESS_KEY)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The final names of the partition columns of its table, in order."""
        return self._with(FieldRole.PARTITION)

    def _with(self, role: FieldRole) -> tuple[str, ...]:
        return tuple(each.final_name for each in self.columns if role in each.roles)

    @property
    def volatile(self) -> frozenset[str]:
        """The final names, in lower case, of columns that differ between runs."""
        finals = {each.made_name.lower(): each.final_name for each in self.columns}
        made = (name for each in self.transformations for name in each.volatile)
        found = [finals.get(name.lower(), normalised(name)) for name in made]
        found += [each.final_name for each in self.columns if each.volatile]
        return frozenset(name.lower() for name in found)

    @property
    def system(self) -> SystemNames:
        """The names of the columns that penstock adds."""
        return SystemNames(self.prefix)

    @property
    def key_column(self) -> str:
        """The column that holds the digest of the business keys, "" without any."""
        return f"PK_{normalised(self.destination)}" if self.business_keys else ""

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns of its table that no slice has."""
        own = self.system
        return (own.source_hash, own.filename, own.deleted, own.last_seen, self.key_column)

    @property
    def keeps_bad_records(self) -> bool:
        """Whether records that do not fit are kept beside the table."""
        return self.settings.reading.bad_records is BadRecords.QUARANTINE

    @property
    def infers_deletes(self) -> bool:
        """Whether rows that are missing in a slice may count as deleted."""
        return self.settings.delete_missing and self.process is not ProcessType.FULL
