"""Looking before a step begins: windows, columns, schema. Nothing is written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.app.observation.log_reader import changed_below, open_log_reader
from penstock.app.observation.observe import observe_target
from penstock.app.preparing.run_context import Context, Inputs
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.errors import TableError
from penstock.core.facts import AddedFile, TableFacts
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.records import ModelRecord
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW
from penstock.core.steps.inputs import DeltaPin, DeltaRead, Pin, Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.window import Watermark, Window
from penstock.core.strategy import NullWatermark, WindowSettings
from penstock.plan.evolution import Evolution, evolve
from penstock.plan.values import Step
from penstock.plan.windows import (
    Measured,
    Opened,
    WindowedInput,
    check_watermarks,
    low_bound,
    opened,
    windowed_inputs,
)
from penstock.strategies.relations import BoundQuery, bind


@dataclass(frozen=True, slots=True)
class Arrived:
    """The files that appends added to the table in a folder above version `after`."""

    uri: str
    after: int
    files: tuple[AddedFile, ...]


def arrivals(
    services: Services, pins: Mapping[str, Pin], record: ModelRecord | None
) -> dict[str, Arrived]:
    """Give what arrived, for every Delta input whose rows were only appended since.

    An input that is new, was replaced or had rows rewritten is left out: nobody can tell.
    """
    found = {}
    for name, now in pins.items():
        then = record.pins.get(name) if record else None
        uri = _uri(services, name)
        if not (uri and isinstance(now, DeltaPin) and isinstance(then, DeltaPin)):
            continue
        if now.table_id != then.table_id:
            continue
        files = (
            services.log.added(uri, then.version, now.version) if now.version > then.version else ()
        )
        if files is not None:
            found[name] = Arrived(uri, then.version, files)
    return found


def _uri(services: Services, name: str) -> str:
    project = services.project
    if name in project.sources:
        source = project.sources[name]
        return source.path if source.is_delta else ""
    model = project.models.get(name)
    return "" if model is None or model.is_view else project.uri_of(model.table)


_TIMES = ("date", "timestamp", "timestamp_ntz")
_EXACT = ("date", "tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class Measuring:
    """What a measurement is made with: the model, its inputs' views, what it remembers."""

    model: Model
    settings: WindowSettings
    inputs: tuple[WindowedInput, ...]
    views: Mapping[str, str]
    watermarks: tuple[Watermark, ...]
    initial: bool
    as_of: dt.datetime | None
    arrived: Mapping[str, Arrived]
    record: ModelRecord | None


def measure(session: StepSession, what: Measuring) -> Opened:
    """Find the greatest value and the NULLs of every windowed input, and open the windows.

    Whole numbers and dates are told by the log; else one scan per input, and only of rows above
    the watermark: files below it are skipped by their statistics.
    """
    before = frozenset(what.record.pins if what.record else ())
    if not what.initial:  # before Spark compares a watermark with a column of another type
        check_watermarks(what.model, what.inputs, what.watermarks, before)
    messages = {each.input: _measured_by_log(each, what) for each in what.inputs}
    asked = [each for each in what.inputs if messages[each.input] is None]
    if asked:
        looks = [_aggregate(number, each, what) for number, each in enumerate(asked)]
        seen = session.look(f"SELECT * FROM {' CROSS JOIN '.join(looks)}")
        for n, each in enumerate(asked):
            nulls = int(seen[f"nulls_{n}"] or 0)
            limit = _limit(each, what)
            high = _value(each, seen[f"high_{n}"])
            top = high if limit is None else _value(each, seen[f"top_{n}"])
            messages[each.input] = Measured(each, high, nulls, limit, top)
    measured = [found for found in messages.values() if found is not None]
    model, settings, known = what.model, what.settings, what.watermarks
    return opened(model, settings, measured, known, initial=what.initial, read_before=before)


def _measured_by_log(each: WindowedInput, what: Measuring) -> Measured | None:
    """Measure whole numbers and dates by the statistics of the files that arrived, without a job.

    Rows that arrived before lie below the watermark and had no NULL, or the model would have
    failed on them; so this is only for `null_watermark: error`.
    """
    arrived = what.arrived.get(each.input)
    known = _known(what.watermarks, each.input)
    exact = each.type in _EXACT and what.settings.null_watermark is NullWatermark.ERROR
    was_cut = what.record is not None and what.record.cut_at is not None  # rows were left unread
    whole = not what.initial and not was_cut and what.as_of is None
    if arrived is None or known is None or not exact or not whole:
        return None
    column, files = each.column, arrived.files
    if not all(column in f.nulls and (column in f.maximum or f.nulls[column]) for f in files):
        return None
    tops = [TypedValue.parse(each.type, f.maximum[column]) for f in files if column in f.maximum]
    high = max((top for top in tops if top > known), default=None)
    return Measured(each, high, sum(f.nulls[column] for f in files))


def _aggregate(number: int, each: WindowedInput, what: Measuring) -> str:
    column = quoted(each.column)
    known = None if what.initial else _known(what.watermarks, each.input)
    where = f" WHERE {column} > {known.sql} OR {column} IS NULL" if known is not None else ""
    limit, high, top = _limit(each, what), column, ""
    if limit is not None:
        high = f"CASE WHEN {column} <= {limit.sql} THEN {column} END"
        top = f", CAST(max({column}) AS STRING) AS top_{number}"
    view = quoted(what.views[each.input])
    return (
        f"(SELECT CAST(max({high}) AS STRING) AS high_{number}, "
        f"count_if({column} IS NULL) AS nulls_{number}{top} FROM {view}{where})"
    )


