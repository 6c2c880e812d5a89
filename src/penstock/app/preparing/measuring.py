"""Measure a step's inputs: greatest values, NULLs, late rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.app.preparing.function_windows import extend
from penstock.app.services.services import Services
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import TableError, UsageError
from penstock.core.facts import AddedFile
from penstock.core.model import Model
from penstock.core.names import InputName, quoted
from penstock.core.partitions.partition import position
from penstock.core.ports.engine import StepSession
from penstock.core.project import Project, read_uri
from penstock.core.records import ModelRecord
from penstock.core.steps.inputs import DeltaPin, DeltaRead, Pin, Read, Relation
from penstock.core.steps.window import Bound, Watermark, Window
from penstock.core.strategy import NullWatermark, WindowSettings
from penstock.plan.windows import (
    Measured,
    Opened,
    WindowedInput,
    check_watermarks,
    low_bound,
    open_windows,
)
from penstock.strategies.relations import StepReads, bind_tables, query_tables


@dataclass(frozen=True, slots=True)
class Arrived:
    """The files that appends added to the table in a folder above version `after`, up to `upto`."""

    uri: str
    after: int
    upto: int
    files: tuple[AddedFile, ...]


def arrivals(
    services: Services, pins: Mapping[str, Pin], record: ModelRecord | None
) -> dict[str, Arrived]:
    """Return the new files of every Delta input that has had only appends since.

    An input that is new, was replaced or had rows rewritten is left out.
    """
    found = {}
    for name, now in pins.items():
        then = record.pins.get(name) if record else None
        uri = _table_uri(services, name)
        if not (uri and isinstance(now, DeltaPin) and isinstance(then, DeltaPin)):
            continue
        if now.table_id != then.table_id:
            continue
        files = (
            services.log.added(uri, then.version, now.version) if now.version > then.version else ()
        )
        if files is not None:
            found[name] = Arrived(uri, then.version, now.version, files)
    return found


def _table_uri(services: Services, name: str) -> str:
    project = services.project
    if name in project.sources:
        source = project.sources[name]
        return source.path if source.is_delta else ""
    model = project.models.get(name)
    return "" if model is None or model.is_view else read_uri(project, model.input_name)


_TIMES = ("date", "timestamp", "timestamp_ntz")
_EXACT = ("date", "tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class Measuring:
    """The context of a measurement: the model, its inputs' views, its watermarks."""

    model: Model
    settings: WindowSettings
    inputs: tuple[WindowedInput, ...]
    views: Mapping[str, str]
    watermarks: tuple[Watermark, ...]
    initial: bool
    as_of: dt.datetime | None
    arrived: Mapping[str, Arrived]
    record: ModelRecord | None
    project: Project
    reads: StepReads

    @property
    def was_filtered(self) -> bool:
        """Return whether other code opened its own windows, which have no watermark here."""
        made, names = self.record and self.record.fingerprint, self.model.query.inputs
        changed = made is not None and made != self.model.fingerprint
        own = {w.input for w in self.watermarks} - {each.name for each in names}
        return changed and bool(own)

    def tables_of(self, name: str) -> tuple[InputName, ...]:
        """Return an input, or the tables below it if it is a view; empty if unknown."""
        own = tuple(each for each in self.model.query.inputs if each.name == name)
        below = query_tables(self.project, own)
        views = [m for each in below if (m := self.project.models.get(each.name)) and m.is_view]
        if any(view.is_unpinned for view in views):
            return ()
        known = {view.input_name for view in views}
        return tuple(each for each in below if each not in known)


def measure(session: StepSession, what: Measuring) -> Opened:
    """Find the greatest value and the NULLs of every windowed input, and open the windows.

    Whole numbers and dates are read from the log. Other types take one scan per input, only of rows
    above the watermark: files below it are skipped by their statistics.
    """
    before = frozenset(() if what.was_filtered else what.record.pins if what.record else ())
    if not what.initial:  # before Spark compares a watermark with a column of another type
        check_watermarks(what.model, what.inputs, what.watermarks, before)
    messages = {each.input: _measure_by_log(each, what) for each in what.inputs}
    asked = [each for each in what.inputs if messages[each.input] is None]
    if asked:
        views = [_new_rows(session, each, what) for each in asked]
        looks = [_aggregate(n, each, what, views[n]) for n, each in enumerate(asked)]
        seen = session.row(f"SELECT * FROM {' CROSS JOIN '.join(looks)}")
        for n, each in enumerate(asked):
            nulls = int(seen[f"nulls_{n}"] or 0)
            limit = _upper_limit(each, what)
            high = _value(each, seen[f"high_{n}"])
            top = high if limit is None else _value(each, seen[f"top_{n}"])
            messages[each.input] = Measured(each, high, nulls, limit, top)
    measured = [found for found in messages.values() if found is not None]
    model, settings, known = what.model, what.settings, what.watermarks
    found = open_windows(model, settings, measured, known, initial=what.initial, read_before=before)
    return extend(settings, found, known)


def _measure_by_log(each: WindowedInput, what: Measuring) -> Measured | None:
    """Measure whole numbers and dates by the statistics of new files, without a job.

    Earlier rows are below the watermark and had no NULL, or the model would have failed on them; so
    this applies only to `null_watermark: error`.
    """
    arrived = what.arrived.get(each.input)
    known = _last_value(what.watermarks, each.input)
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


