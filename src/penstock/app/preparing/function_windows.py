"""The windows that a function opens while it is called: `incremental_filter`, `window`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import IncrementalConfigError
from penstock.core.model import Model
from penstock.core.ports.engine import FrameReaders
from penstock.core.statement import Row
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import WindowSettings
from penstock.plan.values import Step
from penstock.plan.windows import (
    EXTERNAL,
    Measured,
    Opened,
    WindowedInput,
    aligned,
    check_new_input,
    check_type,
    closed_window,
    family,
    joined_windows,
    low_bound,
    open_windows,
)
from penstock.strategies.relations import frame_readers


@dataclass(slots=True, eq=False)
class StepWindows:
    """The windows of one step for its functions, and those that the functions open.

    `input_windows` are the windows on its inputs, once they are known. `initial` steps read
    everything. `again` is the range of a rerun. `as_of` limits what is read; a window without an
    input ends at `run_timestamp`. `decided` is the kind of a step that alone decides it.
    """

    model: Model
    settings: WindowSettings
    watermarks: Sequence[Watermark]
    initial: bool
    run_timestamp: dt.datetime
    as_of: dt.datetime | None = None
    again: tuple[TypedValue, TypedValue] | None = None
    decided: str = ""
    input_windows: tuple[InputWindow, ...] = ()
    own: list[Opened] = field(default_factory=list)
    names: set[tuple[str, str]] = field(default_factory=set)

    @property
    def kind(self) -> str:
        """Why the step reads these rows."""
        if self.again is not None:
            return "rerun"
        if self.initial:
            return self.decided or "initial"
        if not self.input_windows:
            return "external"
        return "lookback" if self.settings.reads_again else "forward"

    def on(
        self, function: str, column: str, kind: str, name: str, query: Callable[..., Row]
    ) -> Window:
        """Return the window on a column of a frame: one of the step's, or a new one.

        `query` returns one row of aggregates over the frame.
        """
        key = (function, name or column)
        if key in self.names:
            sentence = f"{function!r} filters twice on {key[1]!r}"
            hint = "tell them apart: incremental_filter(..., name='...')"
            where = self.model.where
            raise IncrementalConfigError("duplicate-window", sentence, where=where, hint=hint)
        same = [each for each in self.input_windows if each.window.column.lower() == column.lower()]
        if same and not name:
            return joined_windows(same)[0].window
        self.names.add(key)
        if self.again is not None:
            return self._range(column, kind)
        check_type(self.model, self.settings, WindowedInput(function, column, kind))
        watermarks = self._own_watermarks(*key)
        found = self._open(WindowedInput(function, key[1], kind), column, watermarks, query)
        self.own.append(found)
        window = found.windows[0].window
        return Window(column, window.lower, window.upper, nulls=window.nulls)

    def _open(
        self, each: WindowedInput, column: str, own: Sequence[Watermark], query: Callable[..., Row]
    ) -> Opened:
        """Pin the greatest value with one aggregate on the frame."""
        quoted = f"`{column.replace('`', '``')}`"
        limit = None
        if self.as_of is not None and each.type in ("date", "timestamp", "timestamp_ntz"):
            limit = TypedValue.parse(each.type, self.as_of.isoformat())
        readable = f"CASE WHEN {quoted} <= {limit.sql} THEN {quoted} END" if limit else quoted
        row = query(
            f"CAST(max({readable}) AS STRING) AS high",
            f"CAST(max({quoted}) AS STRING) AS top",
            f"count_if({quoted} IS NULL) AS nulls",
        )
        high, top = (
            TypedValue.parse(each.type, str(row[name])) if row[name] is not None else None
            for name in ("high", "top")
        )
        measured = Measured(each, high, int(row["nulls"] or 0), limit, top)
        before = () if self.initial else (each.input,)
        model, settings, initial = self.model, self.settings, self.initial
        new = open_windows(model, settings, [measured], own, initial=initial, read_before=before)
        return extend(settings, new, self.watermarks)

    def _own_watermarks(self, name: str, column: str) -> tuple[Watermark, ...]:
        """Return the watermark of a new window; raise `new-windowed-input`.

        Without a watermark, it would read from the start what came in through another window.
        """
        if self.initial:
            return ()
        found = tuple(w for w in self.watermarks if (w.input, w.column) == (name, column))
        if self.watermarks and not found:
            check_new_input(self.model, name, column, replaces=self.settings.overlaps)
        return found

    def span(self) -> Window:
        """Return the window that covers all others; without an input that of the run's time."""
        if self.input_windows:
            return joined_windows(self.input_windows)[0].window
        self.names.add((self.model.name, EXTERNAL))
        if self.again is not None:
            return self._range(self.settings.time_column, "")
        column = self.settings.time_column
        known = self._own_watermarks(self.model.name, EXTERNAL)
        now = TypedValue.parse("TIMESTAMP", self.run_timestamp.isoformat())
        low = Bound(known[0].value, inclusive=True) if known and not self.initial else None
        window = Window(column, low, Bound(now, inclusive=False))
        if not any(w.input == self.model.name for each in self.own for w in each.watermarks):
            watermark = Watermark(self.model.name, EXTERNAL, now)
            self.own.append(Opened((InputWindow(self.model.name, window),), (watermark,)))
        return window

    def lowest(self, name: str) -> Window | None:
        """Return what the step may read of an input, without an upper bound; None for everything.

        If one window covers several inputs, it begins at the lowest of their beginnings.
        """
        deltas = {each.name for each in self.model.query.deltas}
        known = [each for each in self.watermarks if each.input == name]
        column = self.settings.on.get(name, self.settings.time_column) or ""
        if self.initial or self.again is not None or name in deltas or len(known) != 1:
            return None
        if self.settings.overlaps and len(self.model.query.inputs) > 1:
            return None
        low = low_bound(self.settings, known[0].value)
        if low is None or known[0].column.lower() != column.lower():
            return None
        return Window(known[0].column, Bound(low.value, inclusive=True), nulls=True)

    def filtered(self, function: str, column: str) -> bool:
        """Return whether a function has opened a window on a column itself."""
        return (function, column) in self.names

    def _range(self, column: str, kind: str) -> Window:
        return closed_window(column, self.again, kind) if self.again else Window(column)

    def with_own(self, windows: Opened) -> Opened:
        """Return the windows of the step with those that functions opened."""
        return windows.join(self.own)


