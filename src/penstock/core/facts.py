"""What is true of a table or of files now, read without Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.columns.schema import Schema
from penstock.core.partitions.partition import Span
from penstock.core.steps.inputs import DeltaPin, FilesPin


@dataclass(frozen=True, slots=True)
class LogCommit:
    """One entry of a Delta log. `step` is the penstock step that made it, "" if none did.

    `store` is the id of the state store whose step it was. `changes_data` is whether any file
    was added or removed as a change of rows: OPTIMIZE, VACUUM and property changes are not.
    `metrics` are Delta's own, and those of the token. `table_id` is set by commits that create or
    replace the table. `row_change` is how many rows
    more the table holds after it, by the statistics of its files; None where they do not tell.
    `read_version` is the version that its writer had read, `overwrites` whether it took the place
    of all rows there, and `restored` the version that a RESTORE brought back; None if not known.
    """

    version: int
    time: dt.datetime
    operation: str
    changes_data: bool
    step: str = ""
    store: str = ""
    user: str = ""
    metrics: Mapping[str, int] = field(default_factory=dict)
    token: str = ""
    table_id: str = ""
    row_change: int | None = None
    read_version: int | None = None
    overwrites: bool = False
    restored: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a log, cheap to read: enough to see that nothing happened."""

    version: int
    step: str


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A Delta table as its log describes it at `version`."""

    table_id: str
    version: int
    schema: Schema
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    rows: int | None = None
    size_bytes: int | None = None

    @property
    def pin(self) -> DeltaPin:
        """The pin of this version."""
        return DeltaPin(self.table_id, self.version)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files under a path, relative names sorted, as one version of a file source."""

    pin: FilesPin
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file that an append added, with its rows, its columns' bounds and NULLs as the log says.

    Bounds of timestamps and long texts are cut in the log: only below `minimum` and above
    `maximum` of whole numbers and dates is certainly nothing.
    """

    path: str
    minimum: Mapping[str, str] = field(default_factory=dict)
    maximum: Mapping[str, str] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0

    def ends_before(self, column: str, time: dt.datetime) -> bool:
        """Whether no time of a column is later; the log cuts them to milliseconds."""
        end = _time(self.maximum.get(column))
        return end is not None and end + dt.timedelta(milliseconds=1) <= time

    def begins_after(self, column: str, time: dt.datetime) -> bool:
        """Whether all times of a column are later."""
        start = _time(self.minimum.get(column))
        return start is not None and start > time


def _time(text: str | None) -> dt.datetime | None:
    found = dt.datetime.fromisoformat(text) if text else None
    return found.replace(tzinfo=dt.UTC) if found and found.tzinfo is None else found


@dataclass(frozen=True, slots=True)
class Touched:
    """A commit that changed rows, and where: `spans` are positions by column, rising and apart.

    A column that is missing, or None, means that any row may have changed. More may be told than
    was changed, never less. `step` is the penstock step that made it, "" if none did, `store` the
    state store whose step it was.
    """

    version: int
    time: dt.datetime
    operation: str
    step: str = ""
    store: str = ""
    user: str = ""
    spans: Mapping[str, tuple[Span, ...] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was noted of a table: its id, and up to which version its log was read.

    `foreign` is the greatest version noted that no step of this store made and that changed rows,
    None if there is none.
    """

    name: str
    table_id: str
    version: int
    foreign: int | None = None
