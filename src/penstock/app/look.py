"""Looking before a step begins: windows, columns, schema. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.app.arrivals import arrivals
from penstock.app.inputs import Inputs
from penstock.app.measure import Measuring, late_rows, measure, views_of
from penstock.app.observe import observe_target
from penstock.app.passed import changed_below
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.app.sight import open_sight
from penstock.core.engine_ports import StepSession
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.core.model import Append, Model, WindowSettings, window_settings
from penstock.core.names import InputKind, InputName
from penstock.core.relation import DeltaRead, Relation
from penstock.core.schema import Schema
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW
from penstock.core.typed import read_typed
from penstock.core.window import Watermark, Window
from penstock.plan.evolution import Evolution, evolve
from penstock.plan.values import Step
from penstock.plan.windows import Opened, windowed_inputs
from penstock.strategies.relations import Bound, bind


@dataclass(frozen=True, slots=True)
class Looked:
    """What a step knows before it begins.

    `facts` are those of the table that is there, `table` its schema where the step builds on it.
    `passed_by` are inputs that changed rows which the windows have passed.
    """

    query: Schema
    evolution: Evolution
    facts: TableFacts | None
    table: Schema | None
    opened: Opened | None
    late: int | None
    passed_by: tuple[str, ...] = ()

    @property
    def has_nothing_to_read(self) -> bool:
        """Whether the model has windows and all of them are empty."""
        return self.opened is not None and self.opened.all_empty


@dataclass(frozen=True, slots=True)
class Looking:
    """One step about to begin."""

    shop: Shop
    context: Context
    step: Step
    model: Model
    inputs: Inputs

    def look(self, session: StepSession) -> Looked:
        """Open windows, define the query as `penstock_query`, compare it with the table."""
        settings = window_settings(self.model.strategy)
        windowed = self._windows(session, settings) if settings else None
        opened, late = windowed or (None, None)
        windows = {w.input: w.window for w in opened.windows} if opened else {}
        bound = self._bind(windows)
        session.bind(bound.relations)
        query = session.define(QUERY_VIEW, bound.sql)
        facts = self._facts()
        table = facts.schema if facts and not self.step.initial else None
        properties = facts.properties if facts else None
        evolution = evolve(self.model, query, table, properties)
        if facts is not None and table is not None:
            uri = self.shop.project.uri_of(self.model.table)
            read = DeltaRead(uri, facts.version)
            session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, read)])
        written = Schema(tuple(c for c in query.columns if c.name in evolution.written))
        return Looked(written, evolution, facts, table, opened, late, self._passed_by())

    def _passed_by(self) -> tuple[str, ...]:
        """Name what no window will read again; only a step that reads everything settles it.

        The model itself is named if others changed rows of its table, which stay.
        """
        name, records = self.model.name, self.context.records
        record = records.get(name)
        if self.step.initial or record is None or window_settings(self.model.strategy) is None:
            return ()
        now = changed_below(self.shop.project, [name], records, open_sight(self.shop))
        passed = {*record.passed_by, *now.get(name, ())}
        if observe_target(self.shop, self.model, record).foreign:
            passed.add(name)
        return tuple(sorted(passed))

    def _windows(self, session: StepSession, settings: WindowSettings) -> tuple[Opened, int | None]:
        whole = self._bind({})
        schemas = session.bind(whole.relations)
        views = views_of(whole)
        direct = {
            name.name: schemas[views[name.name]]
            for name in self.model.query.inputs
            if name.kind is not InputKind.THIS and name.name in views
        }
        record = self.context.records.get(self.model.name)
        pins = {pin.input: pin.pin for pin in self.inputs.pins}
        what = Measuring(
            model=self.model,
            settings=settings,
            inputs=windowed_inputs(self.model, settings, direct),
            views=views,
            watermarks=self._watermarks(),
            initial=self.step.initial,
            as_of=self.context.as_of,
            arrived=arrivals(self.shop, pins, record),
            read_before=frozenset(record.pins if record else ()),
            was_cut=record is not None and record.cut_at is not None,
        )
        return measure(session, what), late_rows(session, what)

    def _watermarks(self) -> tuple[Watermark, ...]:
        record = self.context.records.get(self.model.name)
        if self.step.initial:
            return ()
        marks = record.watermarks if record else self._set_by_hand()
        built = record is not None and record.succeeded_once
        if not built and not marks and isinstance(self.model.strategy, Append):
            raise TableError(
                "adopt-needs-watermark",
                f"{self.model.table} holds rows already; appending from the start doubles them",
                where=self.model.where,
                hint=f"say how far it goes: penstock watermark set {self.model.name} VALUE "
                "--column INPUT.COLUMN --type TYPE",
            )
        return marks

    def _set_by_hand(self) -> tuple[Watermark, ...]:
        """Give the watermarks that somebody set for a model that never had a step."""
        found: dict[tuple[str, str], Watermark | None] = {}
        for change in self.shop.reading.records.watermark_history(self.model.name):
            mark = change.value and Watermark(change.input, change.column, read_typed(change.value))
            found.setdefault((change.input, change.column), mark or None)
        return tuple(mark for mark in found.values() if mark is not None)

    def _bind(self, windows: dict[str, Window]) -> Bound:
        return bind(
            self.shop.project,
            self.model,
            self.inputs.reads,
            windows,
            incremental=not self.step.initial,
            moment=self.context.run_timestamp,
        )

    def _facts(self) -> TableFacts | None:
        if self.model.is_view:
            return None
        facts = self.shop.log.facts(self.shop.project.uri_of(self.model.table))
        if facts is None and not self.step.initial:
            raise table_gone(self.model)
        return facts


def table_gone(model: Model) -> TableError:
    """Give the error of a step whose table went away after it was planned."""
    return TableError(
        "table-gone",
        f"{model.table} disappeared while the step was running",
        where=model.where,
        hint="run again; the next plan rebuilds it",
    )
