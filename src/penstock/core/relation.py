"""Relations: what a step's session must be able to read, under which view name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.names import InputName
from penstock.core.window import Window


@dataclass(frozen=True, slots=True)
class DeltaRead:
    """The Delta table in a folder; without a version the newest is read.

    `tombstones` is the column that marks deleted keys in a history table that has it.
    """

    uri: str
    version: int | None = None
    tombstones: str = ""


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Files that were listed when the step was planned.

    `columns` are the names and types that the source declares; other columns stay as they are
    read. CSV files without a header have exactly the declared columns.
    """

    format: str
    root: str
    files: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class QueryRead:
    """A query over relations that come before this one: a view model, inlined."""

    sql: str


@dataclass(frozen=True, slots=True)
class CatalogRead:
    """A table that Spark finds by name and penstock does not pin."""

    name: str


Read = DeltaRead | FilesRead | QueryRead | CatalogRead


@dataclass(frozen=True, slots=True)
class Relation:
    """One input of a step as a temporary view; rows outside the window are not in it."""

    input: InputName
    view: str
    read: Read
    window: Window | None = None
