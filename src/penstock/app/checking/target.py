"""A step with checks, and their evaluation before and after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.app.checking.chosen import SKIPPED, StepChecks, skipped
from penstock.app.checking.comparing import basis_of
from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.flags import keep_failures
from penstock.app.checking.results import ONE_GROUP, CheckedRows, CheckInputs
from penstock.app.observation.observe import ObservedTables, pin_source
from penstock.app.preparing import pins, run_context
from penstock.app.preparing.statements import Values, of_partitions, of_windows
from penstock.app.services.services import Services
from penstock.core.check_results import CheckResult, RowsBefore, ValuesBefore
from penstock.core.checks.check import Check
from penstock.core.columns.schema import Schema
from penstock.core.errors import TableError
from penstock.core.graph import reach
from penstock.core.model import Body, InputMapping, Model
from penstock.core.names import InputKind, InputName, quoted, shown_name
from penstock.core.partitions.mapping import Everything, reading
from penstock.core.partitions.partition import Span
from penstock.core.partitions.ranges import Ranges, numbers
from penstock.core.ports.engine import StepSession
from penstock.core.project import read_uri
from penstock.core.statement import Row
from penstock.core.steps.inputs import CatalogRead, DeltaRead, Read, Relation
from penstock.core.steps.window import InputWindow
from penstock.core.strategy import Writing
from penstock.plan.cascade import grid_of
from penstock.strategies.checks.queries import KEY, ranged
from penstock.strategies.relations import bind_query, bind_tables, query_tables

_PARTITIONS, _AGAIN = 5_000, 21
"""How many records of a check are searched: of partitions, and for each value of a whole table."""

BEFORE_VIEW = "check_before_target"
AFTER_VIEW = "check_after_target"


@dataclass(frozen=True, slots=True)
class CheckTarget:
    """What is checked, and in which session; `body` is the SQL of partitions, None for a table.

    `slice_view` holds rows that the step reads from no input, "" if there are none. Without
    `keeping`, no table of failing rows is written.
    """

    services: Services
    context: run_context.Context
    session: StepSession
    model: Model
    checks: StepChecks
    inputs: pins.Inputs
    windows: tuple[InputWindow, ...] = ()
    partitions: Ranges = ONE_GROUP
    body: Body | None = None
    sampling: bool = True
    slice_view: str = ""
    keeping: bool = True

    @property
    def this(self) -> InputName:
        """The target's name in checks."""
        return InputName(InputKind.THIS, self.model.name)

    @property
    def slice_input(self) -> InputName:
        """The slice as an input."""
        return InputName(InputKind.EXTERNAL, self.slice_view)

    @property
    def values(self) -> Values:
        """The parameters of its groups."""
        run_timestamp = self.context.run_timestamp
        if self.model.partition is not None:
            return of_partitions(self.model.partition, run_timestamp)
        return of_windows(self.windows, run_timestamp)

    def look_before(self) -> tuple[CheckResult, ...]:
        """Evaluate the checks of the input rows."""
        checks = self.checks.before
        if not checks or self.checks.skips:
            return skipped(checks, SKIPPED)
        views = self._bound_tables(checks)
        if self._bind_target(BEFORE_VIEW, None) is not None:
            views[self.this] = BEFORE_VIEW
        query = self.body.query if self.body else self.model.query
        read = tuple(name for name in query.inputs if name.kind is not InputKind.THIS)
        inputs = replace(
            self.check_inputs(),
            inputs=self._input_rows(read, views),
            views=views,
            later=self._later(checks, views),
        )
        # Without a word a check looks at the only input.
        only = self.slice_input if self.slice_view else read[0] if len(read) == 1 else None
        named = [replace(check, input=check.input or only) for check in checks]
        return evaluate(self.session, named, inputs, sampling=self.sampling)

    def look_after(
        self,
        step: CheckedRows | None,
        table: CheckedRows | None,
        observed: Row | None,
        step_seq: int,
    ) -> tuple[CheckResult, ...]:
        """Evaluate the checks after the step; `table` is the view `check_after_target`."""
        checks = self.checks.after
        views = self._bound_tables(checks)
        if table is not None:
            views[self.this] = AFTER_VIEW
        current, history = table, self.model.history
        if table is not None and history is not None:
            columns = history.columns
            is_current = quoted(columns.is_current) if columns.is_current else columns.is_open()
            sql = f"{table.sql} WHERE {is_current}"
            current = replace(table, sql=sql)
        inputs = self.check_inputs()
        inputs = replace(
            inputs,
            step=step,
            table=table,
            current=current,
            views=views,
            later=self._later(checks, views),
            observed=observed,
            bases=self._bases(step_seq, with_rows=inputs.adds),
            earlier=self._earlier(step_seq),
        )
        return evaluate(self.session, checks, inputs, sampling=self.sampling)

    def at_version(self, version: int | None) -> CheckedRows | None:
        """Create the view `check_after_target` of the target; None if it does not exist."""
        columns = self._bind_target(AFTER_VIEW, version)
        return None if columns is None else CheckedRows.of_view(AFTER_VIEW, columns)

    def left_of_step(self, version: int | None) -> CheckedRows | None:
        """Return the whole table, for when the step's rows are no longer distinguishable."""
        rows = self.at_version(version)
        return rows and replace(rows, stands_in=self.model.writing is not Writing.WHOLE)

    def rows_of_view(self) -> CheckedRows:
        """Return the rows of a view's query, as the view `check_after_target`."""
        project, at = self.services.project, self.context.run_timestamp
        bound = bind_query(project, self.model.query, self.inputs.reads, at)
        self.session.bind(bound.relations)
        return self.as_table(bound.sql)

    def as_table(self, sql: str) -> CheckedRows:
        """Create the view `check_after_target` of a query."""
        columns = self.session.define(AFTER_VIEW, sql)
        return CheckedRows.of_view(AFTER_VIEW, columns)

    def check_inputs(self) -> CheckInputs:
        """Return the inputs for checks of any phase."""
        return CheckInputs(
            run_timestamp=self.context.run_timestamp,
            grid=self.model.grid,
            partitions=self.partitions,
            values=self.values,
            adds=self.model.writing in (Writing.ADDED, Writing.MERGED),
            keep=self._keep if self.keeping and self.sampling else None,
        )

    def _keep(self, check: Check, sql: str) -> str:
        return keep_failures(self.services, self.session, self.model, check, sql)

    def _bases(self, step_seq: int, *, with_rows: bool) -> RowsBefore:
        compared = [each.rule.runs_before for each in self.checks.after]
        runs = [each or 1 for each in compared if each is not None]
        if not runs:
            return RowsBefore()
        last, name = max(runs), self.model.name
        rows_before = self.services.reading.checks.rows_before
        return rows_before(name, self.partitions, last, step_seq, with_rows=with_rows)

    def _earlier(self, step_seq: int) -> dict[str, ValuesBefore]:
        """Return the earlier values of the checks that compare with them."""
        found = {}
        for check in self.checks.after:
            if (history := check.rule.own_history) is not None:
                limit = _PARTITIONS if self.model.partition else _AGAIN * history.last
                records = self.services.reading.checks
                values = records.values_before(self.model.name, check.name, step_seq, limit)
                found[check.name] = replace(values, basis=basis_of(check, self.model.grid))
        return found

    def _bind_target(self, view: str, version: int | None) -> Schema | None:
        """Create a view of the target at a version, or of its current one; None if missing."""
        if self.model.is_view:
            return None
        uri = self.services.project.uri_of(self.model.table)
        if version is None:
            head = self.services.log.head(uri)
            if head is None:
                return None
            version = head.version
        return self.session.bind([Relation(self.this, view, DeltaRead(uri, version))])[view]

    def _bound_tables(self, checks: Sequence[Check]) -> dict[InputName, str]:
        """Create a view for each table that checks read, and return the views.

        Inputs of the step are read at their pinned version, other tables at their current one. A
        table that does not exist has no view.
        """
        project, read = self.services.project, (name for check in checks for name in check.reads)
        names = tuple(dict.fromkeys(name for name in read if name.kind is not InputKind.THIS))
        if not names:
            return {}
        found = {
            name: self.inputs.reads.get(name) or self._read_now(name)
            for name in query_tables(project, names)
        }
        reads = {name: read for name, read in found.items() if read is not None}
        view = f"check_{checks[0].phase}"
        relations, views = bind_tables(project, names, reads, self.services.clock.now(), view)
        self.session.bind(relations)
        return views

    def _later(
        self, checks: Sequence[Check], views: Mapping[InputName, str]
    ) -> frozenset[InputName]:
        """Return the models without a view that read this one: they are built after it."""
        models = self.services.project.models
        missing = {name for each in checks for name in each.reads if name not in views}
        found = {name for name in missing if name.kind is InputKind.MODEL}
        edges = {name: each.depends_on for name, each in models.items()} if found else {}
        return frozenset(each for each in found if self.model.name in reach([each.name], edges))

    def _read_now(self, name: InputName) -> Read | None:
        services, project = self.services, self.services.project
        if name.kind is InputKind.EXTERNAL:
            return CatalogRead(shown_name(name.name))
        model = project.models.get(name.name)
        if model is not None and name == model.input_name and model.is_view:
            return None
        try:
            if name.kind is InputKind.MODEL:
                pin = pins.table_pin(services, name, self.context.records.get(name.name))
                return DeltaRead(
                    read_uri(project, name), pin.version, pins.tombstone_column(services, name)
                )
            view = ObservedTables.empty(services.clock.now())
            pin_of = pin_source(services, project.sources[name.name], view.listings)
            return pins.source_read(project, name, pin_of, view)
        except TableError:
            return None

    def _input_rows(
        self, read: tuple[InputName, ...], views: Mapping[InputName, str]
    ) -> dict[InputName, CheckedRows]:
        """Return the rows for checks: of an input its window or what groups read, else all rows."""
        found: dict[InputName, CheckedRows] = {}
        asked = {check.input for check in self.checks.before}
        for name in sorted(name for name in asked if name and name not in read and name in views):
            sql = f"SELECT * FROM {quoted(views[name])}"
            found[name] = CheckedRows(sql, self.session.describe(sql))
        if self.slice_view:
            sql = f"SELECT * FROM {quoted(self.slice_view)}"
            found[self.slice_input] = CheckedRows(sql, self.session.describe(sql))
        names = read if None in asked else tuple(name for name in read if name in asked)
        project, at = self.services.project, self.context.run_timestamp
        relations, inputs = bind_tables(project, names, self.inputs.reads, at, "check_input")
        schemas = self.session.bind(relations)
        for name, view in inputs.items():
            if self.body is not None:
                found[name] = self._mapped(name, view, schemas[view])
                continue
            windows = [each.window for each in self.windows if each.input == name.name]
            where = f" WHERE {windows[0].condition}" if windows else ""
            found[name] = CheckedRows(f"SELECT * FROM {quoted(view)}{where}", schemas[view])
        return found

    def _mapped(self, name: InputName, view: str, columns: Schema) -> CheckedRows:
        mapping = next(
            (each for each in (self.body.inputs if self.body else ()) if each.input == name),
            InputMapping(name, Everything()),
        )
        model = self.services.project.models.get(name.name)
        settings = model.partition if model and name == model.input_name else None
        column = columns.find((settings and settings.field) or mapping.column)
        read = reading(mapping.mapping, grid_of(self.services.project, name.name))
        spans: Mapping[str, tuple[Span, ...]] = {
            self.model.grid.key(number): read(self.model.grid.span(number))
            for number in numbers(self.partitions)
        }
        return CheckedRows(ranged(view, column, spans), columns, KEY)
