"""The ports: what `app` needs from external systems, small enough to fake.

Every port has one contract suite in tests/contracts that runs over each implementation.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from penstock.core.check_results import CheckRecords
from penstock.core.entities.slices import BronzeFolder, ListedSlice
from penstock.core.facts import AddedFile, Head, Listing, LogCommit, Seen, TableFacts, Touched
from penstock.core.model import Fingerprint, Source
from penstock.core.partitions.partition import Span
from penstock.core.ports.runs import HookRecords, Journal, Leases, RunRecords
from penstock.core.ports.sessions import PackageRecords
from penstock.core.query import TemplateRows
from penstock.core.records import (
    Execution,
    ModelRecord,
    PartitionRun,
    PartitionsRecord,
    SliceRecord,
    SliceSkip,
    Status,
    StepRecord,
    WatermarkChange,
)
from penstock.core.steps.inputs import Pin
from penstock.core.steps.step import Intent, Outcome, PartitionRows

Fault = Callable[[str], None]
"""Called with the name of each point that a step reaches; tests end the process there."""


def inert(point: str) -> None:
    """Do nothing at any point."""


class Clock(Protocol):
    """Time and fresh ids; the only source of both."""

    def now(self) -> dt.datetime:
        """Return the current time in UTC, with microseconds."""

    def new_id(self) -> str:
        """Return a UUIDv7: ids sort by creation time."""


class Log(Protocol):
    """Reads facts of tables and files without Spark. A missing table is None, never an error."""

    def head(self, uri: str, hint: int | None = None) -> Head | None:
        """Return the newest version and whose step made it.

        `hint` is a version that existed once: the search starts above it, so a long log costs no
        more. If that version is gone, the result is the same and takes longer.
        """

    def facts(
        self,
        uri: str,
        *,
        counts: bool = False,
        hint: int | None = None,
        version: int | None = None,
    ) -> TableFacts | None:
        """Return the current state of the table; `counts` adds rows and bytes.

        `hint` is a version that it had, from which the newest one is found sooner. With a `version`
        return the state then, None if the log no longer contains it.
        """

    def commits(self, uri: str, after: int, *, partial: bool = False) -> tuple[LogCommit, ...]:
        """Return the commits above a version, oldest first; raise `log-gap` if some are gone.

        With `partial`, return the remaining ones: Delta's log retention removes old commits.
        """

    def transaction(self, uri: str, application: str) -> int:
        """Return the greatest number that Delta holds for an application; 0 if it holds none."""

    def is_cluttered(self, uri: str) -> bool:
        """Return whether a folder contains files but no Delta table."""

    def added(self, uri: str, after: int, upto: int) -> tuple[AddedFile, ...] | None:
        """Return the files appended in versions (after, upto]; None if rows were rewritten."""

    def spans(self, uri: str, version: int, column: str) -> tuple[AddedFile, ...] | None:
        """Return the files of a version with their row counts and the bounds of one time column.

        None if the log does not contain all of that.
        """

    def partitions(self, uri: str) -> list[dict[str, str | None]]:
        """Return the values of all partitions with rows, sorted; empty without partitions."""

    def listing(self, source: Source) -> Listing:
        """List the files of a source; raise `source-missing` if its path does not exist."""

    def slices(self, folder: BronzeFolder) -> tuple[ListedSlice, ...]:
        """List the slices of a bronze folder, sorted by the code points of their names.

        Raises `bronze-missing`, `bronze-unreadable`, and `bronze-is-delta` for a Delta table in it.
        """

    def unmatched(self, folder: BronzeFolder) -> tuple[str, ...]:
        """List files that belong to no slice, at most 1,000, by the code points of their paths.

        Folders beside slices are not searched; if there are no slices, all folders are.
        """

    def file_problem(self, path: str) -> str:
        """Return why a file is not Parquet, from its first and last bytes; "" if it looks valid."""


class Fences(Protocol):
    """Prevents late commits of a step, without Spark."""

    def fence(self, uri: str, application: str, number: int, token: str) -> bool:
        """Make Delta hold the number of the application, by an empty commit if needed.

        Afterwards statements with that pair are skipped or refused. Returns False without a table.
        Raises `cannot-fence` for a table whose log only its catalog may write.
        """


class Places(Protocol):
    """Where rows of a table are or changed, by the values of columns; read from its log alone.

    `columns` maps each column to its Spark type.
    """

    def touched(
        self,
        uri: str,
        after: int,
        columns: Mapping[str, str],
        *,
        upto: int | None = None,
        partial: bool = False,
    ) -> tuple[Touched, ...]:
        """Return the commits above a version that changed rows, oldest first.

        With `upto`, an existing version, the newest is not searched for. Columns are those of the
        newest version; letter case does not matter. A commit that replaced the table by another one
        may have changed any row, even of an empty table. Raises `log-gap` if some commits are gone;
        with `partial`, returns the remaining ones.
        """

    def readable(self, uri: str, versions: Iterable[int]) -> frozenset[int]:
        """Return the versions that can be read: VACUUM removes files of old ones."""

    def written(
        self, uri: str, version: int, column: str, kind: str
    ) -> Mapping[int, PartitionRows] | None:
        """Return rows and bytes of the files that a commit added, by the position of their value.

        `PartitionRows.ord` is that position. None for a table that is not partitioned by the
        column; raises `log-gap`.
        """

    def lying(self, uri: str, column: str, kind: str) -> tuple[Span, ...]:
        """Return where the live files may hold rows, without those hidden by deletion vectors."""

    def features(self, uri: str, version: int | None = None) -> frozenset[str]:
        """Return the table features that reading a version needs; may raise `log-gap`."""

    def missing_files(self, uri: str, version: int) -> int:
        """Return how many files of a version no longer exist; raise `log-gap`."""


class Folders(Protocol):
    """Folders that penstock creates beside the tables: staged files and quarantines. No JVM."""

    def names(self, uri: str) -> tuple[str, ...]:
        """Return the names of the folders in a folder, sorted; empty if it does not exist."""

    def drop(self, uri: str) -> None:
        """Remove a folder with its contents; do nothing if it does not exist."""


class PartitionRecords(Protocol):
    """Reads the records of partitions, in groups and runs."""

    def partitions(self) -> Mapping[str, PartitionsRecord]:
        """Return the groups of every model with partitions, never single rows."""

    def fingerprints(self) -> Mapping[int, Fingerprint]:
        """Return the fingerprints that groups and runs refer to by number."""

    def runs(self, *models: str) -> Mapping[str, tuple[PartitionRun, ...]]:
        """Return the partitions of each model; neighbours with the same record form one run."""

    def step_pins(self, *models: str) -> Mapping[str, Mapping[int, Mapping[str, Pin]]]:
        """Return the pins of the steps that built each model's current partitions."""


