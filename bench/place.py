"""A project in a temporary folder, and the Spark session that both sides of a benchmark use."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.commands.run import run
from penstock.app.request import RunRequest, SnapshotRequest
from penstock.app.run_report import RunReport
from penstock.app.services.wire import Where, open_services
from penstock.core.project import SparkSettings
from penstock.engine.launch import LaunchSettings, launch
from penstock.engine.spark_engine import running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = """\
name: bench
version: 1
targets:
  dev: {warehouse: warehouse}
"""


def start_spark(folder: Path, memory: str = "6g") -> SparkSession:
    """Give the Spark of this process, started as penstock does: both sides have its settings."""
    spark = SparkSettings("local[*]", memory, {})
    return running() or launch(
        LaunchSettings(spark, str(folder / "warehouse"), folder / "spark.log"), os.environ
    )


class Place:
    """One generated project; tables of the baseline lie beside the warehouse."""

    def __init__(self, spark: SparkSession | None = None, root: Path | None = None) -> None:
        self.root = root or Path(tempfile.mkdtemp(prefix="penstock-bench-"))
        self.spark = spark
        self.write("penstock.yml", PROJECT)

    def write(self, path: str, text: str) -> None:
        """Write a file of the project."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def delta(self, path: str) -> str:
        """Give SQL for a Delta table in a folder of the project."""
        return f"delta.`{self.root}/{path}`"

    def sql(self, text: str) -> None:
        """Run SQL in a session of its own."""
        assert self.spark is not None
        self.spark.newSession().sql(text)

    def run(self, *, snapshot: bool = False, **asked: object) -> RunReport:
        """Run penstock as a command would, on the session both sides use."""
        services = open_services(Where(self.root), self.spark)
        try:
            kind = SnapshotRequest if snapshot else RunRequest
            report = run(services, kind(**asked))  # type: ignore[arg-type]
        finally:
            services.close()
        assert report.succeeded, [result.error for result in report.results]
        return report

    def close(self) -> None:
        """Remove the project."""
        shutil.rmtree(self.root, ignore_errors=True)