def extend(settings: WindowSettings, windows: Opened, watermarks: Sequence[Watermark]) -> Opened:
    """Move the start of windows whose range is replaced to the earliest start of the step.

    Otherwise the earlier rows of an input with a later start would be lost.
    """
    if not settings.overlaps:
        return windows
    extended = []
    for each in windows.windows:
        low = each.window.lower
        lows = [low_bound(settings, w.value) for w in watermarks] if low else []
        alike = (e for e in lows if e and low and family(e.value.type) == family(low.value.type))
        lower = min([*alike, *([low] if low else [])], key=lambda e: e.value, default=None)
        extended.append(replace(each, window=replace(each.window, lower=lower)))
    return replace(windows, windows=tuple(extended))


def step_windows(
    context: Context, step: Step, watermarks: Sequence[Watermark], table: Schema | None
) -> StepWindows | None:
    """Return the windows for the functions of a step; None for a model without windows.

    `table` is the schema of the existing table.
    """
    model = context.project.models[step.model]
    settings = model.strategy.window
    if settings is None or not settings.guarded:
        return None
    inputs = [WindowedInput(w.input, w.column, w.value.type.lower()) for w in watermarks]
    return StepWindows(
        model,
        aligned(settings, model, inputs, table),
        watermarks,
        step.initial,
        context.run_timestamp,
        context.as_of,
        context.options.rerun,
        step.kind,
    )


def shared_frames(
    services: Services, context: Context, steps: Sequence[Step]
) -> dict[str, FrameReaders]:
    """Return which models share a frame in a run; a kept frame holds what its readers may read."""
    project = services.project
    found = frame_readers(project, dict.fromkeys(step.model for step in steps))

    def lowest(frame: str, step: Step) -> Window | None:
        model, record = project.models[step.model], context.records.get(step.model)
        facts = None if model.is_view else services.log.facts(project.uri_of(model.table))
        known = record.watermarks if record else ()
        windows = step_windows(context, step, known, facts.schema if facts else None)
        return windows.lowest(frame) if windows else None

    for name, readers in found.items():
        if readers.keeps:
            own = project.models[name].input_name
            direct = [step for step in steps if own in project.models[step.model].query.inputs]
            found[name] = replace(readers, cut=_hull([lowest(name, step) for step in direct]))
    return found


def _hull(windows: Sequence[Window | None]) -> Window | None:
    """Return the window that covers all others on one column; None if there is none."""
    lows = [each for each in windows if each is not None and each.lower is not None]
    if not lows or len(lows) < len(windows) or len({each.column.lower() for each in lows}) > 1:
        return None
    return min(lows, key=lambda each: each.lower.value.key if each.lower else 0)