class Notes(Protocol):
    """What was read of Delta logs: a cache, and the only copy of commits that logs have lost."""

    def seen_tables(self) -> Mapping[str, Seen]:
        """Return the recorded tables, by the names under which they were recorded."""

    def touched(self, after: Mapping[str, int]) -> Mapping[str, tuple[Touched, ...]]:
        """Return, by table, the recorded commits above a version each, oldest first, if any."""

    def note(self, table: Seen, commits: Sequence[Touched]) -> None:
        """Record commits of a table and how far its log was read; a new table id starts over."""

    def template_rows(self) -> Mapping[str, TemplateRows]:
        """Return the rows that templates read, by the keys of their queries."""

    def keep_rows(self, rows: Mapping[str, TemplateRows]) -> None:
        """Record rows that templates read, replacing earlier ones."""


class Records(PartitionRecords, Protocol):
    """Reads the records of models, and sets watermarks by hand."""

    def models(self, *names: str) -> Mapping[str, ModelRecord]:
        """Return the record of every model that ever ran, or of the named ones."""

    def texts(self, checksums: Collection[str]) -> Mapping[str, str]:
        """Return stored SQL texts by checksum, without unknown ones."""

    def history(
        self, model: str, limit: int | None, partition: str | None = None
    ) -> tuple[Execution, ...]:
        """Return a model's executions, newest first; of one partition, or of all."""

    def unrecorded(self, commits: Mapping[str, int]) -> frozenset[str]:
        """Return the steps among `commits` that have no record of making their version.

        `commits` maps each step to its version, as read from a log. A running step counts as
        recorded. Reads the current state even inside `one_state`, because logs are current too.
        """

    def steps_of(self, model: str) -> tuple[StepRecord, ...]:
        """Return every finished step of a model, oldest first; for `rollback`."""

    def last_results(self) -> Mapping[str, Status]:
        """Return the result of each model in the last run."""

    def watermark_history(self, model: str) -> tuple[WatermarkChange, ...]:
        """Return every change of a model's watermarks, newest first."""

    def change_watermark(self, change: WatermarkChange) -> None:
        """Append a manual change of a watermark, unless it is recorded already."""


