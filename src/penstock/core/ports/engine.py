"""The ports to Spark and to disks (the other ports are in `ports.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import BinaryIO, NamedTuple, Protocol

from penstock.core.columns.schema import Schema
from penstock.core.findings import Location
from penstock.core.statement import Commit, Feed, Row, Stage, StagedRows
from penstock.core.steps.inputs import Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.window import Window


@dataclass(frozen=True, slots=True)
class FileStat:
    """What a disk knows of a file or folder without reading it; times in nanoseconds.

    `etag` is another one for any other content; "" where the disk has none.
    """

    size: int
    modified: int
    changed: int
    inode: int
    is_folder: bool
    etag: str = ""


class FolderEntry(NamedTuple):
    """A file or folder in a folder."""

    name: str
    is_folder: bool


class Newest(NamedTuple):
    """The last of numbered files."""

    number: int
    files: Mapping[str, FileStat] = MappingProxyType({})
    """What is in the folder, by name, from the first file on; empty where nothing was listed."""


class FolderTree(Protocol):
    """Files and folders below a folder."""

    def stat(self, uri: str) -> FileStat | None:
        """Return size and times of a file or folder, None if it does not exist."""

    def entries(self, uri: str) -> list[FolderEntry]:
        """Return the entries of a folder in any order; raise `OSError` if it cannot be listed."""


class Disk(FolderTree, Protocol):
    """Files of tables, logs, slices, sources and staging, addressed by location."""

    def exists(self, uri: str) -> bool:
        """Return whether a file or folder exists."""

    def listed(self, uri: str) -> FolderTree:
        """Return the tree below a folder, for many lookups.

        An object store lists it once, now; the tree does not change afterwards.
        """

    def files_after(self, folder: str, name: str) -> list[str]:
        """Return the names of a folder's files that sort after a name, in any order.

        Raises `OSError` if it cannot be listed; an object store lists what follows alone, and
        nothing for a folder that does not exist.
        """

    def newest(self, folder: str, name_of: Callable[[int], str], first: int) -> Newest | None:
        """Return the last of the files that are numbered without a gap, from `first` on.

        None if the file of `first` does not exist, or if a listing shows a file above a gap.
        `name_of` returns the name of a number; names sort like their numbers.
        """

    def open(self, uri: str) -> BinaryIO:
        """Open a file for reading, with seek; raise `OSError` if it does not exist."""

    def put(self, uri: str, content: bytes) -> None:
        """Write a whole file, replacing an existing one; create its folder if needed."""

    def put_if_absent(self, uri: str, content: bytes) -> bool:
        """Write a whole file unless the name exists; exactly one of several writers succeeds."""

    def drop(self, uri: str) -> None:
        """Remove a folder with its contents; do nothing if it does not exist."""


@dataclass(frozen=True, slots=True)
class FrameReaders:
    """The models that read a frame in one run; with `keeps` it is computed once for all of them.

    None of them reads rows outside `cut`; if `cut` is None, they may read all rows.
    """

    models: frozenset[str]
    keeps: bool
    cut: Window | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of a query for display: every value as text, None for NULL; `types` as Spark writes."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    truncated: bool = False
    types: tuple[str, ...] = ()


class ExportForm(StrEnum):
    """The file formats into which the rows of a query can be exported."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


class QuerySession(Protocol):
    """Runs queries: all that evaluating checks needs."""

    def rows(self, sql: str) -> tuple[Row, ...]:
        """Run a query that returns few rows."""

    def describe(self, sql: str) -> Schema:
        """Return the columns of a query without running it; raise `QueryError` if it is invalid."""


