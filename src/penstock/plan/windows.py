"""Windows of a step: from watermarks and the greatest values at the pinned versions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue, is_watermark_type
from penstock.core.errors import IncrementalConfigError, PenstockError
from penstock.core.model import Model
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import NullWatermark, WindowSettings
from penstock.plan.rerun import range_in_type

EXTERNAL = "window"
"""The name of the watermark of a function that reads only by its `window`."""


@dataclass(frozen=True, slots=True)
class WindowedInput:
    """An input with the watermark column; `type` is the column's Spark type."""

    input: str
    column: str
    type: str


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of one aggregate on a windowed input at its pin: greatest value, NULLs.

    `limit` is the value above which nothing may be read, None without one; `high` is the greatest
    value within the limit, `top` the greatest value of all.
    """

    input: WindowedInput
    high: TypedValue | None
    nulls: int
    limit: TypedValue | None = None
    top: TypedValue | None = None

    def is_cut(self, last: TypedValue | None) -> bool:
        """Return whether the limit excludes rows: those above it, or those around `known`."""
        found = [value for value in (self.top, last) if value is not None]
        return self.limit is not None and any(self.limit < value for value in found)


@dataclass(frozen=True, slots=True)
class Opened:
    """The windows of a step and its watermarks afterwards.

    `is_cut` is whether a limit excludes pinned rows that are above all watermarks.
    """

    windows: tuple[InputWindow, ...]
    watermarks: tuple[Watermark, ...]
    null_rows: int = 0
    is_cut: bool = False

    @property
    def all_empty(self) -> bool:
        """Whether there are windows, and all of them are empty."""
        return bool(self.windows) and all(each.window.is_empty for each in self.windows)

    def join(self, others: Sequence[Opened]) -> Opened:
        """Return all windows and watermarks of one step, its own first."""
        each = [self, *others]
        return Opened(
            tuple(w for one in each for w in one.windows),
            tuple(w for one in each for w in one.watermarks),
            sum(one.null_rows for one in each),
            any(one.is_cut for one in each),
        )


NO_WINDOWS = Opened((), ())


def windowed_inputs(
    model: Model,
    settings: WindowSettings,
    inputs: Mapping[str, Schema],
    watermarks: Sequence[Watermark] = (),
) -> tuple[WindowedInput, ...]:
    """Return the inputs that are read through a window.

    Those are the inputs that `window_on` names, and every other input with a column named
    `time_column`; each is checked against its record. Raises `no-windowed-input`,
    `time-column-missing`, and the errors of `check_type` and `check_watermarks`; a function may
    still open its own windows.
    """
    found, old = [], {watermark.input: watermark for watermark in watermarks}
    for name, schema in inputs.items():
        named = name in settings.on
        column = settings.on.get(name) if named else settings.time_column
        if column is None:
            continue
        known = schema.find(column)
        if known is None and not named:
            continue
        if known is None:
            raise IncrementalConfigError(
                "time-column-missing",
                f"window_on of {model.name!r} names {column!r}, which {name} does not have",
                where=model.where,
                hint=f"its columns are: {', '.join(schema.names[:20])}",
            )
        found.append(WindowedInput(name, known.name, known.type))
        _check_same_column(model, found[-1], old.get(name))
        check_type(model, settings, found[-1])
    if not found and not settings.guarded:
        raise no_windowed_input(model, settings, inputs)
    return tuple(found)


def no_windowed_input(
    model: Model, settings: WindowSettings, inputs: Mapping[str, Schema]
) -> PenstockError:
    """Return the error for a model that would read all of its inputs in each step."""
    pairs = ", ".join(f"'{name}': 'COLUMN'" for name in list(inputs)[:3])
    return IncrementalConfigError(
        "no-windowed-input",
        f"no input of {model.name!r} has a column {settings.time_column!r}",
        where=model.where,
        hint=f"name the inputs' columns: window_on={{{pairs}}}",
    )


def check_type(model: Model, settings: WindowSettings, each: WindowedInput) -> None:
    """Raise `time-column-type` for a column that cannot carry a watermark of the model.

    Raises `option-conflict` for a lookback or a grain that its type does not support.
    """
    kind, what = each.type.upper(), f"column {each.column!r} of {each.input}"
    if not is_watermark_type(each.type):
        raise IncrementalConfigError(
            "time-column-type",
            f"{what} must be a date, timestamp, integer or decimal to carry the watermark of "
            f"{model.name!r}; it is {kind}",
            where=model.where,
            hint="name another time_column, or cast it in what is read: to_timestamp(...)",
        )
    if each.type == "string" and not settings.string_watermark:
        raise IncrementalConfigError(
            "time-column-type",
            f"{what} is STRING; the watermark of {model.name!r} takes a date, timestamp, integer "
            "or decimal",
            where=model.where,
            hint=f"cast it in what is read: to_timestamp({each.column}), or set "
            "string_watermark=true if its values sort as text",
        )
    least = TypedValue.least(each.type)
    if settings.lookback is not None and not least.takes(settings.lookback):
        sentence = f"lookback {settings.lookback} cannot be taken from {what}, which is {kind}"
        raise IncrementalConfigError(
            "option-conflict",
            sentence,
            where=model.where,
            hint="times take a duration or days, numbers take units, texts take none",
        )
    if settings.grain and not least.is_temporal:
        sentence = f"grain {settings.grain} is a unit of time, and {what} is {kind}"
        hint = "leave grain out"
        raise IncrementalConfigError("option-conflict", sentence, where=model.where, hint=hint)


def low_bound(settings: WindowSettings, watermark: TypedValue | None) -> Bound | None:
    """Return the lower end of the next window: above the watermark, or `lookback` below it.

    A lookback that the type does not support is ignored here: the step refuses it.

    >>> low_bound(WindowSettings("n"), TypedValue("INT", "7"))
    Bound(value=TypedValue(type='INT', text='7'), inclusive=False)
    """
    if watermark is None:
        return None
    takes = settings.lookback is None or watermark.takes(settings.lookback)
    fits = takes and (watermark.is_temporal or not settings.grain)
    if not settings.reads_again or not fits:
        return Bound(watermark, inclusive=False)
    low = watermark if settings.lookback is None else watermark.minus(settings.lookback)
    return Bound(low.floor(settings.grain) if settings.grain else low, inclusive=True)


def aligned(
    settings: WindowSettings, model: Model, inputs: Sequence[WindowedInput], table: Schema | None
) -> WindowSettings:
    """Return the settings with the grain of the table, if none is set.

    It is a day if the table's time column is a DATE and an input's a timestamp, and for overlapping
    windows if a DATE partitions the table.
    """
    if settings.grain or table is None or not settings.guarded:
        return settings
    known = table.find(settings.time_column)
    is_date = known is not None and known.type == "date"
    times = any(each.type.startswith("timestamp") for each in inputs)
    dates = (table.find(name) for name in model.layout.partition_by)
    by_date = settings.reads_again and any(each and each.type == "date" for each in dates)
    if not (times and (is_date or by_date)):
        return settings
    # rows that would only be added come with the day again: its range is replaced
    return replace(settings, grain="day", overlaps=settings.overlaps or model.strategy.adds_again)


def kind_of(window: Window, step: str) -> str:
    """Return why a window reads its rows; `step` is the kind of a step that alone decides it.

    >>> kind_of(Window("n", Bound(TypedValue("INT", "7"), inclusive=False)), "")
    'forward'
    """
    if step or window.lower is None:
        return step or "initial"
    if window.upper is not None and not window.upper.inclusive:
        return "external"
    return "lookback" if window.lower.inclusive else "forward"


def expected_windows(
    model: Model,
    watermarks: Sequence[Watermark],
    table: Schema | None,
    rerun: tuple[TypedValue, TypedValue] | None,
) -> tuple[InputWindow, ...]:
    """Return the windows of a step before measuring: an open upper end is still to be pinned.

    Inputs without a watermark are left out: it is not known yet whether they have a window.
    """
    settings = model.strategy.window
    if settings is None:
        return ()
    if rerun is not None:
        return tuple(
            InputWindow(each.input, closed_window(each.column, rerun, each.value.type))
            for each in watermarks
        )
    inputs = [WindowedInput(w.input, w.column, w.value.type.lower()) for w in watermarks]
    settings = aligned(settings, model, inputs, table)
    found = (
        InputWindow(each.input, Window(each.column, low_bound(settings, each.value)))
        for each in watermarks
    )
    return joined_windows([*found]) if settings.overlaps and watermarks else tuple(found)


def closed_window(column: str, ends: tuple[TypedValue, TypedValue], kind: str) -> Window:
    """Return the window of a rerun on a column of some type, both ends inclusive."""
    low, high = (Bound(each, inclusive=True) for each in range_in_type(ends, kind))
    return Window(column, low, high)


def joined_windows(windows: Sequence[InputWindow]) -> tuple[InputWindow, ...]:
    """Combine the windows of all inputs into one, from the lowest end to the highest.

    Raises `time-column-type` if their times do not compare.
    """
    ends = [e for each in windows for e in (each.window.lower, each.window.upper) if e]
    if len({family(each.value.type) for each in ends}) > 1:
        kinds = {each.value.type for each in ends}
        names = ", ".join(f"{each.input}.{each.window.column}" for each in windows)
        raise IncrementalConfigError(
            "time-column-type",
            f"one window spans {names}, which are of several types: {', '.join(sorted(kinds))}",
            hint="cast them to one type in what is read",
        )
    lows = [each.window.lower for each in windows]
    highs = [each.window.upper for each in windows if each.window.upper]
    low = None if None in lows else min((e for e in lows if e), key=lambda each: each.value)
    high = max(highs, key=lambda each: each.value, default=None)
    return tuple(
        replace(each, window=replace(each.window, lower=low, upper=high)) for each in windows
    )


def open_windows(
    model: Model,
    settings: WindowSettings,
    measured: Sequence[Measured],
    watermarks: Sequence[Watermark],
    *,
    initial: bool,
    read_before: Collection[str] = (),
) -> Opened:
    """Return the windows of a step and the watermarks after it.

    A watermark never decreases, except that an `initial` step sets exactly what it has read. NULLs
    of the inputs in `read_before`, those of the last success, were read by the first load. Raises
    `null-watermark` and the errors of `check_watermarks`.
    """
    old = {} if initial else {watermark.input: watermark for watermark in watermarks}
    inputs = [each.input for each in measured]
    check_watermarks(model, inputs, tuple(old.values()), read_before)
    windows, watermarks, null_rows, is_cut = [], [], 0, False
    include = settings.null_watermark is NullWatermark.INCLUDE_FIRST
    for each in measured:
        if each.nulls and settings.null_watermark is NullWatermark.ERROR:
            raise IncrementalConfigError(
                "null-watermark",
                f"column {each.input.column!r} of {each.input.input} is NULL in "
                f"{each.nulls} rows that {model.name!r} would read",
                where=model.where,
                hint="correct the rows, or set null_watermark to include_first or drop_counted",
            )
        known = old.get(each.input.input)
        value = known.value if known else None
        high = max((v for v in (value, each.high) if v is not None), default=None)
        null_rows += each.nulls
        is_cut = is_cut or each.is_cut(value)
        lower, upper = _window_ends(settings, each, value, high)
        # without NULLs no window for them, so that an empty input is seen to be empty
        first = initial or each.input.input not in read_before
        nulls = include and first and not known and bool(each.nulls)
        window = Window(each.input.column, lower, upper, nulls=nulls)
        windows.append(InputWindow(each.input.input, window))
        if high is not None:
            watermarks.append(Watermark(each.input.input, each.input.column, high))
    together = joined_windows(windows) if settings.overlaps and windows else tuple(windows)
    return Opened(together, tuple(watermarks), null_rows, is_cut)


def _window_ends(
    settings: WindowSettings, measured: Measured, last: TypedValue | None, high: TypedValue | None
) -> tuple[Bound | None, Bound | None]:
    """Return both ends of a window; a limit below the watermark makes it empty."""
    nothing_new = measured.high is None or (last is not None and measured.high < last)
    if last is not None and measured.limit is not None and measured.limit < last:
        return Bound(last, inclusive=False), Bound(last, inclusive=True)
    top = last if not settings.reads_again and nothing_new else high
    upper = Bound(top, inclusive=True) if top is not None else None
    return low_bound(settings, last), upper


def check_watermarks(
    model: Model,
    inputs: Sequence[WindowedInput],
    watermarks: Sequence[Watermark],
    read_before: Collection[str] = (),
) -> None:
    """Check recorded watermarks against the inputs, before Spark compares the two.

    `read_before` are inputs of the last success: one without a watermark was empty then, so none of
    its rows are in the table. Raises `time-column-changed`, `watermark-type-changed` or
    `new-windowed-input`.
    """
    known = {watermark.input: watermark for watermark in watermarks}
    for each in inputs:
        old = known.get(each.input)
        if old is None and known and each.input not in read_before:
            check_new_input(model, each.input, each.column)
        _check_same_column(model, each, old)


def check_new_input(model: Model, name: str, column: str, *, replaces: bool = False) -> None:
    """Raise `new-windowed-input` if an input would be appended to rows of others."""
    if model.strategy.adds_again or replaces:
        raise IncrementalConfigError(
            "new-windowed-input",
            f"{name} has no watermark while other inputs of {model.name!r} have one; "
            "appending it from the start could double rows",
            where=model.where,
            hint=f"--full-refresh, or penstock watermark set {model.name} VALUE "
            f"--column {name}.{column}",
        )


def _check_same_column(model: Model, now: WindowedInput, last: Watermark | None) -> None:
    if last is not None and last.column.lower() != now.column.lower():
        raise IncrementalConfigError(
            "time-column-changed",
            f"the watermark of {now.input} is on {last.column!r}, the code says {now.column!r}",
            where=model.where,
            hint="--full-refresh rebuilds the table with the new column",
        )
    if last is not None and family(last.value.type) != family(now.type):
        raise IncrementalConfigError(
            "watermark-type-changed",
            f"the watermark of {now.input}.{last.column} is a {last.value.type}, the column is "
            f"{now.type.upper()} now",
            where=model.where,
            hint="--full-refresh rebuilds the table, or cast the column in a view",
        )


def future_note(model: Model, watermarks: Sequence[Watermark], now: dt.datetime) -> tuple[str, ...]:
    """Warn of watermarks a day or more after a run's time: rows before them count as late."""
    latest = (now + dt.timedelta(days=1)).isoformat()
    return tuple(
        f"watermark-in-future: {each.key} is {each.value.text}; "
        f"penstock watermark set {model.name} VALUE --column {each.key}"
        for each in watermarks
        if each.value.is_temporal and each.value > TypedValue.parse(each.value.type, latest)
    )


def family(spark_type: str) -> str:
    """Return one word for types whose values compare: numbers of any width may be widened."""
    name = spark_type.upper()
    return "NUMBER" if name.endswith("INT") or name.startswith("DECIMAL") else name
