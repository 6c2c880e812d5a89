"""One session over tables in a folder of its own, and what lies in them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contracts.store_cases import intent
from penstock.core.columns.schema import Schema
from penstock.core.findings import Location
from penstock.core.statement import Commit, Feed, Row
from penstock.engine.session import SparkStepSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHERE = Location("models/orders.sql", 1)


@dataclass
class Bench:
    """A session, and a folder in whose name everything is unusual."""

    spark: SparkSession
    folder: Path
    faults: list[str] = field(default_factory=list)
    steps: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.session = SparkStepSession(
            self.spark.newSession(), WHERE, lambda: ("0", "store", "shop"), self.faults.append
        )

    def at(self, name: str) -> str:
        return str(self.folder / name)

    def commit(self, sql: str, feed: Feed | None = None, **settings: object) -> None:
        """Commit as a step; `{t}` is the table of the step, as SQL names it."""
        self.steps += 1
        target = self.at("t")
        statement = Commit(sql.format(t=f"delta.`{target}`"), feed=feed, **settings)
        self.session.commit(statement, replace(intent(), uri=target, step_seq=self.steps))

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Give the rows of a query, sorted; `{t}` is the table of the step."""
        found = self.session.rows(sql.format(t=f"delta.`{self.at('t')}`"))
        return sorted(tuple(row.values()) for row in found)

    def added(self, version: int) -> tuple[Schema, Row]:
        """Give columns and count of the rows that a version of the table added."""
        schema = self.session.side_tables.added(
            self.at("t"), version, self.at(f"added{version}"), "new"
        )
        return schema, self.session.row("SELECT count(*) AS n FROM `new`")

    def files(self, view: str) -> int:
        return len(self.session._spark.table(view).inputFiles())

    def log(self, name: str, version: int = 0) -> list[dict[str, dict[str, object]]]:
        path = Path(self.at(name), "_delta_log", f"{version:020d}.json")
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def bench(spark, tmp_path):
    return Bench(spark, tmp_path / "a b ü")
