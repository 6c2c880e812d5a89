"""Slices of an entity: the intent of their steps, and how a step reads its slice."""

from __future__ import annotations

import datetime as dt
import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial

from penstock.app.execution.step_state import StepRun, StepState
from penstock.app.kinds import tables
from penstock.app.kinds.tables import examine
from penstock.app.preparing.records import BoundRecords, bind_records, changes_read
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import require_rules
from penstock.app.preparing.step_inputs import Looking, StepInputs
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import Entity, ProcessType, WholeFolder
from penstock.core.entities.reading import BronzeFormat
from penstock.core.entities.slices import ListedSlice, UnchangedSlice
from penstock.core.errors import DataError, QueryError, TableError
from penstock.core.facts import TableFacts
from penstock.core.names import InputKind, InputName
from penstock.core.ports.engine import StepSession
from penstock.core.records import ModelRecord, Status
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Work
from penstock.core.steps.inputs import EVERY_COLUMN, DeltaPin, DeltaRead, FilesRead, Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import Build
from penstock.plan.evolution import Evolution
from penstock.plan.values import Step
from penstock.plan.windows import Opened
from penstock.plan.work import SliceWork
from penstock.project.entities.places import bronze_folder
from penstock.project.entities.templates import low_bound, parse_watermark
from penstock.strategies.entities.metrics import RECORDS
from penstock.strategies.entities.rows import SLICE_VIEW, SliceRead, SliceRows
from penstock.strategies.entities.statistics import (
    SliceCounts,
    check_watermarks,
    count_stage,
    read_counts,
)
from penstock.strategies.entities.steps import prepare_rows
from penstock.strategies.entities.strategy import strategy_of_entity
from penstock.strategies.entities.target import EntityStep, check_table
from penstock.strategies.entities.watermarks import (
    EntityWindow,
    inferred_windows,
    new_watermark,
    read_filter,
)
from penstock.strategies.entities.work import query_of, work_of

note_success = tables.note_success
step_to_run = tables.step_to_run
pin_versions = tables.pin_versions
prepare = tables.prepare
share_of = tables.share_of


def replan(services: Services, context: Context, step: Step) -> Step | None:
    """Decide again as for any table; no other slice of the run has the step's time."""
    again, work = tables.replan(services, context, step), step.work
    if again is not None and isinstance(again.work, SliceWork) and isinstance(work, SliceWork):
        again = replace(again, work=replace(again.work, moment=work.moment))
    return again


def complete_intent(run: StepRun, intent: Intent) -> Intent:
    """Add the slice, its processing time and its process type to the intent.

    Steps of entities that share a table may write it at the same time.
    """
    work, entity, forced = run.step.work, run.model.entity, run.context.options.strategy
    if entity is None:
        return intent
    if isinstance(work, SliceWork):
        read = work.slice.id if work.slice else None
        intent = replace(intent, slice=read, run_timestamp=work.moment)
    word = strategy_of_entity(entity, forced).name if forced else intent.strategy
    return replace(intent, strategy=word, lane=run.model.name if entity.scope else "")


def inspect(state: StepState) -> StepState:
    """Read and count the slice. Writes nothing."""
    return examine(state, SliceLooking)


BRONZE = "bronze"
"""The name of the input under which an entity's watermarks are stored."""
_AT_MOST = 6
"""How many slices without a commit the next token lists: it has no room for more."""


