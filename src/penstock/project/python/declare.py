"""The decorators: a function becomes a model, and stays the function that it is.

Nothing is checked here but what Python itself would check; loading reports the rest of all files
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
    overload,
)

from penstock.core.errors import PythonModelError
from penstock.core.shown.notebooks import ShownInNotebooks, html_of
from penstock.project.python.texts import text_of

if TYPE_CHECKING:
    from typing import Unpack


class FunctionKind(StrEnum):
    """What a decorated function makes."""

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
    table: str
    path: str
    format: str
    options: Mapping[str, str]


class ModelOptions(DecoratorOptions, total=False):
    """The options of `model`."""

    columns: Mapping[str, str]
    persist: Literal["auto"] | bool


class TableOptions(DecoratorOptions, total=False):
    """The options of `table`."""

    columns: Mapping[str, str]
    schema: str
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
"""The options that each decorator takes, as type checkers know them; `sections.py` says more."""


@dataclass(frozen=True, slots=True)
class ColumnMeta:
    """One column of a table: its Spark type, and what is said of it."""

    name: str
    dtype: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class TableMeta(ShownInNotebooks):
    """What is known of a model without Spark; `columns` are none before the first build.

    `version` is that of the Delta table, `last_run` when its last step ended, `last_max_value` the
    greatest watermark, a time as `2025-11-05 23:00:00`.
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
    """The app of a function: what builds it, and knows its table."""

    def build(self, name: str) -> object:
        """Bring a model and all that it reads up to date; give its frame."""
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
        """Make the rows of a range again; give the result of the model."""
        ...

    def frame(self, name: str) -> object:
        """Return a table as it stands, or a frame over tables as they stand."""
        ...

    def overview(self, name: str) -> ShownInNotebooks:
        """Return what a model reads, and its state."""
        ...

    def meta(self, name: str) -> TableMeta:
        """Return what is known of a model."""
        ...

    def partitions(self, name: str) -> list[dict[str, str | None]]:
        """Return the values of the partitions of a table."""
        ...


RunnerOf = Callable[[Path], ModelRunner]
"""Gives what runs the functions of a file."""


class PythonModel(Generic[P, R]):
    """A decorated function: called with frames it is the plain function, without any window.

    >>> from penstock import table
    >>> @table
    ... def doubled(numbers):
    ...     return [2 * each for each in numbers]
    >>> doubled([1, 2])
    [2, 4]
    """

    def __init__(
        self, function: Callable[P, R], kind: FunctionKind, options: Mapping[str, object]
    ) -> None:
        """Keep the function, its name, doc, module and signature."""
        update_wrapper(self, function)
        self.function = function
        self.kind = kind
        self.options = options
        self.runner: RunnerOf | None = None
        # read now: what a file says later is not what this process runs
        self.text = text_of(self.place[0])
        self.meaning: object | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the plain function."""
        return self.function(*args, **kwargs)

    def build(self) -> R:
        """Bring the model and all that it reads up to date, as `app.run(models=self)`.

        Gives the table at its version, or the frame. Raises what `app.run` raises.
        """
        return cast("R", self._app().build(self.name))

    def build_lazy(self) -> R:
        """Return the table as it stands, or the frame over tables as they stand; write nothing.

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
        """Make the rows again whose time lies in a range, both ends included, in one commit.

        A date covers its whole day; with a grain the range is widened to whole units. Columns that
        are not those of the table are refused while it is `safe`. With `dry_run` it is a plan.
        Gives the `ModelResult`. Raises `RerunError`.
        """
        runner = self._app()
        return runner.rerun(self.name, min_date, max_date, safe=safe, dry_run=dry_run)

    def get_meta(self) -> TableMeta:
        """Return columns, version, last run and watermark of the table; start no JVM."""
        return self._app().meta(self.name)

    def exists(self) -> bool:
        """Whether the table is there; start no JVM."""
        return self.get_meta().version is not None

    def partitions(self) -> list[dict[str, str | None]]:
        """Return the partitions of the table, column by value; none of a table without. No JVM."""
        return self._app().partitions(self.name)

    def __repr__(self) -> str:
        """Return what it is; nothing is loaded."""
        return f"<{self.kind} {self.name!r}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it: what it reads, its state, its table."""
        return html_of(lambda: self._app().overview(self.name))

    def _app(self) -> ModelRunner:
        if self.runner is None:
            hint = "decorate it with an app: app = penstock.conf(root='.')"
            raise PythonModelError("no-app", f"{self.name!r} has no app", hint=hint)
        return self.runner(Path(self.place[0]).resolve())

    @property
    def name(self) -> str:
        """What the project calls it."""
        written, own = self.options.get("name"), getattr(self.function, "__name__", "")
        return written if isinstance(written, str) and written else own

    @property
    def place(self) -> tuple[str, int]:
        """The file and the line of its `def`, as Python tells them."""
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        if code is None:
            return "", 1
        return code.co_filename, code.co_firstlineno

    @property
    def identity(self) -> tuple[str, str, str]:
        """One function that is reached twice, as a script and by discovery, is one model.

        So is one that is typed twice: the cells of a notebook are no files of Python.
        """
        file, name = Path(self.place[0]), str(getattr(self.function, "__qualname__", ""))
        home = str(file.resolve()) if file.suffix == ".py" and file.is_file() else ""
        return home, name, self.name


