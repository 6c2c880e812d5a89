"""Pins: the exact version of an input that a step reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.findings import Location
from penstock.core.model import PythonFunction
from penstock.core.names import InputName
from penstock.core.statement import Row
from penstock.core.steps.window import InputWindow, Window


@dataclass(frozen=True, slots=True)
class DeltaPin:
    """A version of a Delta table; the id distinguishes it from a table that replaced it."""

    table_id: str
    version: int

    def __str__(self) -> str:
        """Return the version for reports."""
        return f"v{self.version}"


@dataclass(frozen=True, slots=True)
class FilesPin:
    """The files under a path, identified by a digest of names, sizes and ends."""

    digest: str
    files: int

    def __str__(self) -> str:
        """Return the shortened digest and the number of files."""
        return f"{self.digest[:8]} ({self.files} file{'' if self.files == 1 else 's'})"


@dataclass(frozen=True, slots=True)
class ViewPin:
    """The step that last built a view; its base tables have their own pins."""

    step_seq: int

    def __str__(self) -> str:
        """Return the step number."""
        return f"step {self.step_seq}"


@dataclass(frozen=True, slots=True)
class NoPin:
    """An input without versions, such as a table of a foreign catalog."""

    def __str__(self) -> str:
        """Return a text for reports."""
        return "unpinned"


Pin = DeltaPin | FilesPin | ViewPin | NoPin


@dataclass(frozen=True, slots=True)
class InputPin:
    """Which version of which input; `input` is its name in records."""

    input: str
    pin: Pin


@dataclass(frozen=True, slots=True)
class DeferredInput:
    """An input that is read from the tables of another target.

    `uri` is the folder of its table, "" for a view, whose base tables are inputs too.
    """

    input: str
    target: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class DeltaRead:
    """The Delta table in a folder; without a version, the newest is read.

    `tombstones` is the column that marks deleted keys in a history table that has it. With `since`,
    only rows appended after that version are read; with `changes_since`, the changes after it, with
    their kinds.
    """

    uri: str
    version: int | None = None
    tombstones: str = ""
    since: int | None = None
    changes_since: int | None = None


CHANGE, CHANGE_VERSION = "_change_type", "_commit_version"
FEED_COLUMNS = (CHANGE, CHANGE_VERSION, "_commit_timestamp")
"""The columns that a change feed adds to the rows of its table."""


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Files that were listed when the step was planned.

    `columns` are the names and types that the source declares; other columns stay as they are read.
    CSV files without a header have exactly the declared columns. With `keeps_void`, columns without
    values, which have no type in Parquet files, have the type `void`. With a `schema`, as Spark
    writes it, the files are read as that.
    """

    format: str
    root: str
    files: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[tuple[str, str], ...] = ()
    keeps_void: bool = False
    schema: str = ""


EVERY_COLUMN = {"mergeSchema": "true"}
"""The Parquet option that is needed to read columns missing in the first file."""


@dataclass(frozen=True, slots=True)
class QueryRead:
    """A query over earlier relations: a view model, inlined."""

    sql: str


@dataclass(frozen=True, slots=True)
class CatalogRead:
    """A table that Spark finds by name and penstock does not pin."""

    name: str


class FunctionWindows(Protocol):
    """The windows of the step in which a function is called."""

    def on(
        self, function: str, column: str, kind: str, name: str, query: Callable[..., Row]
    ) -> Window:
        """Return the window on a column of Spark type `kind` in a frame; open it if necessary.

        `query` returns one row of aggregates, given as SQL texts, over the frame. Raises
        `duplicate-window`.
        """
        ...

    def lowest(self, name: str) -> Window | None:
        """Return what the step may read of an input, without an upper bound; None for all."""
        ...

    def span(self) -> Window:
        """Return the window that covers all windows of the step."""
        ...

    @property
    def input_windows(self) -> Sequence[InputWindow]:
        """The windows on the inputs."""
        ...

    @property
    def kind(self) -> str:
        """Why the step reads these rows: initial, full, forward, lookback, rerun or external."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionRead:
    """The frame of a function of the project, computed from earlier relations.

    `views` are those relations by the function's parameters, `pinned` all pins below it. `windows`
    are those of the step; None for a step that reads everything.
    """

    model: str
    where: Location
    function: PythonFunction
    views: Mapping[str, str]
    pinned: tuple[Read, ...] = ()
    windows: FunctionWindows | None = None


Read = DeltaRead | FilesRead | QueryRead | CatalogRead | FunctionRead


@dataclass(frozen=True, slots=True)
class Relation:
    """One input of a step as a temporary view, without rows outside the window."""

    input: InputName
    view: str
    read: Read
    window: Window | None = None
