"""Looking before a step begins: windows, columns, schema. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.app.observation.log_reader import changed_below, open_log_reader
from penstock.app.preparing.opening import FoundWindows, Opening
from penstock.app.preparing.pins import Inputs, version_read
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.entities.slices import UnchangedSlice
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.ports.engine import StepSession
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Work
from penstock.core.steps.inputs import DeltaRead, InputPin, Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.window import Bound, InputWindow, Window
from penstock.core.strategy import Build, Writing
from penstock.plan.evolution import Evolution, evolve
from penstock.plan.values import Step
from penstock.plan.windows import (
    Opened,
    ahead,
    kind_of,
    no_windowed_input,
)
from penstock.strategies.overwrite import check_output, rows_inside
from penstock.strategies.relations import StepReads, bind


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What a step knows before it begins.

    `facts` are those of the table that is there, `table` its schema where the step builds on it.
    `evolution` is how the query's columns fit the table, `schema_changes` the same in words. `late`
    counts rows that came below a watermark, None where nobody can tell. `passed_by` are inputs that
    changed rows which the windows have passed. `is_idle` is whether all windows are empty: then
    there is no statement and no commit, only new pins. `notes` warn of watermarks. The query
    `replays` if it gives the same rows each time. `work` gives the statements where these depend on
    rows that were looked at, and `slice_view` has those of a slice. Of slices that are `unchanged`
    the step's commit tells.
    """

    query: Schema
    evolution: Evolution
    facts: TableFacts | None
    table: Schema | None
    opened: Opened | None
    late: int | None
    schema_changes: tuple[str, ...] = ()
    passed_by: tuple[str, ...] = ()
    is_idle: bool = False
    notes: tuple[str, ...] = ()
    replays: bool = False
    work: Callable[[Build], Work] | None = None
    slice_view: str = ""
    unchanged: tuple[UnchangedSlice, ...] = ()


NOTHING = StepInputs(Schema(), Evolution(()), None, None, None, None)
"""What is known before anything was looked at."""


@dataclass(frozen=True, slots=True)
class Looking:
    """One step about to begin; `uri` is the folder of its table, "" for a view."""

    services: Services
    context: Context
    step: Step
    model: Model
    inputs: Inputs
    uri: str

    def look(self, session: StepSession) -> StepInputs:
        """Open windows, define the query as `penstock_query`, compare it with the table."""
        facts = self._facts()
        how = (self.services, self.context, self.step, self.model, self.inputs)
        reads_new = self.model.strategy.window or self.model.query.deltas
        found = Opening(*how, session, facts).open() if reads_new else FoundWindows()
        query = self._defined(session, found)
        table = facts.schema if facts and not self.step.initial else None
        properties = facts.properties if facts else None
        may_change = self.context.options.allow_schema_change
        evolution = evolve(self.model, query, table, properties, may_change=may_change)
        if facts is not None and table is not None:
            read = DeltaRead(self.uri, facts.version)
            session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, read)])
        written = Schema(tuple(c for c in query.columns if c.name in evolution.written))
        added, opened = (f"added {name}" for name in evolution.added), found.opened
        is_idle = opened is not None and opened.all_empty and not self.step.initial
        return StepInputs(
            query=written,
            evolution=evolution,
            facts=facts,
            table=table,
            opened=opened,
            late=found.late,
            schema_changes=(*added, *(f"widened {name}" for name in evolution.widened)),
            passed_by=self._passed_by(is_idle=is_idle),
            is_idle=is_idle,
            notes=(*found.notes, *(self._ahead(opened) if opened else ())),
            replays=self.model.history is not None and session.replays(QUERY_VIEW),
        )

    def _defined(self, session: StepSession, found: FoundWindows) -> Schema:
        """Define the query behind its windows; a function's rows are held against them."""
        model, options = self.model, self.context.options
        windows = {w.input: w.window for w in found.opened.windows} if found.opened else {}
        reads = StepReads(self.inputs.reads, self.context.run_timestamp, found.called)
        incremental = not self.step.initial
        bound = bind(self.services.project, model, reads, windows, incremental=incremental)
        session.bind(bound.relations)
        query = session.define(QUERY_VIEW, bound.sql)
        if model.function is not None:
            check_output(model, query)
        if found.opened is None or found.called is None:
            return query
        found.opened = found.called.joined(found.opened)
        if not found.opened.windows and self.step.session is not None:
            return query  # its pass has cut the events already
        if not found.opened.windows and options.rerun is None:
            direct = {each.name: Schema() for each in model.inputs}
            raise no_windowed_input(model, found.called.settings, direct)
        return session.define(QUERY_VIEW, rows_inside(model, query, self._range(found.opened)))

    def promised(self, intent: Intent, found: StepInputs) -> Intent:
        """Write into the intent what was found; a rerun leaves the pins of the last run."""
        opened, record = found.opened, self.context.records.get(self.model.name)
        if self.context.options.rerun is not None and record is not None:
            kept = tuple(InputPin(name, pin) for name, pin in record.pins.items())
            intent = replace(intent, inputs=kept)
        return replace(
            intent,
            windows=tuple(self._described(each) for each in opened.windows) if opened else (),
            watermarks=opened.watermarks if opened else (),
            lowers_watermarks=self.step.initial,
            cut_at=self.context.as_of if opened and opened.is_cut else None,
            passed_by=found.passed_by,
            unchanged=found.unchanged,
            base_version=found.facts.version if found.facts else None,
        )

    def _described(self, each: InputWindow) -> InputWindow:
        """Say of a window why it reads what it reads, and which version of its input."""
        version = version_read(self.services.project, self.model, self.inputs.pins, each.input)
        return replace(each, kind=kind_of(each.window, self.step.kind), version=version)

    def _ahead(self, opened: Opened) -> tuple[str, ...]:
        """Warn of watermarks that the step would leave in the future."""
        record = self.context.records.get(self.model.name)
        new = set(opened.watermarks) - set(record.watermarks if record else ())
        return ahead(self.model, sorted(new, key=str), self.context.run_timestamp)

    def _facts(self) -> TableFacts | None:
        """Describe the table that is there; one that an ordinary step builds on must be."""
        if not self.uri:
            return None
        whole = self.step.initial or self.model.writing is Writing.WHOLE
        found = self.services.log.facts(self.uri, counts=whole)  # what is replaced is counted
        if found is None and not self.step.initial:
            raise table_gone(self.model)
        return found

    def _range(self, found: Opened) -> Sequence[InputWindow]:
        """Return the windows in whose range the rows of the step lie."""
        again = self.context.options.rerun
        if again is None or self.model.strategy.window is None:
            return found.windows
        low, high = (Bound(each, inclusive=True) for each in again)
        return (InputWindow("", Window(self.model.strategy.window.time_column, low, high)),)

    def _passed_by(self, *, is_idle: bool) -> tuple[str, ...]:
        """Name what no window will read again; only a step that reads everything settles it."""
        name, records = self.model.name, self.context.records
        record, stays = records.get(name), is_idle or self.model.strategy.window is not None
        if self.step.initial or record is None or not stays:
            return ()
        now = changed_below(open_log_reader(self.services), name, records)
        return tuple(sorted({*record.passed_by, *now}))


def table_gone(model: Model) -> TableError:
    """Return the error of a step whose table went away after it was planned."""
    return TableError(
        "table-gone",
        f"{model.table} disappeared while the step was running",
        where=model.where,
        hint="run again; the next plan rebuilds it",
    )
