"""The engine of history tables on real Spark, without a project around it.

It runs what `strategies.history` decides, as a step would, on one Delta table.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fakes import delta_tables
from fakes.builders import a_model
from fakes.oracle_types import History, Metrics, Row, Source, Version
from penstock.app.preparing.statements import run_stages
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Commit
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.step import Intent, StepKind
from penstock.core.strategy import Build, HistoryRun, Layout, OnSchemaChange
from penstock.engine.log.delta_log import DeltaLog
from penstock.engine.session import SparkStepSession
from penstock.plan.evolution import evolve
from penstock.strategies.history.feed import (
    AFTER,
    BEFORE,
    KEYS,
    READS_ALL,
    UNCLEAR,
    changed_stage,
)
from penstock.strategies.history.snapshot import Snapshot, history, terms_of
from penstock.strategies.history.terms import Terms
from penstock.strategies.reshape import allow_widening

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {"seq": "int", "id": "int", "updated_at": "timestamp"}


@dataclass
class HistoryTable:
    """One history table; every run is a step of its own. `types` are those of columns.

    Rows lie by `partition_by` too, within current and closed ones. One that `foretells` compares
    what each MERGE leaves with what was said before it; one that `replays` looks at keys ahead.
    `is_fed` is whether the changed rows sufficed for the last run.
    """

    spark: SparkSession
    folder: Path
    settings: Snapshot
    types: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[str, object] = field(default_factory=dict)
    confs: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    on_schema_change: OnSchemaChange = OnSchemaChange.APPEND
    foretells: bool = False
    replays: bool = False
    committed: Commit | None = None
    is_fed: bool = False

    @property
    def uri(self) -> str:
        return str(self.folder / "h")

    def run(self, at: dt.datetime, source: Source) -> dict[str, int]:
        """Bring the table up to date; give the metrics. Raises what the rules say."""
        return self.run_sql(at, self._values(source))

    def run_fed(self, at: dt.datetime, source: Source, added: Source, gone: Source) -> None:
        """Bring the table up to date with the images of rows that changes added and removed."""
        images = {AFTER: self._values(added), BEFORE: self._values(gone)}
        self.run_sql(at, self._values(source), images)

    def run_sql(
        self, at: dt.datetime, sql: str, images: Mapping[str, str] | None = None
    ) -> dict[str, int]:
        """Bring the table up to date with the rows of a query, or of its changes."""
        spark = self.spark.newSession()
        for key, value in self.confs.items():
            spark.conf.set(key, value)
        session = SparkStepSession(spark, None, lambda: ("0", "store", "shop"), lambda _: None)
        try:
            return self._run(session, at, sql, images or {})
        finally:
            session.close()

    def _run(
        self, session: SparkStepSession, at: dt.datetime, sql: str, images: Mapping[str, str]
    ) -> dict[str, int]:
        query = session.define(QUERY_VIEW, sql)
        log = DeltaLog()
        facts = log.facts(self.uri)
        model = self._model()
        if facts is not None:
            read = DeltaRead(self.uri, facts.version)
            session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, read)])
        table = facts.schema if facts else None
        evolution = evolve(model, query, table)
        build = Build(
            model,
            f"delta.`{self.uri}`",
            query,
            table,
            evolution.changes_table,
            replays=self.replays,
        )
        if table is not None and images:
            for view, rows in images.items():
                session.define(view, rows)
            found = session.stage(changed_stage(self.settings.keys, query))
            changed = None if found[UNCLEAR] else found[KEYS]
            build = replace(build, history=HistoryRun(at, changed=changed))
        work = history(build, self._terms(at), {})
        seen = run_stages(session, work, None)
        run = build.history
        self.is_fed = bool(run and run.changed is not None) and READS_ALL not in seen
        self.committed = work.decide(seen)
        if self.committed is None:
            return dict(work.counts(seen))
        if evolution.widened and facts is not None:
            for statement in allow_widening(f"delta.`{self.uri}`", facts.properties):
                self.spark.sql(statement)
        before = facts.version if facts else -1
        foretold = session.rows(work.after(seen)) if work.after and self.foretells else None
        session.commit(self.committed, self._intent(at))
        if foretold is not None:
            left = self.spark.read.format("delta").load(self.uri).collect()
            assert sorted(map(shown, foretold)) == sorted(shown(row.asDict()) for row in left)
        commit = log.commits(self.uri, before)[-1]
        for name, (_, wanted) in self.committed.expected.items():
            got = {**commit.metrics, "rows after - rows before": commit.row_change}[name]
            assert got == wanted, (name, got, wanted)
        told = dict(work.counts(seen))
        if not told:
            rows = commit.metrics["numOutputRows"]
            told = {"source_rows": rows, "opened_new": rows}
        return told

    def metrics(self, at: dt.datetime, source: Source) -> Metrics:
        return Metrics(**self.run(at, source))

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run SQL; `{t}` stands for the table."""
        return [
            tuple(row) for row in self.spark.sql(text.format(t=f"delta.`{self.uri}`")).collect()
        ]

    def history(self) -> History:
        """Read the table as the oracle keeps it."""
        columns = self.settings.columns
        rows, names = self._read()
        system = {name.lower() for name in columns.names}
        business = tuple(c for c in names if c.lower() not in system)
        versions = [self._version(row, business) for row in rows]
        known = sorted(versions, key=lambda v: (repr(v.key), v.valid_from))
        return History(tuple(known), business, columns.is_deleted in names)

    def _read(self) -> tuple[Sequence[Row], Sequence[str]]:
        """Give rows and names of the columns."""
        found = delta_tables.rows(self.uri)
        if found:
            return found, tuple(found[0])
        frame = self.spark.read.format("delta").load(self.uri)
        return [row.asDict() for row in frame.collect()], frame.columns

    def _version(self, row: Row, business: Sequence[str]) -> Version:
        columns = self.settings.columns
        values = {name: utc(row[name]) for name in business}
        return Version(
            tuple(values[key] for key in self.settings.keys),
            values,
            utc(row[columns.valid_from]),
            utc(row[columns.valid_to]),
            row[columns.is_current],
            row.get(columns.is_deleted),
        )

    def _terms(self, at: dt.datetime) -> Terms:
        plain = terms_of(self.settings, HistoryRun(at, self.settings.retention))
        return replace(plain, **self.terms)  # type: ignore[arg-type]

    def _model(self):
        by = (self.settings.columns.is_current,) if self.settings.by_current else ()
        layout = Layout(partition_by=(*by, *self.partition_by))
        model = a_model("h", strategy=self.settings)
        return replace(model, layout=layout, on_schema_change=self.on_schema_change)

    def _intent(self, at: dt.datetime) -> Intent:
        return Intent(
            step=f"step-{at:%m%d%H}",
            run="run",
            model="h",
            table=TableName("s", "h"),
            uri=self.uri,
            kind=StepKind.BUILD,
            strategy="snapshot",
            reason="",
            triggered_by="run",
            run_timestamp=at,
            fingerprint=self._model().fingerprint,
        )

    def _values(self, source: Source) -> str:
        kinds = {name: self.types.get(name, TYPES.get(name, "string")) for name in source.columns}
        names = ", ".join(source.columns)
        casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in kinds.items())
        if not source.rows:
            nulls = ", ".join("NULL" for _ in source.columns)
            return f"SELECT {casts} FROM VALUES ({nulls}) AS v({names}) WHERE false"
        rows = ", ".join(
            f"({', '.join(literal(row.get(name)) for name in source.columns)})"
            for row in source.rows
        )
        return f"SELECT {casts} FROM VALUES {rows} AS v({names})"


def literal(value: object) -> str:
    """Write a value as SQL."""
    match value:
        case None:
            return "NULL"
        case bool() | int():
            return str(value)
        case dt.datetime():
            return f"TIMESTAMP '{value.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"
        case dt.date():
            return f"DATE '{value}'"
        case _:
            return f"'{value}'"


def shown(row: Mapping[str, object]) -> str:
    """Give a row as a text, whatever the order of its columns; one without a value is left out."""
    return repr(sorted((name, value) for name, value in row.items() if value is not None))


def utc(value: object) -> object:
    """Give instants as the oracle has them."""
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value