def _new_rows(session: StepSession, each: WindowedInput, what: Measuring) -> str:
    """Return a view of the rows above the watermark; of a table, only files that may have some."""
    known = None if what.initial else _last_value(what.watermarks, each.input)
    if known is None:
        return quoted(what.views[each.input])
    above = Window(each.column, Bound(known, inclusive=False), nulls=True)
    for name in what.model.query.inputs:
        read = what.reads.by_name.get(name)
        if name.name == each.input and isinstance(read, DeltaRead):
            view = f"{what.views[each.input]}_new"
            session.bind([Relation(name, view, read, above)])
            return quoted(view)
    return f"(SELECT * FROM {quoted(what.views[each.input])} WHERE {above.condition})"


def _aggregate(number: int, each: WindowedInput, what: Measuring, rows: str) -> str:
    column = quoted(each.column)
    limit, high, top = _upper_limit(each, what), column, ""
    if limit is not None:
        high = f"CASE WHEN {column} <= {limit.sql} THEN {column} END"
        top = f", CAST(max({column}) AS STRING) AS top_{number}"
    return (
        f"(SELECT CAST(max({high}) AS STRING) AS high_{number}, "
        f"count_if({column} IS NULL) AS nulls_{number}{top} FROM {rows})"
    )


def _upper_limit(each: WindowedInput, what: Measuring) -> TypedValue | None:
    """Return the value at which `--as-of` cuts a window; only times can be cut."""
    if what.as_of is None or each.type not in _TIMES:
        return None
    return TypedValue.parse(each.type, what.as_of.isoformat())


def _value(each: WindowedInput, text: object) -> TypedValue | None:
    return None if text is None else TypedValue.parse(each.type, str(text))


def _last_value(watermarks: Sequence[Watermark], name: str) -> TypedValue | None:
    return next((watermark.value for watermark in watermarks if watermark.input == name), None)


def late_rows(session: StepSession, what: Measuring) -> int | None:
    """Count rows at or below the low bound that arrived since the model last read its inputs.

    Needs appended files of Delta inputs; None if any input lacks them. Runs no job if the
    statistics of these files, by the column of the same name, rule out late rows.
    """
    if what.initial or not what.settings.counts_late:
        return None
    counts = [_late_rows(session, each, what) for each in what.inputs]
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _late_rows(session: StepSession, each: WindowedInput, what: Measuring) -> int | None:
    tables = what.tables_of(each.input)
    arrived = {name: what.arrived.get(name.name) for name in tables}
    low = low_bound(what.settings, _last_value(what.watermarks, each.input))
    if low is None or not arrived or None in arrived.values():
        return None
    new = {name: found for name, found in arrived.items() if found and found.files}
    bounds = [_bound(each, file) for found in new.values() for file in found.files]
    if all(bound is not None and not _is_below(bound, low) for bound in bounds):
        return 0
    return _count_late(session, each, what, new, low)


def _count_late(
    session: StepSession,
    each: WindowedInput,
    what: Measuring,
    new: Mapping[InputName, Arrived],
    low: Bound,
) -> int | None:
    """Count late rows in new files; with several tables, compare with the rows before.

    None if the new rows are no longer in files of their own.
    """
    alone = len(what.tables_of(each.input)) == 1
    reads: dict[InputName, Read] = {**what.reads.by_name}
    for name, found in new.items():
        arrived = DeltaRead(found.uri, found.upto, since=found.after)
        reads[name] = arrived if alone else DeltaRead(found.uri, found.after)
    own = tuple(name for name in what.model.query.inputs if name.name == each.input)
    relations, views = bind_tables(what.project, own, reads, what.reads.moment, "late")
    below = f"WHERE {quoted(each.column)} {'<' if low.inclusive else '<='} {low.value.sql}"
    other, all_rows = (
        f"SELECT count(*) FROM {quoted(view)} {below}"
        for view in (views[own[0]], what.views[each.input])
    )
    try:
        session.bind(relations)
        seen = session.row(
            f"SELECT ({other}) AS late" if alone else f"SELECT ({all_rows}) - ({other}) AS late"
        )
    except TableError:
        return None
    return max(0, int(seen["late"] or 0))  # a function may give fewer rows of more


def _bound(each: WindowedInput, file: AddedFile) -> TypedValue | None:
    """Return the least value in a file; None if its log has none, or one of another type."""
    try:
        return _value(each, file.minimum.get(each.column))
    except UsageError:
        return None


def _is_below(value: TypedValue, low: Bound) -> bool:
    return value < low.value or (value == low.value and not low.inclusive)


def lag_notes(
    services: Services, session: StepSession, what: Measuring, watermarks: Sequence[Watermark]
) -> tuple[str, ...]:
    """Warn of inputs whose greatest value, by the log's statistics, is below their watermark."""
    if what.as_of is not None or what.initial:
        return ()
    notes, after = [], {each.input: each.value for each in watermarks}
    for each in what.inputs:
        known, tables = _last_value(what.watermarks, each.input), what.tables_of(each.input)
        if known is None or known != after.get(each.input) or len(tables) != 1:
            continue
        passed, uri = position(known.text, each.type), _table_uri(services, tables[0].name)
        if passed is None or not uri:
            continue
        if any(end > passed for _, end in services.places.lying(uri, each.column, each.type)):
            continue
        view = quoted(what.views[each.input])
        seen = session.row(f"SELECT CAST(max({quoted(each.column)}) AS STRING) AS top FROM {view}")
        top = _value(each, seen["top"])
        if top is None or top < known:
            ends = f"ends at {top.text}" if top else "is empty"
            notes.append(
                f"input-behind-watermark: {each.input}.{each.column} {ends}, below the watermark "
                f"{known.text}"
            )
    return tuple(notes)
