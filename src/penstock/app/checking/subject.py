"""A step whose checks are looked at, and the two looks: ahead of it and after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.app.checking.chosen import SKIPPED, StepChecks, skipped
from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.ground import ONE_GROUP, Ground, Rows
from penstock.app.checking.refusing import Refusal
from penstock.app.checking.tables import bound_tables, target_read
from penstock.app.checking.telling import told_refused
from penstock.app.inputs import Inputs
from penstock.app.partition_parameters import Values, of_partitions, of_windows
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.core.check_results import CheckResult, RowsBefore
from penstock.core.checks import Check, RowCountChange
from penstock.core.engine_ports import StepSession
from penstock.core.history import Snapshot
from penstock.core.mapping import Everything, reading
from penstock.core.model import Body, InputMapping, Model, Writing
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.partition import Span
from penstock.core.ranges import Ranges, numbers
from penstock.core.relation import Relation
from penstock.core.schema import Schema
from penstock.core.statement import Row
from penstock.core.window import InputWindow
from penstock.plan.cascade import grid_of
from penstock.plan.changes import column_of
from penstock.strategies.checks.ranged import KEY, ranged
from penstock.strategies.relations import bind_query, bind_tables

BEFORE_VIEW = "check_before_target"
AFTER_VIEW = "check_after_target"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked: a model, some of its partitions, what its step reads and through what.

    `body` is the SQL of a step of partitions, None for a whole table.
    """

    shop: Shop
    context: Context
    session: StepSession
    model: Model
    checks: StepChecks
    inputs: Inputs
    windows: tuple[InputWindow, ...] = ()
    partitions: Ranges = ONE_GROUP
    body: Body | None = None
    sampling: bool = True

    @property
    def this(self) -> InputName:
        """The target as checks name it."""
        return InputName(InputKind.THIS, self.model.name)

    @property
    def values(self) -> Values:
        """The parameters of its groups."""
        moment = self.context.run_timestamp
        if self.model.partition is not None:
            return of_partitions(self.model.partition, moment)
        return of_windows(self.windows, moment)

    def look_before(self) -> tuple[CheckResult, ...]:
        """Evaluate what must hold for the input rows."""
        checks = self.checks.before
        if not checks or self.checks.skips:
            return skipped(checks, SKIPPED)
        views = bound_tables(self.shop, self.session, checks, self.inputs, self.context.records)
        read = target_read(self.shop, self.model, None)
        if read is not None:
            self.session.bind([Relation(self.this, BEFORE_VIEW, read)])
            views[self.this] = BEFORE_VIEW
        inputs = {**self._other_rows(views), **self._input_rows()}
        ground = replace(self._ground(), inputs=inputs, views=views)
        named = [self._named(check) for check in checks]
        return evaluate(self.session, named, ground, sampling=self.sampling)

    def look_after(
        self, step: Rows | None, table: Rows | None, observed: Row | None, step_seq: int
    ) -> tuple[CheckResult, ...]:
        """Evaluate what must hold for the rows of the step and for the table after it.

        `table` is what the view `check_after_target` holds.
        """
        checks = self.checks.after
        views = bound_tables(self.shop, self.session, checks, self.inputs, self.context.records)
        if table is not None:
            views[self.this] = AFTER_VIEW
        ground = replace(
            self._ground(),
            step=step,
            table=table,
            current=self._current(table),
            views=views,
            observed=observed,
            bases=self._bases(step_seq),
        )
        return evaluate(self.session, checks, ground, sampling=self.sampling)

    def refuse_after(self, reason: str) -> tuple[CheckResult, ...]:
        """Say of every check after the step why it could not be evaluated."""
        ground, refusal = self._ground(), Refusal(reason)
        return tuple(told_refused(each, ground, refusal) for each in self.checks.after)

    def at_version(self, version: int | None) -> Rows | None:
        """Make the target readable as `check_after_target`; None where it is not there."""
        read = target_read(self.shop, self.model, version)
        if read is None:
            return None
        columns = self.session.bind([Relation(self.this, AFTER_VIEW, read)])[AFTER_VIEW]
        return Rows(f"SELECT * FROM {quoted(AFTER_VIEW)}", columns)

    def left_of_step(self, version: int | None) -> Rows | None:
        """Give the whole table where the rows of a step can no longer be told from others."""
        rows = self.at_version(version)
        is_told = self.model.writing is Writing.WHOLE
        return rows if rows is None or is_told else replace(rows, stands_in=True)

    def rows_of_view(self) -> Rows:
        """Give the rows of a view's query, named as `check_after_target`."""
        moment = self.context.run_timestamp
        bound = bind_query(self.shop.project, self.model.query, self.inputs.reads, moment)
        self.session.bind(bound.relations)
        return self.as_table(bound.sql)

    def as_table(self, sql: str) -> Rows:
        """Name a query as `check_after_target`."""
        columns = self.session.define(AFTER_VIEW, sql)
        return Rows(f"SELECT * FROM {quoted(AFTER_VIEW)}", columns)

    def _ground(self) -> Ground:
        return Ground(
            moment=self.context.run_timestamp,
            grid=self.model.grid,
            partitions=self.partitions,
            values=self.values,
            adds=self._adds,
        )

    def _current(self, table: Rows | None) -> Rows | None:
        """Give the current versions of a history table."""
        strategy = self.model.strategy
        if table is None or not isinstance(strategy, Snapshot):
            return table
        column = quoted(strategy.columns.is_current)
        return replace(table, sql=f"{table.sql} WHERE {column}")

    def _bases(self, step_seq: int) -> RowsBefore:
        rules = [c.rule for c in self.checks.after if isinstance(c.rule, RowCountChange)]
        if not rules:
            return RowsBefore()
        last = max(rule.last or 1 for rule in rules)
        reading = self.shop.reading.checks
        name, adds = self.model.name, self._adds
        return reading.rows_before(name, self.partitions, last, step_seq, with_rows=adds)

    @property
    def _adds(self) -> bool:
        """Whether a step puts rows to those that stay, so that a quiet one writes none."""
        return self.model.writing in (Writing.ADDED, Writing.MERGED)

    @property
    def _asked(self) -> frozenset[InputName]:
        """The inputs that checks before the step name."""
        return frozenset(check.input for check in self.checks.before if check.input is not None)

    @property
    def _read(self) -> tuple[InputName, ...]:
        """What the step reads, but for its own target."""
        query = self.body.query if self.body else self.model.query
        return tuple(name for name in query.inputs if name.kind is not InputKind.THIS)

    def _named(self, check: Check) -> Check:
        """Give a check with the input it looks at: without a word the only one."""
        only = self._read[0] if len(self._read) == 1 else None
        return replace(check, input=check.input or only)

    def _other_rows(self, views: Mapping[InputName, str]) -> dict[InputName, Rows]:
        """Give all rows of the tables that checks name as input and the step does not read."""
        found = {}
        for name in sorted(self._asked - set(self._read)):
            if name in views:
                sql = f"SELECT * FROM {quoted(views[name])}"
                found[name] = Rows(sql, self.session.describe(sql))
        return found

    def _input_rows(self) -> dict[InputName, Rows]:
        """Give what typed checks see of each input: its window, or what the groups will read."""
        names = self._read
        if all(check.input is not None for check in self.checks.before):
            names = tuple(name for name in names if name in self._asked)
        moment = self.context.run_timestamp
        relations, views = bind_tables(
            self.shop.project, names, self.inputs.reads, moment, "check_input"
        )
        schemas = self.session.bind(relations)
        return {name: self._read_of(name, view, schemas[view]) for name, view in views.items()}

    def _read_of(self, name: InputName, view: str, columns: Schema) -> Rows:
        sql = f"SELECT * FROM {quoted(view)}"
        if self.body is not None:
            return self._mapped(name, view, columns)
        for each in self.windows:
            if each.input == name.name:
                return Rows(f"{sql} WHERE {each.window.condition}", columns)
        return Rows(sql, columns)

    def _mapped(self, name: InputName, view: str, columns: Schema) -> Rows:
        """Give the rows that each partition reads, once for each that reads them."""
        mapping = next(
            (each for each in (self.body.inputs if self.body else ()) if each.input == name),
            InputMapping(name, Everything()),
        )
        grid = grid_of(self.shop.project, name.name)
        partition = self._partition_of(name)
        column = columns.find(partition or column_of(mapping))
        read = reading(mapping.mapping, grid)
        spans: Mapping[str, tuple[Span, ...]] = {
            self.model.grid.key(number): read(self.model.grid.span(number))
            for number in numbers(self.partitions)
        }
        return Rows(ranged(view, column, spans), columns, KEY)

    def _partition_of(self, name: InputName) -> str:
        model = self.shop.project.models.get(name.name)
        is_model = model is not None and name == model.input_name
        return model.partition.field if model and is_model and model.partition else ""
