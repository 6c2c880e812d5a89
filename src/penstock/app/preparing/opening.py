"""Opening the windows of a step: on its inputs, on tables of which it reads what is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.app.preparing.function_windows import StepWindows, step_windows
from penstock.app.preparing.measuring import Measuring, arrivals, behind, late_rows, measure
from penstock.app.preparing.pins import Inputs
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.names import InputKind, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import NullWatermark, WindowSettings
from penstock.plan.delta_inputs import delta_window, grown_along
from penstock.plan.values import Step
from penstock.plan.windows import (
    NO_WINDOWS,
    Opened,
    WindowedInput,
    aligned,
    as_one,
    closed,
    windowed_inputs,
)
from penstock.strategies.relations import BoundQuery, StepReads, bind_inputs


@dataclass(slots=True)
class FoundWindows:
    """The windows of a step, None for a model without, and what its functions are told of them.

    `late` counts rows below them, None where nobody can tell.
    """

    opened: Opened | None = None
    called: StepWindows | None = None
    late: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """One step whose windows are to be opened; `facts` are those of the table that is there."""

    services: Services
    context: Context
    step: Step
    model: Model
    inputs: Inputs
    session: StepSession
    facts: TableFacts | None

    def open(self) -> FoundWindows:
        """Pin the greatest value of each windowed input; ask Spark where the log cannot say."""
        settings, found = self.model.strategy.window, FoundWindows()
        if settings is not None:
            found.called = self._step_windows()
            self._measured(settings, found)
        found.opened = self._with_deltas(found.opened)
        if found.called and found.opened:
            found.called.given = found.opened.windows
        return found

    def _measured(self, settings: WindowSettings, found: FoundWindows) -> None:
        views, inputs = self._windowed(settings, found.called)
        if self.context.options.rerun is not None:
            found.opened = self._again(inputs, views, self.context.options.rerun)
            return
        record = self.context.records.get(self.model.name)
        pins = {pin.input: pin.pin for pin in self.inputs.pins}
        table = self.facts.schema if self.facts else None
        what = Measuring(
            model=self.model,
            settings=aligned(settings, self.model, inputs, table),
            inputs=inputs,
            views=views,
            watermarks=self._watermarks(),
            initial=self._is_first(),
            as_of=self.context.as_of,
            arrived=arrivals(self.services, pins, record),
            record=record,
            project=self.services.project,
            reads=self._reads(None),
        )
        found.opened = measure(self.session, what)
        found.notes = behind(self.services, self.session, what, found.opened.watermarks)
        found.late = late_rows(self.session, what)

    def _windowed(
        self, settings: WindowSettings, called: StepWindows | None
    ) -> tuple[dict[str, str], tuple[WindowedInput, ...]]:
        """Return the views of all inputs, and those inputs that are read through a window."""
        query = self.model.query
        whole = self._bound(called)
        schemas = self.session.bind(whole.relations)
        views = {relation.input.name: relation.view for relation in whole.relations}
        direct = {
            name.name: schemas[views[name.name]]
            for name in query.inputs
            if name.kind is not InputKind.THIS and name.name in views and name not in query.deltas
        }
        inputs = windowed_inputs(self.model, settings, direct, self._watermarks())
        if called:
            inputs = tuple(each for each in inputs if not called.filtered(each.input, each.column))
        return views, inputs

    def _step_windows(self) -> StepWindows | None:
        """Return what functions are told of the step's windows."""
        schema = self.facts.schema if self.facts else None
        found = step_windows(self.context, self.step, self._watermarks(), schema)
        if found is not None:
            found.initial = self._is_first()
        return found

    def _is_first(self) -> bool:
        """Whether the step reads from the start: nothing is remembered, and no row is there."""
        if self.step.initial or self.facts is None or self._watermarks():
            return self.step.initial
        uri = self.services.project.uri_of(self.model.table)
        counted = self.services.log.facts(uri, counts=True)
        return counted is not None and counted.rows == 0

    def _with_deltas(self, opened: Opened | None) -> Opened | None:
        """Open the windows on tables of which the step reads only what is new."""
        if not self.model.query.deltas:
            return opened
        settings, project, found = self.model.strategy.window, self.services.project, []
        known = {each.input: each.value for each in self._watermarks()}
        nulls = settings is None or settings.null_watermark is NullWatermark.INCLUDE_FIRST
        for relation in self._bound(None).relations:
            name = relation.input.name
            if relation.input not in self.model.query.deltas:
                continue
            schema = self.session.bind([relation])[relation.view]
            each = grown_along(project.models[name], schema)
            record, again = self.context.records.get(name), self.context.options.rerun
            above = record.watermarks if record else ()
            if again is None:
                found.append(delta_window(each, above, known.get(name), nulls=nulls))
            else:
                low, high = (Bound(value, inclusive=True) for value in again)
                found.append(Opened((InputWindow(name, Window(each.column, low, high)),), ()))
        opened = (opened or NO_WINDOWS).beside(found)
        overlaps = settings is not None and settings.overlaps
        return replace(opened, windows=as_one(opened.windows)) if overlaps else opened

    def _again(
        self,
        inputs: Sequence[WindowedInput],
        views: Mapping[str, str],
        ends: tuple[TypedValue, TypedValue],
    ) -> Opened:
        """Open the windows of a rerun; a watermark rises to what lies in the range."""
        found = [InputWindow(each.input, closed(each.column, ends, each.type)) for each in inputs]
        known = {each.input: each for each in self._watermarks()}
        for each, window in zip(inputs, found, strict=True):
            top = f"CAST(max({quoted(each.column)}) AS STRING) AS top"
            inside = window.window.condition
            seen = self.session.look(
                f"SELECT {top} FROM {quoted(views[each.input])} WHERE {inside}"
            )
            value = TypedValue.parse(each.type, str(seen["top"])) if seen["top"] else None
            old = known.get(each.input)
            if value is not None and (old is None or old.value < value):
                known[each.input] = Watermark(each.input, each.column, value)
        return Opened(tuple(found), tuple(known.values()))

    def _watermarks(self) -> tuple[Watermark, ...]:
        record = self.context.records.get(self.model.name)
        if self.step.initial:
            return ()
        watermarks = record.watermarks if record else ()
        if record is None:  # what somebody set for a model that never had a step
            found: dict[tuple[str, str], Watermark | None] = {}
            for each in self.services.reading.records.watermark_history(self.model.name):
                set_to = each.value and Watermark(each.input, each.column, read_typed(each.value))
                found.setdefault((each.input, each.column), set_to or None)
            watermarks = tuple(each for each in found.values() if each is not None)
        built = record is not None and record.succeeded_once
        if not built and not watermarks and self.model.strategy.adds_again:
            raise TableError(
                "adopt-needs-watermark",
                f"{self.model.table} holds rows already; appending from the start doubles them",
                where=self.model.where,
                hint=f"say how far it goes: penstock watermark set {self.model.name} VALUE "
                "--column INPUT.COLUMN --type TYPE",
            )
        return watermarks

    def _bound(self, called: StepWindows | None) -> BoundQuery:
        project, incremental = self.services.project, not self.step.initial
        return bind_inputs(project, self.model, self._reads(called), incremental=incremental)

    def _reads(self, called: StepWindows | None) -> StepReads:
        return StepReads(self.inputs.reads, self.context.run_timestamp, called)