class SideTables(Protocol):
    """Files and tables beside the target of a step, which its checks read."""

    def keep(self, feed: Feed, folder: str) -> StagedRows:
        """Write the feed's rows to files in a folder, once; its view then reads these files."""

    def write_table(self, sql: str, uri: str) -> int:
        """Write a query's rows to a Delta table that is not a target; return the number of rows."""

    def clone(self, uri: str, version: int, to: str) -> str:
        """Create a shallow clone of a table's version in a folder; return SQL that names it."""

    def trial(self, statement: Commit) -> None:
        """Run a statement on a clone, without a token and outside any step."""

    def added(self, uri: str, version: int, folder: str, view: str) -> Schema:
        """Create a view over the rows of the files that one commit added.

        They become a separate Delta table in `folder`, whose one log entry names these files, so
        the rest of the target is not read.
        """


class StepSession(QuerySession, Protocol):
    """Spark for one step: its own settings and views, shared executors."""

    @property
    def side_tables(self) -> SideTables:
        """The side tables of this step, in the same session."""

    def bind(self, relations: Sequence[Relation]) -> Mapping[str, Schema]:
        """Create the views of the relations, in order; return their columns."""

    def define(
        self, view: str, sql: str, comments: Mapping[str, str] = MappingProxyType({})
    ) -> Schema:
        """Create a view of a query without running it; return its columns. Raises `QueryError`.

        A table that is made from it gets the `comments` of its columns.
        """

    def replays(self, view: str) -> bool:
        """Return whether a view is certain to return the same rows each time.

        True for projections and filters of Delta tables at pinned versions, without user code.
        """

    def row(self, sql: str) -> Row:
        """Run a query that returns one row."""

    def share(self, view: str) -> str:
        """Return SQL that reads a staged view from other sessions while this one is open."""

    def sample(self, sql: str) -> tuple[str, ...]:
        """Run a query of few rows with one text column."""

    def stage(self, stage: Stage) -> Row:
        """Compute the stage's rows once, keep them under its view, return what was measured."""

    def commit(self, statement: Commit, intent: Intent) -> None:
        """Run the statement; if it makes a commit, the commit carries the intent as its token."""

    def observed(self, rows: int) -> Row | None:
        """Return what the last commit's feed observed, waiting at most 5 s; None if uncertain.

        `rows` is the number of rows that the commit wrote by its own metrics; another count means
        that rows were evaluated more than once. Call it only after the commit was found in the log.
        """


Waiting = Callable[[str], AbstractContextManager[object]]
"""Says what a command waits for, as long as the block lasts."""


class Engine(Protocol):
    """The only access to Spark. Nothing starts before the first session is opened."""

    def require(self, *, writes: bool = False) -> None:
        """Raise `EnvironmentMissingError` if Spark could not start here; start nothing.

        With `writes` also `TableError` `store-not-safe` if commits to its tables could be lost.
        """

    def session(
        self, model: str, where: Location | None = None
    ) -> AbstractContextManager[StepSession]:
        """Open a session for one step; closing it drops views and staged rows."""

    def sharing(self, frames: Mapping[str, FrameReaders]) -> AbstractContextManager[None]:
        """Share the frames of functions among the sessions of a run, each function called once."""
        ...

    def frame(self, relations: Sequence[Relation], sql: str) -> object:
        """Return the DataFrame of a query over relations without running it."""
        ...

    def query(self, relations: Sequence[Relation], sql: str, limit: int) -> QueryResult:
        """Run a user's query and return at most `limit` rows."""

    def export(
        self,
        relations: Sequence[Relation],
        sql: str,
        limit: int | None,
        form: ExportForm,
        file: BinaryIO,
    ) -> int:
        """Write the rows of a user's query to a file and return their number.

        CSV has a header line; NULL is an empty field and an empty text is `""`. JSON is an array
        with one object per line. Raises `UsageError` `duplicate-column` if two columns have the
        same name, except for CSV.
        """

    def cancel(self) -> None:
        """Cancel every running job; all sessions, even new ones, raise `InterruptedRunError`."""

    def stop(self) -> None:
        """Stop what this engine started; a session that was passed in or found keeps running."""