@dataclass(slots=True)
class Registry:
    """The functions that were decorated, in their order."""

    models: list[PythonModel[..., Any]] = field(default_factory=list)


DISCOVERY: ContextVar[Registry | None] = ContextVar("penstock_discovery", default=None)
"""Where decorated functions go while the files of a project are imported."""


class Decorators:
    """The four decorators; what they decorate goes to `registry`, and to a discovery under way."""

    def __init__(self, registry: Registry | None = None, runner: RunnerOf | None = None) -> None:
        """Take the registry of an app and what runs it; the package's own have no registry."""
        self._registry = registry
        self.runner = runner

    @overload
    def source(self, function: Callable[P, R], /) -> PythonModel[P, R]: ...
    @overload
    def source(
        self, **options: Unpack[SourceOptions]
    ) -> Callable[[Callable[P, R]], PythonModel[P, R]]: ...
    def source(  # type: ignore[misc]  # mypy does not see through Unpack
        self, function: Callable[P, R] | None = None, /, **options: Unpack[SourceOptions]
    ) -> PythonModel[P, R] | Callable[[Callable[P, R]], PythonModel[P, R]]:
        """Declare a frame from outside: of a table or path, or made by the function itself."""
        return _decorate(self._decorator(FunctionKind.SOURCE, options), function)

    @overload
    def model(self, function: Callable[P, R], /) -> PythonModel[P, R]: ...
    @overload
    def model(
        self, **options: Unpack[ModelOptions]
    ) -> Callable[[Callable[P, R]], PythonModel[P, R]]: ...
    def model(  # type: ignore[misc]  # mypy does not see through Unpack
        self, function: Callable[P, R] | None = None, /, **options: Unpack[ModelOptions]
    ) -> PythonModel[P, R] | Callable[[Callable[P, R]], PythonModel[P, R]]:
        """Declare a frame between others; nothing is stored."""
        return _decorate(self._decorator(FunctionKind.MODEL, options), function)

    @overload
    def table(self, function: Callable[P, R], /) -> PythonModel[P, R]: ...
    @overload
    def table(
        self, **options: Unpack[TableOptions]
    ) -> Callable[[Callable[P, R]], PythonModel[P, R]]: ...
    def table(  # type: ignore[misc]  # mypy does not see through Unpack
        self, function: Callable[P, R] | None = None, /, **options: Unpack[TableOptions]
    ) -> PythonModel[P, R] | Callable[[Callable[P, R]], PythonModel[P, R]]:
        """Declare a Delta table that each step replaces as a whole."""
        return _decorate(self._decorator(FunctionKind.TABLE, options), function)

    def incremental_table(
        self, **options: Unpack[IncrementalOptions]
    ) -> Callable[[Callable[P, R]], PythonModel[P, R]]:
        """Declare a Delta table that is kept up to date by windows of its inputs."""
        if "time_column" not in options:
            raise TypeError("incremental_table() misses the keyword 'time_column'")
        return self._decorator(FunctionKind.INCREMENTAL, options)

    def _decorator(
        self, kind: FunctionKind, options: Mapping[str, object]
    ) -> Callable[[Callable[P, R]], PythonModel[P, R]]:
        _refuse_unknown(kind, options)

        def decorate(plain: Callable[P, R]) -> PythonModel[P, R]:
            found = PythonModel(plain, kind, options)
            found.runner = self.runner
            for registry in (self._registry, DISCOVERY.get()):
                if registry is not None:
                    registry.models.append(found)
            return found

        return decorate


def _decorate(
    decorate: Callable[[Callable[P, R]], PythonModel[P, R]], function: Callable[P, R] | None
) -> PythonModel[P, R] | Callable[[Callable[P, R]], PythonModel[P, R]]:
    """Decorate at once where the decorator stands bare."""
    return decorate if function is None else decorate(function)


def _refuse_unknown(kind: FunctionKind, options: Mapping[str, object]) -> None:
    """Do what Python does with a keyword that a function does not have."""
    known = SHAPES[kind].__annotations__
    for key in options:
        if key not in known:
            raise TypeError(f"{kind}() got an unexpected keyword argument {key!r}")


PACKAGE = Decorators()
"""The decorators that `from penstock import ...` gives: of whatever project is being loaded."""
