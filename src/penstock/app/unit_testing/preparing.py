"""Writing what a test gives: inputs as Delta tables, the target as an earlier step of its model."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.app.outcomes import outcome_of, with_partitions
from penstock.app.shop import Shop
from penstock.app.unit_testing.tables import Typed, typed_table
from penstock.app.unit_testing.targets import target_sql, target_types
from penstock.app.unit_testing.world import TestClock
from penstock.core.engine_ports import StepSession
from penstock.core.errors import UsageError
from penstock.core.model import Fingerprint, Model, window_settings
from penstock.core.names import InputName
from penstock.core.pin import DeltaPin, InputPin
from penstock.core.records import Run, Status, WatermarkChange
from penstock.core.schema import Column, Schema
from penstock.core.statement import Commit
from penstock.core.step import Intent, Outcome, RowCounts, StepKind
from penstock.core.typed import TypedValue
from penstock.core.types import ScalarType
from penstock.core.unit_tests import Earlier, Given, GivenTable, Mark, UnitRun
from penstock.core.window import Watermark
from penstock.plan.resolve import dated
from penstock.plan.windows import windowed_inputs

_BEFORE = dt.timedelta(seconds=1)
_ELSEWHERE = DeltaPin("given", 0)


@dataclass(slots=True)
class Preparing:
    """Writes the tables and records of one test, in its own warehouse and store."""

    shop: Shop
    clock: TestClock
    model: Model
    inputs: dict[str, Typed] = field(default_factory=dict)

    def prepare(self, session: StepSession, run: UnitRun) -> None:
        """Write what a run gives; only the first run of a test gives a target."""
        given = run.given
        self.clock.moment = run.as_of
        for name, table in given.inputs.items():
            self._write_input(session, name, table)
        if given.target is not None:
            self._write_target(session, run, given.target)
            return
        if given.history:
            self._record(run, Outcome(None), given.history, marks=())
        for mark in self._marks(given, None):
            self._set_by_hand(mark)

    def _write_input(self, session: StepSession, name: InputName, table: GivenTable) -> None:
        made = typed_table(session, table, table.known)
        self.inputs[name.name] = made
        uri = self.shop.project.sources[name.name].path
        sql = f"CREATE OR REPLACE TABLE delta.`{uri}` USING delta AS {made.sql}"
        session.commit(Commit(sql), self._intent(uri=uri, at=self.clock.moment))

    def _write_target(self, session: StepSession, run: UnitRun, table: GivenTable) -> None:
        shop, model = self.shop, self.model
        types = target_types(shop, session, model, run, table)
        made = typed_table(session, table, types)
        uri = shop.project.uri_of(model.table)
        intent = self._intent(uri=uri, at=run.as_of - _BEFORE)
        session.commit(target_sql(shop.project, model, made), intent)
        commit = shop.log.commits(uri, -1)[-1]
        outcome = outcome_of(commit, commit.table_id, intent)
        outcome = with_partitions(shop, intent, outcome)
        marks = self._marks(run.given, made)
        self._record(run, outcome, run.given.history, marks, intent)

    def _record(  # the sides of what is recorded
        self,
        run: UnitRun,
        outcome: Outcome,
        history: Sequence[Earlier],
        marks: Sequence[Watermark],
        intent: Intent | None = None,
    ) -> None:
        """Record the target's rows as a step that succeeded, and earlier successes without rows."""
        intent = intent or self._intent(
            uri=self.shop.project.uri_of(self.model.table), at=run.as_of - _BEFORE
        )
        intent = replace(intent, inputs=self._pins(), watermarks=tuple(marks))
        with self._running(intent) as holder:
            journal = self.shop.writing.journal
            steps: list[tuple[Intent, Outcome, dt.datetime]] = []
            if outcome.version is not None:
                named = self._of_partitions(intent, outcome, run.first)
                steps.append((named, outcome, run.as_of - _BEFORE))
            for each in sorted(history, key=lambda one: one.executed_at or run.as_of):
                at = each.executed_at or run.as_of - _BEFORE
                key = self._key(each)
                told = replace(
                    intent, step=self.clock.new_id(), run_timestamp=at, partitions=(key,)
                )
                rows = replace(outcome, rows=RowCounts(each.rows), partitions=())
                steps.append((told, rows, at))
            for told, done, at in steps:
                self.clock.moment = at
                journal.begin(told, {}, self.shop.holder(holder), None)
                journal.finish(told.step, done)
        self.clock.moment = run.as_of

    @contextmanager
    def _running(self, intent: Intent) -> Iterator[str]:
        journal, now = self.shop.writing.journal, self.clock.moment
        holder = self.shop.holder(intent.run)
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
            spans = self.shop.places.lying(uri, settings.field, settings.type)
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
        model = dated({self.model.name: self.model}, self.clock.moment.date())[self.model.name]
        if model.partition is None and model.query.inputs:
            return model.fingerprint
        return replace(model.fingerprint, sql="given", canonical="given", parser="")

    def _pins(self) -> tuple[InputPin, ...]:
        """Say that other tables were read, so that all rows of the inputs are new."""
        return tuple(InputPin(name, _ELSEWHERE) for name in self.shop.project.sources)

    def _marks(self, given: Given, target: Typed | None) -> tuple[Watermark, ...]:
        """Give the watermarks that are given, else the greatest time in the target's rows."""
        settings = window_settings(self.model.strategy)
        if settings is None:
            if given.watermarks:
                where = given.watermarks[0].where
                sentence = f"{self.model.name} has no watermark"
                raise UsageError("bad-value", sentence, where=where, hint="leave it out")
            return ()
        read = {name.name for name in self.model.query.inputs}
        schemas = {name: _schema(table) for name, table in self.inputs.items() if name in read}
        windowed = windowed_inputs(self.model, settings, schemas)
        columns = {(each.input, each.column): each.type for each in windowed}
        if given.watermarks:
            return tuple(_mark(each, columns) for each in given.watermarks)
        if target is None:
            return ()
        newest = _greatest(target, settings.time_column)
        return tuple(
            Watermark(name, column, TypedValue.parse(kind, newest))
            for (name, column), kind in columns.items()
            if newest
        )

    def _set_by_hand(self, mark: Watermark) -> None:
        change = WatermarkChange(
            self.model.name, mark.input, mark.column, str(mark.value), self.clock.moment
        )
        self.shop.writing.records.change_watermark(change)


def _schema(table: Typed) -> Schema:
    return Schema(tuple(Column(name, str(kind)) for name, kind in table.columns))


def _mark(mark: Mark, columns: Mapping[tuple[str, str], str]) -> Watermark:
    """Find the `input.column` that is meant and read the value in its type."""
    asked = mark.column.lower()
    found = [
        key for key in columns if not asked or f".{'.'.join(key)}".lower().endswith(f".{asked}")
    ]
    if len(found) != 1:
        known = ", ".join(".".join(key) for key in columns)
        sentence = f"watermark {mark.column!r}: the model has {known}"
        raise UsageError("unknown-column", sentence, where=mark.where, hint="name one of them")
    kind = columns[found[0]]
    try:
        return Watermark(*found[0], TypedValue.parse(kind, mark.text))
    except UsageError as error:
        raise UsageError("bad-test-value", error.sentence, where=mark.where) from error


def _greatest(target: Typed, column: str) -> str:
    """Give the greatest value of a column as text, "" where there is none."""
    values = target.values(column)
    if not values:
        return ""
    kind = target.type_of(column)
    greatest = max(values, key=str) if kind == ScalarType("string") else max(values)  # type: ignore[type-var]  # of one type
    return str(greatest)
