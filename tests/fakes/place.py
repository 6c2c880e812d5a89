"""A project in a folder of its own, for tests that run it in this process."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from fakes import delta_tables
from fakes.commits import commits
from fakes.requests import a_run
from penstock.app.commands.run import run
from penstock.app.commands.status import status
from penstock.app.commands.sync import sync
from penstock.app.request import StatusRequest, SyncRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.app.services.wire import Where, open_services
from penstock.plan.values import State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = """\
name: shop
version: 1
targets:
  dev: {warehouse: warehouse, spark: {master: "local[1]"}}
"""


class Place:
    """Writes files of a project, runs it, and reads its tables back."""

    def __init__(self, root: Path, spark: SparkSession | None = None) -> None:
        self.root = root
        self.spark = spark
        self.write("penstock.yml", PROJECT)

    def write(self, path: str, text: str) -> Path:
        """Write a file below the project, dedented."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def model(self, name: str, sql: str, **config: object) -> None:
        """Write a model in the folder `m`, so that its schema is `m`."""
        settings = ", ".join(f"{key}={value!r}" for key, value in config.items())
        self.write(f"models/m/{name}.sql", f"{{{{ config({settings}) }}}}\n{sql}\n")

    def source(self, name: str, columns: str, *, feed: bool = False) -> None:
        """Declare the Delta source `raw.NAME` in landing/ and create it empty."""
        self.write(
            f"models/{name}.yml",
            f"""\
            sources:
              - name: raw
                tables:
                  - {{name: {name}, path: ../landing/{name}}}
            """,
        )
        delta_tables.create(f"{self.root}/landing/{name}", columns, feed=feed)

    def insert(self, name: str, values: str) -> None:
        """Append rows to a source."""
        delta_tables.append(f"{self.root}/landing/{name}", values)

    def landing(self, name: str) -> str:
        """Give SQL for a source's table."""
        return f"delta.`{self.root}/landing/{name}`"

    def table(self, name: str) -> str:
        """Give SQL for the table of a model in `m`."""
        return f"delta.`{self.root}/warehouse/m/{name}`"

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run SQL as somebody else would: without a step's token."""
        assert self.spark is not None
        return [tuple(row) for row in self.spark.newSession().sql(text).collect()]

    def rows(self, name: str) -> list[tuple[object, ...]]:
        """Give a model's rows in the order of its first two columns."""
        found = delta_tables.rows(f"{self.root}/warehouse/m/{name}")
        if found is None:
            return self.sql(f"SELECT * FROM {self.table(name)} ORDER BY 1, 2")
        return delta_tables.in_order(found)

    def services(self) -> Services:
        """Load and wire the project anew, as the next command would."""
        return open_services(Where(self.root), self.spark)

    def run(self, *select: str, **asked: object) -> RunReport:
        """Run what is selected and let go of the state."""
        services = self.services()
        try:
            return run(services, a_run(select, **asked))
        finally:
            services.close()

    def sync(self, *select: str, **asked: object) -> RunReport:
        """Sync what is selected, confirmed beforehand, and let go of the state."""
        services = self.services()
        try:
            return sync(services, SyncRequest(select=select, **asked))  # type: ignore[arg-type]
        finally:
            services.close()

    def states(self) -> dict[str, list[State]]:
        """Give the states of each model that has any but `current`."""
        services = self.services()
        try:
            found = status(services, StatusRequest())
        finally:
            services.close()
        return {one.model: [each.state for each in one.states] for one in found.models}

    def version(self, name: str) -> int:
        """Give the version that a model's table would have without fences, -1 without a table."""
        return len(commits(self.root / "warehouse" / "m" / name)) - 1


def statuses(report: RunReport) -> dict[str, str]:
    """Give what became of each model."""
    return {name: result.status for name, result in report.items()}
