"""The ports: what `app` needs from the outside, small enough to fake.

Every port has one contract suite in tests/contracts that runs over each implementation.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.core.check_results import CheckJournal, CheckRecords
from penstock.core.entities.slices import BronzeFolder, ListedSlice
from penstock.core.facts import AddedFile, Head, Listing, LogCommit, Seen, TableFacts, Touched
from penstock.core.model import Fingerprint, Source
from penstock.core.partitions.partition import Span
from penstock.core.ports.sessions import PackageRecords
from penstock.core.records import (
    Begun,
    Execution,
    Holder,
    Lease,
    ModelRecord,
    PartitionRun,
    PartitionsRecord,
    Run,
    SliceRecord,
    SliceSkip,
    Status,
    StepRecord,
    WatermarkChange,
)
from penstock.core.steps.inputs import Pin
from penstock.core.steps.step import Intent, Outcome, PartitionRows, StepFailure

if TYPE_CHECKING:
    from penstock.core.check_results import Checked

Fault = Callable[[str], None]
"""Called with the name of each point that a step passes; tests die there."""


def inert(point: str) -> None:
    """Let every point pass."""


class Clock(Protocol):
    """Time and fresh ids; the only source of both."""

    def now(self) -> dt.datetime:
        """Return the time, UTC, with microseconds."""

    def new_id(self) -> str:
        """Return a UUIDv7: ids sort by the time they were made."""


class Log(Protocol):
    """Facts of tables and files without Spark. A missing table is None, never an error."""

    def head(self, uri: str, hint: int | None = None) -> Head | None:
        """Return the newest version and whose step made it.

        `hint` is a version that was there once: looking begins above it, which costs the same
        however long the log is. One that is gone costs a little and changes nothing.
        """

    def facts(self, uri: str, *, counts: bool = False) -> TableFacts | None:
        """Describe the table as it is now; `counts` adds rows and bytes."""

    def commits(self, uri: str, after: int, *, partial: bool = False) -> tuple[LogCommit, ...]:
        """Return the commits above a version, oldest first; `log-gap` if some are gone.

        With `partial` those that are left, because Delta's log retention removes old ones.
        """

    def transaction(self, uri: str, application: str) -> int:
        """Return the greatest number that Delta holds of an application; 0 without one."""

    def is_cluttered(self, uri: str) -> bool:
        """Whether files lie in a folder that is no Delta table."""

    def added(self, uri: str, after: int, upto: int) -> tuple[AddedFile, ...] | None:
        """Return the files appended in versions (after, upto]; None if rows were rewritten."""

    def spans(self, uri: str, version: int, column: str) -> tuple[AddedFile, ...] | None:
        """Return the files of a version with their rows and the bounds of one column of times.

        None where the log does not tell all of that.
        """

    def partitions(self, uri: str) -> list[dict[str, str | None]]:
        """Return the values of every partition that holds rows, sorted; none of a table without."""
        ...

    def listing(self, source: Source) -> Listing:
        """List a file source; `source-missing` if its path is not there."""

    def slices(self, folder: BronzeFolder) -> tuple[ListedSlice, ...]:
        """List the slices of a bronze folder, by the code points of their names.

        Raises `bronze-missing`, `bronze-unreadable`, and `bronze-is-delta` for a Delta table in it.
        """
        ...

    def unmatched(self, folder: BronzeFolder) -> tuple[str, ...]:
        """List files that belong to no slice, by the code points of their paths, at most 1,000.

        Folders beside slices are not searched; if there are no slices, all of them are.
        """
        ...

    def file_problem(self, path: str) -> str:
        """Say why a file is not Parquet, from its first and last bytes; "" if it looks like it."""
        ...


class Fences(Protocol):
    """Making "not committed" stay true, without Spark."""

    def fence(self, uri: str, application: str, number: int, token: str) -> bool:
        """See to it that Delta holds the number of the application, by an empty commit at need.

        Afterwards every statement of that pair is skipped or refused. False where no table is;
        `cannot-fence` for a table whose log only its catalog may write.
        """


class Places(Protocol):
    """Where in a table rows changed or lie, by the values of columns; from its log alone.

    `columns` gives the Spark type by column.
    """

    def touched(
        self, uri: str, after: int, columns: Mapping[str, str], *, partial: bool = False
    ) -> tuple[Touched, ...]:
        """Return the commits above a version that changed rows, oldest first.

        Columns are those of the newest version, in any case of letters. A commit that puts
        another table in the place of the one that was may have changed any row, even if there
        was none. `log-gap` if some commits are gone; with `partial` those that are left.
        """

    def written(
        self, uri: str, version: int, column: str, kind: str
    ) -> Mapping[int, PartitionRows] | None:
        """Return rows and bytes of the files that a commit added, by the position of their value.

        `PartitionRows.ord` is that position. None for a table that is not partitioned by the
        column; raises `log-gap`.
        """

    def lying(self, uri: str, column: str, kind: str) -> tuple[Span, ...]:
        """Return where the live files, less what deletion vectors hide, can hold rows."""

    def features(self, uri: str, version: int | None = None) -> frozenset[str]:
        """Return the table features that a reader of a version must know, of the newest without.

        Raises `log-gap`.
        """

    def missing_files(self, uri: str, version: int) -> int:
        """Count the files of a version that are no longer there; raises `log-gap`."""


class Folders(Protocol):
    """Folders that penstock made beside the tables: staged files and quarantines. No JVM."""

    def names(self, uri: str) -> tuple[str, ...]:
        """Return the names of the folders in a folder, sorted; none where it is not there."""

    def drop(self, uri: str) -> None:
        """Remove a folder and all in it; one that is not there is no error."""


class Journal(CheckJournal, Protocol):
    """Writing down runs, steps and what checks said of them. Every method is one transaction."""

    def start_run(self, run: Run) -> None:
        """Write the run as RUNNING; to write it twice is to write it once."""

    def end_run(self, run: str, status: Status, *, holds: bool = False) -> None:
        """Write how the run ended and release whatever it still holds.

        A run that was interrupted twice `holds` on: one of its statements may still commit.
        """

    def begin(
        self,
        intent: Intent,
        contents: Mapping[str, str],
        holder: Holder,
        planned_on: int | None,
        above: int = 0,
    ) -> Begun:
        """Take the target's lease and write the step as RUNNING, or do nothing at all.

        Its number is greater than all here and than `above`, the one in the target's log: a store
        that was put back does not know all. A step that has begun is returned as it began.

        Raises `LeaseHeldError`, and `PlanOutdatedError` when the target's last step is not the
        one that was planned on (None asks for no comparison).
        """

    def finish(self, step: str, outcome: Outcome, *, recovered: bool = False) -> None:
        """Write success: records, watermarks, history, lease; `LeaseLostError` if not ours."""

    def fail(self, step: str, failure: StepFailure, *, recovered: bool = False) -> None:
        """Write failure: status and history; what the last success left stays."""

    def reject(
        self, intent: Intent, failure: StepFailure, holder: Holder, checked: Checked | None = None
    ) -> None:
        """Write a step that failed before it began, without a lease.

        With `checked` it is SKIPPED, because a gate before it failed; its partitions are FAILED.
        """

    def running(self) -> tuple[StepRecord, ...]:
        """Return the steps that are written as RUNNING."""


class Leases(Protocol):
    """The right to write a target. Every method is one transaction."""

    def holds(self, step: str) -> bool:
        """Whether the step's run still owns the target with the token it was given."""

    def renew(self, run: str) -> None:
        """Push out the expiry of every lease the run still owns."""

    def taken(self) -> tuple[Lease, ...]:
        """Return the leases that are taken."""

    def unlock(self, target: str, token: int | None = None) -> bool:
        """Drop the lease of a target; False if nobody holds it, or not by this token."""


