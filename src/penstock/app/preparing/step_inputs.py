"""What a step reads before it begins: windows, columns, schema. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.app.observation.late_rows import changed_below
from penstock.app.observation.log_reader import open_log_reader
from penstock.app.preparing.feeds import FeedLooking, HistoryInputs
from penstock.app.preparing.function_windows import StepWindows, step_windows
from penstock.app.preparing.measuring import Measuring, arrivals, lag_notes, late_rows, measure
from penstock.app.preparing.pins import Inputs, version_read
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.entities.slices import UnchangedSlice
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Work
from penstock.core.steps.inputs import DeltaRead, InputPin, Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import Build, NullWatermark, WindowSettings, Writing
from penstock.plan.delta_inputs import delta_window, growing_input
from penstock.plan.evolution import Evolution, evolve
from penstock.plan.values import Step
from penstock.plan.windows import (
    NO_WINDOWS,
    Opened,
    WindowedInput,
    aligned,
    closed_window,
    future_note,
    joined_windows,
    kind_of,
    no_windowed_input,
    windowed_inputs,
)
from penstock.strategies.overwrite import check_output, checked_rows, contract_rows
from penstock.strategies.relations import BoundQuery, StepReads, bind, bind_inputs


@dataclass(slots=True)
class FoundWindows:
    """The windows of a step, None for a model without, and the same for its functions.

    `late` counts rows below them, None if it is unknown.
    """

    windows: Opened | None = None
    called: StepWindows | None = None
    late: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """One step whose windows are to be opened; `facts` are those of the existing table."""

    services: Services
    context: Context
    step: Step
    model: Model
    inputs: Inputs
    session: StepSession
    facts: TableFacts | None

    def open(self) -> FoundWindows:
        """Pin the greatest value of each windowed input; use Spark if the log does not have it."""
        settings, found = self.model.strategy.window, FoundWindows()
        if settings is not None:
            found.called = self._step_windows()
            self._measure_windows(settings, found)
        found.windows = self._with_delta_windows(found.windows)
        if found.called and found.windows:
            found.called.input_windows = found.windows.windows
        return found

    def _measure_windows(self, settings: WindowSettings, found: FoundWindows) -> None:
        views, inputs = self._windowed_inputs(settings, found.called)
        if self.context.options.rerun is not None:
            found.windows = self._rerun_windows(inputs, views, self.context.options.rerun)
            return
        record = self.context.records.get(self.model.name)
        pins = {pin.input: pin.pin for pin in self.inputs.pins}
        table = self.facts.schema if self.facts else None
        what = Measuring(
            model=self.model,
            settings=aligned(settings, self.model, inputs, table),
            inputs=inputs,
            views=views,
            watermarks=self._used_watermarks(),
            initial=self._is_first(),
            as_of=self.context.as_of,
            arrived=arrivals(self.services, pins, record),
            record=record,
            project=self.services.project,
            reads=self._step_reads(None),
        )
        found.windows = measure(self.session, what)
        found.notes = lag_notes(self.services, self.session, what, found.windows.watermarks)
        found.late = late_rows(self.session, what)

    def _windowed_inputs(
        self, settings: WindowSettings, called: StepWindows | None
    ) -> tuple[dict[str, str], tuple[WindowedInput, ...]]:
        """Return the views of all inputs, and the inputs that are read through a window."""
        query = self.model.query
        whole = self._bound_query(called)
        schemas = self.session.bind(whole.relations)
        views = {relation.input.name: relation.view for relation in whole.relations}
        direct = {
            name.name: schemas[views[name.name]]
            for name in query.inputs
            if name.kind is not InputKind.THIS and name.name in views and name not in query.deltas
        }
        inputs = windowed_inputs(self.model, settings, direct, self._used_watermarks())
        if called:
            inputs = tuple(each for each in inputs if not called.filtered(each.input, each.column))
        return views, inputs

    def _step_windows(self) -> StepWindows | None:
        """Return the step's windows for functions."""
        schema = self.facts.schema if self.facts else None
        found = step_windows(self.context, self.step, self._used_watermarks(), schema)
        if found is not None:
            found.initial = self._is_first()
        return found

    def _is_first(self) -> bool:
        """Return whether the step reads from the start: there are no watermarks and no rows."""
        if self.step.initial or self.facts is None or self._used_watermarks():
            return self.step.initial
        uri = self.services.project.uri_of(self.model.table)
        counted = self.services.log.facts(uri, counts=True)
        return counted is not None and counted.rows == 0

    def _with_delta_windows(self, windows: Opened | None) -> Opened | None:
        """Open the windows on tables of which the step reads only new rows."""
        if not self.model.query.deltas:
            return windows
        settings, project, found = self.model.strategy.window, self.services.project, []
        known = {each.input: each.value for each in self._used_watermarks()}
        nulls = settings is None or settings.null_watermark is NullWatermark.INCLUDE_FIRST
        for relation in self._bound_query(None).relations:
            name = relation.input.name
            if relation.input not in self.model.query.deltas:
                continue
            schema = self.session.bind([relation])[relation.view]
            each = growing_input(project.models[name], schema)
            record, again = self.context.upstreams.get(name), self.context.options.rerun
            above = record.watermarks if record else ()
            if again is None:
                found.append(delta_window(each, above, known.get(name), nulls=nulls))
            else:
                low, high = (Bound(value, inclusive=True) for value in again)
                found.append(Opened((InputWindow(name, Window(each.column, low, high)),), ()))
        windows = (windows or NO_WINDOWS).join(found)
        overlaps = settings is not None and settings.overlaps
        return replace(windows, windows=joined_windows(windows.windows)) if overlaps else windows

    def _rerun_windows(
        self,
        inputs: Sequence[WindowedInput],
        views: Mapping[str, str],
        ends: tuple[TypedValue, TypedValue],
    ) -> Opened:
        """Open the windows of a rerun; a watermark rises to the greatest value in the range."""
        found = [
            InputWindow(each.input, closed_window(each.column, ends, each.type)) for each in inputs
        ]
        known = {each.input: each for each in self._used_watermarks()}
        for each, window in zip(inputs, found, strict=True):
            top = f"CAST(max({quoted(each.column)}) AS STRING) AS top"
            inside = window.window.condition
            seen = self.session.row(f"SELECT {top} FROM {quoted(views[each.input])} WHERE {inside}")
            value = TypedValue.parse(each.type, str(seen["top"])) if seen["top"] else None
            old = known.get(each.input)
            if value is not None and (old is None or old.value < value):
                known[each.input] = Watermark(each.input, each.column, value)
        return Opened(tuple(found), tuple(known.values()))

    def _used_watermarks(self) -> tuple[Watermark, ...]:
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
                hint=f"set where it continues: penstock watermark set {self.model.name} VALUE "
                "--column INPUT.COLUMN --type TYPE",
            )
        return watermarks

    def _bound_query(self, called: StepWindows | None) -> BoundQuery:
        project, incremental = self.services.project, not self.step.initial
        return bind_inputs(project, self.model, self._step_reads(called), incremental=incremental)

    def _step_reads(self, called: StepWindows | None) -> StepReads:
        return StepReads(self.inputs.reads, self.context.run_timestamp, called)


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What a step knows before it begins.

    `facts` are those of the existing table, `table` its schema if the step builds on it.
    `evolution` is how the query's columns fit the table, `schema_changes` the same as text. `late`
    counts rows below a watermark, None if unknown. `passed_by` are inputs that changed rows below
    the watermarks. `is_idle` is whether all windows are empty: then there is no statement and no
    commit, only new pins. `notes` warn about watermarks. `versions` are for a history table. `work`
    returns the statements if these depend on rows that were read, and `slice_view` holds those of a
    slice. The step's commit lists slices that are `unchanged`. The rows of `bad_sql` are records
    that are kept beside the table.
    """

    query: Schema
    evolution: Evolution
    facts: TableFacts | None
    table: Schema | None
    windows: Opened | None
    late: int | None
    schema_changes: tuple[str, ...] = ()
    passed_by: tuple[str, ...] = ()
    is_idle: bool = False
    notes: tuple[str, ...] = ()
    versions: HistoryInputs = HistoryInputs()
    work: Callable[[Build], Work] | None = None
    slice_view: str = ""
    unchanged: tuple[UnchangedSlice, ...] = ()
    bad_sql: str = ""


NOTHING = StepInputs(Schema(), Evolution(()), None, None, None, None)
"""The value before anything is read."""


@dataclass(frozen=True, slots=True)
class Looking:
    """One step before it begins; `uri` is the folder of its table, "" for a view."""

    services: Services
    context: Context
    step: Step
    model: Model
    inputs: Inputs
    uri: str

    @property
    def is_cut(self) -> bool:
        """Whether its inputs are already limited, without any window."""
        return False

    def inspect(self, session: StepSession) -> StepInputs:
        """Open windows, define the query as `penstock_query`, compare it with the table."""
        facts = self._table_facts()
        how = (self.services, self.context, self.step, self.model, self.inputs)
        reads_new = self.model.strategy.window or self.model.query.deltas
        found = Opening(*how, session, facts).open() if reads_new else FoundWindows()
        query = self._define_query(session, found)
        table = facts.schema if facts and not self.step.initial else None
        properties = facts.properties if facts else None
        may_change = self.context.options.allow_schema_change
        evolution = evolve(self.model, query, table, properties, may_change=may_change)
        if facts is not None and table is not None:
            read = DeltaRead(self.uri, facts.version)
            session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, read)])
        written = Schema(tuple(c for c in query.columns if c.name in evolution.written))
        added, opened = (f"added {name}" for name in evolution.added), found.windows
        is_idle = opened is not None and opened.all_empty and not self.step.initial
        return StepInputs(
            query=written,
            evolution=evolution,
            facts=facts,
            table=table,
            windows=opened,
            late=found.late,
            schema_changes=(*added, *(f"widened {name}" for name in evolution.widened)),
            passed_by=self._passed_inputs(is_idle=is_idle),
            is_idle=is_idle,
            notes=(*found.notes, *(self._future_warnings(opened) if opened else ())),
            versions=self._history_inputs(session, written, evolution, is_new=table is None),
        )

    def _history_inputs(
        self, session: StepSession, query: Schema, evolution: Evolution, *, is_new: bool
    ) -> HistoryInputs:
        """Return what a history table needs to know of its query, and of a change feed below it."""
        if self.model.history is None:
            return HistoryInputs()
        read = HistoryInputs(session.replays(QUERY_VIEW))
        if is_new or not self.model.history.change_feed:
            return read
        looking = (self.services, self.context, self.model, self.inputs, session)
        return FeedLooking(*looking, query, evolution).changed_rows(read)

    def _define_query(self, session: StepSession, found: FoundWindows) -> Schema:
        """Define the query on its windows; a function's rows are checked against them."""
        model, options = self.model, self.context.options
        windows = {w.input: w.window for w in found.windows.windows} if found.windows else {}
        reads = StepReads(self.inputs.reads, self.context.run_timestamp, found.called)
        incremental = not self.step.initial
        bound = bind(self.services.project, model, reads, windows, incremental=incremental)
        session.bind(bound.relations)
        comments = {c.name: c.description for c in model.columns if c.description}
        query = session.define(QUERY_VIEW, bound.sql, comments)
        if model.function is not None:
            check_output(model, query)
            if model.contract.columns:
                query = session.define(QUERY_VIEW, contract_rows(model, query), comments)
        if found.windows is None or found.called is None:
            return query
        found.windows = found.called.with_own(found.windows)
        if not found.windows.windows and self.is_cut:
            return query
        if not found.windows.windows and options.rerun is None:
            direct = {each.name: Schema() for each in model.inputs}
            raise no_windowed_input(model, found.called.settings, direct)
        inside = checked_rows(model, query, self._range(found.windows))
        return session.define(QUERY_VIEW, inside, comments)

    def with_findings(self, intent: Intent, step_inputs: StepInputs) -> Intent:
        """Add the results to the intent; a rerun keeps the pins of the last run."""
        opened, record = step_inputs.windows, self.context.records.get(self.model.name)
        if self.context.options.rerun is not None and record is not None:
            kept = tuple(InputPin(name, pin) for name, pin in record.pins.items())
            intent = replace(intent, inputs=kept, deferred=record.deferred)
        return replace(
            intent,
            windows=tuple(self._describe(each) for each in opened.windows) if opened else (),
            watermarks=opened.watermarks if opened else (),
            lowers_watermarks=self.step.initial,
            cut_at=self.context.as_of if opened and opened.is_cut else None,
            passed_by=step_inputs.passed_by,
            unchanged=step_inputs.unchanged,
            base_version=step_inputs.facts.version if step_inputs.facts else None,
        )

    def _describe(self, each: InputWindow) -> InputWindow:
        """Return why a window reads its rows, and from which version of its input."""
        version = version_read(self.services.project, self.model, self.inputs.pins, each.input)
        return replace(each, kind=kind_of(each.window, self.step.kind), version=version)

    def _future_warnings(self, windows: Opened) -> tuple[str, ...]:
        """Warn of watermarks that would be in the future after the step."""
        record = self.context.records.get(self.model.name)
        new = set(windows.watermarks) - set(record.watermarks if record else ())
        return future_note(self.model, sorted(new, key=str), self.context.run_timestamp)

    def _table_facts(self) -> TableFacts | None:
        """Return the facts of the table; raise if an ordinary step needs it and it is missing."""
        if not self.uri:
            return None
        whole = self.step.initial or self.model.writing is Writing.WHOLE
        found = self.services.log.facts(self.uri, counts=whole)  # what is replaced is counted
        if found is None and not self.step.initial:
            raise table_gone_error(self.model)
        return found

    def _range(self, windows: Opened) -> Sequence[InputWindow]:
        """Return the windows whose range contains the rows of the step."""
        again = self.context.options.rerun
        if again is None or self.model.strategy.window is None:
            return windows.windows
        low, high = (Bound(each, inclusive=True) for each in again)
        return (InputWindow("", Window(self.model.strategy.window.time_column, low, high)),)

    def _passed_inputs(self, *, is_idle: bool) -> tuple[str, ...]:
        """Return the inputs with changes that no window will read; a full read settles them."""
        name, records = self.model.name, self.context.records
        record, stays = records.get(name), is_idle or self.model.strategy.window is not None
        if self.step.initial or record is None or not stays:
            return ()
        now = changed_below(open_log_reader(self.services), name, self.context.upstreams)
        return tuple(sorted({*record.passed_by, *now}))


def table_gone_error(model: Model) -> TableError:
    """Return the error of a step whose table disappeared after it was planned."""
    return TableError(
        "table-gone",
        f"{model.table} disappeared while the step was running",
        where=model.where,
        hint="run again; the next plan rebuilds it",
    )
