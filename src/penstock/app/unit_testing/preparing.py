"""Write the given data of a test: inputs as Delta tables, the target as an earlier step."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.app.execution.seed_step import define_seed
from penstock.app.preparing.outcomes import outcome_of
from penstock.app.preparing.statements import of_range
from penstock.app.services.services import Services
from penstock.app.unit_testing import world
from penstock.app.unit_testing.tables import Typed, columns_of, errors_at, typed_table
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.columns.types import ColumnType, ScalarType
from penstock.core.errors import ModelFailedError, PythonModelError, QueryError, UsageError
from penstock.core.findings import Location
from penstock.core.history import HardDeletes, HashDiffers
from penstock.core.model import Body, Model, Seed
from penstock.core.names import InputKind, InputName, literal, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.project import Project
from penstock.core.query import at, bound, with_parameters
from penstock.core.records import Run, Status, WatermarkChange
from penstock.core.statement import QUERY_VIEW, Commit
from penstock.core.steps.inputs import DeltaPin, DeltaRead, InputPin, Relation
from penstock.core.steps.step import Intent, Outcome, RowCounts, StepKind
from penstock.core.steps.window import Watermark
from penstock.core.strategy import Build
from penstock.plan.history import PROPERTY, property_of
from penstock.plan.resolve import resolve
from penstock.project.entities.places import bronze_folder
from penstock.project.unit_tests.definition import Given, GivenTable, UnitRun
from penstock.strategies.build import create
from penstock.strategies.relations import StepReads, bind, require_text
from penstock.strategies.reshape import physical_layout
from penstock.strategies.values import row_hash

_VIEW = "penstock_test_output"
_BEFORE = dt.timedelta(seconds=1)
_ELSEWHERE = DeltaPin("given", 0)


def target_types(
    services: Services, session: StepSession, model: Model, run: UnitRun, table: GivenTable
) -> Mapping[str, ColumnType]:
    """Return the columns of the target by type: declared types, otherwise those of the query."""
    ours = {name.lower() for name in model.history.columns.names} if model.history else set()
    declared = {name: kind for name, kind in table.file_types.items() if name.lower() not in ours}
    folded = {name.lower(): kind for name, kind in declared.items()}
    found = declared
    complete = bool(model.versions) and all(v.schema.columns for v in model.versions)
    if not complete or any(name.lower() not in folded for name in table.names):
        with suppress(QueryError, PythonModelError, ModelFailedError):  # the step will tell it
            described = columns_of(_describe(services, session, model, run))
            found = {name: folded.get(name.lower(), kind) for name, kind in described}
    if model.history is None:
        return found
    columns = model.history.columns  # those that penstock adds, in their order
    added = dict.fromkeys((columns.valid_from, columns.valid_to), ScalarType("timestamp"))
    if columns.scd_id:
        added |= {columns.updated_at: ScalarType("timestamp"), columns.scd_id: ScalarType("string")}
    else:
        added[columns.is_current] = ScalarType("boolean")
    if model.history.hard_deletes is HardDeletes.NEW_RECORD:
        added[columns.is_deleted] = ScalarType("string" if columns.scd_id else "boolean")
    change = model.history.change
    if isinstance(change, HashDiffers) and change.hashed is not None:
        added[change.column] = ScalarType("string")
    return found | added


def _describe(services: Services, session: StepSession, model: Model, run: UnitRun) -> Schema:
    query, values = world.model_on(model, run.as_of).query, dict[str, str]()
    if model.partition is not None and run.first:
        first, last = model.grid.parse(run.first), model.grid.parse(run.last)
        segments = resolve(model, run.as_of.date(), ((first, first),))
        body: Body | None = segments[0].body if segments else None
        query = body.query if body else model.query
        values = of_range(model.partition, run.as_of, first, last)
    given = [name for name in query.inputs if name.kind is not InputKind.THIS]
    reads = {name: DeltaRead(services.project.sources[name.name].path) for name in given}
    if model.function is not None:
        called = bind(services.project, model, StepReads(reads, run.as_of), {}, incremental=False)
        session.bind(called.relations)
        return session.define(_VIEW, called.sql)
    require_text(model)
    views = {name: f"penstock_test_{number}" for number, name in enumerate(given)}
    session.bind([Relation(name, views[name], read) for name, read in reads.items()])
    return session.define(_VIEW, with_parameters(at(bound(query.text, views), run.as_of), values))


def target_sql(project: Project, model: Model, table: Typed) -> Commit:
    """Return the statement that creates the target as its strategy would have left it.

    Versions get `is_current` from `valid_to`, and hashes if none are given.
    """
    laid = replace(model, layout=physical_layout(model.layout)) if model.partition else model
    build = Build(laid, project.sql_of(model.table), Schema(), None)
    if model.history is None:
        return create(build, table.sql)
    properties = {PROPERTY: property_of(model)}
    history, columns = model.history, model.history.columns
    made = {columns.is_current.lower(): f"{quoted(columns.valid_to)} IS NULL"}
    if history.hard_deletes is HardDeletes.NEW_RECORD:
        live = "'False'" if columns.scd_id else "false"
        made[columns.is_deleted.lower()] = f"coalesce({quoted(columns.is_deleted)}, {live})"
    change = history.change
    if isinstance(change, HashDiffers) and change.hashed:
        hashed = {name.lower() for name in change.hashed}
        kinds = [Column(n, str(k)) for n, k in table.columns if n.lower() in hashed]
        made[change.column.lower()] = f"coalesce({quoted(change.column)}, {row_hash(kinds)})"
    chosen = ", ".join(
        f"{made[name.lower()]} AS {quoted(name)}" if name.lower() in made else quoted(name)
        for name in table.names
    )
    return create(build, f"SELECT {chosen} FROM ({table.sql})", properties)


@dataclass(slots=True)
class Preparing:
    """Writes the tables and records of one test; `later` are those for later runs."""

    services: Services
    clock: world.TestClock
    model: Model
    seeds: Mapping[InputName, Seed] = field(default_factory=dict)
    later: Mapping[InputName, GivenTable] = field(default_factory=dict)
    inputs: dict[str, Typed] = field(default_factory=dict)

    def prepare(self, session: StepSession, run: UnitRun) -> None:
        """Write the data of a run; only the first run of a test has a target."""
        given = run.given
        self.clock.run_timestamp = run.as_of
        for name, seed in self.seeds.items():
            if name.name not in self.inputs:  # loaded once, as `penstock seed` would
                columns = columns_of(define_seed(session, seed))
                self._write(session, name, Typed(columns, f"SELECT * FROM {QUERY_VIEW}"))
        for name, table in given.inputs.items():
            with errors_at(table):
                self._write(session, name, typed_table(session, table, table.file_types))
        for name, table in self.later.items():
            if name.name not in self.inputs:  # every input is there from the start, without rows
                with errors_at(table):
                    made = typed_table(session, table, table.file_types)
                    sql = f"SELECT * FROM ({made.sql}) WHERE false"
                    self._write(session, name, Typed(made.columns, sql))
        self._deliver(session, given.slices)
        intent = self._intent(self._uri, run.as_of - _BEFORE)
        if given.target is not None:
            types = target_types(self.services, session, self.model, run, given.target)
            made = typed_table(session, given.target, types)
            with errors_at(given.target):
                self._judge_versions(session, made, given.target.where)
                newest = self._newest(session, made)
            session.commit(target_sql(self.services.project, self.model, made), intent)
            commit = self.services.log.commits(self._uri, -1)[-1]
            outcome = outcome_of(self.services, intent, commit)
            self._record(run, outcome, self._watermarks(given, newest), intent)
            return
        if given.history:
            self._record(run, Outcome(None), (), intent)
        for each in self._watermarks(given):
            change = WatermarkChange(
                self.model.name, each.input, each.column, str(each.value), run.as_of
            )
            self.services.writing.records.change_watermark(change)

    @property
    def _uri(self) -> str:
        return self.services.project.uri_of(self.model.table)

    def _write(self, session: StepSession, name: InputName, table: Typed) -> None:
        self.inputs[name.name] = table
        uri = self.services.project.sources[name.name].path
        sql = f"CREATE OR REPLACE TABLE delta.`{uri}` USING delta AS {table.sql}"
        session.commit(Commit(sql), self._intent(uri, self.clock.run_timestamp))

    def _deliver(self, session: StepSession, slices: Mapping[str, GivenTable]) -> None:
        """Write slices as folders of Parquet; raise `bad-value` for one that matches no pattern."""
        entity = self.model.entity
        folder = bronze_folder(entity, self.clock.run_timestamp) if entity else None
        if folder is None:
            return
        Path(folder.path).mkdir(parents=True, exist_ok=True)
        for name, table in slices.items():
            with errors_at(table):
                made = typed_table(session, table, table.file_types)
                uri = f"{folder.path}/{name}"
                sql = f"INSERT OVERWRITE DIRECTORY {literal(uri)} USING parquet {made.sql}"
                session.commit(Commit(sql), self._intent(uri, self.clock.run_timestamp))
        fitting = {each.id.name for each in self.services.log.slices(folder)}
        for name, table in slices.items():
            if name not in fitting:
                sentence = f"slice {name!r} does not fit {folder.pattern!r}, so no run takes it"
                raise UsageError("bad-value", sentence, where=table.where, hint="rename it")

    def _record(
        self, run: UnitRun, outcome: Outcome, watermarks: Sequence[Watermark], intent: Intent
    ) -> None:
        """Record the target's rows as a successful step, and earlier successes without rows."""
        # other tables were read, so that all rows of the inputs are new
        others = [InputPin(name, _ELSEWHERE) for name in self.services.project.sources]
        intent = replace(intent, inputs=tuple(others), watermarks=tuple(watermarks))
        journal, now = self.services.writing.journal, run.as_of
        holder = self.services.holder(intent.run)
        journal.start_run(Run(intent.run, "run", "", "test", now, holder, now))
        steps: list[tuple[Intent, Outcome, dt.datetime]] = []
        if outcome.version is not None:
            named = self._of_partitions(intent, outcome, run.first)
            steps.append((named, outcome, run.as_of - _BEFORE))
        grid = self.model.grid
        for each in sorted(run.given.history, key=lambda one: one.executed_at or run.as_of):
            at = each.executed_at or run.as_of - _BEFORE
            keys = (grid.key(grid.parse(each.partition)) if self.model.partition else "*",)
            step = self.clock.new_id()
            earlier = replace(intent, step=step, run_timestamp=at, partitions=keys)
            steps.append((earlier, replace(outcome, rows=RowCounts(each.rows), partitions=()), at))
        for earlier, done, at in steps:
            self.clock.run_timestamp = at
            journal.begin(earlier, {}, holder, None)
            journal.finish(earlier.step, done)
        journal.end_run(intent.run, Status.SUCCESS)
        self.clock.run_timestamp = run.as_of

    def _of_partitions(self, intent: Intent, outcome: Outcome, tested: str) -> Intent:
        """Return the partitions of the target's rows; without rows the tested partition."""
        if self.model.partition is None:
            return intent
        grid, settings = self.model.grid, self.model.partition
        keys = [grid.key(each.ord) for each in outcome.partitions]
        if not keys and outcome.rows.written:
            spans = self.services.places.lying(intent.uri, settings.field, settings.type)
            keys = [grid.key(grid.at(low)) for low, _ in spans]
        return replace(intent, partitions=tuple(dict.fromkeys(keys)) or (tested,))

    def _intent(self, uri: str, at: dt.datetime) -> Intent:
        """Return a step with other code than the model's, if only that makes a step due.

        New inputs make it due if there are any; not all partitions read them.
        """
        model = world.model_on(self.model, self.clock.run_timestamp)
        fingerprint = model.fingerprint
        if model.partition is not None or not model.query.inputs:
            fingerprint = replace(fingerprint, sql="given", canonical="given", parser="")
        return Intent(
            step=self.clock.new_id(),
            run=self.clock.new_id(),
            model=self.model.name,
            table=self.model.table,
            uri=uri,
            kind=StepKind.BUILD,
            strategy=self.model.strategy_name,
            reason="given by a unit test",
            triggered_by="run",
            run_timestamp=at,
            fingerprint=fingerprint,
            grid=self.model.grid,
        )

    def _judge_versions(self, session: StepSession, target: Typed, where: Location) -> None:
        """Raise for a version without its start."""
        if self.model.history is None:
            return
        start = self.model.history.columns.valid_from
        count = f"SELECT count(*) - count({quoted(start)}) AS n FROM ({target.sql})"
        if session.row(count)["n"]:
            sentence = f"a version of {self.model.name} needs {start}"
            hint = "give it in every row of target"
            raise UsageError("bad-test-value", sentence, where=where, hint=hint)

    def _newest(self, session: StepSession, target: Typed) -> str:
        """Return the greatest time in the target's rows, "" without any."""
        settings = self.model.strategy.window
        if settings is None or target.type_of(settings.time_column) is None:
            return ""
        newest = f"CAST(max({quoted(settings.time_column)}) AS STRING)"
        return str(session.row(f"SELECT {newest} AS t FROM ({target.sql})")["t"] or "")

    def _watermarks(self, setup: Given, newest: str = "") -> tuple[Watermark, ...]:
        """Return the given watermarks; by default `newest` for every column."""
        model = world.model_on(self.model, self.clock.run_timestamp)
        read = {name.name for name in model.query.inputs}
        schemas = {
            name: Schema(tuple(Column(each, str(kind)) for each, kind in table.columns))
            for name, table in self.inputs.items()
            if name in read
        }
        columns = world.carriers(model, schemas)
        if columns is None:
            if setup.watermarks:
                raise world.no_watermark(model, setup.watermarks[0])
            return ()
        if setup.watermarks:
            return tuple(world.watermark_of(each, columns) for each in setup.watermarks)
        return tuple(
            Watermark(name, column, TypedValue.parse(kind, newest))
            for (name, column), kind in columns.items()
            if newest
        )