class SliceRecords(Protocol):
    """The state of slices, from the steps that read them and from manual decisions."""

    def recorded(self, model: str) -> tuple[SliceRecord, ...]:
        """Return the known slices of a model, sorted by the code points of their names.

        The last successful step of a slice determines its state, otherwise its last step, because a
        failed attempt removes no rows. Steps that a rollback undid, or before the last rebuild, do
        not count. A skip counts if no later step began and none succeeded.
        """
        ...

    def recorded_of(self, models: Sequence[str]) -> Mapping[str, tuple[SliceRecord, ...]]:
        """Return the same for many models; models without known slices may be missing."""
        ...

    def skip(self, skip: SliceSkip) -> None:
        """Append a manual decision about a slice."""


@dataclass(frozen=True, slots=True)
class RebuiltStep:
    """A step as read from a table's log, for `state rebuild`."""

    intent: Intent
    outcome: Outcome
    ended: dt.datetime
    new_table: bool = False  # another table than the one on record


class Archive(Protocol):
    """The store as one document, and the store's own identity."""

    def store_id(self) -> str:
        """Return the id that this database got when it was created."""

    def epoch(self) -> str:
        """Return the epoch: an id that is replaced when the store may have lost records."""

    def export(self) -> str:
        """Return the whole store as one JSON document."""

    def load(self, document: str) -> None:
        """Replace the store by an exported document in one transaction; a new epoch begins."""

    def rebuild(self, steps: Sequence[RebuiltStep]) -> None:
        """Write steps that exist only in the logs, oldest first; a new epoch begins.

        Steps that are running, or recorded with their commit, stay unchanged. A FAILED step whose
        commit is in the log is written again.
        """


class Store(Protocol):
    """The state store of one target of one project."""

    @property
    def journal(self) -> Journal:
        """Records of running steps."""

    @property
    def records(self) -> Records:
        """Records that decisions are based on."""

    @property
    def runs(self) -> RunRecords:
        """Runs and steps, in bulk."""

    @property
    def hooks(self) -> HookRecords:
        """Hooks that are to run, and how they ended."""

    @property
    def slices(self) -> SliceRecords:
        """The state of slices."""

    @property
    def leases(self) -> Leases:
        """Who may write which target."""

    @property
    def checks(self) -> CheckRecords:
        """Recorded check results."""

    @property
    def notes(self) -> Notes:
        """What was read of Delta logs."""

    @property
    def sessions(self) -> PackageRecords:
        """Records of session packages."""

    @property
    def archive(self) -> Archive:
        """The whole store as one document."""

    def one_state(self) -> AbstractContextManager[None]:
        """Make all reads of this thread see one state of the store until the block ends."""

    def close(self) -> None:
        """Close the database."""
