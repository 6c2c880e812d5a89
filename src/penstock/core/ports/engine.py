"""The ports to Spark and to disks (the others are in `ports.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
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


class FolderTree(Protocol):
    """Files and folders below a folder."""

    def stat(self, uri: str) -> FileStat | None:
        """Describe a file or folder, None if it is not there."""

    def entries(self, uri: str) -> list[FolderEntry]:
        """List a folder in any order; `OSError` if it cannot be listed, or is not there."""


class Disk(FolderTree, Protocol):
    """Files of tables, logs, slices, sources and staging, by their locations."""

    def exists(self, uri: str) -> bool:
        """Whether a file or folder is there."""

    def listed(self, uri: str) -> FolderTree:
        """Return what is below a folder, for many looks at it.

        Where each would be a request, it is listed once and now, and stays as it was.
        """

    def newest(self, folder: str, name_of: Callable[[int], str], first: int) -> int | None:
        """Return the last number from `first` on of files that are numbered without a hole.

        None if that of `first` is not there. `name_of` gives their names, which rise with them.
        """

    def open(self, uri: str) -> BinaryIO:
        """Open a file to read it from any place on; `OSError` where there is none."""

    def put(self, uri: str, content: bytes) -> None:
        """Write a whole file, in a folder that need not be there, in place of one of its name."""

    def put_if_absent(self, uri: str, content: bytes) -> bool:
        """Write a whole file unless one has its name; of several writers exactly one does."""

    def drop(self, uri: str) -> None:
        """Remove a folder and all in it; one that is not there is no error."""


@dataclass(frozen=True, slots=True)
class FrameReaders:
    """The models that read a frame in one run; with `keeps` it is computed once for all of them.

    None of them reads rows outside of `cut`; None is whether any may read all.
    """

    models: frozenset[str]
    keeps: bool
    cut: Window | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows of a query for people: every value as text, None for NULL."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    truncated: bool = False


class ExportForm(StrEnum):
    """As what the rows of a query are written into a file."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


class QuerySession(Protocol):
    """What is asked of rows: all that evaluating checks needs."""

    def rows(self, sql: str) -> tuple[Row, ...]:
        """Run a query of few rows."""

    def describe(self, sql: str) -> Schema:
        """Return the columns of a query without running it; `QueryError` if Spark refuses it."""


class SideTables(Protocol):
    """Files and tables beside the target of a step, for what its checks must see of its rows."""

    def keep(self, feed: Feed, folder: str) -> StagedRows:
        """Write the feed's rows to files in a folder, once; its view then reads these files."""

    def write_table(self, sql: str, uri: str) -> int:
        """Make a Delta table of a query's rows that is no target; give how many rows it has."""

    def clone(self, uri: str, version: int, to: str) -> str:
        """Make a shallow clone of a table's version in a folder; give SQL that names it."""

    def trial(self, statement: Commit) -> None:
        """Run a statement on a clone: it carries no token and is no step."""

    def added(self, uri: str, version: int, folder: str, view: str) -> Schema:
        """Make the rows of the files that one commit added readable under a view.

        They are a Delta table of their own in `folder`, whose one log entry names these files, so
        that nothing else of the target is read.
        """


class StepSession(QuerySession, Protocol):
    """Spark for one step: own settings, own views, shared executors."""

    @property
    def side_tables(self) -> SideTables:
        """What is made beside the target, in the same session."""

    def bind(self, relations: Sequence[Relation]) -> Mapping[str, Schema]:
        """Make the relations readable under their view names, in order; give their columns."""

    def define(self, view: str, sql: str) -> Schema:
        """Name a query, run nothing, give its columns; `QueryError` if Spark refuses it."""

    def replays(self, view: str) -> bool:
        """Whether a view surely gives the same rows each time that it is evaluated.

        Projections and filters of Delta tables at versions do, with nothing of users' code.
        """

    def row(self, sql: str) -> Row:
        """Run a query of one row."""

    def share(self, view: str) -> str:
        """Return SQL that reads a staged view in other sessions while this one is open."""

    def sample(self, sql: str) -> tuple[str, ...]:
        """Run a query of few rows with one text column."""

    def stage(self, stage: Stage) -> Row:
        """Compute the stage's rows once, keep them under its view, give the look at them."""

    def commit(self, statement: Commit, intent: Intent) -> None:
        """Run the statement; its commit, if it makes one, carries the intent as its token."""

    def observed(self, rows: int) -> Row | None:
        """Return what the last commit's feed observed, waiting at most 5 s; None if it is not sure.

        `rows` is how many rows the commit wrote by its own metrics: a count that differs means
        that rows passed more than once. Ask only after the commit was found in the log.
        """


Waiting = Callable[[str], AbstractContextManager[object]]
"""Says what a command waits for, as long as the block lasts."""


class Engine(Protocol):
    """The only hands on Spark. Nothing starts before the first session is opened."""

    def require(self, *, writes: bool = False) -> None:
        """Raise `EnvironmentMissingError` if Spark could not start here; start nothing.

        With `writes` also `TableError` `store-not-safe` if commits to its tables could be lost.
        """

    def session(
        self, model: str, where: Location | None = None
    ) -> AbstractContextManager[StepSession]:
        """Open a session for one step; leaving it drops views and staged rows."""

    def sharing(self, frames: Mapping[str, FrameReaders]) -> AbstractContextManager[None]:
        """Let the sessions of a run share the frames of functions, each called once."""
        ...

    def frame(self, relations: Sequence[Relation], sql: str) -> object:
        """Return the DataFrame of a query over relations; nothing is run."""
        ...

    def query(self, relations: Sequence[Relation], sql: str, limit: int) -> QueryResult:
        """Run a user's query and give at most `limit` rows."""

    def export(
        self,
        relations: Sequence[Relation],
        sql: str,
        limit: int | None,
        form: ExportForm,
        file: BinaryIO,
    ) -> int:
        """Write the rows of a user's query into a file, and give how many there are.

        CSV has a line of names, no value is empty and an empty text `""`; JSON is an array of
        objects, one on each line. Raises `UsageError` `duplicate-column` for two columns of one
        name, unless it is CSV.
        """

    def cancel(self) -> None:
        """Cancel every running job; sessions, new ones too, then raise `InterruptedRunError`."""

    def stop(self) -> None:
        """End what this engine started; a session that was handed in, or found, stays."""
