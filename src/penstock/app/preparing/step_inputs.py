"""Looking before a step begins: windows, columns, schema. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.app.observation.log_reader import changed_below, open_log_reader
from penstock.app.observation.observe import observe_target
from penstock.app.preparing.function_windows import StepWindows, step_windows
from penstock.app.preparing.measuring import Measuring, arrivals, behind, late_rows, measure
from penstock.app.preparing.run_context import Context, Inputs
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import NullWatermark, OnSchemaChange, WindowSettings, Writing
from penstock.plan.evolution import Evolution, evolve
from penstock.plan.values import Step
from penstock.plan.windows import (
    NO_WINDOWS,
    Opened,
    WindowedInput,
    aligned,
    as_one,
    closed,
    delta_window,
    grown_along,
    no_windowed_input,
    windowed_inputs,
)
from penstock.strategies.overwrite import check_output, rows_inside
from penstock.strategies.relations import StepReads, bind, bind_inputs


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What a step knows before it begins.

    `facts` are those of the table that is there, `table` its schema where the step builds on it.
    `passed_by` are inputs that changed rows which the windows have passed. `has_nothing_to_read` is
    whether the model has windows and all of them are empty. `notes` warn of watermarks.
    """

    query: Schema
    evolution: Evolution
    facts: TableFacts | None
    table: Schema | None
    opened: Opened | None
    late: int | None
    passed_by: tuple[str, ...] = ()
    has_nothing_to_read: bool = False
    notes: tuple[str, ...] = ()

    @property
    def schema_changes(self) -> tuple[str, ...]:
        """How the query's columns change the table, in words."""
        added = (f"added {name}" for name in self.evolution.added)
        return (*added, *(f"widened {name}" for name in self.evolution.widened))


NOTHING = StepInputs(Schema(), Evolution(()), None, None, None, None)
"""What is known before anything was looked at."""


