"""The window of a step for its functions: `window`, `incremental_filter`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.core.columns.typed import TypedValue
from penstock.core.errors import IncrementalConfigError, PythonModelError
from penstock.core.statement import Row
from penstock.core.steps.inputs import FunctionRead, FunctionWindows
from penstock.core.steps.window import Bound, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Value = dt.datetime | dt.date | int | Decimal | str


@dataclass(frozen=True, slots=True)
class FunctionWindow:
    """The rows that a step reads, for a function that takes `window`; open ends are None.

    `low` and `high` are values of the column's `type`: datetime (UTC for TIMESTAMP), date, int,
    Decimal or str. `kind` is initial, full, forward, lookback, rerun or external, "" for a table
    that is rebuilt completely.
    """

    column: str = ""
    type: str = ""
    kind: str = ""
    low: Value | None = None
    high: Value | None = None
    low_closed: bool = False
    high_closed: bool = True
    is_empty: bool = False
    inputs: Mapping[str, FunctionWindow] = field(default_factory=dict)
    texts: tuple[str, str] = ("", "")

    @classmethod
    def of_step(cls, windows: FunctionWindows | None) -> FunctionWindow:
        """Return the window that covers all windows of a step."""
        if windows is None:
            return cls()
        inputs = {each.input: cls._of(each.window, windows.kind) for each in windows.input_windows}
        return replace(cls._of(windows.span(), windows.kind), inputs=inputs)

    @classmethod
    def _of(cls, window: Window, kind: str) -> FunctionWindow:
        low, high = window.lower, window.upper
        known = high or low
        return cls(
            window.column,
            known.value.type if known else "",
            kind,
            _value(low),
            _value(high),
            low.inclusive if low else False,
            high.inclusive if high else True,
            window.is_empty,
            texts=(low.value.sql if low else "", high.value.sql if high else ""),
        )

    def of(self, name: str) -> FunctionWindow:
        """Return the window of one input; raise `KeyError` if the input has none."""
        return self.inputs[name]

    def sql(self, column: str = "") -> str:
        """Return the condition of rows inside the window; `true` if both ends are open."""
        named, (low, high) = column or self.column, self.texts
        terms = [f"{named} {'>=' if self.low_closed else '>'} {low}"] if low else []
        terms += [f"{named} {'<=' if self.high_closed else '<'} {high}"] if high else []
        return " AND ".join(terms) or "true"


def _value(bound: Bound | None) -> Value | None:
    if bound is None:
        return None
    key = bound.value.key
    if isinstance(key, bytes):
        return key.decode()
    if isinstance(key, dt.datetime) and bound.value.type == "TIMESTAMP":
        return key.replace(tzinfo=dt.UTC)
    return key


@dataclass(slots=True)
class FunctionCall:
    """A running call of a function; `uses_window` is whether it asked for its reader's window."""

    read: FunctionRead
    uses_window: bool = False


ACTIVE: ContextVar[SparkSession | None] = ContextVar("penstock_active", default=None)
"""The session of the step whose function is running."""
CALL: ContextVar[FunctionCall | None] = ContextVar("penstock_call", default=None)
_TEST: ContextVar[Window | None] = ContextVar("penstock_test_window", default=None)
_METHOD = "incremental_filter"
RUNS: set[object] = set()
"""The active runs of this process: outside a run, a filter keeps all rows."""


@contextmanager
def window(
    column: str,
    low: Value | None = None,
    high: Value | None = None,
    *,
    low_closed: bool = False,
    high_closed: bool = True,
) -> Iterator[None]:
    """Make `incremental_filter(column)` limit frames in a unit test, as in a step.

    A text is compared with the column as in SQL.
    """
    lower = Bound(_typed(low), low_closed) if low is not None else None
    upper = Bound(_typed(high), high_closed) if high is not None else None
    token = _TEST.set(Window(column, lower, upper))
    try:
        yield
    finally:
        _TEST.reset(token)


def _typed(value: Value) -> TypedValue:
    match value:
        case dt.datetime():
            return TypedValue.parse("TIMESTAMP", value.isoformat())
        case dt.date():
            return TypedValue.parse("DATE", value.isoformat())
        case int():
            return TypedValue.parse("BIGINT", str(value))
        case Decimal():
            scale = max(0, -int(value.as_tuple().exponent))
            return TypedValue.parse(f"DECIMAL(38,{scale})", str(value))
        case str():
            return TypedValue("STRING", value)


def incremental_filter(column: str, *, name: str = "") -> Callable[[DataFrame], DataFrame]:
    """Return the filter that keeps only the rows of a frame that the current step must read.

    Outside a run, and for a table that is rebuilt completely, it keeps all rows. `name`
    distinguishes two filters of one function.
    """

    def cut(frame: DataFrame) -> DataFrame:
        now, tested = CALL.get(), _TEST.get()
        if tested is not None and tested.column.lower() == column.lower():
            return frame.where(tested.condition)
        if now is None:
            if RUNS:
                hint = "copy the context into the thread: contextvars.copy_context().run(...)"
                sentence = f"incremental_filter({column!r}) is called outside of a model's thread"
                raise IncrementalConfigError("filter-without-context", sentence, hint=hint)
            return frame
        now.uses_window = True
        kinds = {known.lower(): kind for known, kind in frame.dtypes}
        if column.lower() not in kinds:
            sentence = f"incremental_filter({column!r}) in {now.read.model!r}: no such column"
            hint = f"available columns: {', '.join(frame.columns)}"
            where = now.read.where
            raise IncrementalConfigError("time-column-missing", sentence, where=where, hint=hint)
        if now.read.windows is None:
            return frame

        def query(*aggregates: str) -> Row:
            return frame.selectExpr(*aggregates).collect()[0].asDict()

        kind = kinds[column.lower()]
        window = now.read.windows.on(now.read.model, column, kind, name, query)
        return frame.where(window.condition)

    return cut


def add_methods() -> None:
    """Add the method `frame.incremental_filter("ts")` to frames; raise `method-taken`.

    `SparkSession.getActiveSession()` of a function is the session of its step.
    """
    from pyspark.sql import DataFrame, SparkSession

    plain: Any = SparkSession.getActiveSession
    if not hasattr(plain, "of_penstock"):

        def active_session() -> SparkSession | None:
            return ACTIVE.get() or plain()

        active_session.of_penstock = True  # type: ignore[attr-defined]
        SparkSession.getActiveSession = staticmethod(active_session)  # type: ignore[method-assign]

    known = getattr(DataFrame, _METHOD, None)
    if known is None:

        def method(frame: DataFrame, column: str, *, name: str = "") -> DataFrame:
            return incremental_filter(column, name=name)(frame)

        method.of_penstock = True  # type: ignore[attr-defined]
        setattr(DataFrame, _METHOD, method)
    elif not getattr(known, "of_penstock", False):
        sentence = f"DataFrame has another method {_METHOD}"
        raise PythonModelError("method-taken", sentence, hint=f"use transform({_METHOD}('ts'))")