class SliceLooking(Looking):
    """One step of an entity before it begins."""

    __slots__ = ()

    @property
    def entity(self) -> Entity:
        """The entity whose slice is read."""
        if self.model.entity is None:
            raise TypeError(f"{self.model.name} is not an entity")
        return self.model.entity

    @property
    def moment(self) -> dt.datetime:
        """The processing time of the step."""
        return self.step.work.moment or self.context.run_timestamp

    @property
    def slice(self) -> ListedSlice | None:
        """The slice that it reads; None for a source that is read whole."""
        work = self.step.work
        return work.slice if isinstance(work, SliceWork) else None

    def _process_type(self) -> ProcessType:
        """How the rows are written."""
        return strategy_of_entity(self.entity, self.context.options.strategy).process()

    def inspect(self, session: StepSession) -> StepInputs:
        """Process the slice, count it, and refuse what it must not contain.

        A table shared with other entities is kept even for a full refresh.
        """
        entity, facts, process = self.entity, self._table_facts(), self._process_type()
        table = facts.schema if facts and (entity.scope or not self.step.initial) else None
        if facts is not None and table is not None:
            check_table(entity, facts, adopts=self.context.options.adopt)
            this = DeltaRead(self.uri, facts.version)
            session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, this)])
        self._require_unchanged()
        lows = self._low_bounds()
        anew = table is not None and self.step.initial
        before = None if table is None or anew else facts
        read, records = self._bind_rows(session, lows, before)
        read = replace(read, is_anew=anew)
        rows = prepare_rows(replace(entity, process=process), read, table)
        check_watermarks(entity, rows)
        counts = replace(self._count_rows(session, rows, read.name), records=records.counts)
        windows, undefined = inferred_windows(entity, lows, counts, None if anew else table)
        query = session.define(QUERY_VIEW, query_of(entity, rows))
        unchanged = self._unchanged_slices()
        crowded = table is not None and len(unchanged) >= _AT_MOST

        def work(build: Build) -> Work:
            found = (rows, counts, self.moment, windows, process, crowded, anew)
            step = EntityStep(entity, build, *found, records.properties)
            return replace(work_of(step), last_look=self._require_unchanged)

        return StepInputs(
            query=query,
            evolution=_schema_changes(query, rows),
            facts=facts,
            table=table,
            windows=Opened(tuple(_delete_windows(windows)), tuple(self._moved_watermarks(counts))),
            late=None,
            schema_changes=tuple(_changed_columns(rows, table)),
            notes=(*records.notes, *rows.notes, *undefined, *self._count_notes(counts, table)),
            bad_sql=records.bad_sql,
            work=work,
            slice_view=SLICE_VIEW if self.slice else "",
            unchanged=unchanged,
        )

    def _unchanged_slices(self) -> tuple[UnchangedSlice, ...]:
        """Return the slices processed since the last recorded commit."""
        known = self.services.reading.slices.recorded(self.model.name)
        last = max((each.step_seq for each in known if each.version is not None), default=0)
        return tuple(
            UnchangedSlice(each.id, each.step, each.step_seq, each.moment, _nonzero(each.metrics))
            for each in sorted(known, key=lambda each: each.step_seq)
            if each.status is Status.SUCCESS and each.step_seq > last and each.moment is not None
        )

    def _require_unchanged(self) -> None:
        """Raise if the slice differs from the planned one: its files may have been replaced."""
        planned, folder = self.slice, bronze_folder(self.entity, self.context.run_timestamp)
        if planned is None or folder is None:
            return
        name = planned.id.name
        alone = replace(folder, pattern=glob.escape(name))
        now = self.services.log.slices(alone)
        if [each.id for each in now] != [planned.id]:
            what = "is gone" if not now else "is another one now"
            raise TableError(
                "slice-changed-during-run",
                f"slice {name} of {self.model.name} {what}",
                where=self.entity.where,
                hint="nothing of it was written; run again",
            )

    def _bind_rows(
        self, session: StepSession, lows: Mapping[int, TypedValue], facts: TableFacts | None
    ) -> tuple[SliceRead, BoundRecords]:
        """Bind the rows to read: those of one slice, or of a whole source above its watermarks."""
        entity, planned = self.entity, self.slice
        folder = bronze_folder(entity, self.context.run_timestamp)
        if planned is None or folder is None:
            return self._bind_whole(session, lows, facts)
        reading = entity.settings.reading
        files = tuple(f"{folder.path}/{file}" for file in planned.files)
        is_parquet = reading.format is BronzeFormat.PARQUET
        options = {**(EVERY_COLUMN if is_parquet and files[1:] else {}), **reading.options}
        source = FilesRead(str(reading.format), folder.path, files, options, keeps_void=is_parquet)
        name = InputName(InputKind.SOURCE, planned.id.name)
        explained = partial(self._explained_errors, planned, folder.path)
        records = bind_records(session, entity, (name, source), facts, explained)
        return SliceRead(planned.id.name, self.moment, session.describe), records

    def _bind_whole(
        self, session: StepSession, lows: Mapping[int, TypedValue], facts: TableFacts | None
    ) -> tuple[SliceRead, BoundRecords]:
        entity, (name, source) = self.entity, next(iter(self.inputs.reads.items()))
        whole = self._process_type() is ProcessType.FULL or entity.settings.events.change_feed
        where = "" if whole else read_filter(entity.watermark, lows)
        if entity.settings.events.change_feed:
            known = self._known_version(name)
            source = changes_read(session, entity, (name, source), known, self._commit_time)
        elif isinstance(source, FilesRead):
            source = replace(source, keeps_void=source.format == "parquet")
        records = bind_records(session, entity, (name, source), facts, nullcontext)
        shown = str(entity.bronze.path if isinstance(entity.bronze, WholeFolder) else name.name)
        only = self.context.options.slice
        return SliceRead(shown, self.moment, session.describe, only, where), records

    def _known_version(self, name: InputName) -> tuple[DeltaPin | None, DeltaPin | None]:
        """Return the version of a table that the last step read, and the one to read now."""
        record = None if self.step.initial else self.context.records.get(self.model.name)
        before = record.pins.get(name.name) if record else None
        now = next((pin.pin for pin in self.inputs.pins if pin.input == name.name), None)
        found = [pin if isinstance(pin, DeltaPin) else None for pin in (before, now)]
        return found[0], found[1]

    def _commit_time(self, uri: str, version: int) -> dt.datetime:
        """Return when a version of a table was committed."""
        commits = self.services.log.commits(uri, version - 1, partial=True)
        found = next((each.time for each in commits if each.version == version), None)
        return found or self.moment

    @contextmanager
    def _explained_errors(self, planned: ListedSlice, root: str) -> Iterator[None]:
        """Name the file of a slice that Spark cannot read, and its actual format."""
        try:
            yield
        except (QueryError, TableError, DataError) as error:
            name, what = planned.id.name, f"cannot be read: {error.sentence}"
            shown = f"slice {name} of {self.model.name}"
            is_parquet = self.entity.settings.reading.format is BronzeFormat.PARQUET
            for file in planned.files if is_parquet else ():
                if problem := self.services.log.file_problem(f"{root}/{file}"):
                    shown = shown if file == name else f"file {file} of {shown}"
                    what = problem
                    break
            raise TableError(
                "slice-unreadable",
                f"{shown} {what}",
                where=self.entity.where,
                hint="deliver it again, or leave it out: penstock entities slices "
                f"{self.model.name} --skip {name} --reason TEXT",
            ) from error

    def _count_rows(self, session: StepSession, rows: SliceRows, name: str) -> SliceCounts:
        """Count the rows in one action, and keep them."""
        size = self.slice.id.size if self.slice else None
        stage = count_stage(self.entity, rows, name, size)
        seen = session.stage(stage)
        require_rules(session, stage, seen, self.entity.where)
        return read_counts(self.entity, rows, seen)

    def _stored_watermarks(self) -> Mapping[str, Watermark]:
        """Return the recorded watermarks by column; empty for a table that is rebuilt."""
        record = self.context.records.get(self.model.name)
        if record is None or self.step.initial:
            return {}
        return {each.column.lower(): each for each in record.watermarks}

    def _low_bounds(self) -> dict[int, TypedValue]:
        """Return the low bound of every entry that has one, by position."""
        record = self.context.records.get(self.model.name)
        return low_bounds(self.entity, None if self.step.initial else record, self.moment)

    def _moved_watermarks(self, counts: SliceCounts) -> Iterator[Watermark]:
        """Yield the watermarks after the step; none of them decreases.

        Unchanged ones are included: a step without a commit may have moved them.
        """
        stored = self._stored_watermarks()
        highs = {k.lower(): (k, v) for k, v in counts.highs.items()}
        for key in dict.fromkeys((*highs, *stored)):
            column, high = highs.get(key, (key, None))
            known = stored.get(key)
            before, now = (known.column, known.value) if known else (column, None)
            value = new_watermark(self.entity, before, now, high) or now
            if value is not None:
                yield Watermark(BRONZE, before, value)

    def _count_notes(self, counts: SliceCounts, table: Schema | None) -> Iterator[str]:
        """Warn about rows without a watermark, and a slice without rows: a failed extract."""
        yield from counts.notes
        if not counts.rows and table is not None and not self.entity.settings.events.change_feed:
            name = self.slice.id.name if self.slice else "the source"
            yield f"empty-slice: {name} of {self.model.name} holds no row"


