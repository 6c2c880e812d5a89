"""An entity on real Spark, without a project around it: slices in, a silver table out.

It runs what `strategies.entities` decides, as a step would, on one Delta table.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fakes.builders import a_model
from penstock.app.preparing.statements import require_rules, run_stages
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import (
    Entity,
    EntityColumn,
    EntitySettings,
    FieldRole,
    ProcessType,
    RunText,
    Slices,
    WatermarkEntry,
)
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Commit
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.step import Intent, StepKind
from penstock.core.strategy import Build, Layout
from penstock.engine.log.delta_log import DeltaLog
from penstock.engine.session import SparkStepSession
from penstock.project.entities.templates import low_bound, parse_watermark
from penstock.strategies.entities.metrics import step_metrics
from penstock.strategies.entities.rows import SLICE_VIEW, SliceRead
from penstock.strategies.entities.statistics import check_watermarks, count_stage, read_counts
from penstock.strategies.entities.steps import prepare_rows
from penstock.strategies.entities.target import EntityStep
from penstock.strategies.entities.watermarks import inferred_windows, new_watermark, read_filter
from penstock.strategies.entities.work import query_of, work_of
from penstock.strategies.reshape import allow_widening

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T1, T2, T3, T4 = (dt.datetime(2025, 5, 5, 10, minute, tzinfo=dt.UTC) for minute in range(4))
TYPES = {"ID": "int", "SeqNr": "int", "name": "string"}
KEY = EntityColumn("ID", roles=frozenset({FieldRole.BUSINESS_KEY}))
SEQ = WatermarkEntry("SeqNr", "or")


def an_entity(process: ProcessType = ProcessType.MERGE, **changes: object) -> Entity:
    """The entity `x` of the cases: key `ID`, watermark `SeqNr`, prefix `p_`."""
    settings = {
        name: changes.pop(name) for name in EntitySettings.__dataclass_fields__ if name in changes
    }
    made = Entity(
        name="x",
        model="silver_aw.x",
        table=TableName("silver_aw", "x"),
        process=process,
        bronze=Slices(RunText("/bronze/aw/x")),
        where=Location("entities/x.json", 6),
        connection="aw",
        destination="x",
        prefix="p_",
        timezone="Europe/Amsterdam",
        columns=(KEY,),
        watermark=() if process is ProcessType.FULL else (SEQ,),
        settings=EntitySettings(**settings),  # type: ignore[arg-type]
    )
    return replace(made, **changes)  # type: ignore[arg-type]


XF, XM, XH = (an_entity(process) for process in ProcessType)


@dataclass
class SilverTable:
    """One silver table; every run is a step with one slice. What was found is kept beside it."""

    spark: SparkSession
    folder: Path
    entity: Entity
    watermarks: dict[str, TypedValue] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    committed: Commit | None = None
    slices: int = 0
    counted: Mapping[str, int] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        return str(self.folder / "x")

    @property
    def target(self) -> str:
        return f"delta.`{self.uri}`"

    @property
    def version(self) -> int:
        """The version of the table, -1 without one."""
        facts = DeltaLog().facts(self.uri)
        return facts.version if facts else -1

    def run(self, at: dt.datetime, rows: str, columns: str = "ID, SeqNr, name", **how: object):
        """Run a slice of rows as SQL writes them: `(1, 100, 'A')`; "" is a slice without rows."""
        types = TYPES | (how.pop("types", None) or {})
        names = [name.strip() for name in columns.split(",")]
        nothing = ", ".join("NULL" for _ in names)
        chosen = ", ".join(
            f"CAST(`{name}` AS {types[name]}) AS `{name}`" if name in types else f"`{name}`"
            for name in names
        )
        quoted = ", ".join(f"`{name}`" for name in names)
        sql = f"SELECT {chosen} FROM VALUES {rows or f'({nothing})'} AS v({quoted})"
        return self.run_sql(at, sql if rows else f"{sql} WHERE false", **how)

    def run_sql(
        self,
        at: dt.datetime,
        sql: str,
        *,
        name: str = "",
        only: str = "",
        whole: bool = False,
        confs: Mapping[str, str] | None = None,
    ) -> str:
        """Run a slice; give `N/inserted/updated/deleted`, then `x` inferred or `=` unchanged."""
        self.slices += 1
        spark = self.spark.newSession()
        for key, value in (confs or {}).items():
            spark.conf.set(key, value)
        session = SparkStepSession(spark, None, lambda: ("0", "store", "shop"), lambda _: None)
        try:
            session.define(SLICE_VIEW, sql)
            where = read_filter(self.entity.watermark, self.lows(at)) if whole else ""
            name = name or f"slice-{self.slices}.parquet"
            read = SliceRead(name, at, session.describe, only, where)
            return self._run(session, read)
        finally:
            session.close()

    def lows(self, at: dt.datetime) -> dict[int, TypedValue]:
        """Give the low bounds of this moment by the place of the entry."""
        entity, found = self.entity, {}
        for place, each in enumerate(entity.watermark):
            if stored := self.watermarks.get(each.column):
                term = parse_watermark(each.expression)
                found[place] = low_bound(term, stored, at, entity.timezone)
        return found

    def _run(self, session: SparkStepSession, read: SliceRead) -> str:
        entity, log = self.entity, DeltaLog()
        facts = log.facts(self.uri)
        table = facts.schema if facts else None
        if facts is not None:
            this = DeltaRead(self.uri, facts.version)
            session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, this)])
        rows = prepare_rows(entity, read, table)
        check_watermarks(entity, rows)
        stage = count_stage(entity, rows, read.name)
        look = session.stage(stage)
        require_rules(session, stage, look, entity.where)
        counts = read_counts(entity, rows, look)
        windows, said = None, ()
        if table is not None:
            windows, said = inferred_windows(entity, self.lows(read.moment), counts, table)
        self.notes = (*rows.notes, *counts.notes, *said)
        build = Build(self._model(), self.target, rows.stored, table)
        step = EntityStep(entity, build, rows, counts, read.moment, windows)
        query = session.define(QUERY_VIEW, query_of(entity, rows))
        step = replace(step, build=replace(build, query=query, evolves=step.evolves))
        moved = {
            column: new_watermark(entity, column, self.watermarks.get(column), high)
            for column, high in counts.highs.items()
        }
        told = self._write(session, step, facts)
        self.watermarks |= {column: value for column, value in moved.items() if value}
        return told

    def _write(self, session: SparkStepSession, step: EntityStep, facts) -> str:
        work, log = work_of(step), DeltaLog()
        seen = run_stages(session, work, None)
        self.committed = work.decide(seen)
        if facts is not None and step.rows.widened and self.committed:
            for statement in allow_widening(self.target, facts.properties):
                self.spark.sql(statement)
        found = work.counts(seen)
        if self.committed is not None:
            before = self.version
            session.commit(self.committed, self._intent(step.moment))
            delta = log.commits(self.uri, before)[-1].metrics
            found = step_metrics(step.process, {**self.committed.metrics, **delta})
            observed = {}
            if self.committed.feed is not None:
                observed = session.observed(delta["numSourceRows"])
                assert observed is not None
                assert int(observed["inferred_deleted"]) == found["inferred_deleted"]
            assert [*self.committed.breaches({**delta, **observed})] == []
        self.counted = found
        names = ("recordsInSlice", "inserted", "updated", "deleted")
        told = "/".join(str(found[name]) for name in names)
        told += f" ={found['unchanged']}" if step.process is ProcessType.HISTORIC else ""
        return told + (f" x{found['inferred_deleted']}" if found["inferred_deleted"] else "")

    def rows(self, columns: str = "ID, SeqNr, name", by: str = "ALL", where: str = "true"):
        """Give rows of the table, instants as T1 to T4."""
        found = self.spark.sql(
            f"SELECT {columns} FROM {self.target} WHERE {where} ORDER BY {by}"
        ).collect()
        return [tuple(_shown(value) for value in row) for row in found]

    def _model(self):
        by = self.entity.partition_columns
        model = a_model("silver_aw.x")
        return replace(model, layout=Layout(partition_by=by))

    def _intent(self, at: dt.datetime) -> Intent:
        return Intent(
            step=f"step-{self.slices}",
            run="run",
            model="silver_aw.x",
            table=TableName("silver_aw", "x"),
            uri=self.uri,
            kind=StepKind.BUILD,
            strategy=str(self.entity.process),
            reason="",
            triggered_by="run",
            run_timestamp=at,
            fingerprint=self._model().fingerprint,
            step_seq=self.slices,
        )


def _shown(value: object) -> object:
    if isinstance(value, dt.datetime):
        moment = value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value
        return {T1: "T1", T2: "T2", T3: "T3", T4: "T4"}.get(moment, str(value))
    return value
