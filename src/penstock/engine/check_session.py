"""The part of a step's session that checks need: looking at rows, and rows beside the target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.core.findings import Location
from penstock.core.names import quoted
from penstock.core.ports import Fault
from penstock.core.schema import Schema
from penstock.core.statement import OBSERVED_ROWS, Feed, Kept, Row
from penstock.engine.added_files import write_log
from penstock.engine.delta_log import DeltaLog
from penstock.engine.kept_files import CONFS, count_rows, write_files
from penstock.engine.observing import ObservedWrite
from penstock.engine.reading import schema_of
from penstock.engine.spark_errors import explaining

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Nothing is ever deleted from such a table, and many readers refuse deletion vectors.
_WIDELY_READ = "'delta.enableDeletionVectors' = 'false'"
_NEEDS_MAPPING = re.compile(r"[ ,;{}()\n\t=]")  # Delta has such names only with column mapping


class SparkCheckSession:
    """What a `StepSession` of real Spark does for checks, but for what belongs to a commit."""

    def __init__(self, spark: SparkSession, where: Location | None, fault: Fault) -> None:
        """Take over a fresh session."""
        self._spark = spark
        self._where = where
        self._fault = fault
        self._in_files: set[str] = set()

    def rows(self, sql: str) -> tuple[Row, ...]:
        """See `StepSession.rows`."""
        with explaining(self._where):
            return tuple(row.asDict() for row in self._spark.sql(sql).collect())

    def describe(self, sql: str) -> Schema:
        """See `StepSession.describe`."""
        with explaining(self._where):
            return schema_of(self._spark.sql(sql))

    def keep(self, feed: Feed, folder: str) -> Kept:
        """See `StepSession.keep`. A commit of this session that has the feed reads the files."""
        with explaining(self._where), self._set({**CONFS, **feed.confs}):
            frame, observed = self._watched(feed)
            kept = write_files(frame, folder)
            self._fault("during-staging")
            kept.createOrReplaceTempView(feed.view)
            self._in_files.add(feed.view)
            rows = count_rows(folder)
        return Kept(rows, agreed(observed, rows))

    def write_table(self, sql: str, uri: str) -> int:
        """See `StepSession.write_table`. A table that is there already is an error."""
        with explaining(self._where):
            names = self._spark.sql(sql).columns
            mapped = any(map(_NEEDS_MAPPING.search, names))
            how = _WIDELY_READ + ", 'delta.columnMapping.mode' = 'name'" * mapped
            made = f"CREATE TABLE delta.{quoted(uri)} USING delta TBLPROPERTIES ({how})"
            self._spark.sql(f"{made} AS {sql}")
        return DeltaLog().commits(uri, -1)[-1].metrics.get("numOutputRows", 0)

    def clone(self, uri: str, version: int, to: str) -> str:
        """See `StepSession.clone`."""
        made, whole = f"delta.{quoted(to)}", f"delta.{quoted(uri)}"
        with explaining(self._where):
            self._spark.sql(f"CREATE TABLE {made} SHALLOW CLONE {whole} VERSION AS OF {version}")
        return made

    def added(self, uri: str, version: int, folder: str, view: str) -> Schema:
        """See `StepSession.added`."""
        write_log(uri, version, folder)
        with explaining(self._where):
            frame = self._spark.read.format("delta").load(folder)
            frame.createOrReplaceTempView(view)
            return schema_of(frame)

    def _watched(self, feed: Feed) -> tuple[DataFrame, ObservedWrite | None]:
        frame = self._spark.sql(feed.sql)
        observed = ObservedWrite(frame, feed.counts) if feed.counts else None
        return (observed.frame if observed else frame), observed

    @contextmanager
    def _set(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Let settings hold for a while; they are none that the session has otherwise."""
        for key, value in settings.items():
            self._spark.conf.set(key, value)
        try:
            yield
        finally:
            for key in settings:
                self._spark.conf.unset(key)


def agreed(observed: ObservedWrite | None, rows: int) -> Row | None:
    """Give what was seen if it was seen of so many rows, each of them once."""
    seen = observed.seen() if observed else None
    return seen if seen and seen.get(OBSERVED_ROWS) == rows else None