def _schema_changes(query: Schema, rows: SliceRows) -> Evolution:
    return Evolution(query.names, rows.new, rows.widened, tuple(each.name for each in rows.lost))


def _nonzero(metrics: Mapping[str, int]) -> dict[str, int]:
    """Return the counts without zeros, but always with the number of rows."""
    return {name: count for name, count in metrics.items() if count or name == RECORDS}


def recorded_watermarks(record: ModelRecord | None) -> dict[str, TypedValue]:
    """Return the recorded watermarks, by column in lower case."""
    return {each.column.lower(): each.value for each in record.watermarks} if record else {}


def low_bounds(
    entity: Entity, record: ModelRecord | None, moment: dt.datetime
) -> dict[int, TypedValue]:
    """Return the low bound of every entry that has one, by position."""
    stored, found = recorded_watermarks(record), {}
    for place, each in enumerate(entity.watermark):
        value = stored.get(each.column.lower())
        if value is not None:
            term = parse_watermark(each.expression)
            found[place] = low_bound(term, value, moment, entity.timezone)
    return found


def _changed_columns(rows: SliceRows, table: Schema | None) -> Iterator[str]:
    """Return the columns that the table gets, of the slice or a renamed key, and wider ones."""
    if table is not None:
        yield from (f"added {n}" for n in rows.stored.names if table.find(n) is None)
    yield from (f"widened {name}" for name in rows.widened)


def _delete_windows(windows: tuple[EntityWindow, ...] | None) -> Iterator[InputWindow]:
    """Yield the windows in which keys may be found missing, in the form of records."""
    for each in windows or ():
        high = None if each.high is None else Bound(each.high, inclusive=True)
        window = Window(each.column, Bound(each.low, inclusive=True), high)
        yield InputWindow(BRONZE, window)
