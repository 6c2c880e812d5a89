"""Writing what a test gives: inputs as Delta tables, the target as an earlier step of its model."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.app.execution.seed_step import define_seed
from penstock.app.preparing.outcomes import outcome_of
from penstock.app.services.services import Services
from penstock.app.unit_testing.tables import Typed, columns_of, placed, typed_table, with_rows
from penstock.app.unit_testing.targets import target_sql, target_types
from penstock.app.unit_testing.watermarks import carriers, no_watermark, watermark_of
from penstock.app.unit_testing.world import TestClock
from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.columns.types import ScalarType
from penstock.core.model import Fingerprint, Model, Seed
from penstock.core.names import InputName
from penstock.core.ports.engine import StepSession
from penstock.core.records import Run, Status, WatermarkChange
from penstock.core.statement import QUERY_VIEW, Commit
from penstock.core.steps.inputs import DeltaPin, InputPin
from penstock.core.steps.step import Intent, Outcome, RowCounts, StepKind
from penstock.core.steps.window import Watermark
from penstock.core.unit_tests import Earlier, Given, GivenTable, UnitRun
from penstock.plan.resolve import dated

_BEFORE = dt.timedelta(seconds=1)
_ELSEWHERE = DeltaPin("given", 0)


@dataclass(slots=True)
class Preparing:
    """Writes the tables and records of one test, in its own warehouse and store.

    `later` are the tables that runs after the first give.
    """

    services: Services
    clock: TestClock
    model: Model
    seeds: Mapping[InputName, Seed] = field(default_factory=dict)
    later: Mapping[InputName, GivenTable] = field(default_factory=dict)
    inputs: dict[str, Typed] = field(default_factory=dict)

    def prepare(self, session: StepSession, run: UnitRun) -> None:
        """Write what a run gives; only the first run of a test gives a target."""
        given = run.given
        self.clock.run_timestamp = run.as_of
        self._write_seeds(session)
        for name, table in given.inputs.items():
            self._write_input(session, name, table)
        self._write_later(session)
        if given.target is not None:
            self._write_target(session, run, given.target)
            return
        if given.history:
            self._record(run, Outcome(None), given.history, watermarks=())
        for watermark in self._watermarks(given, None):
            self._set_by_hand(watermark)

    def _write_seeds(self, session: StepSession) -> None:
        """Load the files of seeds once, as `penstock seed` would."""
        for name, seed in self.seeds.items():
            if name.name not in self.inputs:
                columns = columns_of(define_seed(session, seed))
                self._write(session, name, Typed(columns, None, f"SELECT * FROM {QUERY_VIEW}"))

    def _write_input(self, session: StepSession, name: InputName, table: GivenTable) -> None:
        with placed(table):
            self._write(session, name, typed_table(session, table, table.known))

    def _write_later(self, session: StepSession) -> None:
        """Make what no run has given yet, without rows: every input is there from the start."""
        for name, table in self.later.items():
            if name.name not in self.inputs:
                with placed(table):
                    made = typed_table(session, table, table.known)
                    sql = f"SELECT * FROM ({made.sql}) WHERE false"
                    self._write(session, name, Typed(made.columns, (), sql))

    def _write(self, session: StepSession, name: InputName, made: Typed) -> None:
        self.inputs[name.name] = made
        uri = self.services.project.sources[name.name].path
        sql = f"CREATE OR REPLACE TABLE delta.`{uri}` USING delta AS {made.sql}"
        session.commit(Commit(sql), self._intent(uri=uri, at=self.clock.run_timestamp))

    def _write_target(self, session: StepSession, run: UnitRun, table: GivenTable) -> None:
        services, model = self.services, self.model
        types = target_types(services, session, model, run, table)
        made = with_rows(session, table, typed_table(session, table, types))
        uri = services.project.uri_of(model.table)
        intent = self._intent(uri=uri, at=run.as_of - _BEFORE)
        session.commit(target_sql(services.project, model, made, table.where), intent)
        commit = services.log.commits(uri, -1)[-1]
        outcome = outcome_of(services, intent, commit)
        watermarks = self._watermarks(run.given, made)
        self._record(run, outcome, run.given.history, watermarks, intent)

    def _record(  # the sides of what is recorded
        self,
        run: UnitRun,
        outcome: Outcome,
        history: Sequence[Earlier],
        watermarks: Sequence[Watermark],
        intent: Intent | None = None,
    ) -> None:
        """Record the target's rows as a step that succeeded, and earlier successes without rows."""
        intent = intent or self._intent(
            uri=self.services.project.uri_of(self.model.table), at=run.as_of - _BEFORE
        )
        intent = replace(intent, inputs=self._pins(), watermarks=tuple(watermarks))
        with self._running(intent) as holder:
            journal = self.services.writing.journal
            steps: list[tuple[Intent, Outcome, dt.datetime]] = []
            if outcome.version is not None:
                named = self._of_partitions(intent, outcome, run.first)
                steps.append((named, outcome, run.as_of - _BEFORE))
            for each in sorted(history, key=lambda one: one.executed_at or run.as_of):
                at = each.executed_at or run.as_of - _BEFORE
                key = self._key(each)
                earlier = replace(
                    intent, step=self.clock.new_id(), run_timestamp=at, partitions=(key,)
                )
                rows = replace(outcome, rows=RowCounts(each.rows), partitions=())
                steps.append((earlier, rows, at))
            for earlier, done, at in steps:
                self.clock.run_timestamp = at
                journal.begin(earlier, {}, self.services.holder(holder), None)
                journal.finish(earlier.step, done)
        self.clock.run_timestamp = run.as_of

    @contextmanager
    def _running(self, intent: Intent) -> Iterator[str]:
        journal, now = self.services.writing.journal, self.clock.run_timestamp
        holder = self.services.holder(intent.run)
        journal.start_run(Run(intent.run, "run", "", "test", now, holder, now))
        yield intent.run
        journal.end_run(intent.run, Status.SUCCESS)

    def _of_partitions(self, intent: Intent, outcome: Outcome, tested: str) -> Intent:
        """Name the partitions that rows of the target lie in; without rows it is the tested one."""
        if self.model.partition is None:
            return intent
        keys = tuple(self.model.grid.key(each.ord) for each in outcome.partitions)
        if not keys and outcome.rows.written:
            settings = self.model.partition
            uri = intent.uri
            spans = self.services.places.lying(uri, settings.field, settings.type)
            keys = tuple(
                dict.fromkeys(self.model.grid.key(self.model.grid.at(low)) for low, _ in spans)
            )
        return replace(intent, partitions=keys or (tested,))

    def _key(self, earlier: Earlier) -> str:
        if self.model.partition is None:
            return "*"
        return self.model.grid.key(self.model.grid.parse(earlier.partition))

    def _intent(self, *, uri: str, at: dt.datetime) -> Intent:
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
            fingerprint=self._fingerprint(),
            grid=self.model.grid,
        )

    def _fingerprint(self) -> Fingerprint:
        """Give the code that made the target: another one where only that makes a step due.

        New inputs make it due where there are any; partitions do not all see them.
        """
        model = dated({self.model.name: self.model}, self.clock.run_timestamp.date())[
            self.model.name
        ]
        if model.partition is None and model.query.inputs:
            return model.fingerprint
        return replace(model.fingerprint, sql="given", canonical="given", parser="")

    def _pins(self) -> tuple[InputPin, ...]:
        """Say that other tables were read, so that all rows of the inputs are new."""
        return tuple(InputPin(name, _ELSEWHERE) for name in self.services.project.sources)

    def _watermarks(self, given: Given, target: Typed | None) -> tuple[Watermark, ...]:
        """Give the watermarks that are given, else the greatest time in the target's rows."""
        model = dated({self.model.name: self.model}, self.clock.run_timestamp.date())[
            self.model.name
        ]
        read = {name.name for name in model.query.inputs}
        schemas = {name: _schema(table) for name, table in self.inputs.items() if name in read}
        columns = carriers(model, schemas)
        if columns is None:
            if given.watermarks:
                raise no_watermark(model, given.watermarks[0])
            return ()
        if given.watermarks:
            return tuple(watermark_of(each, columns) for each in given.watermarks)
        settings = model.strategy.window
        newest = _greatest(target, settings.time_column) if target and settings else ""
        return tuple(
            Watermark(name, column, TypedValue.parse(kind, newest))
            for (name, column), kind in columns.items()
            if newest
        )

    def _set_by_hand(self, watermark: Watermark) -> None:
        change = WatermarkChange(
            self.model.name,
            watermark.input,
            watermark.column,
            str(watermark.value),
            self.clock.run_timestamp,
        )
        self.services.writing.records.change_watermark(change)


def _schema(table: Typed) -> Schema:
    return Schema(tuple(Column(name, str(kind)) for name, kind in table.columns))


def _greatest(target: Typed, column: str) -> str:
    """Give the greatest value of a column as text, "" where there is none."""
    values = target.values(column)
    if not values:
        return ""
    kind = target.type_of(column)
    greatest = max(values, key=str) if kind == ScalarType("string") else max(values)  # type: ignore[type-var]  # of one type
    return str(greatest)
