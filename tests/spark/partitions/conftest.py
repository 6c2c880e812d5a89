"""One partitioned table on real Delta, without a project around it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from fakes import delta_tables
from fakes.builders import NOON, a_model
from penstock.core.columns.schema import Column, Schema
from penstock.core.facts import LogCommit, TableFacts
from penstock.core.findings import Location
from penstock.core.model import Body, Model, Version
from penstock.core.names import TableName
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.statement import Commit
from penstock.core.steps.step import Intent, StepKind
from penstock.core.strategy import Layout
from penstock.engine.log.delta_log import DeltaLog
from penstock.engine.session import SparkStepSession
from penstock.plan.table_columns import Migration, migration, target_schema
from penstock.strategies.partition import Partition, PartitionTable, Slice, check_columns
from penstock.strategies.partition import replace as replaced
from penstock.strategies.reshape import allow_widening, create_empty, drop_not_null, rewrite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHERE = Location("queries/daily.v1.sql", 1)


def schema(text: str) -> Schema:
    """Read `date date, n bigint!`; the mark stands behind a required column."""
    parts = [part.split(" ", 1) for part in text.split(", ")] if text else []
    return Schema(tuple(Column(n, kind.rstrip("!"), not kind.endswith("!")) for n, kind in parts))


@dataclass
class Lot:
    """A table of partitions; `versions` are the schemas of the model's versions, oldest first."""

    spark: SparkSession
    folder: Path
    versions: tuple[str, ...]
    layout: Layout = Layout(partition_by=("date",))
    by: Partition = Partition("date", "date", Grid(Grain.DAY))
    changes: Mapping[str, object] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        return str(self.folder / "daily")

    @property
    def target(self) -> str:
        return f"delta.`{self.uri}`"

    @property
    def model(self) -> Model:
        plain = a_model("daily", strategy=self.by)
        start = dt.date(2024, 1, 1)
        versions = tuple(
            Version(
                number,
                Body(
                    plain.query,
                    replace(plain.fingerprint, effective_from=start + dt.timedelta(number)),
                    "",
                    "",
                    WHERE,
                ),
                schema(text),
            )
            for number, text in enumerate(self.versions, 1)
        )
        return replace(plain, layout=self.layout, versions=versions, **self.changes)

    @property
    def facts(self) -> TableFacts:
        found = DeltaLog().facts(self.uri)
        assert found is not None
        return found

    @property
    def migration(self) -> Migration:
        wanted = target_schema(self.model)
        assert wanted is not None
        return migration(self.model, wanted, self.facts)

    def create(self, *, replaces: bool = False) -> None:
        wanted = target_schema(self.model)
        assert wanted is not None
        self.commit(create_empty(self.model, self.target, wanted, replaces=replaces))

    def build(self, *queries: tuple[str, str], whole: str = "", version: int = 0) -> None:
        """Build partitions by their keys in one step, as a step of a version does.

        `whole` gives more partitions that the step replaces.
        """
        session = self.session()
        declared = schema(self.versions[version - 1])
        views = []
        described = Schema()
        for place, (key, sql) in enumerate(queries):
            described = session.define(f"slice_{place}", sql)
            check_columns("daily", WHERE, declared, described)
            views.append((key, f"SELECT * FROM slice_{place}"))
        moved = self.migration
        if moved.needs_widening_property:
            self.alter(*allow_widening(self.target, self.facts.properties))
        self.alter(*drop_not_null(self.target, moved.nullable))
        self.commit(self.statement(views, declared, described, whole), session)

    def statement(
        self, queries: list[tuple[str, str]], declared: Schema, described: Schema, whole: str = ""
    ) -> Commit:
        """Give the one statement of a step."""
        grid = self.by.grid
        numbers = {key: grid.parse(key) for key in (*(key for key, _ in queries), *whole.split())}
        table = PartitionTable(
            self.target,
            "s.daily",
            self.by.field,
            self.by.type,
            self.migration.schema,
            declared,
            described,
            ((grid.lower(min(numbers.values())), grid.upper(max(numbers.values()))),),
        )
        slices = (Slice(sql, (grid.span(numbers[key]),), key) for key, sql in queries)
        statement = replaced(table, tuple(slices)).decide({})
        assert statement is not None
        return statement

    def rewrite(self, columns: Schema) -> None:
        self.commit(rewrite(self.model, self.target, columns, self.facts, uri=self.uri))

    def alter(self, *statements: str) -> None:
        for sql in statements:
            self.commit(Commit(sql))

    def commit(self, statement: Commit, session: SparkStepSession | None = None) -> None:
        (session or self.session()).commit(statement, self._intent())

    def session(self) -> SparkStepSession:
        spark = self.spark.newSession()
        return SparkStepSession(spark, WHERE, lambda: ("0", "store", "shop"), lambda _: None)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run SQL as somebody else would; `{t}` stands for the table."""
        frame = self.spark.newSession().sql(text.format(t=self.target))
        return [tuple(row) for row in frame.collect()]

    def rows(self) -> list[tuple[object, ...]]:
        """Give the rows in order, read without Spark."""
        found = delta_tables.rows(self.uri)
        if found is None:
            return self.sql("SELECT * FROM {t} ORDER BY ALL")
        return delta_tables.in_order(found, len(self.facts.schema.columns))

    def files(self) -> dict[str, int]:
        """Count the files of the table by partition folder."""
        folders = [Path(name).parent.name for name in DeltaTable(self.uri).file_uris()]
        return {folder: folders.count(folder) for folder in sorted(set(folders))}

    def file_names(self) -> set[str]:
        return {Path(name).name for name in DeltaTable(self.uri).file_uris()}

    def commits(self, after: int = -1) -> list[LogCommit]:
        return list(DeltaLog().commits(self.uri, after))

    @property
    def version(self) -> int:
        return self.facts.version

    def _intent(self) -> Intent:
        return Intent(
            step="step",
            run="run",
            model="daily",
            table=TableName("s", "daily"),
            uri=self.uri,
            kind=StepKind.BUILD,
            strategy="partition",
            reason="",
            triggered_by="run",
            run_timestamp=NOON,
            fingerprint=self.model.fingerprint,
        )


@pytest.fixture
def lot(spark, tmp_path):
    """Give a function that makes a lot and its empty table."""

    def made(*versions: str, folder: str = "t", **settings: object) -> Lot:
        found = Lot(spark, tmp_path / folder, versions, **settings)
        found.create()
        return found

    return made


def day(key: str, *numbers: int) -> tuple[str, str]:
    """Give the query of a day with rows of these numbers."""
    rows = (
        ", ".join(f"(DATE '{key}', {number}L)" for number in numbers) or "(DATE '1970-01-01', 0L)"
    )
    where = "" if numbers else " WHERE false"
    return key, f"SELECT * FROM VALUES {rows} AS v(date, n){where}"