class PartitionRecords(Protocol):
    """Reading what is remembered of partitions, by groups and runs of them."""

    def partitions(self) -> Mapping[str, PartitionsRecord]:
        """Return what is known of every model that has partitions: groups, never rows."""

    def fingerprints(self) -> Mapping[int, Fingerprint]:
        """Return the fingerprints that groups and runs name by number."""

    def runs(self, *models: str) -> Mapping[str, tuple[PartitionRun, ...]]:
        """Return the partitions of each model, neighbours of which the same is known together."""

    def step_pins(self, *models: str) -> Mapping[str, Mapping[int, Mapping[str, Pin]]]:
        """Return the pins of the steps that built each model's partitions as they are now."""


class Notes(Protocol):
    """What was read of tables' logs: a cache, and the memory of what logs have lost."""

    def seen_tables(self) -> Mapping[str, Seen]:
        """Return what was noted of tables, by the names under which they were noted."""

    def touched(self, name: str, after: int) -> tuple[Touched, ...]:
        """Return the noted commits of a table above a version, oldest first."""

    def note(self, table: Seen, commits: Sequence[Touched]) -> None:
        """Note commits of a table and how far its log was read; one of another id starts anew."""


class Records(PartitionRecords, Protocol):
    """Reading what is remembered of models, and setting watermarks by hand."""

    def models(self, *names: str) -> Mapping[str, ModelRecord]:
        """Return the record of every model that ever ran, or of some of them."""

    def texts(self, checksums: Collection[str]) -> Mapping[str, str]:
        """Return stored SQL texts by checksum; unknown ones are left out."""

    def history(
        self, model: str, limit: int | None, partition: str | None = None
    ) -> tuple[Execution, ...]:
        """Return a model's executions, newest first; of one partition, or of all."""

    def unrecorded(self, commits: Mapping[str, int]) -> frozenset[str]:
        """Return those of the steps that are not on record as having made their version.

        `commits` are versions by step, as a log tells them. A step that is running is on record;
        inside of `one_state` too it is asked now, because the log is read as it is now.
        """

    def steps_of(self, model: str) -> tuple[StepRecord, ...]:
        """Return every step of a model that ended, oldest first; for `rollback`."""

    def last_results(self) -> Mapping[str, Status]:
        """Return what became of each model in the last run."""

    def watermark_history(self, model: str) -> tuple[WatermarkChange, ...]:
        """Return every change of a model's watermarks, newest first."""

    def change_watermark(self, change: WatermarkChange) -> None:
        """Append a change that a person made; one that is on record is not appended again."""