@dataclass(frozen=True, slots=True)
class Looking:
    """One step about to begin."""

    services: Services
    context: Context
    step: Step
    model: Model
    inputs: Inputs

    def look(self, session: StepSession) -> StepInputs:
        """Open windows, define the query as `penstock_query`, compare it with the table."""
        settings = self.model.strategy.window
        facts = None
        if not self.model.is_view:
            whole = self.step.initial or self.model.writing is Writing.WHOLE
            uri = self.services.project.uri_of(self.model.table)
            facts = self.services.log.facts(uri, counts=whole)  # what is replaced is counted
            if facts is None and not self.step.initial:
                raise table_gone(self.model)
        called = self._step_windows(facts) if settings else None
        windowed = self._windows(session, settings, called, facts) if settings else None
        opened, late, notes = windowed or (None, None, ())
        if self.model.query.deltas:
            opened = self._with_deltas(session, opened or NO_WINDOWS)
        if called and opened:
            called.given = opened.windows
        windows = {w.input: w.window for w in opened.windows} if opened else {}
        reads, incremental = self._reads(called), not self.step.initial
        bound = bind(self.services.project, self.model, reads, windows, incremental=incremental)
        session.bind(bound.relations)
        query = session.define(QUERY_VIEW, bound.sql)
        if self.model.function is not None:
            check_output(self.model, query)
        if opened and settings and called:
            opened = called.joined(opened)
            if not opened.windows and self.context.options.rerun is None:
                direct = {each.name: Schema() for each in self.model.inputs}
                raise no_windowed_input(self.model, settings, direct)
            query = session.define(QUERY_VIEW, rows_inside(self.model, query, self._range(opened)))
        table = facts.schema if facts and not self.step.initial else None
        properties = facts.properties if facts else None
        model = self.model
        if self.context.options.allow_schema_change:
            model = replace(model, on_schema_change=OnSchemaChange.APPEND)
        evolution = evolve(model, query, table, properties)
        if facts is not None and table is not None:
            uri = self.services.project.uri_of(self.model.table)
            read = DeltaRead(uri, facts.version)
            session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, read)])
        written = Schema(tuple(c for c in query.columns if c.name in evolution.written))
        passed_by = self._passed_by()
        empty = opened is not None and bool(opened.windows) and opened.all_empty
        return StepInputs(written, evolution, facts, table, opened, late, passed_by, empty, notes)

    def _range(self, found: Opened) -> Sequence[InputWindow]:
        """Give the windows in whose range the rows of the step lie."""
        again = self.context.options.rerun
        if again is None or self.model.strategy.window is None:
            return found.windows
        low, high = (Bound(each, inclusive=True) for each in again)
        return (InputWindow("", Window(self.model.strategy.window.time_column, low, high)),)

    def _step_windows(self, facts: TableFacts | None) -> StepWindows | None:
        """Give what functions are told of the step's windows."""
        schema = facts.schema if facts else None
        found = step_windows(self.context, self.step, self._watermarks(), schema)
        if found is not None:
            found.initial = self._is_first(facts)
        return found

    def _passed_by(self) -> tuple[str, ...]:
        """Name what no window will read again; only a step that reads everything settles it.

        The model itself is named if others changed rows of its table, which stay.
        """
        name, records = self.model.name, self.context.records
        record = records.get(name)
        if self.step.initial or record is None or self.model.strategy.window is None:
            return ()
        now = changed_below(self.services.project, [name], records, open_log_reader(self.services))
        passed = {*record.passed_by, *now.get(name, ())}
        if observe_target(self.services, self.model, record).foreign:
            passed.add(name)
        return tuple(sorted(passed))

    def _windows(
        self,
        session: StepSession,
        settings: WindowSettings,
        called: StepWindows | None,
        facts: TableFacts | None,
    ) -> tuple[Opened, int | None, tuple[str, ...]]:
        project = self.services.project
        whole = bind_inputs(project, self.model, self._reads(called))
        schemas = session.bind(whole.relations)
        views = {relation.input.name: relation.view for relation in whole.relations}
        direct = {
            name.name: schemas[views[name.name]]
            for name in self.model.query.inputs
            if name.kind is not InputKind.THIS
            and name.name in views
            and name not in self.model.query.deltas
        }
        record = self.context.records.get(self.model.name)
        pins = {pin.input: pin.pin for pin in self.inputs.pins}
        inputs = windowed_inputs(self.model, settings, direct, self._watermarks())
        if called:
            inputs = tuple(each for each in inputs if not called.filtered(each.input, each.column))
        if self.context.options.rerun is not None:
            return self._again(session, inputs, views, self.context.options.rerun), None, ()
        what = Measuring(
            model=self.model,
            settings=aligned(settings, self.model, inputs, facts.schema if facts else None),
            inputs=inputs,
            views=views,
            watermarks=self._watermarks(),
            initial=self._is_first(facts),
            as_of=self.context.as_of,
            arrived=arrivals(self.services, pins, record),
            record=record,
            project=project,
            reads=self._reads(None),
        )
        found = measure(session, what)
        notes = behind(self.services, session, what, found.watermarks)
        return found, late_rows(session, what), notes

    def _is_first(self, facts: TableFacts | None) -> bool:
        """Whether the step reads from the start: nothing is remembered, and no row is there."""
        if self.step.initial or facts is None or self._watermarks():
            return self.step.initial
        uri = self.services.project.uri_of(self.model.table)
        counted = self.services.log.facts(uri, counts=True)
        return counted is not None and counted.rows == 0

    def _with_deltas(self, session: StepSession, opened: Opened) -> Opened:
        """Open the windows on tables of which the step reads only what is new."""
        settings, project, found = self.model.strategy.window, self.services.project, []
        known = {each.input: each.value for each in self._watermarks()}
        nulls = settings is None or settings.null_watermark is NullWatermark.INCLUDE_FIRST
        for relation in bind_inputs(project, self.model, self._reads(None)).relations:
            name = relation.input.name
            if relation.input not in self.model.query.deltas:
                continue
            schema = session.bind([relation])[relation.view]
            each = grown_along(project.models[name], schema)
            record, again = self.context.records.get(name), self.context.options.rerun
            above = record.watermarks if record else ()
            if again is None:
                found.append(delta_window(each, above, known.get(name), nulls=nulls))
            else:
                low, high = (Bound(value, inclusive=True) for value in again)
                found.append(Opened((InputWindow(name, Window(each.column, low, high)),), ()))
        opened = opened.beside(found)
        overlaps = settings is not None and settings.overlaps
        return replace(opened, windows=as_one(opened.windows)) if overlaps else opened

    def _again(
        self,
        session: StepSession,
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
            seen = session.look(f"SELECT {top} FROM {quoted(views[each.input])} WHERE {inside}")
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

    def _reads(self, called: StepWindows | None) -> StepReads:
        return StepReads(self.inputs.reads, self.context.run_timestamp, called)


def table_gone(model: Model) -> TableError:
    """Give the error of a step whose table went away after it was planned."""
    return TableError(
        "table-gone",
        f"{model.table} disappeared while the step was running",
        where=model.where,
        hint="run again; the next plan rebuilds it",
    )
