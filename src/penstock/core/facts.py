"""The current state of a table or of files, read without Spark."""

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

    `store` is the id of that step's state store. `changes_data` is whether any file was added or
    removed as a change of rows; OPTIMIZE, VACUUM and property changes are not changes of rows.
    `metrics` are those of Delta and of the token. `table_id` is set by commits that create or
    replace the table. `row_change` is the difference in the number of rows, from the statistics of
    its files; None if they are missing. `read_version` is the version that the writer had read,
    `overwrites` whether it replaced all rows, and `restored` the version that a RESTORE restored;
    None if unknown. `cloned` are the folder and the version that a CLONE copied.
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
    cloned: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a log, cheap to read: enough to see that nothing changed."""

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
        """The pin for this version."""
        return DeltaPin(self.table_id, self.version)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files under a path, sorted by relative name, as one version of a file source.

    `changed` is when the newest of them was written, None without any.
    """

    pin: FilesPin
    files: tuple[str, ...]
    changed: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file that an append added, with its rows, and the bounds and NULLs of columns from the log.

    The log truncates bounds of timestamps and long texts: only for whole numbers and dates is it
    certain that no value is below `minimum` or above `maximum`.
    """

    path: str
    minimum: Mapping[str, str] = field(default_factory=dict)
    maximum: Mapping[str, str] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0

    def end(self, column: str) -> dt.datetime | None:
        """Return the latest time of a column, truncated to milliseconds; None if unknown."""
        return _time(self.maximum.get(column))

    def ends_before(self, column: str, time: dt.datetime) -> bool:
        """Return whether no time of a column is later; the log truncates to milliseconds."""
        end = self.end(column)
        return end is not None and end + dt.timedelta(milliseconds=1) <= time

    def begins_after(self, column: str, time: dt.datetime) -> bool:
        """Return whether all times of a column are later."""
        start = _time(self.minimum.get(column))
        return start is not None and start > time


def _time(text: str | None) -> dt.datetime | None:
    found = dt.datetime.fromisoformat(text) if text else None
    return found.replace(tzinfo=dt.UTC) if found and found.tzinfo is None else found


@dataclass(frozen=True, slots=True)
class Touched:
    """A commit that changed rows, and where: `spans` are positions by column, ascending, disjoint.

    If a column is missing or None, any row may have changed. The spans may cover more than changed,
    never less. `step` is the penstock step that made the commit, "" if none did, `store` its state
    store.
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
    """What is recorded of a table's log: the table id, and the last version that was read.

    `foreign` is the greatest recorded version that changed rows without a step of this store, None
    without any.
    """

    name: str
    table_id: str
    version: int
    foreign: int | None = None
