"""The decorators: they register a function as a model and leave the function unchanged.

Only what Python itself would check is checked here; loading reports everything else, for all files
together.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import update_wrapper
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Required,
    TypedDict,
    TypeVar,
    cast,
)

from penstock.core.errors import PythonModelError
from penstock.core.shown.notebooks import ShownInNotebooks, html_of
from penstock.project.python.parameters import Variant, with_defaults
from penstock.project.python.texts import text_of

if TYPE_CHECKING:
    from penstock.project.python.declared_columns import DeclaredColumns


class FunctionKind(StrEnum):
    """What a decorated function defines."""

    SOURCE = "source"
    MODEL = "model"
    TABLE = "table"
    INCREMENTAL = "incremental_table"


Lookback = dt.timedelta | str | int | Decimal


class DecoratorOptions(TypedDict, total=False):
    """The options of all decorators."""

    name: str
    description: str
    tags: list[str]
    version: str | int
    depends_on: list[str]


class SourceOptions(DecoratorOptions, total=False):
    """The options of `source`."""

    persist: Literal["auto"] | bool
    schema: DeclaredColumns
    table: str
    path: str
    format: str
    options: Mapping[str, str]


class ModelOptions(DecoratorOptions, total=False):
    """The options of `model`."""

    columns: Mapping[str, str] | DeclaredColumns
    persist: Literal["auto"] | bool
    schema: DeclaredColumns


class TableOptions(DecoratorOptions, total=False):
    """The options of `table`."""

    columns: Mapping[str, str] | DeclaredColumns
    schema: DeclaredColumns
    path: str
    partition_by: str | list[str]
    cluster_by: list[str]
    table_properties: Mapping[str, str]
    deletion_vectors: bool
    delta: list[str]
    checks: Mapping[str, Any] | Sequence[Any]
    on_failure: Literal["flag", "block", "rollback"]


class IncrementalOptions(TableOptions, total=False):
    """The options of `incremental_table`."""

    time_column: Required[str]
    unique_key: str | list[str]
    partition_mode: Literal["append", "overwrite"]
    lookback: Lookback
    grain: Literal["hour", "day", "week", "month", "year"]
    window_on: Mapping[str, str | None]
    late: Literal["count", "ignore"]
    null_watermark: Literal["error", "include_first", "drop_counted"]
    string_watermark: bool
    on_duplicate: Literal["latest", "error"]
    null_keys: Literal["error", "match"]


P = ParamSpec("P")
R = TypeVar("R")


SHAPES: Mapping[FunctionKind, Any] = {
    FunctionKind.SOURCE: SourceOptions,
    FunctionKind.MODEL: ModelOptions,
    FunctionKind.TABLE: TableOptions,
    FunctionKind.INCREMENTAL: IncrementalOptions,
}
"""The options of each decorator for type checkers; `sections.py` describes them."""


@dataclass(frozen=True, slots=True)
class ColumnMeta:
    """One column of a table: its Spark type and its comment."""

    name: str
    dtype: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class TableMeta(ShownInNotebooks):
    """What is known of a model without Spark; `columns` are none before the first build.

    `version` is that of the Delta table, `last_run` the end of its last step, `last_max_value` the
    greatest watermark; a time looks like `2025-11-05 23:00:00`.
    """

    _rows = "columns"
    _columns = "column=name type=dtype description"
    _lines = "description"

    name: str
    description: str
    columns: tuple[ColumnMeta, ...] = ()
    partition_by: tuple[str, ...] = ()
    version: int | None = None
    last_run: dt.datetime | None = None
    last_max_value: str | None = None


class ModelRunner(Protocol):
    """The app of a function: builds the model, and reads its table."""

    def build(self, name: str) -> object:
        """Bring a model and everything that it reads up to date; return its frame."""
        ...

    def rerun(
        self,
        name: str,
        low: str | int | Decimal | dt.date,
        high: str | int | Decimal | dt.date,
        *,
        safe: bool,
        dry_run: bool,
    ) -> object:
        """Rebuild the rows of a range; return the result of the model."""
        ...

    def frame(self, name: str) -> object:
        """Return the current table, or a frame over current tables."""
        ...

    def overview(self, name: str) -> ShownInNotebooks:
        """Return what a model reads, and its state."""
        ...

    def meta(self, name: str) -> TableMeta:
        """Return the metadata of a model."""
        ...

    def partitions(self, name: str) -> list[dict[str, str | None]]:
        """Return the values of the partitions of a table."""
        ...


RunnerOf = Callable[[Path], ModelRunner]
"""Returns the runner for the functions of a file."""


class PythonModel(Generic[P, R]):
    """A decorated function: called with frames it runs the original function, without windows.

    >>> from penstock import table
    >>> @table
    ... def doubled(numbers):
    ...     return [2 * each for each in numbers]
    >>> doubled([1, 2])
    [2, 4]
    """

    def __init__(
        self,
        function: Callable[P, R],
        kind: FunctionKind,
        options: Mapping[str, object],
        variant: Variant | None = None,
    ) -> None:
        """Store the function, its name, doc, module and signature."""
        update_wrapper(self, function)
        self.function = function
        self.kind = kind
        self.options = options
        self.variant = variant
        self.runner: RunnerOf | None = None
        self.text = text_of(self.place[0])  # read now: a file may change while this process runs
        self.meaning: object | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the original function."""
        if self.variant is not None:
            return self.variant.call(self.function, args, kwargs)
        return self.function(*args, **with_defaults(self.function, args, kwargs))

    def build(self) -> R:
        """Bring the model and everything that it reads up to date, as `app.run(models=self)`.

        Returns the table at its new version, or the frame. Raises the same errors as `app.run`.
        """
        return cast("R", self._app().build(self.name))

    def build_lazy(self) -> R:
        """Return the current table, or the frame over current tables; write nothing.

        Raises `TableError` `not-built-yet` for a table that was never built.
        """
        return cast("R", self._app().frame(self.name))

    def rerun(
        self,
        min_date: str | int | Decimal | dt.date,
        max_date: str | int | Decimal | dt.date,
        *,
        safe: bool = True,
        dry_run: bool = False,
    ) -> Any:  # noqa: ANN401  a ModelResult, which is of a floor above
        """Rebuild the rows whose time is in a range, both ends inclusive, in one commit.

        A date covers its whole day; with a grain, the range is extended to whole units. While
        `safe` is true, the step fails if its columns differ from those of the table. With
        `dry_run`, returns a plan. Returns the `ModelResult`. Raises `RerunError`.
        """
        return self._app().rerun(self.name, min_date, max_date, safe=safe, dry_run=dry_run)

    def get_meta(self) -> TableMeta:
        """Return columns, version, last run and watermark of the table; start no JVM."""
        return self._app().meta(self.name)

    def exists(self) -> bool:
        """Return whether the table exists; start no JVM."""
        return self.get_meta().version is not None

    def partitions(self) -> list[dict[str, str | None]]:
        """Return the partitions of the table, values by column; may be empty. Starts no JVM."""
        return self._app().partitions(self.name)

    def __repr__(self) -> str:
        """Return what kind of model it is, without loading the project."""
        return f"<{self.kind} {self.name!r}>"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: what the model reads, its state, its table."""
        return html_of(lambda: self._app().overview(self.name))

    def _app(self) -> ModelRunner:
        if self.runner is None:
            hint = "decorate it with an app: app = penstock.conf(root='.')"
            raise PythonModelError("no-app", f"{self.name!r} has no app", hint=hint)
        return self.runner(Path(self.place[0]).resolve())

    @property
    def name(self) -> str:
        """The name of the model in the project."""
        written, own = self.options.get("name"), getattr(self.function, "__name__", "")
        name = written if isinstance(written, str) and written else own
        return "_".join((name, *(self.variant.labels if self.variant else ())))

    @property
    def place(self) -> tuple[str, int]:
        """The file and the line of its `def`."""
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        return ("", 1) if code is None else (code.co_filename, code.co_firstlineno)

    @property
    def identity(self) -> tuple[str, str, str]:
        """The key by which one function counts as one model, even if it is registered twice.

        That happens if a script is also discovered, or if a notebook cell is executed again.
        """
        file, name = Path(self.place[0]), str(getattr(self.function, "__qualname__", ""))
        home = str(file.resolve()) if file.suffix == ".py" and file.is_file() else ""
        return home, name, self.name


@dataclass(slots=True)
class Registry:
    """The decorated functions, in order of declaration."""

    models: list[PythonModel[..., Any]] = field(default_factory=list)


DISCOVERY: ContextVar[Registry | None] = ContextVar("penstock_discovery", default=None)
"""Collects decorated functions while the files of a project are imported."""