class SliceRecords(Protocol):
    """What became of slices, by the steps that read them and by what people say."""

    def recorded(self, model: str) -> tuple[SliceRecord, ...]:
        """Return the known slices of a model, by the code points of their names.

        The last step of a slice that succeeded says what became of it, without one its last step:
        an attempt to run it again that fails takes none of its rows out of the table. Steps that a
        rollback has undone, and those before the last one that made the table anew, are as if they
        never were. Where no step after it was begun, and none succeeded, a skip counts.
        """
        ...

    def recorded_of(self, models: Sequence[str]) -> Mapping[str, tuple[SliceRecord, ...]]:
        """Return the same of many models; those of which nothing is known may be left out."""
        ...

    def skip(self, skip: SliceSkip) -> None:
        """Append what somebody says of a slice."""


@dataclass(frozen=True, slots=True)
class RebuiltStep:
    """A step as a table's log tells it, for `state rebuild`."""

    intent: Intent
    outcome: Outcome
    ended: dt.datetime
    new_table: bool = False  # another table than the one on record


class Archive(Protocol):
    """The store as one document, and the store's own identity."""

    def store_id(self) -> str:
        """Return the id that this database was born with."""

    def epoch(self) -> str:
        """Return the id that is drawn anew whenever the store may have forgotten something."""

    def export(self) -> str:
        """Return everything as one JSON document."""

    def load(self, document: str) -> None:
        """Replace everything by an exported document, in one transaction; a new epoch begins."""

    def rebuild(self, steps: Sequence[RebuiltStep]) -> None:
        """Write steps that only the logs remember, oldest first; a new epoch begins.

        Steps that are running, or on record with their commit, are left alone. One that was given
        up as FAILED, and whose commit is in the log all the same, is written anew.
        """


class Store(Protocol):
    """The state store of one target of one project."""

    @property
    def journal(self) -> Journal:
        """What is written while steps run."""

    @property
    def records(self) -> Records:
        """What is read to decide."""

    @property
    def slices(self) -> SliceRecords:
        """What became of slices."""

    @property
    def leases(self) -> Leases:
        """Who may write which target."""

    @property
    def checks(self) -> CheckRecords:
        """What is read of checks."""

    @property
    def notes(self) -> Notes:
        """What was read of tables' logs."""

    @property
    def sessions(self) -> PackageRecords:
        """What is on record of session packages."""

    @property
    def archive(self) -> Archive:
        """Everything, at once."""

    def one_state(self) -> AbstractContextManager[None]:
        """Let all that this thread reads until the block ends be of one state of the store.

        What others, and the block itself, write meanwhile is not seen before it ends.
        """

    def close(self) -> None:
        """Let go of the database."""