def _limit(each: WindowedInput, what: Measuring) -> TypedValue | None:
    """Give the value at which `--as-of` cuts a window; only times can be cut."""
    if what.as_of is None or each.type not in _TIMES:
        return None
    return TypedValue.parse(each.type, what.as_of.isoformat())


def _value(each: WindowedInput, text: object) -> TypedValue | None:
    return None if text is None else TypedValue.parse(each.type, str(text))


def _known(watermarks: Sequence[Watermark], name: str) -> TypedValue | None:
    return next((watermark.value for watermark in watermarks if watermark.input == name), None)


def late_rows(session: StepSession, what: Measuring) -> int | None:
    """Count rows at or below the low bound that arrived since the model last read its inputs.

    Only appended files of Delta inputs can tell; None where any input cannot. Files whose
    statistics lie above the bound are not opened.
    """
    if what.initial:
        return None
    counts = [_late_in(session, each, what) for each in what.inputs]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _late_in(session: StepSession, each: WindowedInput, what: Measuring) -> int | None:
    arrived = what.arrived.get(each.input)
    low = low_bound(what.settings, _known(what.watermarks, each.input))
    if arrived is None or low is None:
        return None
    bounds = (_value(each, file.minimum.get(each.column)) for file in arrived.files)
    if all(bound is not None and bound > low.value for bound in bounds):
        return 0
    before = f"{what.views[each.input]}_before"
    read = DeltaRead(arrived.uri, arrived.after)
    session.bind([Relation(InputName(InputKind.SOURCE, each.input), before, read)])
    below = f"WHERE {quoted(each.column)} {'<' if low.inclusive else '<='} {low.value.sql}"
    seen = session.look(
        f"SELECT (SELECT count(*) FROM {quoted(what.views[each.input])} {below}) - "
        f"(SELECT count(*) FROM {quoted(before)} {below}) AS late"
    )
    return int(seen["late"] or 0)


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What a step knows before it begins.

    `facts` are those of the table that is there, `table` its schema where the step builds on it.
    `evolution` is how the query's columns fit the table, `schema_changes` the same in words. `late`
    counts rows that came below a watermark, None where nobody can tell. `passed_by` are inputs that
    changed rows which the windows have passed. `is_idle` is whether all windows are empty: then
    there is no statement and no commit, only new pins.
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
        settings = self.model.strategy.window
        windowed = self._windows(session, settings) if settings else None
        opened, late = windowed or (None, None)
        windows = {w.input: w.window for w in opened.windows} if opened else {}
        bound = self._bind(windows)
        session.bind(bound.relations)
        query = session.define(QUERY_VIEW, bound.sql)
        facts = None
        if self.uri:
            facts = self.services.log.facts(self.uri)
            if facts is None and not self.step.initial:
                raise table_gone(self.model)
        table = facts.schema if facts and not self.step.initial else None
        properties = facts.properties if facts else None
        evolution = evolve(self.model, query, table, properties)
        if facts is not None and table is not None:
            read = DeltaRead(self.uri, facts.version)
            session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, read)])
        written = Schema(tuple(c for c in query.columns if c.name in evolution.written))
        added = (f"added {name}" for name in evolution.added)
        return StepInputs(
            query=written,
            evolution=evolution,
            facts=facts,
            table=table,
            opened=opened,
            late=late,
            schema_changes=(*added, *(f"widened {name}" for name in evolution.widened)),
            passed_by=self._passed_by(),
            is_idle=opened is not None and opened.all_empty and not self.step.initial,
        )

    def promised(self, intent: Intent, found: StepInputs) -> Intent:
        """Write into the intent what was found."""
        opened = found.opened
        return replace(
            intent,
            windows=opened.windows if opened else (),
            watermarks=opened.watermarks if opened else (),
            lowers_watermarks=self.step.initial,
            cut_at=self.context.as_of if opened and opened.is_cut else None,
            passed_by=found.passed_by,
            base_version=found.facts.version if found.facts else None,
        )

    def _passed_by(self) -> tuple[str, ...]:
        """Name what no window will read again; only a step that reads everything settles it.

        The model itself is named if others changed rows of its table, which stay.
        """
        name, records = self.model.name, self.context.records
        record = records.get(name)
        if self.step.initial or record is None or self.model.strategy.window is None:
            return ()
        now = changed_below(open_log_reader(self.services), name, records)
        passed = {*record.passed_by, *now}
        if observe_target(self.services, self.model, record).foreign:
            passed.add(name)
        return tuple(sorted(passed))

    def _windows(self, session: StepSession, settings: WindowSettings) -> tuple[Opened, int | None]:
        whole = self._bind({})
        schemas = session.bind(whole.relations)
        views = {relation.input.name: relation.view for relation in whole.relations}
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
            arrived=arrivals(self.services, pins, record),
            record=record,
        )
        return measure(session, what), late_rows(session, what)

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

    def _bind(self, windows: dict[str, Window]) -> BoundQuery:
        return bind(
            self.services.project,
            self.model,
            self.inputs.reads,
            windows,
            incremental=not self.step.initial,
            moment=self.context.run_timestamp,
        )


def table_gone(model: Model) -> TableError:
    """Give the error of a step whose table went away after it was planned."""
    return TableError(
        "table-gone",
        f"{model.table} disappeared while the step was running",
        where=model.where,
        hint="run again; the next plan rebuilds it",
    )
